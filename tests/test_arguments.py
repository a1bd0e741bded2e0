"""Every public function, called with wrong types: one sentence that names the argument, and never another exception."""

import ast
import inspect
import random
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported import EXPORTED
from refusals import refusal

import retvec_lite as rl
from retvec_lite.__main__ import COMMANDS
from retvec_lite.api import write_report
from retvec_lite.arguments import checked
from retvec_lite.data.comparison import Comparison
from retvec_lite.data.suspects import Check
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.sklearn import RetvecClassifier


class Odd:
    """An object that no function wants."""


SURELY_WRONG = (Odd(), 1j)
"""Of no type that any argument has."""

MAYBE_WRONG = (None, 1.5, -1, True, b"bytes", "", "nonsense", "\0", [1], [None], {"a": 1}, [[]], np.zeros((2, 2)), float("nan"), 10**30)  # fmt: skip
"""Some arguments take some of them; whatever they do, they do it without a traceback."""

ANYTHING = {"data", "labels", "validation", "y", "X", "batch"}
"""Arguments of any type: what is wrong with them is told in the words of texts and labels."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to work in: what is written by chance lands there."""
    folder = tmp_path_factory.mktemp("attack")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def calls(model: str) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Name -> a public function or method, and arguments with which it ends at once.

    Training gets one label only, and others a file that is not there: they refuse before the work.
    """
    light = rl.load(model)
    heavy = rl.TrainedClassifier(load_trained_model(EXPORTED / "pool" / "reference.safetensors"))
    evaluation = rl.evaluate(light, ["12"], ["digits"], typos=())
    batches = rl.BatchClassifier(model)
    return {
        "BatchClassifier": (rl.BatchClassifier, {"model": "none.tflite"}),
        "BatchClassifier.__call__": (batches, {"batch": {"text": ["12"]}}),
        "evaluate": (rl.evaluate, {"classifier": heavy, "data": ["hi"], "labels": ["none"]}),
        "TrainedClassifier.explain": (heavy.explain, {"text": "hi", "label": "none"}),
        "TrainedClassifier.export": (heavy.export, {"out": "dist", "formats": "none"}),
        "write_report": (write_report, {"classifier": heavy, "path": "report.html"}),
        "TrainedClassifier.predict": (heavy.predict, {"texts": []}),
        "TrainedClassifier.save": (heavy.save, {"folder": "nowhere/below"}),
        "TrainedClassifier.with_threshold": (heavy.with_threshold, {"keep": 0.9}),
        "Evaluation.plot": (evaluation.plot, {"path": "plot.pdf"}),
        "Classifier.embed of a file": (light.embed, {"texts": ["12"]}),
        "Classifier.embed_words of a file": (light.embed_words, {"text": "12"}),
        "Classifier.explain of a file": (light.explain, {"text": "12"}),
        "Classifier.predict of a file": (light.predict, {"texts": "12"}),
        "Classifier.predict_many of a file": (light.predict_many, {"texts": ["12"]}),
        "Classifier.probabilities of a file": (light.probabilities, {"texts": ["12"]}),
        "Check.to_csv": (Check("d.csv", 0, (), (), (), (), ()).to_csv, {"path": "nowhere/below", "force": True}),
        "Comparison.to_csv": (
            Comparison("old", "new", "d.csv", 1, 0.0, 0.0, 0, 0, 0, 0, 1.0, (), ()).to_csv,
            {"path": "nowhere/below", "force": True},
        ),
        "check": (rl.check, {"data": ["a text"] * 4, "labels": ["one"] * 4}),
        "check_update": (rl.check_update, {"folder": "none", "key": "00" * 32, "name": "router"}),
        "classify_files": (rl.classify_files, {"model": "none.tflite", "inputs": "none.csv", "output": "labels.csv"}),
        "compare": (rl.compare, {"old": "none.tflite", "new": light, "data": ["12"], "labels": ["none"]}),
        "demo": (rl.demo, {"model": "none.tflite"}),
        "detect_spans": (rl.detect_spans, {"text": "guten Morgen, my friend"}),
        "info": (rl.info, {"path": "none.tflite"}),
        "load": (rl.load, {"path": "none.tflite"}),
        "make_key": (rl.make_key, {"path": "nowhere/below.key", "force": True}),
        "mistype": (rl.mistype, {"text": "a few words", "rate": 0.5, "seed": 0}),
        "mistype_many": (mistype_many, {"texts": ["a few words"], "rate": 0.5, "seed": 0}),
        "read_dataset": (rl.read_dataset, {"path": "none.csv"}),
        "read_texts": (lambda *args, **kwargs: list(rl.read_texts(*args, **kwargs)), {"path": "none.csv"}),
        "train": (rl.train, {"data": ["a text"] * 4, "labels": ["one"] * 4}),
        "duplicates": (rl.duplicates, {"file": "none.retvec", "texts": ["12", "12"]}),
        "nearest": (rl.nearest, {"file": "none.retvec", "texts": ["12", "12"], "query": "12"}),
        "suggest": (rl.suggest, {"texts": []}),
        "verify": (rl.verify, {"dist": "none"}),
    }  # fmt: skip


def parameters(name: str, function: Callable[..., Any]) -> list[str]:
    function = rl.read_texts if name == "read_texts" else function
    return [found for found in inspect.signature(function).parameters if found != "self"]


@pytest.fixture(scope="module")
def attacked(tiny_model: str, place: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    return calls(tiny_model)


def test_all_public_functions_are_attacked(attacked: dict[str, Any]) -> None:
    functions = {name for name in rl.__all__ if inspect.isfunction(getattr(rl, name))}
    assert functions <= set(attacked)


def test_wrong_types_are_refused_by_name(attacked: dict[str, tuple[Callable[..., Any], dict[str, Any]]]) -> None:
    missed = []
    for name, (function, given) in attacked.items():
        for argument in parameters(name, function):
            for wrong in SURELY_WRONG:
                try:
                    function(**{**given, argument: wrong})
                    said = "accepted"
                except (rl.RetvecLiteError, TypeError) as error:
                    said = str(error)
                except Exception as error:  # noqa: BLE001 - what the attack is for
                    said = repr(error)
                    missed.append(f"{name}({argument}={wrong!r}): {said}")
                    continue
                stem = argument.rstrip("s").replace("_", " ")
                if "\n" in said or not (argument in ANYTHING or argument in said or stem in said.lower()):
                    missed.append(f"{name}({argument}={wrong!r}): {said}")
    assert not missed, "\n".join(missed)


def test_other_values_never_end_in_a_traceback(attacked: dict[str, tuple[Callable[..., Any], dict[str, Any]]]) -> None:
    draw, missed = random.Random(34), []
    for name, (function, given) in attacked.items():
        for argument in parameters(name, function):
            for value in draw.sample(MAYBE_WRONG, 5):
                try:
                    function(**{**given, argument: value})
                except (rl.RetvecLiteError, TypeError) as error:
                    if "\n" in str(error):
                        missed.append(f"{name}({argument}={value!r}): {error}")
                except Exception as error:  # noqa: BLE001 - what the attack is for
                    missed.append(f"{name}({argument}={value!r}): {error!r}")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda model: rl.load(None), "path must be a string or a path, not None."),
        (lambda model: rl.train(["a", "b"], ["x", "y"], out=5), "out must be a string, a path or None, not 5."),
        (lambda model: rl.load(model).predict("12", top=1.5), "top must be an integer of at least 1, not 1.5."),
        (
            lambda model: rl.evaluate(rl.load(model), ["12"], ["digits"], typos=0.2),
            "typos must be a sequence, not 0.2.",
        ),
        (lambda model: rl.load("a\0b"), "path must be a path, which cannot hold a null character."),
    ],
)
def test_the_sentences(tiny_model: str, call: Callable[[str], object], sentence: str) -> None:
    assert refusal(call, tiny_model) == sentence


def test_what_an_annotation_allows_passes() -> None:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    @checked
    def call(
        texts: Sequence[str] = (),
        count: int = 1,
        share: float | Literal["auto"] = 0.5,
        weights: Mapping[str, float] | None = None,
        flag: bool = False,
        other: Any = None,
        later: "Odd | None" = None,
    ) -> int:
        return count

    for texts in (["a"], ("a",), np.array(["a"]), pd.Series(["a"]), iter(["a"])):
        assert call(texts) == 1
    given = {"count": np.int64(2), "share": "auto", "weights": {"a": 1.0}, "flag": np.True_, "other": Odd(), "later": 5}
    assert call([], **given) == 2 and call(share=1) == 1 and call(share=np.float32(0.5)) == 1
    for name, wrong in {"texts": "a", "count": True, "share": "none", "weights": [], "flag": "True"}.items():
        with pytest.raises(rl.RetvecLiteError, match=f"^{name} must be "):
            call(**{name: wrong})
    with pytest.raises(TypeError, match="nothing"):
        call(nothing=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.train("a.csv", epoch=3), "train has no argument epoch. Did you mean epochs?"),
        (lambda: rl.train("a.csv", class_weight="balanced"), "train has no argument class_weight. Did you mean class_weights?"),
        (lambda: rl.read_dataset("a.csv", text_col="x"), "read_dataset has no argument text_col. Did you mean text_column?"),
        (lambda: rl.load("language", thread=3), "load has no argument thread. Did you mean num_threads?"),
        (lambda: RetvecClassifier(epoch=3), "RetvecClassifier has no argument epoch. Did you mean epochs?"),
        (lambda: rl.train("a.csv", zzz=1), "train has no argument zzz."),
        (rl.check, "check: missing a required argument: 'data'."),
    ],
)  # fmt: skip
def test_a_name_that_is_none_is_told_with_the_one_that_was_meant(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def sentences() -> Iterator[tuple[str, str, list[ast.expr]]]:
    """Yield the place, the text and the values of every string of the package that is no docstring; {} stands for a value."""
    root = Path(rl.__file__).parents[1]
    for path in (*root.glob("retvec_lite/**/*.py"), *root.glob("converters/**/*.py")):
        if "cli" in path.parts or path.name == "__main__.py":  # these speak to the shell alone
            continue
        tree = ast.parse(path.read_text("utf-8"))
        whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        said = {id(part) for node in whole for part in node.values}
        said |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in whole:
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield (
                f"{path.name}:{node.lineno}",
                text,
                [part.value for part in node.values if isinstance(part, ast.FormattedValue)],
            )
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield f"{path.name}:{node.lineno}", node.value, []


COMMAND = re.compile(rf"(?:retvec-lite (?:--version|{'|'.join(COMMANDS)})|pip|npm|iconv)\b(?:[^`).,]|[.,](?! ))*")
"""A command that a sentence suggests."""


def test_what_names_an_option_names_the_argument_of_python_as_well() -> None:
    texts = {place: text for place, text, _ in sentences() if "--" in text and " " in text}
    assert len(texts) > 20
    for place, text in texts.items():
        for option in re.findall(r"(?<![\w-])--(?!no-)([a-z][a-z-]+)", COMMAND.sub("", text)):
            name = option.replace("-", "_")
            assert re.search(rf"(?<!-)\b{name}s?\b", text.replace(f"--{option}", "")), (place, text)


def test_values_in_suggested_commands_are_quoted_for_the_shell() -> None:
    found = 0
    for place, text, values in sentences():
        for command in COMMAND.finditer(text.replace("pip ", "")):
            first = text[: command.start()].count("{}")
            for value in values[first : first + command[0].count("{}")]:
                called = ast.unparse(value)
                if called.lstrip("_").isupper():  # a constant of ours
                    continue
                assert called.startswith("shlex.quote("), (place, called)
                found += 1
    assert found >= 2


@pytest.mark.parametrize("name", ["my data.csv", "it's.csv", "$(rm -rf).csv"])
def test_a_suggested_command_runs_for_any_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("text,label\nhi,a\n")
    with pytest.raises(rl.RetvecLiteError, match="holds texts, where a classifier belongs") as caught:
        rl.load(tmp_path / name)
    (command,) = re.findall("`(retvec-lite train .* --out trained)`", str(caught.value))
    assert shlex.split(command)[2] == str(tmp_path / name)
