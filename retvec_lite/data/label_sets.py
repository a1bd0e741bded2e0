"""One label a text or several: how they are written in a file, and what to say when the one is taken for the other."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from retvec_lite.errors import RetvecLiteError

SEPARATOR: Final = "|"
"""Stands between the labels of one text in multi-label data."""


def split_labels(cell: str) -> tuple[str, ...]:
    """Return the labels in a cell of multi-label data, sorted, each once; none for an empty cell.

    Example:
        >>> from retvec_lite.data.label_sets import split_labels
        >>> split_labels("urgent | billing"), split_labels("")
        (('billing', 'urgent'), ())
    """
    return tuple(sorted({label for part in cell.split(SEPARATOR) if (label := part.strip())}))


def join_labels(labels: Iterable[str]) -> str:
    """Return what `split_labels` reads back as these labels."""
    return SEPARATOR.join(sorted(labels))


def rarest_labels(label_sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the label of each text that the fewest texts have; an empty string for a text without one."""
    counts = Counter(label for labels in label_sets for label in labels)
    return tuple(min(labels, key=lambda label: (counts[label], label), default="") for labels in label_sets)


def cell_of(value: Any, place: str, column: str, multi_label: bool) -> str:
    """Return a label, or the labels of multi-label data, as they stand in a cell of a table.

    Booleans and numbers are written as in JSON, so that `true` and "true" are one label.

    Args:
        value: from JSON or Python; in multi-label data also a list of labels, or None for none.
        place: where it stands, for messages.
        column: its column, for messages.
        multi_label: whether a text may have several labels, or none.

    Raises:
        RetvecLiteError: for another type, or a label in a list that holds the separator.
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if multi_label and value is None:
        return ""
    if multi_label and not isinstance(value, (str, dict)) and hasattr(value, "__iter__"):
        labels = [cell_of(label, place, column, multi_label=False) for label in value]
        if broken := [label for label in labels if SEPARATOR in label]:
            raise RetvecLiteError(f"{place}: the label {broken[0]!r} holds {SEPARATOR!r}, which separates labels.")
        return join_labels(labels)
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int)) or (isinstance(value, float) and abs(value) < float("inf")):
        return json.dumps(value)
    shown = json.dumps(value, default=repr)[:40]
    kinds = "a string, a boolean or a number" + (", or a list of them" if multi_label else "")
    raise RetvecLiteError(f"{place}: {column!r} must be {kinds}, not {shown}.")


def no_label_hint(labels: Sequence[str]) -> str:
    """Return what to say about a row without a label, beside all `labels` of the data with one label a text."""
    several = sum(SEPARATOR in label for label in labels)
    count = f" ({several:,} of {len(labels):,} rows have a {SEPARATOR!r} in theirs)" if several else ""
    return f". Pass --multi-label if a text may have no label{count}"


def check_single(labels: Sequence[str], source: object) -> None:
    """Make sure that no label looks like several.

    Raises:
        RetvecLiteError: says how many labels hold the separator.
    """
    rows = [row for row, label in enumerate(labels) if SEPARATOR in label]
    if rows:
        raise RetvecLiteError(
            f"{len(rows):,} of {len(labels):,} rows of {source} have a {SEPARATOR!r} in their label, such as "
            f"{labels[rows[0]]!r}: pass --multi-label (multi_label=True) if it separates labels, or --no-multi-label "
            "(multi_label=False) if it is part of one."
        )
