"""What the weights of any file must be: those that are expected, and numbers that can be computed with."""

import os
from collections.abc import Iterable
from typing import Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import one_line

_LARGEST: Final = 1e10
"""Weights above this, which no training gives, would overflow in float32 on their way to a probability."""

_SHOWN: Final = 8
"""Names of weights that an error shows."""


def check_names(path: str | os.PathLike[str], found: Iterable[str], expected: Iterable[str]) -> None:
    """Raise RetvecLiteError, naming the file, unless it has the expected weights and no others."""
    for what, names in (
        ("lacks the weights", set(expected) - set(found)),
        ("contains the unknown weights", set(found) - set(expected)),
    ):
        if names:
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            raise RetvecLiteError(f"{path} {what} {', '.join(map(one_line, sorted(names)[:_SHOWN]))}{more}.")


def check_finite(path: str | os.PathLike[str], name: str, *values: Floats) -> None:
    """Raise RetvecLiteError, naming file and weight, for numbers that cannot be computed with."""
    if not all((np.abs(value) <= _LARGEST).all() for value in values):
        raise RetvecLiteError(f"{path}: {name} contains NaN or infinity, or a number above {_LARGEST:g}.")
