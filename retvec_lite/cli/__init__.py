"""The commands: of each, `declare_<command>(parser)` and `run_<command>(args)`, which returns an exit code other than 0 if there is one.

Here: what they share, and their arguments, made from a function: its signature says which, its annotations what they take, its docstring
what they do.
"""

import argparse
import contextlib
import inspect
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin

from retvec_lite.arguments import described

if TYPE_CHECKING:
    from retvec_lite.classifier import Classifier

MODEL: Final = "an exported .tflite, .retvec or .onnx, a trained folder, hf://user/model on the hub, or the name of a ready-made one, such as language"
"""What `classify` and `evaluate` run."""

UNKNOWN: Final = "unknown"
"""What is printed where a text belongs to none of the labels, and no label reads like that; JSON has null."""


def load_quietly(
    path: str,
    runtime: str | None,
    workers: int | None = None,
    isolated: bool = False,
    languages: Sequence[str] | None = None,
) -> "Classifier":
    """Load a classifier and run it once; warnings become sentences.

    Raises:
        RetvecLiteError: like `retvec_lite.load`.
    """
    from retvec_lite.loading import load

    with told_warnings():
        classifier = load(path, runtime=runtime, workers=workers, isolated=isolated, languages=languages)
        classifier.probabilities("")
    return classifier


@contextlib.contextmanager
def told_warnings() -> Iterator[None]:
    """Print warnings as sentences."""
    with warnings.catch_warnings(record=True) as told:
        yield
    for warning in told:
        print(warning.message, file=sys.stderr)


def add_options(
    parser: argparse.ArgumentParser,
    function: Callable[..., Any],
    *names: str,
    without: Sequence[str] = (),
    **changes: dict[str, Any],
) -> None:
    """Declare the parameters of a function: those without a default by place, the others as options.

    What is wrong with a value is told by the function, in the sentence that Python gets.

    Args:
        parser: of the command.
        function: whose arguments the command takes.
        names: of the parameters to declare; by default all.
        without: those to leave out.
        changes: by name, what `add_argument` is told otherwise.
    """
    told = described(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name in without or (names and name not in names):
            continue
        default = parameter.default
        if default is inspect.Parameter.empty:
            parser.add_argument(
                name, **{"metavar": name.upper(), "help": _escaped(told.get(name, ""))} | changes.get(name, {})
            )
            continue
        text = told.get(name, "")
        if "default" not in text and not isinstance(default, bool) and default is not None:
            given = ",".join(map(str, default)) if isinstance(default, tuple) else default
            text += f" (default: {given})"
        argument = {"default": default, "help": _escaped(text), **_taken(name, parameter.annotation, default)}
        parser.add_argument(f"--{name.replace('_', '-')}", **argument | changes.get(name, {}))


def _taken(name: str, annotation: Any, default: Any) -> dict[str, Any]:
    """Return what `add_argument` is told about the values of an option."""
    members = set(get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,))
    kinds = {get_origin(member) or member for member in members}
    if bool in kinds:
        return {"action": "store_true" if default is False else argparse.BooleanOptionalAction}
    words = [word for member in members if get_origin(member) is Literal for word in get_args(member)]
    if kinds <= {Literal, types.NoneType}:
        return {"choices": words}
    if Sequence in kinds:
        (each,) = {item for member in members if get_origin(member) is Sequence for item in get_args(member)[:1]}
        read = _reader([float] if each is float else [])
        several = "SHARE,..." if each is float else "NAME,..."

        def read_all(text: str) -> Any:  # argparse reads a default that is a word as well
            return text if text == default else tuple(map(read, filter(None, map(str.strip, text.split(",")))))

        return {"type": read_all, "metavar": several}
    numbers = [kind for kind in (int, float) if kind in kinds]
    if Any in kinds or os.PathLike in kinds:
        words += ["SHARE"] * (float in kinds) + ["FILE"]
    elif int in kinds:
        words.append("KB" if name.endswith("_kb") else "N")
    elif float in kinds:
        words.append("SHARE")
    else:
        words.append(name.rpartition("_")[2].upper())
    return {"type": _reader(numbers), "metavar": "|".join(words)}


def _reader(numbers: Sequence[Callable[[str], Any]]) -> Callable[[str], Any]:
    """Return what reads a number of one of some kinds, and leaves every other text for the function to take or to refuse."""

    def read(text: str) -> Any:
        for kind in numbers:
            with contextlib.suppress(ValueError):
                return kind(text)
        return text

    return read


def _escaped(text: str) -> str:
    return text.replace("%", "%%").replace("`", "")
