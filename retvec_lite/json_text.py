"""JSON that others wrote: the one place that knows what is wrong with some, and of what kind the values of metadata are."""

import json
import math
import re
import sys
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, NamedTuple

from retvec_lite.errors import RetvecLiteError, reason, shown

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half of a character; a whole one takes two of them."""


def parse_json(
    content: str | bytes,
    place: object,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return what JSON says; a number is one that a float can hold, and a text is valid Unicode.

    Args:
        content: the JSON; bytes in UTF-8, or UTF-16 or UTF-32 as RFC 4627 recognizes them.
        place: what messages call it.
        pairs: makes a value of the names and values of an object; a dict by default.

    Raises:
        RetvecLiteError: for anything else, such as a value that is nested too deep or a number of 400 digits.
    """
    try:
        found = json.loads(
            content, object_pairs_hook=pairs, parse_float=_float, parse_int=_integer, parse_constant=_no_number
        )
        if _SURROGATE.search(content if isinstance(content, str) else content.decode("ascii", "ignore")):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise RetvecLiteError(f"{place} is not valid JSON: it is nested too deep.") from error
    except UnicodeEncodeError as error:
        raise RetvecLiteError(
            f"{place} is not valid JSON: it has half of a character, an unpaired surrogate."
        ) from error
    except ValueError as error:
        raise RetvecLiteError(f"{place} is not valid JSON: {reason(error)}.") from error
    return found


def _float(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _no_number(text)


def _integer(text: str) -> int:
    _float(text)  # first: `int` takes long for many digits
    return int(text)


def _no_number(text: str) -> Any:
    raise ValueError(f"the number {shown(text)} is not finite, or too large")


class Kind(NamedTuple):
    """What a value must be, in words, and whether one is."""

    words: str
    fits: Callable[[Any], bool]


def number(low: float, high: float = math.inf) -> Kind:
    """Return the kind of the finite numbers from `low` to `high`."""
    words = f"a number of at least {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}"
    largest = min(high, sys.float_info.max)
    return Kind(words, lambda value: type(value) in (int, float) and low <= value <= largest)


def listed(kind: Kind) -> Kind:
    """Return the kind of lists of a kind."""
    return Kind(
        f"a list, each part of it {kind.words}", lambda value: type(value) is list and all(map(kind.fits, value))
    )


def mapped(kind: Kind) -> Kind:
    """Return the kind of objects whose values are of a kind."""
    return Kind(
        f"an object, each value of it {kind.words}",
        lambda value: type(value) is dict and all(map(kind.fits, value.values())),
    )


def either(*kinds: Kind) -> Kind:
    """Return the kind of what is of one of some kinds."""
    return Kind(" or ".join(kind.words for kind in kinds), lambda value: any(kind.fits(value) for kind in kinds))


def row(words: str, *kinds: Kind) -> Kind:
    """Return the kind of lists with as many parts as there are kinds, each of its own; `words` say what they are."""
    return Kind(
        words,
        lambda value: (
            type(value) is list
            and len(value) == len(kinds)
            and all(kind.fits(part) for kind, part in zip(kinds, value, strict=True))
        ),
    )


def structured(
    fields: Mapping[str, Kind], needed: Container[str] = (), words: str = "an object with the fields of this release"
) -> Kind:
    """Return the kind of objects whose fields are of their kinds; those that are not `needed` may be missing, others are not looked at."""
    return Kind(
        words,
        lambda value: (
            type(value) is dict
            and all(kind.fits(value[name]) if name in value else name not in needed for name, kind in fields.items())
        ),
    )


NOTHING: Final = Kind("null", lambda value: value is None)
TEXT: Final = Kind("a string", lambda value: type(value) is str)
FLAG: Final = Kind("true or false", lambda value: type(value) is bool)
COUNT: Final = Kind("an integer of at least 0", lambda value: type(value) is int and 0 <= value < 2**63)
SHARE: Final = number(0, 1)


def check_fields(fields: Mapping[str, Any], kinds: Mapping[str, Kind]) -> None:
    """Check the fields that are there, and that have a kind.

    Raises:
        RetvecLiteError: naming the first field that is of another kind.

    Example:
        >>> from retvec_lite.json_text import COUNT, check_fields
        >>> check_fields({"epochs": "many"}, {"epochs": COUNT})
        Traceback (most recent call last):
        retvec_lite.errors.RetvecLiteError: epochs must be an integer of at least 0, not 'many'.
    """
    for name, kind in kinds.items():
        if name in fields and not kind.fits(fields[name]):
            raise RetvecLiteError(f"{name} must be {kind.words}, not {shown(fields[name])}.")
