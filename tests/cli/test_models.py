"""What the commands make of the place that they are given: a trained folder, exported files, something else."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Main
from exported import EXPORTED

import retvec_lite as rl

TEXTS = ["wake me at six", "alarm at noon please", "where is my parcel", "track my order now"] * 3
LABELS = ["alarm", "alarm", "delivery", "delivery"] * 3


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained folder, a folder of exported files, a Core ML package, an empty folder, and a labelled file."""
    folder = tmp_path_factory.mktemp("places")
    rl.train(TEXTS, LABELS, head="linear", ngram_kb=20, out=folder / "trained")
    (folder / "dist").mkdir()
    for name in ("classifier-int8.tflite", "reference.safetensors"):
        shutil.copy(EXPORTED / "pool" / name, folder / "dist")
    (folder / "app.mlpackage").mkdir()
    (folder / "empty").mkdir()
    rows = "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    (folder / "data.csv").write_text(f"text,label\n{rows}")
    return folder


def test_a_trained_folder_is_classified_with_explained_and_evaluated(main: Main, places: Path) -> None:
    code, output, _ = main("classify", str(places / "trained"), "wkae me at six", "--why", "--json")
    found = json.loads(output)
    assert code == 0 and found["predictions"][0]["label"] == "alarm" and found["why"]["label"] == "alarm"
    code, output, errors = main("classify", str(places / "trained"), "--input", str(places / "data.csv"))
    assert code == 0 and [line.split("\t")[0] for line in output.splitlines()] == LABELS and "12 texts" in errors
    code, output, _ = main("evaluate", str(places / "trained"), "--data", str(places / "data.csv"), "--json")
    assert code == 0 and json.loads(output)["accuracy"] == 1.0 and json.loads(output)["runtime"] == "retvec-lite"


def test_the_weights_themselves_are_loaded(places: Path) -> None:
    for path in ("trained/classifier.safetensors", "dist/reference.safetensors"):
        assert isinstance(rl.load(places / path), rl.Classifier)


def test_options_of_a_tflite_are_refused_beside_a_trained_folder(main: Main, places: Path) -> None:
    folder = str(places / "trained")
    code, _, error = main("classify", folder, "--runtime", "ai-edge-litert", "hi")
    assert code == 2 and "Only a .tflite takes runtime" in error
    code, output, _ = main("classify", folder, "--isolated", "--languages", "alarm", "hi")
    assert code == 0 and output.startswith(("alarm\t1.0000", "unknown\t"))


@pytest.mark.parametrize(
    ("calls", "place", "sentence"),
    [
        ("load classify evaluate", "nothing", "There is nothing at {}. Name an exported .tflite, a folder that"),
        ("load classify evaluate", "dist", "Name one of them, such as {}/classifier-int8.tflite"),
        ("load classify evaluate info demo", "app.mlpackage", "runs in apps for iOS and macOS only. Name a .tflite"),
        ("load classify evaluate info", "empty", "No exported file in {}: name one."),
        ("info demo verify", "trained", "Export it first: retvec-lite export {} --out dist"),
        ("export", "dist", "{} was exported; this needs the trained classifier"),
        ("export", "dist", "or {}/reference.safetensors, its weights"),
        ("export", "dist/classifier-int8.tflite", "Name the folder that `retvec-lite train` wrote, or"),
        ("export", "app.mlpackage", "Name the folder that `retvec-lite train` wrote."),
        ("verify", "nothing", "There is nothing at {}: name a folder that `retvec-lite export` wrote, or a file in it"),
        ("verify", "nothing.tflite", "There is nothing at {}: name"),
    ],
)
def test_a_message_names_what_to_do(main: Main, places: Path, calls: str, place: str, sentence: str) -> None:
    path = str(places / place)
    arguments: dict[str, Callable[[], tuple[str, ...]]] = {
        "classify": lambda: ("classify", path, "hi"),
        "evaluate": lambda: ("evaluate", path, "--data", "starter"),
        "export": lambda: ("export", path, "--out", str(places / "out")),
    }
    for call in calls.split():
        if call == "load":
            with pytest.raises(rl.RetvecLiteError) as caught:
                rl.load(path)
            said = str(caught.value)
        else:
            code, output, said = main(*arguments.get(call, lambda call=call: (call, path))())
            assert (code, output) == (2, "") and said.count("\n") == 1
        assert sentence.format(path) in said, call
