"""Labelled texts that are in memory: the table of any library, records, pairs, or texts beside their labels."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from retvec_lite.data.rows import missing_column
from retvec_lite.data.texts import as_texts, one_column
from retvec_lite.errors import RetvecLiteError, reason, shown

_FORMS: Final = (
    "Pass labels with the texts: one for each. Or pass a labelled file, a table (such as a DataFrame), "
    "a list of records ({'text': ..., 'label': ...}), or a list of pairs (text, label)."
)

_KINDS: Final = ("text_column", "label_column")
"""The options that name the columns."""


def two_columns(
    data: Any, labels: Any, columns: tuple[str, str], place: object
) -> tuple[Sequence[object], Sequence[object]]:
    """Return texts and labels as two sequences of one length; None for a missing value.

    Args:
        data: texts, if there are labels. Otherwise a table: whatever has columns with names, such as a DataFrame of pandas or Polars, an
            Arrow table, a Hugging Face dataset, or a mapping of column to values; a sequence of mappings, or of pairs; or a pair of
            sequences.
        labels: a label for each text, or None.
        columns: names of the columns of texts and labels.
        place: what messages call the data.

    Raises:
        RetvecLiteError: for other data, a missing column, or as many labels as there are not texts.
    """
    if labels is None and isinstance(data, tuple) and len(data) == 2 and not any(map(_is_row, data)):
        data, labels = data
    if labels is not None:
        if isinstance(labels, str):
            raise RetvecLiteError("Labels must be a sequence: one for each text. A column is named by label_column.")
        texts, labels = [data] if isinstance(data, str) else list(one_column(data)), list(labels)
    elif (names := column_names(data)) is not None:
        texts, labels = (_column(data, name, names, place, kind) for name, kind in zip(columns, _KINDS, strict=True))
    else:
        texts, labels = _from_rows(data, columns, place)
    if len(texts) != len(labels):
        raise RetvecLiteError(
            f"There are {len(texts):,} texts but {len(labels):,} labels: pass one label for each text."
        )
    return [present(text) for text in texts], [present(label) for label in labels]


def texts_in(data: Any, text_column: str, place: object) -> list[str]:
    """Return texts from a sequence or a table, which may lack some; raises RetvecLiteError for anything else."""
    names = column_names(data)
    if names is None:
        return as_texts(data)
    found = map(present, _column(data, text_column, names, place, _KINDS[0]))
    return as_texts([text for text in found if text is not None])


def column_names(data: Any) -> list[Any] | None:
    """Return the names of the columns of a table; None for anything else."""
    if isinstance(data, Mapping):
        return list(data)
    names = getattr(data, "column_names", None)  # pyarrow's columns are arrays
    if names is None and hasattr(data, "__getitem__"):
        names = getattr(data, "columns", None)
    return list(names) if isinstance(names, Iterable) else None


def _column(data: Any, name: str, names: Sequence[Any], place: object, option: str) -> list[object]:
    if names.count(name) != 1:
        raise missing_column(str(place), name, names, option)
    try:
        column = data[name]
        if isinstance(column, str):
            raise RetvecLiteError(_FORMS)
        return column.to_pylist() if hasattr(column, "to_pylist") else list(one_column(column))
    except TypeError as error:
        raise RetvecLiteError(
            f"The column {name!r} of this {type(data).__name__} cannot be read ({reason(error)}). Collect it into a DataFrame first."
        ) from error


def _from_rows(data: Any, columns: tuple[str, str], place: object) -> tuple[list[object], list[object]]:
    """Return texts and labels of records or pairs."""
    if not isinstance(data, Iterable) or isinstance(data, str | bytes | set | frozenset):
        raise RetvecLiteError(f"{shown(data)} is no data. {_FORMS}")
    rows = list(data)
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        for column, kind in zip(columns, _KINDS, strict=True):
            if column not in names:
                raise missing_column(str(place), column, names, kind)
        return [row.get(columns[0]) for row in rows], [row.get(columns[1]) for row in rows]
    if all(isinstance(row, tuple | list) and len(row) == 2 for row in rows):
        return [text for text, _ in rows], [label for _, label in rows]
    raise RetvecLiteError(_FORMS)


def _is_row(part: object) -> bool:
    """Return whether one of two things in a tuple is a text, a record or a pair, rather than a column."""
    return isinstance(part, str | bytes | tuple | Mapping) or not isinstance(part, Iterable)


def present(value: object) -> object:
    """Return None for what libraries write for a missing value: NaN, NaT, pandas' NA."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]  # a number of NumPy
    is_nan = isinstance(value, float) and math.isnan(value)
    return None if is_nan or type(value).__name__ in ("NAType", "NaTType") else value
