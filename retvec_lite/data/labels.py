"""What a label is: how values become the strings that classifiers answer with, and how several stand in one cell."""

import json
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from retvec_lite.errors import RetvecLiteError, SystematicError, shown
from retvec_lite.terminal import DIRECTION

SEPARATOR: Final = "|"
"""Stands between the labels of one text in multi-label data."""

_EXACT: Final = 2**53
"""Up to here, floats are as exact as integers."""

_BEYOND: Final = 2**1024
"""From here on, integers are larger than any float, and JSON readers elsewhere take them for infinity."""


def split_labels(cell: str) -> tuple[str, ...]:
    """Return the labels in a cell of multi-label data, such as "urgent | billing", sorted, each once."""
    return tuple(sorted({label for part in cell.split(SEPARATOR) if (label := part.strip())}))


def join_labels(labels: Iterable[str]) -> str:
    """Return what `split_labels` reads back as these labels."""
    return SEPARATOR.join(sorted(labels))


def label_of(value: Any) -> str | None:
    """Return a string as it is, and a boolean or a finite number as JSON writes it; None for anything else.

    A whole number is written without a decimal point: a column of integers with a gap comes from pandas as floats.

    Example:
        >>> from retvec_lite.data.labels import label_of
        >>> [label_of(value) for value in ("1", 1, 1.0, 1.5, True)]
        ['1', '1', '1', '1.5', 'true']
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a number of NumPy
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        value = int(value) if value.is_integer() and abs(value) < _EXACT else value
        return json.dumps(value) if abs(value) < float("inf") else None
    return json.dumps(value) if isinstance(value, int) and abs(value) < _BEYOND else None


def cell_of(value: Any, place: str, column: str, multi_label: bool) -> str:
    """Return a label from JSON or Python, or a list of them in multi-label data, as it stands in a cell of a table.

    The place and the column are for messages.

    Raises:
        RetvecLiteError: for another type, a list where a text has one label, or a label in a list that holds the separator.
    """
    found = label_of(value)
    if found is not None:
        return found
    is_list = not isinstance(value, dict) and hasattr(value, "__iter__")
    if is_list and not multi_label:
        raise SystematicError(
            f"{place}: {column!r} is a list of labels: {_shown(value)}. Pass --multi-label (multi_label=True) if a text may have several."
        )
    if is_list:
        labels = [name for label in value if (name := label_of(label)) is not None]
        if wrong := [label for label in value if label_of(label) is None]:
            raise RetvecLiteError(
                f"{place}: a label in {column!r} must be a string, a boolean or a number, not {_shown(wrong[0])}."
            )
        if broken := [label for label in labels if SEPARATOR in label]:
            raise RetvecLiteError(f"{place}: the label {broken[0]!r} holds {SEPARATOR!r}, which separates labels.")
        return join_labels(labels)
    kinds = "a string, a boolean or a number" + (", or a list of them" if multi_label else "")
    raise RetvecLiteError(f"{place}: {column!r} must be {kinds}, not {_shown(value)}.")


def _shown(value: object) -> str:
    try:
        return json.dumps(value, default=repr)[:40]
    except (ValueError, RecursionError):  # an integer of too many digits, or a list in itself
        return shown(value)


def problem_in_label(label: str) -> str | None:
    """Return why a string cannot be a label: it is empty, would steer a terminal, or break a file; None where it can."""
    kinds = set(map(unicodedata.category, label))
    for is_wrong, problem in (
        (not label.strip(), "is empty"),
        (label.splitlines() != [label], "has more than one line"),
        ("Cc" in kinds, "holds a control character, such as TAB or ESC"),
        ("Cs" in kinds, "holds an unpaired surrogate, which is not valid Unicode"),
        (not DIRECTION.isdisjoint(label), "holds a direction mark, which turns the letters around it. Remove it"),
    ):
        if is_wrong:
            return problem
    return None


def check_labels(labels: Any) -> None:
    """Check the labels of a classifier from a file: two or more different strings that training could have had.

    Raises:
        RetvecLiteError: naming the first label that is wrong.

    Example:
        >>> from retvec_lite.data.labels import check_labels
        >>> check_labels(["ham", "spam"])
    """
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise RetvecLiteError(f"the labels must be a list of strings, not {shown(labels)}.")
    for label in labels:
        if problem := problem_in_label(label):
            raise RetvecLiteError(f"the label {shown(label)} {problem}.")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise RetvecLiteError(f"a classifier needs at least 2 different labels, not {shown(list(labels))}.")
