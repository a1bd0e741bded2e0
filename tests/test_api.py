"""The Python API as a newcomer uses it: train, predict, evaluate, save, load, export, verify."""

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from api_folder import ApiFolder, english
from command_line import write_table
from refusals import refusal

import retvec_lite as rl
from retvec_lite.arguments import described
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.data.dataset import ReadingOptions
from retvec_lite.model.heads import HEADS
from retvec_lite.runtime.answers import Prediction
from tools import hostile

TEXTS = ["wake me at six", "alarm at noon please", "where is my parcel", "track my order now"] * 6
LABELS = ["alarm", "alarm", "delivery", "delivery"] * 6


QUICK = {"head": "linear", "meaning": "none", "validation": 0.25}
"""Options that train in a second, where the network is not what a test is about."""


@pytest.fixture(scope="module")
def trained() -> rl.Classifier:
    return rl.train(TEXTS, LABELS, epochs=4, seed=3)


def test_a_classifier_learns_predicts_and_tells_its_labels(trained: rl.Classifier) -> None:
    assert trained.labels == ("alarm", "delivery")
    best = trained.predict("wkae me at six", top=1)
    assert best[0].label == "alarm" and isinstance(best[0], Prediction)
    both = trained.predict(["alarm at noon", "where is my parcel"])
    assert [row[0].label for row in both] == ["alarm", "delivery"] and all(len(row) == 2 for row in both)
    assert trained.probabilities(TEXTS[:5]).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert [row[0].label for row in trained.predict_many(iter(TEXTS * 40), top=1)] == LABELS * 40


def test_evaluate_gives_the_typo_curve(trained: rl.Classifier, tmp_path: Path) -> None:
    evaluation = rl.evaluate(trained, TEXTS, LABELS, typos=(0, 0.5))
    assert evaluation.accuracy == 1.0 and [point.rate for point in evaluation.typos] == [0.0, 0.5]
    assert "accuracy 1.0000" in str(evaluation) and "50 %" in str(evaluation)
    assert rl.evaluate(trained, rl.Dataset(tuple(TEXTS), tuple(LABELS)), typos=()).typos == ()
    evaluation.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(rl.RetvecLiteError, match="exists"):
        evaluation.plot(tmp_path / "curve.png")


def test_a_saved_classifier_comes_back(trained: rl.Classifier, tmp_path: Path) -> None:
    trained.save(tmp_path / "saved")
    loaded = rl.load(tmp_path / "saved")
    assert isinstance(loaded, rl.Classifier) and loaded.model.to_bytes() == trained.model.to_bytes()
    assert np.array_equal(loaded.probabilities(TEXTS), trained.probabilities(TEXTS))
    assert "Verdict" in str(loaded) and str(loaded).splitlines()[0] == str(trained).splitlines()[0]
    with pytest.raises(rl.RetvecLiteError, match="force"):
        trained.save(tmp_path / "saved")
    trained.save(tmp_path / "saved", force=True)


def test_confusions_come_back_too(tmp_path: Path) -> None:
    wrong = {"alarm": "delivery", "delivery": "alarm"}
    validation = (TEXTS, [wrong.get(label, label) for label in LABELS])
    classifier = rl.train(TEXTS, LABELS, **{**QUICK, "validation": validation}, out=tmp_path / "saved")
    assert ["alarm", "delivery"] in [pair[:2] for pair in classifier.training["confusions"]]
    assert set(classifier.training) <= set(hostile.FACTS), "`make attack` must know all that a training writes down"
    loaded = rl.load(tmp_path / "saved")
    shown = str(loaded).splitlines()
    assert [line for line in str(classifier).splitlines() if line in shown] == shown, (
        "but for the texts, it says the same"
    )
    loaded.save(tmp_path / "again")
    assert str(rl.load(tmp_path / "again")) == str(loaded)


def test_the_linear_head_is_there_in_seconds_and_tells_its_error(tmp_path: Path) -> None:
    different = [f"{text} {chr(ord('a') + row)}" for row, text in enumerate(TEXTS)]
    classifier = rl.train(different, LABELS, head="linear", out=tmp_path / "out")
    assert classifier.predict("wkae me at six", top=1)[0].label == "alarm"
    facts = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["training"]
    assert facts["folds"] == 3 and facts["epochs"] == 0 and len(facts["learning_curve"]) == 3
    assert 0.0 < facts["accuracy_error"] < 0.2 and facts["factors"].keys() == {"linear"}
    assert "Expect at least " in str(classifier) and "100%" not in str(classifier).split("Verdict")[1].split("SVM")[0]


def test_training_takes_validation_texts_reports_progress_and_saves_where_asked(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    validation = (TEXTS[:4], LABELS[:4])
    out = tmp_path / "out"
    rl.train(TEXTS, LABELS, validation=validation, epochs=1, progress=lambda *step: seen.append(step), out=out)
    assert {"training"} <= {what for what, _, _ in seen} and all(0 <= done <= total for _, done, total in seen)
    facts = rl.load(out).training
    assert facts["validation_texts"] == 4 and facts["training_texts"] == len(TEXTS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": TEXTS}, "Pass labels with the texts"),
        ({"data": TEXTS, "labels": LABELS[:-1]}, "24 texts and 23 labels"),
        ({"data": [*TEXTS, ""], "labels": [*LABELS, "alarm"]}, "row 24: the column 'text' is empty"),
        ({"data": [*TEXTS, 7], "labels": [*LABELS, "alarm"]}, "row 24: 'text' must be a string, not 7"),
        ({"data": TEXTS, "labels": ["alarm"] * 24}, "at least 2 different labels"),
        ({"data": "nothing.csv"}, "Cannot read nothing.csv: No such file"),
        ({"data": TEXTS, "labels": LABELS, "validation": 1.5}, "validation"),
        ({"data": TEXTS, "labels": LABELS, "class_weights": {"alarm": 1}}, "'delivery' has no weight"),
        ({"data": TEXTS, "labels": LABELS, "class_weights": "some"}, "sqrt, balanced, none, or a file"),
        ({"data": TEXTS, "labels": LABELS, "validation": "none.csv"}, "none.csv"),
    ],
)
def test_bad_input_is_one_clear_sentence(arguments: dict[str, Any], message: str) -> None:
    assert message in refusal(rl.train, **arguments)


def test_the_second_of_two_trainings_into_one_folder_is_told_at_once(tmp_path: Path) -> None:
    out, told = tmp_path / "out", []

    def second(*_: object) -> None:
        if not told:
            with pytest.raises(
                rl.RetvecLiteError, match=r"^Another process is writing .*out\. Wait until it has finished"
            ):
                rl.train(TEXTS, LABELS, **QUICK, out=out, progress=lambda *_: pytest.fail("it has begun to train"))
            told.append(True)

    first = rl.train(TEXTS, LABELS, **QUICK, out=out, progress=second)
    assert told and rl.load(out).labels == first.labels
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_from_texts_to_a_verified_file_and_back(api_folder: ApiFolder, tmp_path: Path) -> None:
    classifier = rl.load(api_folder.classifier)
    assert isinstance(classifier, rl.Classifier)
    # Of the starter data's ten languages this classifier knows one: ties elsewhere say nothing about rounding.
    test = english("test")
    data = write_table(tmp_path / "test.csv", list(zip(test.texts, test.labels, strict=True))[::4])
    exported = classifier.export(tmp_path / "dist", formats="all", recipes=("int8",), data=data)
    assert exported.ok and len(exported.files) == 4 and "classifier-int8.tflite" in str(exported)
    verification = rl.verify(tmp_path / "dist", data=data)
    assert verification.ok and not verification.worst and len(verification.rows) >= 3
    assert "int8" in str(verification)
    on_litert = rl.load(tmp_path / "dist" / "classifier-int8.tflite")
    tolerance = RECIPES["int8"].formats["engine"].parity_tolerance
    assert on_litert.probabilities(test.texts) == pytest.approx(classifier.probabilities(test.texts), abs=tolerance)
    light = rl.load(tmp_path / "dist" / "classifier-int8.retvec")
    assert np.array_equal(light.probabilities(test.texts), classifier.probabilities(test.texts))
    theirs, ours = (rl.evaluate(one, test, typos=(0, 0.5)) for one in (light, classifier))
    assert theirs.classes == ours.classes and theirs.confusions == ours.confusions and ours.accuracy > 0.7
    assert theirs.typos == ours.typos
    assert light.decision == classifier.decision and light.decision.rejects
    assert [answers[0].label for answers in light.predict(["?!", *test.texts])] == [
        answers[0].label for answers in classifier.predict(["?!", *test.texts])
    ]
    assert light.predict("?!", top=1)[0].label is None


# --- every command-line option has its twin --------------------------------------------------------------------------

_OF_FILES = {"output", "label_column", "probability_column", "force"}
"""Options of `classify` whose twin is `classify_files`."""

TWINS = {
    "train": (rl.train, {"start_from"}),
    "export": (rl.TrainedClassifier.export, {"classifier"}),
    "verify": (rl.verify, {"json"}),
    "classify": (
        rl.load,
        {"memory", "texts", "input", "text_column", "delimiter", "skip_bad_rows", "top", "reject", "why", "json"}
        | _OF_FILES,
    ),
    "evaluate": (rl.evaluate, {"model", "plot", "force", "json", "runtime", "isolated"}),
    "compare": (rl.compare, {"json"}),
    "info": (rl.info, {"json"}),
    "demo": (rl.demo, set()),
}
"""Command -> the function behind it, and options whose twin is elsewhere: a method of what the function returns or is called on
(`classifier.export`, `learn(data)` of what `start_from` names, `evaluate(load(model))`, `predict_many(read_texts(input, text_column), top, reject=)`, `plot(path, force=)`,
`classifier.memory.load`, `to_dict()` for --json)."""


@pytest.mark.parametrize("command", TWINS)
def test_every_option_has_the_same_name_and_default_in_python(command: str) -> None:
    import argparse

    from retvec_lite.__main__ import find_command

    function, elsewhere = TWINS[command]
    parser = argparse.ArgumentParser()
    find_command(command)[0](parser)
    parameters = inspect.signature(function).parameters
    names = {"model": "path"} if command in ("classify", "info") else {}
    for action in parser._actions:
        if action.dest == "help" or action.dest in elsewhere:
            continue
        name = names.get(action.dest, action.dest)
        assert name in parameters, f"--{action.dest} of {command} has no twin"
        default = parameters[name].default
        # Options that may be given several times extend an empty list; the command fills in the function's default.
        collects = action.default is None and action.nargs == "+"
        if default is not inspect.Parameter.empty and action.option_strings and not (action.required or collects):
            assert _plain(action.default) == _plain(default), f"{command}: {action.dest}"


def test_options_stand_once() -> None:
    parameters, told = inspect.signature(rl.train).parameters, described(rl.train)
    assert list(parameters) == list(told), "each is explained"
    assert inspect.signature(rl.train).return_annotation is rl.TrainedClassifier
    assert get_args(parameters["head"].annotation) == ("auto", *HEADS)
    theirs, explained = inspect.signature(rl.read_dataset).parameters, described(rl.read_dataset)
    for name, kind in ReadingOptions.__annotations__.items():
        assert theirs[name].annotation == kind and told[name] == explained[name]
        assert parameters[name] == theirs[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
    with pytest.raises(TypeError, match=r"text_colum\. Did you mean text_column"):
        rl.train("starter", text_colum="text")  # type: ignore[call-arg]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return [str(part) for part in value] if isinstance(value, (list, tuple)) else str(value)


def test_every_public_name_is_there_and_documented() -> None:
    for name in rl.__all__:
        found = getattr(rl, name)
        if callable(found):
            assert found.__doc__ and re.search(r"^ *>>> ", found.__doc__, re.MULTILINE), f"{name} has no example"
    assert set(rl.__all__) <= set(dir(rl))
    with pytest.raises(AttributeError, match="nothing"):
        _ = rl.nothing


def test_type_checkers_read_the_same_names() -> None:
    stub = ast.parse(Path(rl.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found, exported = {}, None
    for statement in stub.body:
        if isinstance(statement, ast.ImportFrom):
            module = (statement.module or "").removeprefix("retvec_lite").removeprefix(".")
            for name in statement.names:
                found[name.asname or name.name] = f"{module}:{name.name}" if module else name.name
        elif isinstance(statement, ast.Assign):
            exported = ast.literal_eval(statement.value)
    assert found == rl._PLACES and exported == list(rl._PLACES) == rl.__all__


def test_every_name_is_kept_when_it_has_been_imported() -> None:
    for name in rl.__all__:
        assert getattr(rl, name) is vars(rl)[name]
