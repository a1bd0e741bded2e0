"""The card of a model: YAML that hubs read, the facts of the training, and nothing that breaks out of its place."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from standin import classifier

from retvec_lite.classifier import Classifier
from retvec_lite.decision import Decision
from retvec_lite.model.model_card import CARD_NAME, describe_meaning, model_card
from retvec_lite.model.weight_files import TrainedModel

ROW = {"accuracy": 0.91234, "macro_f1": 0.9, "calibration_error": 0.02, "in_scope_unknown": 0.01}
FACTS = {
    "created_by": "retvec-lite 1.2.3",
    "data": "mail.csv",
    "training_texts": 1200,
    "folds": 3,
    "accuracy_error": 0.005,
    "warnings": ["1 text has several labels: 'my private text' ('a', 'b')."],
    "validation": {"0.5": ROW | {"accuracy": 0.5}, "0": ROW},
}


def model(**changes: Any) -> TrainedModel:
    return dataclasses.replace(classifier("pool"), **{"training": FACTS, **changes})


def front(card: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    start, fields, _ = card.split("---\n", 2)
    assert start == ""
    found: dict[str, Any] = yaml.safe_load(fields)
    return found


def test_hubs_read_what_it_is_and_how_good() -> None:
    fields = front(model_card(model()))
    assert fields["license"] == "unknown" and fields["library_name"] == "retvec-lite"
    assert fields["pipeline_tag"] == "text-classification" and "typos" in fields["tags"]
    (result,) = fields["model-index"][0]["results"]
    assert set(result) == {"task", "dataset", "metrics"} and {"name", "type"} <= set(result["dataset"])
    metrics = [(metric["type"], metric["name"], metric["value"]) for metric in result["metrics"]]
    assert metrics[0] == ("accuracy", "accuracy, 0% of the words mistyped", 0.9123)
    assert ("accuracy", "accuracy, 50% of the words mistyped", 0.5) in metrics and len(metrics) == 8


def test_people_read_labels_data_figures_limits_and_how_to_load_it() -> None:
    card = model_card(model(decision=Decision(threshold=0.25)))
    for part in (
        "5: `one`, `two`, `three`, `four`, `five`",
        "1,200 texts of `mail.csv`, cross-validated in 3 folds",
        "| 0% | 0.912 | 0.900 | 0.020 | 0.010 |",
        "± 1.0%",
        "reads the first 3,072 code points of a text, in windows of 96, 12 words at most at a time",
        "probability of the best one is below 0.25",
        'rl.load(".")',
        "Training warned of 1 thing",
    ):
        assert part in card, part
    assert "private" not in card
    assert "label is None" in card and "see `training.json`" in card and "## Files" not in card
    assert not {"tflite", "core-ml"} & set(front(card)["tags"])


def test_of_an_export_it_describes_the_files_that_are_there() -> None:
    card = model_card(model(), {"classifier-int8.tflite": 953_400})
    assert 'rl.load("classifier-int8.tflite")' in card and "retvec-lite[litert]" in card
    assert "- `classifier-int8.tflite`: 953 kB" in card and "Xcode" not in card and "label is None" not in card
    assert "`report.json`" in card and "training.json" not in card
    assert front(card)["tags"] == ["text-classification", "tflite", "on-device", "typos"]
    card = model_card(model(), {"classifier-int8.mlpackage": 700_000})
    assert 'TextClassifier(name: "classifier-int8")' in card and "pip install" not in card and "rl.load" not in card
    assert front(card)["tags"] == ["text-classification", "core-ml", "on-device", "typos"]
    card = model_card(model(), {"classifier-int8.retvec": 600_000})
    assert 'rl.load("classifier-int8.retvec")' in card and 'pip install "retvec-lite"' in card
    assert 'await load("classifier-int8.retvec")' in card and "hf://user/model" in card
    assert front(card)["tags"] == ["text-classification", "retvec", "on-device", "typos"]


def test_empty_rows_are_no_warning() -> None:
    warnings = ["mail.csv: 3 empty rows skipped.", "mail.csv: 1 empty row skipped."]
    assert "warned" not in model_card(model(training={**FACTS, "warnings": warnings}))
    card = model_card(model(training={**FACTS, "warnings": [*warnings, "mail.csv: 1 bad row skipped, the first: x"]}))
    assert "Training warned of 1 thing" in card


def test_of_several_labels_and_of_many() -> None:
    labels = tuple(f"label {number}" for number in range(300))
    row = {"micro_f1": 0.8, "accuracy": 0.5, "macro_f1": 0.7, "calibration_error": 0.1}
    found = model_card(
        model(labels=labels, decision=Decision(thresholds=(0.5,) * 300), training={**FACTS, "validation": {"0": row}})
    )
    assert "`label 199` and 100 more, see `labels.txt`" in found and "several labels or none" in found
    assert "| mistyped words | micro F1 | accuracy | macro F1 | calibration error |" in found
    assert front(found)["metrics"] == ["f1", "accuracy"]


def test_names_stay_in_their_place() -> None:
    labels = ("`a`", "a | b", "<script>", "größe 🙂", "---")
    name = 'ev"il\n---\nlicense: mit\x1b[2J.csv'
    card = model_card(model(labels=labels, training={**FACTS, "data": name}))
    fields = front(card)
    assert fields["license"] == "unknown" and fields["model-index"][0]["name"] == f"classifier of {name}"
    assert "`` `a` ``, `a | b`, `<script>`, `größe 🙂`, `---`" in card and "\x1b" not in card


def test_early_classifiers_have_cards_too() -> None:
    assert "None were kept." in model_card(model(training={}))


def test_it_is_saved_with_the_classifier(tmp_path: Path) -> None:
    Classifier(model()).save(tmp_path / "saved")
    assert (tmp_path / "saved" / CARD_NAME).read_text(encoding="utf-8") == model_card(model())


def test_it_says_what_it_knows_of_what_words_mean() -> None:
    known = {"used": True, "language": "en", "words": 6950, "known_words": 0.98}
    card = model_card(model(training={**FACTS, "meaning": known}))
    assert "It knows what 6,950 words of en mean, which are 98.0% of the words" in card and "look like" not in card
    why = {"used": False, "left_out": "less than 20% of the texts are in en"}
    assert "not know what words mean: less than 20% of" in model_card(model(training={**FACTS, "meaning": why}))
    unasked = model(training={**FACTS, "meaning": {"used": False}}, embedding={"name": "default", "card": {}})
    assert "what words look like, not what they mean" in model_card(unasked)


def test_it_says_that_one_of_two_tables_was_learned_for_requests() -> None:
    facts = {"used": True, "language": "en", "words": 6950, "known_words": 0.98}
    both = describe_meaning({**facts, "tables": ["meaning_en", "requests_en"]})
    assert both == describe_meaning(facts) + " One of its two tables was learned for requests."
