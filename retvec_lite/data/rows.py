"""The one reader of files of texts: the rows of a CSV, TSV, JSON Lines or text file of any size, each with its line."""

import codecs
import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple

from retvec_lite.errors import RetvecLiteError

DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
JSON_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
TEXT_SUFFIX: Final = ".txt"
COMPRESSION: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

_OPTIONS: Final = ("--text-column", "--label-column")

_LONGEST: Final = 1 << 26
"""Characters of a cell. Longer ones come from a quote that is never closed, and would fill the memory with the rest of the file."""


class Row(NamedTuple):
    """A row, and the line on which it begins, from 1.

    Attributes:
        line: where it begins.
        fields: texts by column; in JSON Lines any values.
    """

    line: int
    fields: dict[str, Any]


def format_of(path: Path) -> tuple[str, str | None]:
    """Return the suffix of a file's format, in lower case, and how the file is packed (None: not at all)."""
    codec = COMPRESSION.get(path.suffix.lower())
    return (Path(path.stem).suffix if codec else path.suffix).lower(), codec


def missing_column(file: str | os.PathLike[str], column: str, found: Sequence[str], option: str) -> RetvecLiteError:
    """Return the error about a column that is not there, or there twice."""
    if column in found:
        return RetvecLiteError(f"The column {column!r} appears twice in {os.fspath(file)}. Rename one of them.")
    names = ", ".join(map(repr, found)) or "none"
    return RetvecLiteError(f"No column {column!r} in {os.fspath(file)} (found: {names}). Name it with {option}.")


def refuse(error: RetvecLiteError) -> None:
    """Raise the error of a bad row: what becomes of it without another `skip`."""
    raise error


class Skipped:
    """Counts bad rows that are left out, and keeps what was wrong with the first."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def __call__(self, error: RetvecLiteError) -> None:
        """Take the error of a row."""
        self.count += 1
        self.first = self.first or str(error)


class Rows:
    r"""The rows of a file, to be iterated over once inside a `with` block.

    Blank lines are rows in text files alone. A byte order mark is skipped. A cell may hold line feeds and 67 million characters.

    Attributes:
        columns: of a table; those of JSON Lines differ from row to row, so there are none.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite.data.rows import Rows
        >>> _ = Path("messages.csv").write_text('text,label\n"wake me\nup",alarm\nhi,greeting\n')
        >>> with Rows(Path("messages.csv"), ("text", "label")) as rows:
        ...     [(row.line, row.fields["label"]) for row in rows]
        [(2, 'alarm'), (4, 'greeting')]
    """

    def __init__(
        self,
        path: Path,
        required: Sequence[str],
        *,
        invalid: Literal["strict", "surrogateescape", "replace"] = "strict",
        may_lack_text: bool = False,
        skip: Callable[[RetvecLiteError], None] = refuse,
    ) -> None:
        """Open the file; its suffix decides the format.

        Args:
            path: the file. A packed one needs pyarrow.
            required: the column of the texts, and that of the labels if every row has one.
            invalid: what becomes of bytes that are no UTF-8: an error; surrogates, which a model reads as U+FFFD; or U+FFFD. With
                "strict", the file is read as a whole.
            may_lack_text: accept null as a text of JSON Lines.
            skip: told what is wrong with a bad row, which is left out.

        Raises:
            RetvecLiteError: for a file that cannot be read, is no UTF-8, or lacks a column; and later for each bad row, unless
                `skip` takes it.
        """
        self._path, self._required, self._may_lack_text, self._skip = path, required, may_lack_text, skip
        self._suffix, codec = format_of(path)
        try:
            self._file: BinaryIO = io.BytesIO(read_utf8(path)) if invalid == "strict" else path.open("rb")
        except OSError as error:
            raise _unreadable(path, error) from error
        # In CSV a quoted cell keeps its own line ends; in text and JSON only \n ends a line.
        newline = "" if self._suffix in DELIMITERS else "\n"
        self._lines = io.TextIOWrapper(_unpacked(self._file, codec), "utf-8-sig", invalid, newline=newline)
        self.columns: list[str] = []
        if self._suffix in DELIMITERS:
            try:
                self._open_table()
            except BaseException:
                self.__exit__()
                raise

    def __enter__(self) -> "Rows":
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._file.close()

    @property
    def position(self) -> int:
        """How many bytes of the file have been read."""
        return self._file.tell()

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        if self._suffix in DELIMITERS:
            return self._records()
        if self._suffix in JSON_SUFFIXES:
            return self._objects()
        (text,) = self._required
        lines = enumerate(self._lines, 1)
        return (Row(number, {text: line.removesuffix("\n").removesuffix("\r")}) for number, line in lines)

    def _open_table(self) -> None:
        # The limit is global to the process, so it is raised once and never put back under another reader's feet.
        csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))
        self._table = csv.reader(self._lines, delimiter=DELIMITERS[self._suffix], strict=True)
        try:
            header = next((record for record in self._table if any(map(str.strip, record))), None)
        except csv.Error as error:
            raise self._broken(self._table.line_num, error) from error
        if header is None:
            raise RetvecLiteError(f"{self._path} is empty.")
        for column, option in zip(self._required, _OPTIONS, strict=False):
            if header.count(column) != 1:
                raise missing_column(self._path, column, header, option)
        self.columns = header

    def _broken(self, line: int, error: csv.Error) -> RetvecLiteError:
        return self.bad(line, f"broken quoting ({error}). Quote fields as RFC 4180 says")

    def bad(self, line: int, problem: str) -> RetvecLiteError:
        """Return the error about a row that begins on a line."""
        return RetvecLiteError(f"{self._path}, line {line}: {problem}.")

    def _records(self) -> Iterator[Row]:
        while True:
            line = self._table.line_num + 1
            try:
                record = next(self._table, None)
            except csv.Error as error:
                self._skip(self._broken(line, error))
                continue
            if record is None:
                return
            if record and len(record) != len(self.columns):
                self._skip(self.bad(line, f"{len(record)} fields, but the header has {len(self.columns)}"))
            elif record:
                yield Row(line, dict(zip(self.columns, record, strict=True)))

    def _objects(self) -> Iterator[Row]:
        for line, source in enumerate(self._lines, 1):
            if source.strip():
                try:
                    fields = self._object(line, source)
                except RetvecLiteError as error:
                    self._skip(error)
                    continue
                yield Row(line, fields)

    def _object(self, line: int, source: str) -> dict[str, Any]:
        problem = f"not a JSON object with the field {self._required[0]!r}: {source[:40].rstrip()!r}"
        try:
            fields = json.loads(source)
        except (ValueError, RecursionError) as error:
            raise self.bad(line, f"{problem} ({error})") from error
        if not isinstance(fields, dict):
            raise self.bad(line, problem)
        for column, option in zip(self._required, _OPTIONS, strict=False):
            if column not in fields:
                found = ", ".join(map(repr, fields)) or "none"
                raise self.bad(line, f"no field {column!r} (found: {found}). Name it with {option}")
        text = fields[self._required[0]]
        if not isinstance(text, str) and not (self._may_lack_text and text is None):
            raise self.bad(line, f"{self._required[0]!r} must be a string, not {json.dumps(text)[:40]}")
        return fields


def _unpacked(file: BinaryIO, codec: str | None) -> Any:
    if codec is None:
        return file
    import pyarrow

    return pyarrow.CompressedInputStream(file, codec)


def _unreadable(path: Path, error: OSError) -> RetvecLiteError:
    return RetvecLiteError(f"Cannot read {path}: {error.strerror or error}.")


def read_utf8(path: Path) -> bytes:
    """Return the content of a file without its byte order mark; raises RetvecLiteError with the place of what is no UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    for mark, name in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if data.startswith(mark):
            raise RetvecLiteError(f"{path} is in {name}. Convert it to UTF-8: iconv -f {name} -t UTF-8.")
    offset = data.find(0)
    problem = f"NUL byte at offset {offset}. Is this UTF-16 or a binary file? Convert it to UTF-8."
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if offset < 0:
            offset = error.start
            problem = (
                f"the byte 0x{data[offset]:02X} at offset {offset} is not UTF-8. Convert the file, for example with "
                "iconv -f WINDOWS-1252 -t UTF-8, or repair the line."
            )
    if offset >= 0:
        raise RetvecLiteError(f"{path}, line {data.count(10, 0, offset) + 1}: {problem}")
    return data.removeprefix(codecs.BOM_UTF8)
