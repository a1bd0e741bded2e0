"""`rl.compare` and `retvec-lite compare`: trained folders, exported files, runtimes, other labels, and bad input."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Main
from tiny_data import tiny_dataset

import retvec_lite as rl
from retvec_lite.runtime.interpreters import installed_runtimes

GOLDEN = Path(__file__).parents[1] / "golden"
OPTIONS: dict[str, Any] = {"head": "linear", "ngram_kb": 20, "meaning": "none", "embedding": "raw"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained folder of few texts, one of more that calls no text "music", and labelled texts, some of them of no label."""
    place = tmp_path_factory.mktemp("compare")
    rl.train(tiny_dataset(4), out=place / "old", **OPTIONS)
    rl.train(tiny_dataset(counts={"alarm": 20, "weather": 20, "other, 🙂": 20}), out=place / "new", **OPTIONS)
    data = tiny_dataset(15, seed=1)
    with open(place / "test.csv", "w", encoding="utf-8", newline="") as file:
        none = [("qqq zzz", "nothing"), ("vvv kkk", "nothing")]
        csv.writer(file).writerows([("text", "label"), *zip(data.texts, data.labels, strict=True), *none])
    return place


def test_it_counts_as_evaluate_does(folder: Path) -> None:
    """Accuracy over texts with a label and without one, and the answers of `predict`."""
    found = rl.compare(folder / "old", folder / "new", folder / "test.csv", unknown_label="nothing")
    assert found.texts == 62 and found.only_old == ("music",) and found.only_new == ()
    old, new = rl.load(folder / "old"), rl.load(folder / "new")
    rejection = rl.evaluate(old, folder / "test.csv", unknown_label="nothing", typos=()).rejection
    assert rejection is not None and found.old_accuracy == pytest.approx(rejection.accuracy)
    assert found.old_unanswered == round(62 * (1 - rejection.answered))
    music = {row.label: row for row in found.labels}["music"]
    assert music.new == 0.0 and music.lost == round(15 * music.old) > 0 and music.gained == 0
    assert found.gained - found.lost == round(62 * (found.new_accuracy - found.old_accuracy))
    for change in found.changes:
        for classifier, label, probability in (
            (old, change.old, change.old_probability),
            (new, change.new, change.new_probability),
        ):
            answer = classifier.predict(change.text, top=1)[0]
            assert (answer.label or "") == label and answer.probability == probability


def test_all_texts_get_a_label_without_rejection(folder: Path) -> None:
    careful = rl.load(folder / "old").with_threshold(0.999)
    found = rl.compare(folder / "old", careful, folder / "test.csv", unknown_label="nothing")
    assert found.new_unanswered > found.old_unanswered and found.new.startswith("<TrainedClassifier linear, 4 labels>")
    found = rl.compare(folder / "old", careful, folder / "test.csv", unknown_label="nothing", reject=False)
    assert found.changes == () and found.old_unanswered == found.new_unanswered == 0


def test_the_unknown_label_of_either_is_no_label(folder: Path) -> None:
    data = tiny_dataset(12)
    knows = rl.train(data, unknown_label="weather", **OPTIONS)
    answers = rl.train(data, **OPTIONS)
    test = tiny_dataset(10, seed=1)
    found = rl.compare(knows, answers, test)
    weather = {row.label: row for row in found.labels}
    assert "weather" not in weather and weather[None].texts == 10
    assert weather[None].new > 0.5, "the one that answers 'weather' is right, too"
    assert found.only_new == () and "weather" not in {change.new for change in found.changes}


def test_the_command(main: Main, folder: Path, tmp_path: Path) -> None:
    data, output = str(folder / "test.csv"), str(tmp_path / "changes.csv")
    call = ("compare", str(folder / "old"), str(folder / "new"), "--data", data, "--unknown-label", "nothing")
    code, printed, _ = main(*call, "--output", output)
    assert (
        code == 0
        and "62 texts of test.csv: " in printed
        and "Only the old one knows music, the label of 15 texts." in printed
    )
    with open(output, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert f"{len(rows)} texts answered differently: {output}" in printed
    code, printed, error = main(*call, "--output", output)
    assert code == 2 and not printed and "already exists" in error
    code, printed, errors = main(*call, "--output", output, "--force", "--json")
    found = json.loads(printed)
    assert code == 0 and not errors and len(found["changes"]) == len(rows)
    assert found["old"] == str(folder / "old") and found["verdict"].startswith(
        ("The new one is", "The difference could")
    )


def test_two_formats_of_one_classifier(main: Main) -> None:
    code, printed, errors = main(
        "compare", str(GOLDEN / "several.tflite"), str(GOLDEN / "several.retvec"), "--data", "starter", "--multi-label"
    )
    assert code == 0 and "Both are right about the same texts." in printed and "Traceback" not in errors


@pytest.mark.skipif(len(installed_runtimes()) < 2, reason="needs two LiteRT runtimes")
def test_two_runtimes_of_one_file(folder: Path) -> None:
    path = GOLDEN / "rejecting.tflite"
    texts, labels = ["wake me at six", "where is my parcel?"], ["alarm", "delivery"]
    found = rl.compare(path, path, texts, labels, old_runtime="ai-edge-litert", new_runtime="tflite-runtime")
    assert (found.gained, found.lost, found.texts) == (0, 0, 2)
    assert (found.old, found.new) == (f"{path} on ai-edge-litert", f"{path} on tflite-runtime")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("{old}", "{golden}/several.retvec"), "One of the two gives a text one label and the other one several"),
        (("{old}", "nowhere"), "There is nothing at nowhere."),
        (("{data}", "{new}"), "test.csv "),
        (("{old}", "{new}", "--old-runtime", "ai-edge-litert"), "Only a .tflite takes runtime"),
        (("{golden}/rejecting.tflite", "{new}", "--old-runtime", "mine"), "Unknown runtime 'mine'"),
        (("{old}", "{new}", "--output", "changes.txt"), "written as .csv, not as changes.txt"),
        (("{old}", "{new}", "--unknown-label", "else"), "'else' does not occur in"),
        (("{old}", "{new}"), "Neither classifier knows these labels in"),
        (("{old}", "{new}", "--multi-label"), "gives texts several labels, or none, but this classifier gives one"),
        (("{old}", "{new}", "--label-column", "topic"), "No column 'topic' in"),
    ],
)
def test_bad_input_gets_one_sentence(main: Main, folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    places = {"old": folder / "old", "new": folder / "new", "data": folder / "test.csv", "golden": GOLDEN}
    code, printed, error = main(
        "compare", *(part.format(**places) for part in arguments), "--data", str(folder / "test.csv")
    )
    assert code == 2 and not printed and sentence in error
    assert error.startswith("retvec-lite: error: ") and error.count("\n") == 1


@pytest.mark.parametrize("form", ["file", "path", "paths", "folder", "pattern"])
@pytest.mark.parametrize("what", ["compare", "check"])
def test_data_are_never_overwritten(folder: Path, tmp_path: Path, what: str, form: str) -> None:
    data = tmp_path / "test.csv"
    data.write_bytes((folder / "test.csv").read_bytes())
    before = data.read_bytes()
    forms = {"file": str(data), "path": data, "paths": [data], "folder": tmp_path, "pattern": str(tmp_path / "*.csv")}
    given = (forms[form],) if what == "check" else (folder / "old", folder / "new", forms[form])
    with pytest.raises(rl.RetvecLiteError, match=r"test.csv is an input, too. Choose another output."):
        getattr(rl, what)(*given, output=data, force=True)
    assert data.read_bytes() == before


def test_bad_input_in_python(folder: Path) -> None:
    old = rl.load(folder / "old")
    with pytest.raises(
        rl.RetvecLiteError, match=r"old_runtime is for a file: `load` takes the runtime of a Classifier"
    ):
        rl.compare(old, old, ["a"], ["alarm"], old_runtime="ai-edge-litert")
    with pytest.raises(rl.RetvecLiteError, match="unknown_label is for classifiers that give a text one label"):
        rl.compare(GOLDEN / "several.retvec", GOLDEN / "several.retvec", ["a"], [["alarm"]], unknown_label="alarm")
    with pytest.raises(rl.RetvecLiteError, match=r"old must be"):
        rl.compare(1, old, ["a"], ["alarm"])  # type: ignore[arg-type]
