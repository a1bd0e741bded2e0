"""Texts, with labels or without: from the tables of any library, or from files of any size, a few at a time."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from retvec_lite.arguments import as_texts, checked, one_column
from retvec_lite.contract import SEPARATORS
from retvec_lite.data.lines import Skipped, explained, marked, open_lines
from retvec_lite.data.rows import LABELLED, TEXT_SUFFIX, RowReader, check_suffix, format_of, missing_column, text_rows
from retvec_lite.errors import RetvecLiteError, reason, shown
from retvec_lite.terminal import counted

BLANK: Final = "".join(map(chr, SEPARATORS))

_STEP: Final = 256
"""Texts between two reports of how far the file is read."""


@checked
def read_texts(
    path: str | os.PathLike[str],
    text_column: str = "text",
    report: Callable[[int], None] = lambda _: None,
    skipped: Skipped | None = None,
    *,
    delimiter: str | None = None,
) -> Iterator[str]:
    r"""Read the texts of a file in order, a few at a time; its suffix decides the format.

    `.txt` holds a text a line. `.csv` and `.tsv` have a header row and the quoting rules of RFC 4180; rows without anything in their
    cells are left out. `.jsonl`, `.ndjson` and `.json` hold one JSON object a line, or an array of them; a missing text (null) is an
    empty one, and so it is in `.parquet`. All but Parquet may be packed (`.csv.gz`). Text is UTF-8, or what a byte order mark says.
    Blank lines are texts in `.txt` alone.

    Args:
        path: the file.
        text_column: column or field of the texts.
        report: told now and then how many bytes have been read.
        skipped: counts rows that are left out; by default a bad one is an error.
        delimiter: between the cells of a table; by default recognized by the header.

    Raises:
        RetvecLiteError: for a file that is missing, damaged or of another kind, or a missing column; and, unless `skipped` counts them,
            for a row that is not UTF-8 or has broken quoting, JSON or another number of fields, when it is reached.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import read_texts
        >>> _ = Path("lines.txt").write_text("wake me up at six\nwhere is my parcel?\n")
        >>> list(read_texts("lines.txt"))
        ['wake me up at six', 'where is my parcel?']
    """
    file = Path(path)
    check_suffix(file, (TEXT_SUFFIX, *LABELLED), "a file of texts")
    with explained(file):
        rows = RowReader(file, [text_column], delimiter=delimiter, skipped=skipped)

    def texts() -> Iterator[str]:
        with rows, explained(file):
            for number, row in enumerate(rows):
                if number % _STEP == 0:
                    report(rows.position)
                yield row.fields[text_column] or ""
            report(rows.position)

    return texts()


def texts_of(data: object, text_column: str = "text", delimiter: str | None = None) -> list[str]:
    """Return all texts of a file, by its path, of a table, or of a sequence; one string is a path.

    Raises:
        RetvecLiteError: for a file that cannot be read, or anything but strings.
    """
    if isinstance(data, str | os.PathLike):
        return list(read_texts(data, text_column, delimiter=delimiter))
    if (names := _column_names(data)) is not None:
        column = _column(data, text_column, names, "this table", "text_column")
        data = ["" if or_none(text) is None else text for text in column]
    texts = as_texts(data)
    if texts and all(format_of(Path(text))[0] in (*LABELLED, TEXT_SUFFIX) and os.path.isfile(text) for text in texts):
        raise RetvecLiteError(f"Strings in a list are texts. Pass the path of a file alone: {texts[0]!r}.")
    return texts


def read_lines(stream: BinaryIO, name: str, skipped: Skipped) -> Iterator[str]:
    """Read a text a line from a stream as soon as it is there; like a `.txt` file, `name` stands for it in messages."""
    return (row.fields[name] for row in text_rows(marked(open_lines(stream), name), name, name, skipped))


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
    elif (names := _column_names(data)) is not None:
        texts, labels = (_column(data, name, names, place, kind) for name, kind in zip(columns, _KINDS, strict=True))
    else:
        texts, labels = _from_rows(data, columns, place)
    if len(texts) != len(labels):
        raise RetvecLiteError(
            f"{counted(len(texts), 'text')} and {counted(len(labels), 'label')} were given: pass one label for each text."
        )
    return [or_none(text) for text in texts], [or_none(label) for label in labels]


def _column_names(data: Any) -> list[Any] | None:
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
    if rows and all(isinstance(row, str) and format_of(Path(row))[0] in LABELLED for row in rows):
        raise RetvecLiteError(
            f"Strings in a list are texts. For files, pass a pattern or a folder, or paths: [pathlib.Path({rows[0]!r}), ...]."
        )
    raise RetvecLiteError(_FORMS)


def _is_row(part: object) -> bool:
    """Return whether one of two things in a tuple is a text, a record or a pair, rather than a column."""
    return isinstance(part, str | bytes | tuple | Mapping) or not isinstance(part, Iterable)


def encodable(text: str) -> str:
    """Return a text with U+FFFD, as the model reads it, for each half of a character, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def or_none(value: object) -> object:
    """Return None for what libraries write for a missing value: NaN, NaT, pandas' NA."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]  # a number of NumPy
    is_nan = isinstance(value, float) and math.isnan(value)
    return None if is_nan or type(value).__name__ in ("NAType", "NaTType") else value


def is_missing(value: object) -> bool:
    """Return whether a text or a label is not there: in a file, a row that lacks both is one that a spreadsheet left over."""
    return value is None or (isinstance(value, str) and not value.strip(BLANK))
