"""Options that stand once: a field of a dataclass gives an option its name, default, help and limits; all else follows from it."""

import argparse
import dataclasses
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from retvec_lite.errors import RetvecLiteError

_WIDTH: Final = 120
"""Columns of a docstring."""

Given = TypeVar("Given", bound="Options")
Function = TypeVar("Function", bound=Callable[..., Any])


class Limits(NamedTuple):
    """Which values an option may have.

    Attributes:
        allow: whether a value is among them.
        error: the sentence for one that is not, with `{name}` and `{value!r}`.
        argument: what argparse is told about them.
    """

    allow: Callable[[Any], bool]
    error: str
    argument: Mapping[str, Any]


def integer(least: int, most: int | None = None, word: str | None = None) -> Limits:
    """Return the limits of an integer, or of a word in its place."""

    def allow(value: Any) -> bool:
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return (is_integer and value >= least and (most is None or value <= most)) or (
            word is not None and value == word
        )

    def parse(text: str) -> int | str:
        return text if text == word else int(text)

    parse.__name__ = "integer"  # argparse says "invalid integer value: 'x'"
    span = f"of at least {least}" if most is None else f"from {least} to {most}"
    words = "" if word is None else f"{word!r} or "
    return Limits(
        allow, f"{{name}} must be {words}an integer {span}, not {{value!r}}.", {"type": parse, "metavar": "N"}
    )


def number(allow: Callable[[float], bool], what: str) -> Limits:
    """Return the limits of a number; `what` it must be is said like "a share from 0 to 1"."""

    def is_number(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and allow(value)

    return Limits(is_number, f"{{name}} must be {what}, not {{value!r}}.", {"type": float})


def choice(*names: str) -> Limits:
    """Return the limits of an option that names one of several things."""
    error = f"Unknown {{name}} {{value!r}}: choose from {', '.join(names)}."
    return Limits(lambda value: value in names, error, {"choices": names})


def _delimiter(text: str) -> str:
    found = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(found) != 1 or found in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character or tab, not {text!r}")
    return found


DELIMITER: Final = Limits(
    lambda value: isinstance(value, str) and len(value) == 1 and value not in '"\r\n',
    "{name} must be one character, such as ';', not {value!r}.",
    {"type": _delimiter, "metavar": "CHARACTER"},
)
"""Which delimiters a table may have."""


NAMES: Final = Limits(
    lambda value: not isinstance(value, str) and isinstance(value, Sequence),
    "{name} must be a list such as ['de', 'es'], not {value!r}.",
    {"type": lambda text: tuple(name.strip() for name in text.split(",") if name.strip())},
)
"""Several names, on the command line with commas between them."""


def option(default: Any, help: str, limits: Limits | None = None, **argument: Any) -> Any:
    """Declare a field of `Options`.

    Args:
        default: where it is None, None is allowed beside the limits.
        help: one clause for the command line and the documentation of Python alike.
        limits: from `integer`, `number` or `choice`.
        argument: what `ArgumentParser.add_argument` is told besides, such as `metavar`.
    """
    known = {**(limits.argument if limits else {}), **argument}
    return dataclasses.field(default=default, metadata={"help": help, "limits": limits, "argument": known})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The base of all options of a command; every field is an `option`.

    Raises:
        RetvecLiteError: on construction, for a value out of its limits.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, limits = getattr(self, field.name), field.metadata["limits"]
            may_be_none = value is None and field.default is None
            if limits and not may_be_none and not limits.allow(value):
                raise RetvecLiteError(limits.error.format(name=field.name, value=value))

    @classmethod
    def of(cls: type[Given], values: Mapping[str, Any]) -> Given:
        """Return the options among some values by name, such as a function's `locals()`; the rest is left alone."""
        return cls(**{field.name: values[field.name] for field in dataclasses.fields(cls) if field.name in values})

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser, *names: str) -> None:
        """Declare some options on the command line, all of them without names."""
        for field in dataclasses.fields(cls):
            if names and field.name not in names:
                continue
            argument = {"default": field.default, "help": field.metadata["help"], **field.metadata["argument"]}
            if field.type in (bool, bool | None):
                argument["action"] = "store_true" if field.default is False else argparse.BooleanOptionalAction
            parser.add_argument(f"--{field.name.replace('_', '-')}", **argument)

    @classmethod
    def document(cls, function: Function) -> Function:
        """Put the help of each option in place of the docstring's line that names this class; a decorator."""
        if function.__doc__:  # not under python -OO
            place = next(line for line in function.__doc__.splitlines() if f"`{cls.__name__}`" in line)
            indent = place[: len(place) - len(place.lstrip())]
            lines = [
                textwrap.fill(
                    f"{field.name}: {field.metadata['help']}.",
                    _WIDTH,
                    initial_indent=indent,
                    subsequent_indent=indent + "    ",
                    break_on_hyphens=False,
                )
                for field in dataclasses.fields(cls)
            ]
            function.__doc__ = function.__doc__.replace(place, "\n".join(lines))
        return function
