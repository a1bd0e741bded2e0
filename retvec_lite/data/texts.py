"""Texts without labels: from Python sequences, or from files of any size, a few at a time."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from retvec_lite.data.rows import DELIMITERS, JSON_SUFFIXES, TEXT_SUFFIX, Rows, refuse
from retvec_lite.errors import RetvecLiteError

_SUFFIXES: Final = (TEXT_SUFFIX, *DELIMITERS, *JSON_SUFFIXES)

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


def read_texts(
    path: str | os.PathLike[str],
    text_column: str = "text",
    report: Callable[[int], None] = lambda _: None,
    skip: Callable[[RetvecLiteError], None] = refuse,
) -> Iterator[str]:
    r"""Read the texts of a file in order, a few at a time; its suffix decides the format.

    `.txt` holds a text a line. `.csv` and `.tsv` have a header row and the quoting rules of RFC 4180. `.jsonl`, `.ndjson`
    and `.json` hold one JSON object a line. All are UTF-8; a byte order mark is skipped, and a byte that is no UTF-8 becomes
    a surrogate, which the model reads as U+FFFD. Blank lines are texts in `.txt` alone.

    Args:
        path: the file.
        text_column: column or field of the texts.
        report: told now and then how many bytes have been read.
        skip: told what is wrong with each row that is left out; by default such a row is an error.

    Raises:
        RetvecLiteError: for a file that is missing or of another kind, or a missing column; and, without `skip`, for a row with
            broken quoting, JSON or another number of fields, when it is reached.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import read_texts
        >>> _ = Path("lines.txt").write_text("wake me up at six\nwhere is my parcel?\n")
        >>> list(read_texts("lines.txt"))
        ['wake me up at six', 'where is my parcel?']
    """
    file = Path(path)
    if file.suffix.lower() not in _SUFFIXES:
        raise RetvecLiteError(f"Cannot read {file.name!r}: the name of a file of texts ends in {', '.join(_SUFFIXES)}.")
    rows = Rows(file, [text_column], invalid="surrogateescape", skip=skip)

    def texts() -> Iterator[str]:
        with rows:
            for number, row in enumerate(rows):
                if number % _STEP == 0:
                    report(rows.position)
                yield row.fields[text_column]
            report(rows.position)

    return texts()
