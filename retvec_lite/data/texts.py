"""Texts without labels: from Python sequences, or from files of any size, a few at a time."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final, cast

from retvec_lite.arguments import checked
from retvec_lite.data.decoding import explained, marked, open_lines
from retvec_lite.data.rows import LABELLED, TEXT_SUFFIX, Rows, check_suffix, text_rows
from retvec_lite.data.skipped import Skipped
from retvec_lite.errors import RetvecLiteError

_STEP: Final = 256
"""Texts between two reports of how far the file is read."""


def as_texts(texts: object) -> list[str]:
    """Return a string, or any column of strings (list, NumPy array, pandas Series, ...), as a list of strings.

    Raises:
        RetvecLiteError: for anything else, naming the type and the index of the first item that is not a string.
    """
    return [texts] if isinstance(texts, str) else require_strings(list(one_column(texts)))


def one_column(texts: object) -> Iterable[object]:
    """Refuse what is iterable but does not yield one text after the other, in order."""
    # Iterating over a DataFrame yields its column names, over bytes integers, over a mapping its keys.
    odd = isinstance(texts, bytes | bytearray | Mapping | set | frozenset) or getattr(texts, "ndim", 1) != 1
    if odd or not isinstance(texts, Iterable):
        raise RetvecLiteError(
            f"Texts must be a string or a sequence of strings, not {type(texts).__name__}. "
            "Pass a list, an array or one column of a table."
        )
    return texts


def require_strings(texts: Sequence[object], start: int = 0) -> list[str]:
    """Return the texts if all are strings; raises RetvecLiteError with an index counted from `start`."""
    for index, text in enumerate(texts, start):
        if not isinstance(text, str):
            raise RetvecLiteError(
                f"Texts must be strings, but the one at index {index} is of type {type(text).__name__}."
            )
    return cast(list[str], texts)


def chunks(texts: Iterable[object], size: int) -> Iterator[list[str] | Exception]:
    """Yield texts in lists of `size`, in order.

    Where reading a text fails, or it is not a string, yields the texts before it and then the exception: what can be
    answered is answered first.
    """
    chunk: list[str] = []
    failure: Exception | None = None
    try:
        for index, text in enumerate(texts):
            chunk += require_strings([text], index)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except Exception as error:  # noqa: BLE001 - whatever reading the texts raises belongs to the reader of the answers
        failure = error
    if chunk:
        yield chunk
    if failure is not None:
        yield failure


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
        rows = Rows(file, [text_column], delimiter=delimiter, skipped=skipped)

    def texts() -> Iterator[str]:
        with rows, explained(file):
            for number, row in enumerate(rows):
                if number % _STEP == 0:
                    report(rows.position)
                yield row.fields[text_column] or ""
            report(rows.position)

    return texts()


def read_lines(stream: BinaryIO, name: str, skipped: Skipped) -> Iterator[str]:
    """Read a text a line from a stream as soon as it is there; like a `.txt` file, `name` stands for it in messages."""
    return (row.fields[name] for row in text_rows(marked(open_lines(stream), name), name, name, skipped))
