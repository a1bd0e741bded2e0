"""Texts without labels: from Python sequences, or from files of any size, a few at a time."""

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from retvec_lite.errors import RetvecLiteError

DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
JSON_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
TEXT_SUFFIX: Final = ".txt"
_SUFFIXES: Final = (TEXT_SUFFIX, *DELIMITERS, *JSON_SUFFIXES)

_STEP: Final = 256
"""Texts between two reports of how far the file is read."""


def as_texts(texts: object) -> list[str]:
    """Return texts as a list of strings; a single string becomes a list of one.

    Args:
        texts: a string, or an iterable of strings such as a list, a tuple, a NumPy array (dtype object or str) or a pandas
            Series, whatever its index.

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
    rest = enumerate(texts)
    while failure is None:
        try:
            index, text = next(rest)
            chunk += require_strings([text], index)
        except StopIteration:
            break
        except Exception as error:  # noqa: BLE001 - whatever reading the texts raises belongs to the reader of the answers
            failure = error
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
    if failure is not None:
        yield failure


def missing_column(file: str | os.PathLike[str], column: str, found: Sequence[str], option: str) -> RetvecLiteError:
    """Return the error about a column that is not there, or there twice."""
    if column in found:
        return RetvecLiteError(f"The column {column!r} appears twice in {os.fspath(file)}. Rename one of them.")
    names = ", ".join(map(repr, found)) or "none"
    return RetvecLiteError(f"No column {column!r} in {os.fspath(file)} (found: {names}). Name it with {option}.")


def read_texts(
    path: str | os.PathLike[str],
    text_column: str = "text",
    report: Callable[[int], None] = lambda _: None,
    skip: Callable[[RetvecLiteError], None] | None = None,
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
        RetvecLiteError: for a file that is missing or of another kind, a missing column, and, without `skip`, for a row with
            broken quoting, JSON or another number of fields, when it is reached.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import read_texts
        >>> _ = Path("lines.txt").write_text("wake me up at six\nwhere is my parcel?\n")
        >>> list(read_texts("lines.txt"))
        ['wake me up at six', 'where is my parcel?']
    """
    place = os.fspath(path)
    suffix = Path(place).suffix.lower()
    if suffix not in _SUFFIXES:
        raise RetvecLiteError(
            f"Cannot read {Path(place).name!r}: the name of a file of texts ends in {', '.join(_SUFFIXES)}."
        )
    try:
        file = open(place, "rb")  # noqa: SIM115  # the generator below closes it
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {place}: {error.strerror or error}.") from error
    return _read(file, place, suffix, text_column, report, skip or _refuse)


def _refuse(error: RetvecLiteError) -> None:
    raise error


def _read(
    file: BinaryIO,
    path: str,
    suffix: str,
    column: str,
    report: Callable[[int], None],
    skip: Callable[[RetvecLiteError], None],
) -> Iterator[str]:
    # In CSV a quoted cell keeps its own line ends; in text and JSON only \n ends a line.
    with (
        file,
        io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="" if suffix in DELIMITERS else "\n") as text,
    ):
        if suffix in DELIMITERS:
            texts = _cells(text, path, DELIMITERS[suffix], column, skip)
        elif suffix in JSON_SUFFIXES:
            texts = _fields(text, path, column, skip)
        else:
            texts = (line.removesuffix("\n").removesuffix("\r") for line in text)
        for number, found in enumerate(texts):
            if number % _STEP == 0:
                report(file.tell())
            yield found
        report(file.tell())


def _cells(
    text: io.TextIOWrapper, path: str, delimiter: str, column: str, skip: Callable[[RetvecLiteError], None]
) -> Iterator[str]:
    # A cell may be as long as it likes.
    csv.field_size_limit(sys.maxsize if sys.platform != "win32" else 2**31 - 1)
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            problem = f"broken quoting ({error}). Quote fields as RFC 4180 says."
            broken = RetvecLiteError(f"{path}, line {reader.line_num}: {problem}")
            if header is None:
                raise broken from error
            skip(broken)
            continue
        if header is None:
            header = record or []
            if header.count(column) != 1:
                raise missing_column(path, column, header, "--text-column")
            place = header.index(column)
        elif record is None:
            return
        elif record and len(record) != len(header):
            problem = f"{len(record)} fields, but the header has {len(header)}."
            skip(RetvecLiteError(f"{path}, line {reader.line_num}: {problem}"))
        elif record:
            yield record[place]


def _fields(text: io.TextIOWrapper, path: str, column: str, skip: Callable[[RetvecLiteError], None]) -> Iterator[str]:
    for line, source in enumerate(text, start=1):
        if not source.strip():
            continue
        try:
            found = json_row(source, f"{path}, line {line}", column)
        except RetvecLiteError as error:
            skip(error)
            continue
        yield found[column]


def json_row(source: str, where: str, column: str, *, optional: bool = False) -> dict[str, Any]:
    """Return the fields of a line of JSON.

    Args:
        source: the line.
        where: it stands, for the error.
        column: the field of the text.
        optional: accept null as a text that is missing.

    Raises:
        RetvecLiteError: for something else than an object with a text.
    """
    try:
        found: dict[str, Any] = json.loads(source)
        text = found[column]
    except (ValueError, RecursionError, TypeError, KeyError, IndexError):
        raise RetvecLiteError(f"{where}: not a JSON object with the field {column!r}: {source[:40]!r}.") from None
    if isinstance(text, str) or (optional and text is None):
        return found
    raise RetvecLiteError(f"{where}: {column!r} must be a string, not {json.dumps(text)[:40]}.")
