"""Several labels a text, or none, from labelled texts to exported files and the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Main

import retvec_lite as rl
from retvec_lite.converters.verify import REFERENCE_NAME
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.runtime.answers import Prediction

WORDS = {"alarm": "wake", "music": "song", "weather": "rain"}
OTHERS = ("please now", "what about the", "and tell me", "thanks a lot for")
SETS = [[], ["alarm"], ["music"], ["weather"], ["alarm", "music"], ["music", "weather"], ["alarm", "music", "weather"]]
ROWS = [
    (" ".join([other, *(WORDS[name] for name in names), str(number)]), names)
    for number in range(3)
    for other in OTHERS
    for names in SETS
]
TEXTS = [text for text, _ in ROWS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and what was trained on it and exported: every kind of file."""
    place = tmp_path_factory.mktemp("several")
    table = "".join(f"{text},{'|'.join(names)}\n" for text, names in ROWS)
    (place / "data.csv").write_text(f"text,label\n{table}", encoding="utf-8")
    classifier = rl.train(
        place / "data.csv", multi_label=True, head="linear", ngram_kb=12, meaning="none", out=place / "trained"
    )
    classifier.export(place / "dist", formats=("tflite", "coreml"), recipes=("int8",), data=place / "data.csv")
    return place


@pytest.fixture(scope="module")
def classifier(folder: Path) -> rl.Classifier:
    found = rl.load(folder / "trained")
    assert isinstance(found, rl.Classifier)
    return found


def names_of(predictions: list[Prediction]) -> set[str | None]:
    return {label for label, _ in predictions}


def test_a_text_gets_all_its_labels_or_none(classifier: rl.Classifier) -> None:
    assert classifier.decision.thresholds is not None and len(classifier.decision.thresholds) == 3
    assert [names_of(found) for found in classifier.predict(TEXTS)] == [set(names) for _, names in ROWS]
    both = classifier.predict("wkae me with a song")
    assert names_of(both) == {"alarm", "music"}
    assert both == sorted(both, key=lambda found: -found.probability)
    assert classifier.predict("wake, song, rain", top=2) == classifier.predict("wake, song, rain")[:2]
    assert classifier.predict("") == classifier.predict("?!") == []
    assert names_of(classifier.predict("", reject=False)) == set(classifier.labels)
    assert classifier.probabilities("wake song rain").sum() > 1.5


def test_training_reports_micro_f1(folder: Path, classifier: rl.Classifier) -> None:
    report = json.loads((folder / "trained" / "report.json").read_text())["training"]
    assert report["multi_label"] and report["folds"] == 3
    assert report["validation"]["0"]["micro_f1"] > 0.9 and report["validation"]["0.5"]["micro_f1"] > 0.5
    shown = str(classifier)
    assert "micro F1" in shown and "Expect a micro F1 of " in shown and "all labels right" in shown
    assert report["warnings"] == ["54 of 84 texts repeat others, or nearly so: they count once, and teach little."]


def test_every_exported_file_gives_the_same_answers(folder: Path, classifier: rl.Classifier) -> None:
    assert rl.verify(folder / "dist", data=folder / "data.csv").ok
    for path in sorted((folder / "dist").glob("*.tflite")):
        light = rl.load(path)
        assert isinstance(light, rl.Classifier) and light.decision == classifier.decision
        assert light.probabilities(TEXTS) == pytest.approx(classifier.probabilities(TEXTS), abs=1e-5)
        assert [names_of(found) for found in light.predict_many(TEXTS)] == [set(names) for _, names in ROWS]
        assert rl.evaluate(light, folder / "data.csv", typos=(0, 0.5)).micro_f1 == 1.0


def test_golden_json_lists_labels(folder: Path, classifier: rl.Classifier) -> None:
    golden = json.loads((folder / "dist" / "golden.json").read_text())
    assert golden["decision"]["thresholds"] == list(classifier.decision.thresholds or ())
    cases = {case["name"]: case for case in golden["cases"]}
    assert cases["empty"]["labels"] == {key: [] for key in cases["empty"]["labels"]}
    thresholds = np.array(golden["decision"]["thresholds"])
    clear = [case for case in golden["cases"] if case["text"] and case.get("labels", {}).get("int8")]
    for case in clear:
        reached = np.array(case["probabilities"]["int8"]) >= thresholds
        assert case["labels"]["int8"] == [golden["labels"][column] for column in np.flatnonzero(reached)]
    assert clear, "some golden text has a label"


def test_a_changed_threshold_is_found(folder: Path, tmp_path: Path) -> None:
    import dataclasses
    import shutil

    shutil.copytree(folder / "dist", tmp_path / "dist")
    file = tmp_path / "dist" / REFERENCE_NAME
    model = load_trained_model(file)
    lower = dataclasses.replace(model.decision, thresholds=(0.011, *(model.decision.thresholds or ())[1:]))
    file.write_bytes(dataclasses.replace(model, decision=lower).to_bytes())
    found = rl.verify(tmp_path / "dist")
    assert not found.ok and "decision" in str(found)


def test_the_reference_turns_logits_into_sigmoids() -> None:
    logits = np.array([[-1000.0, -2.0, 0.0, 2.0, 1000.0]], np.float32)
    found = reference_network.shares(logits, multi_label=True)
    assert found.dtype == np.float32
    assert found[0] == pytest.approx([0.0, 1 / (1 + np.exp(2)), 0.5, 1 / (1 + np.exp(-2)), 1.0])


def test_classify_and_evaluate_on_the_command_line(folder: Path, main: Main) -> None:
    model = str(folder / "dist" / "classifier-int8.tflite")
    code, output, _ = main("classify", model, "wake me with a song", "hello")
    rows = [line.split("\t") for line in output.splitlines()]
    assert code == 0 and {rows[0][0], rows[0][2]} == {"alarm", "music"} and rows[1] == ["none"]
    _, output, _ = main("classify", model, "--json", "hello")
    assert json.loads(output)["predictions"] == []
    assert (
        len(json.loads(main("classify", model, "--json", "--no-reject", "--top", "3", "hello")[1])["predictions"]) == 3
    )
    code, output, _ = main("evaluate", model, "--data", str(folder / "data.csv"), "--typos", "0,0.5", "--json")
    assert code == 0 and json.loads(output)["micro_f1"] == 1.0


def test_one_label_is_not_taken_for_several(folder: Path, main: Main, tmp_path: Path) -> None:
    model = str(folder / "dist" / "classifier-int8.tflite")
    single = tmp_path / "single.csv"
    single.write_text("text,label\nwake me,alarm\nplay a song,music\n")
    code, output, errors = main("evaluate", model, "--data", str(single))
    assert code != 0 and not output and "exactly one label" in errors and errors.count("\n") == 1
    assert main("evaluate", model, "--data", str(single), "--multi-label", "--json")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "36 of 84 rows of {data} have a '|' in their label, such as 'alarm|music'"),
        (["--multi-label", "--unknown-label", "alarm"], "Leave out --unknown-label"),
        (["--multi-label", "--reject-at", "0.9"], "Leave out --reject-at"),
    ],
)
def test_bad_arguments_are_one_sentence(
    folder: Path, main: Main, tmp_path: Path, arguments: list[str], part: str
) -> None:
    # Without the rows that have no label: an empty cell is told first.
    data = tmp_path / "data.csv"
    lines = (folder / "data.csv").read_text().splitlines()
    data.write_text("\n".join(line if not line.endswith(",") else f"{line}alarm" for line in lines))
    given = [argument.format(data=data) for argument in arguments]
    code, output, errors = main("train", str(data), "--out", str(tmp_path / "out"), *given)
    assert code != 0 and not output and part.format(data=data) in errors and errors.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_label_may_hold_a_bar(tmp_path: Path) -> None:
    texts, labels = ["wake me", "play a song"] * 4, ["a|b", "c"] * 4
    with pytest.raises(rl.RetvecLiteError, match="4 of 8 rows"):
        rl.train(texts, labels)
    found = rl.train(texts, labels, multi_label=False, head="linear", ngram_kb=3)
    assert found.labels == ("a|b", "c") and found.predict("wake me", top=1)[0].label == "a|b"
