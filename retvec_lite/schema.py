"""What the values of a file's metadata are: kinds to check JSON against, before anything computes with it or prints it."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from retvec_lite.errors import RetvecLiteError, shown

_BEYOND: Final = 2**1023
"""From about here on, integers are too large for a float."""


class Kind(NamedTuple):
    """What a value must be, in words, and whether one is."""

    words: str
    fits: Callable[[Any], bool]


def number(low: float, high: float = math.inf) -> Kind:
    """Return the kind of the finite numbers from `low` to `high`."""
    words = f"a number of at least {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}"
    return Kind(words, lambda value: type(value) in (int, float) and low <= value <= high and value < _BEYOND)


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


def structured(fields: Mapping[str, Kind]) -> Kind:
    """Return the kind of objects whose fields are of their kinds, where they are there; others are not looked at."""
    return Kind(
        "an object with the fields of this release",
        lambda value: (
            type(value) is dict and all(kind.fits(value[name]) for name, kind in fields.items() if name in value)
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
        >>> from retvec_lite.schema import COUNT, check_fields
        >>> check_fields({"epochs": "many"}, {"epochs": COUNT})
        Traceback (most recent call last):
        retvec_lite.errors.RetvecLiteError: epochs must be an integer of at least 0, not 'many'.
    """
    for name, kind in kinds.items():
        if name in fields and not kind.fits(fields[name]):
            raise RetvecLiteError(f"{name} must be {kind.words}, not {shown(fields[name])}.")
