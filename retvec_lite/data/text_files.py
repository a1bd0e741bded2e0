"""Reading texts out of files of any size, a few at a time: what `retvec-lite classify --input` is fed with."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from retvec_lite.data.dataset import DELIMITERS, JSON_SUFFIXES
from retvec_lite.errors import RetvecLiteError

TEXT_SUFFIX: Final = ".txt"
_SUFFIXES: Final = (TEXT_SUFFIX, *DELIMITERS, *JSON_SUFFIXES)

_STEP: Final = 256
"""Texts between two reports of how far the file is read."""


def read_texts(path: str, column: str, report: Callable[[int], None] = lambda _: None) -> Iterator[str]:
    """The texts of a file in order; its suffix decides the format.

    `.txt` holds a text a line; `.csv` and `.tsv` have a header row and the quoting rules of RFC 4180; `.jsonl`, `.ndjson` and
    `.json` hold one JSON object a line. All are UTF-8, a byte order mark is skipped; a byte that is no UTF-8 becomes a surrogate,
    which the model reads as U+FFFD. Blank lines are texts in `.txt` alone.

    Args:
        path: the file.
        column: column or field of the texts.
        report: told now and then how many bytes have been read.

    Raises:
        RetvecLiteError: for a file that is missing or of another kind, a missing column, broken quoting or JSON.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise RetvecLiteError(f"Expected a file named {', '.join(_SUFFIXES)}, received {Path(path).name!r}.")
    try:
        file = open(path, "rb")  # noqa: SIM115  # the generator below closes it
    except OSError as error:
        raise RetvecLiteError(f"Expected a readable file at {path}, received: {error.strerror or error}.") from error
    return _read(file, path, suffix, column, report)


def _read(file: BinaryIO, path: str, suffix: str, column: str, report: Callable[[int], None]) -> Iterator[str]:
    # Lines end where the format says: in CSV a quoted cell keeps its own ends, in text and JSON only \n ends a line.
    with (
        file,
        io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="" if suffix in DELIMITERS else "\n") as text,
    ):
        if suffix in DELIMITERS:
            texts = _cells(text, path, DELIMITERS[suffix], column)
        elif suffix in JSON_SUFFIXES:
            texts = _fields(text, path, column)
        else:
            texts = (line.removesuffix("\n").removesuffix("\r") for line in text)
        for number, found in enumerate(texts):
            if number % _STEP == 0:
                report(file.tell())
            yield found
        report(file.tell())


def _cells(text: io.TextIOWrapper, path: str, delimiter: str, column: str) -> Iterator[str]:
    # A cell may be as long as it likes; the limit is one of the process, which reads this file and nothing else.
    csv.field_size_limit(sys.maxsize if sys.platform != "win32" else 2**31 - 1)
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        if header.count(column) != 1:
            received = ", ".join(map(repr, header)) or "nothing"
            raise RetvecLiteError(f"Expected one column {column!r} in {path}, received {received}.")
        place = header.index(column)
        for record in reader:
            if not record:
                continue
            if len(record) != len(header):
                raise RetvecLiteError(
                    f"Expected {len(header)} fields as in the header in {path} up to line {reader.line_num}, "
                    f"received {len(record)}."
                )
            yield record[place]
    except csv.Error as error:
        raise RetvecLiteError(
            f"Expected fields quoted as RFC 4180 says in {path} up to line {reader.line_num}, received {error}."
        ) from error


def _fields(text: io.TextIOWrapper, path: str, column: str) -> Iterator[str]:
    for line, source in enumerate(text, start=1):
        if not source.strip():
            continue
        try:
            found = json.loads(source)[column]
        except (ValueError, RecursionError, TypeError, KeyError, IndexError) as error:
            raise RetvecLiteError(
                f"Expected one JSON object with the field {column!r} in {path} line {line}, received {source[:40]!r}."
            ) from error
        if not isinstance(found, str):
            raise RetvecLiteError(f"Expected a string as {column!r} in {path} line {line}, received {found!r}.")
        yield found
