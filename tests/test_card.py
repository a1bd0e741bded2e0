"""The card of a model: YAML that hubs read, the facts of the training, and nothing that breaks out of its place."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from standin import classifier

from retvec_lite.card import CARD_NAME, REPORT_NAME, model_card, report_json, report_of, without_texts
from retvec_lite.decision import Decision
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.summary import summary
from retvec_lite.trained import TrainedClassifier

ROW = {"accuracy": 0.91234, "macro_f1": 0.9, "calibration_error": 0.02, "in_scope_unknown": 0.01}
FACTS = {
    "created_by": "retvec-lite 1.2.3",
    "data": "mail.csv",
    "training_texts": 1200,
    "validation_texts": 1200,
    "largest_label": 0.4,
    "baseline": 0.88,
    "folds": 3,
    "accuracy_error": 0.005,
    "warnings": ["1 text has several labels: 'my private text' ('a', 'b')."],
    "validation": {"0.5": ROW | {"accuracy": 0.5}, "0": ROW},
    "weakest": [{"label": "t`wo", "texts": 22, "right": 1, "answered": 5, "taken_for": "one", "times": 9}],
}


def model(**changes: Any) -> TrainedModel:
    return dataclasses.replace(classifier("pool"), **{"training": FACTS, **changes})


def card_of(found: TrainedModel, files: dict[str, int] | None = None) -> str:
    """The card from the bytes of the report alone, as any program could make it."""
    report = report_of(found)
    if files:
        probabilities = {"name": "probabilities", "value": 1.2e-4}
        ran = {"runtime": "some-runtime", "version": "1.2", "promised": True, "ok": True}
        ran["checks"] = [probabilities, {"name": "same label", "value": 0.997}]
        old = {"runtime": "old-runtime", "version": "0.1", "promised": False, "ok": False, "checks": []}
        report |= {
            "texts": {"golden": 70, "real": "300 texts of mail.csv"},
            "accuracy_float32": 0.75,
            "skipped_runtimes": ["coreml"],
            "failed": {"classifier-int4.tflite": "size is 2,000,000, must be <= 999,999."},
            "artifacts": [
                {"file": name, "bytes": size, "oldest_runtime": {"some-runtime": "1.0"}, "runtimes": [ran, old]}
                for name, size in files.items()
            ],
        }
    return model_card(json.loads(report_json(report))).decode()


@pytest.mark.parametrize(
    ("cut", "told"), [(0.0, ""), (0.0003, "0.03% of the texts were cut, "), (0.2, "20.0% of the texts were cut, ")]
)
def test_a_terminal_tells_how_many_texts_are_cut_where_any_is(cut: float, told: str) -> None:
    shown = summary(model(training={**FACTS, "texts_cut_by_max_words": cut, "texts_in_windows": 1e-5}))
    assert f"({told}less than 0.01% are read in windows)" in shown


def front(card: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    start, fields, _ = card.split("---\n", 2)
    assert start == ""
    found: dict[str, Any] = yaml.safe_load(fields)
    return found


def test_hubs_read_what_it_is_and_how_good() -> None:
    fields = front(card_of(model()))
    assert fields["license"] == "unknown" and fields["library_name"] == "retvec-lite"
    assert fields["pipeline_tag"] == "text-classification" and "typos" in fields["tags"]
    (result,) = fields["model-index"][0]["results"]
    assert set(result) == {"task", "dataset", "metrics"} and {"name", "type"} <= set(result["dataset"])
    metrics = [(metric["type"], metric["name"], metric["value"]) for metric in result["metrics"]]
    assert metrics[0] == ("accuracy", "accuracy, 0% of the words mistyped", 0.9123)
    assert ("accuracy", "accuracy, 50% of the words mistyped", 0.5) in metrics and len(metrics) == 8


def test_people_read_labels_data_figures_limits_and_how_to_load_it() -> None:
    card = card_of(model(decision=Decision(threshold=0.25)))
    for part in (
        "5: `one`, `two`, `three`, `four`, `five`",
        "1,200 texts of `mail.csv`, cross-validated in 3 folds",
        "| 0% | 0.912 | 0.900 | 0.020 | 0.010 |",
        "Expect 91% right answers to texts like these, 89% to 94% with 95% confidence (1,200 texts, cross-validated in 3 folds).",
        "Always answering the most common label would be right about 40% of the time, and a plain SVM about 88%.",
        "reads the first 3,072 code points of a text, in windows of 96, 12 words at most at a time",
        "probability of the best one is below 0.25",
        'rl.load(".")',
        "Training warned of 1 thing",
        "- Of 22 texts of `` t`wo `` that it had not learned from, it finds 1.",
    ):
        assert part in card, part
    assert "private" not in card
    assert "label is None" in card and "see `report.json`" in card and "## Files" not in card
    assert not {"tflite", "core-ml"} & set(front(card)["tags"])


def test_of_an_export_it_describes_the_files_that_are_there() -> None:
    card = card_of(model(), {"classifier-int8.tflite": 953_400})
    assert 'rl.load("classifier-int8.tflite")' in card and 'pip install ".[litert]"  # in a checkout' in card
    row = "| `classifier-int8.tflite` | 953 kB | some-runtime 1.0 or newer | some-runtime 1.2 | 1.2e-04 | 99.7% |"
    assert (
        row in card
        and "70 golden texts and 300 texts of mail.csv" in card
        and "latter is 0.7500. Not run on coreml." in card
    )
    assert "`classifier-int4.tflite` was not written: size is 2,000,000, must be <= 999,999." in card
    assert "Xcode" not in card and "label is None" not in card
    assert front(card)["tags"] == ["text-classification", "tflite", "on-device", "typos"]
    card = card_of(model(), {"classifier-int8.mlpackage": 700_000})
    assert 'TextClassifier(name: "classifier-int8")' in card and "pip install" not in card and "rl.load" not in card
    assert front(card)["tags"] == ["text-classification", "core-ml", "on-device", "typos"]
    card = card_of(model(), {"classifier-int8.retvec": 600_000})
    assert 'rl.load("classifier-int8.retvec")' in card and "pip install .  # in a checkout" in card
    assert 'await load("classifier-int8.retvec")' in card and "hf://user/model" in card
    assert front(card)["tags"] == ["text-classification", "retvec", "on-device", "typos"]


@pytest.mark.parametrize(("variants", "typo_rate"), [(0, 0.4), (2, 0.0), (2, 0.4)])
def test_texts_are_said_to_be_mistyped_where_they_were(variants: int, typo_rate: float) -> None:
    card = card_of(model(training={**FACTS, "settings": {"variants": variants, "typo_rate": typo_rate}}))
    assert ("mistyped on purpose" in card) == (variants > 0 and typo_rate > 0)


def test_empty_rows_are_no_warning() -> None:
    warnings = ["mail.csv: 3 empty rows skipped.", "mail.csv: 1 empty row skipped."]
    assert "warned" not in card_of(model(training={**FACTS, "warnings": warnings}))
    card = card_of(model(training={**FACTS, "warnings": [*warnings, "mail.csv: 1 bad row skipped, the first: x"]}))
    assert "Training warned of 1 thing" in card


def test_what_is_given_away_quotes_no_text() -> None:
    private, public = model(training=FACTS), without_texts(model(training=FACTS))
    assert b"my private text" in private.to_bytes() and b"my private text" not in public.to_bytes()
    assert "Training warned of 1 thing in the data." in card_of(public)
    assert without_texts(public) == public, "what was exported once is exported again as it is"


def test_of_several_labels_and_of_many() -> None:
    labels = tuple(f"label {number}" for number in range(300))
    row = {"micro_f1": 0.8, "accuracy": 0.5, "macro_f1": 0.7, "calibration_error": 0.1}
    found = card_of(
        model(labels=labels, decision=Decision(thresholds=(0.5,) * 300), training={**FACTS, "validation": {"0": row}})
    )
    assert "`label 199` and 100 more, see `report.json`" in found and "several labels or none" in found
    assert "| mistyped words | micro F1 | accuracy | macro F1 | calibration error |" in found
    assert front(found)["metrics"] == ["f1", "accuracy"]


def test_names_stay_in_their_place() -> None:
    labels = ("`a`", "a | b", "<script>", "größe 🙂", "---")
    name = 'ev"il\n---\nlicense: mit\x1b[2J.csv'
    card = card_of(model(labels=labels, training={**FACTS, "data": name}))
    fields = front(card)
    assert fields["license"] == "unknown" and fields["model-index"][0]["name"] == f"classifier of {name}"
    assert "`` `a` ``, `a | b`, `<script>`, `größe 🙂`, `---`" in card and "\x1b" not in card


def test_a_classifier_without_facts_has_a_card() -> None:
    assert "None were kept." in card_of(model(training={}))
    for of_teacher in ({"teacher": 0.5}, {"alone": 0.5}, {"taught": 0.5}):
        assert "(untested: " in card_of(model(training={"taught": {"by": "e5", **of_teacher}}))


def test_both_are_saved_with_the_classifier(tmp_path: Path) -> None:
    TrainedClassifier(model()).save(tmp_path / "saved")
    report = json.loads((tmp_path / "saved" / REPORT_NAME).read_bytes())
    assert report == report_of(model()) and report["training"] == FACTS
    assert (tmp_path / "saved" / CARD_NAME).read_bytes() == model_card(report)
    assert {path.name for path in (tmp_path / "saved").iterdir()} == {"classifier.safetensors", REPORT_NAME, CARD_NAME}


def test_it_says_what_it_knows_of_what_words_mean() -> None:
    known = {"used": True, "language": "en", "words": 6950, "known_words": 0.98}
    card = card_of(model(training={**FACTS, "meaning": known}))
    assert "It knows what 6,950 words of en mean, which are 98.0% of the words" in card and "look like" not in card
    why = {"used": False, "left_out": "less than 20% of the texts are in en"}
    assert "not know what words mean: less than 20% of" in card_of(model(training={**FACTS, "meaning": why}))
    unasked = model(training={**FACTS, "meaning": {"used": False}}, embedding={"name": "default", "card": {}})
    assert "what words look like, not what they mean" in card_of(unasked)
