"""The one reader of files of texts: the rows of a table, a JSON, Parquet or text file of any size, each with its place."""

import contextlib
import csv
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from retvec_lite.data import lines
from retvec_lite.errors import RetvecLiteError, SystematicError, shown
from retvec_lite.terminal import counted

DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
JSON_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
PARQUET: Final = (".parquet", ".pq")
TEXT_SUFFIX: Final = ".txt"
LABELLED: Final = (*DELIMITERS, *JSON_SUFFIXES, *PARQUET)
"""Suffixes of formats with columns."""

_OPTIONS: Final = ("--text-column (text_column)", "--label-column (label_column)")

_CANDIDATES: Final = (",", ";", "\t", "|")
"""Delimiters that are recognized."""

_EXCEL: Final = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""The line before the header by which spreadsheets tell each other the delimiter."""

_HEAD: Final = 100
"""Lines in which the header ends."""

_BATCH: Final = 256
"""Rows of Parquet that are read at a time."""

_NEVER_CLOSED: Final = ("unexpected end of data", "field larger than field limit")
"""How the errors about a quote that is never closed begin."""

_LINE: Final = 1 << 16
"""Characters of a first line, which may be a whole JSON array, that are read at a time."""


class Row(NamedTuple):
    """A row, and where it is.

    Attributes:
        line: the line on which it begins, from 1; in a JSON array and in Parquet the row, from 0.
        fields: texts by column; in JSON and Parquet any values.
    """

    line: int
    fields: dict[str, Any]


def format_of(path: Path) -> tuple[str, str | None]:
    """Return the suffix of a file's format, in lower case, and how the file is packed (None: not at all)."""
    codec = lines.COMPRESSION.get(path.suffix.lower())
    return (Path(path.stem).suffix if codec else path.suffix).lower(), codec


def check_suffix(file: Path, suffixes: Sequence[str], what: str) -> None:
    """Refuse a file of another format with RetvecLiteError; `what` is said like "an input file"."""
    suffix, codec = format_of(file)
    if suffix not in suffixes or (codec and suffix in PARQUET):
        hint = lines.UNREAD.get(suffix, "")
        folder = "it is a folder, and " if file.is_dir() else ""
        raise RetvecLiteError(f"Cannot read {file}: {folder}the name of {what} ends in {endings(suffixes)}.{hint}")


def endings(suffixes: Sequence[str]) -> str:
    """Return in words how the name of a file of some formats ends."""
    return f"{', '.join(suffixes)}, also with {', '.join(lines.COMPRESSION)} behind it"


def missing_column(
    file: str | os.PathLike[str], column: object, found: Sequence[object], option: str | None
) -> RetvecLiteError:
    """Return the error about a column that is not there, or there twice; None for an option where it must be called so."""
    if column in found:
        return RetvecLiteError(f"The column {column!r} appears twice in {os.fspath(file)}. Rename one of them.")
    names = ", ".join(map(repr, found)) or "none"
    advice = f" Name it with {option}." if option else ""
    return RetvecLiteError(f"No column {column!r} in {os.fspath(file)} (found: {names}).{advice}")


class RowReader:
    r"""The rows of a file, to be iterated over once inside a `with` block.

    Blank lines are rows in text files alone, and rows of a table without anything in their cells are left out. Text is UTF-8, or what a
    byte order mark says. A cell may hold line feeds and 67 million characters.

    Attributes:
        columns: of a table or a Parquet file; those of JSON differ from row to row, so there are none.
        unit: what the numbers of the rows count: "line" or "row".
        schema: of a Parquet file, in Arrow's types; otherwise None.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite.data.rows import RowReader
        >>> _ = Path("messages.csv").write_text('text;label\n"wake me\nup";alarm\n;\nhi;greeting\n')
        >>> with RowReader(Path("messages.csv"), ("text", "label")) as rows:
        ...     [(row.line, row.fields["label"]) for row in rows]
        [(2, 'alarm'), (5, 'greeting')]
    """

    def __init__(
        self,
        path: Path,
        required: Sequence[str],
        *,
        delimiter: str | None = None,
        skipped: lines.Skipped | None = None,
        whole: bool = False,
        can_rename: bool = True,
        is_text: bool = False,
    ) -> None:
        """Open the file; its suffix decides the format.

        Args:
            path: the file. Parquet, and one packed as `.zst` or `.lz4`, need pyarrow.
            required: the column of the texts, and that of the labels if every row has one. A text may be missing (None).
            delimiter: between the cells of a table; by default that of `,`, `;`, TAB and `|` with which the header has the required columns.
            skipped: told about empty and bad rows, which are left out; without it, a bad one is an error.
            whole: read all columns of Parquet, and not the required ones alone.
            can_rename: options name the columns, which errors say.
            is_text: a text file is one text, and not one a line.

        Raises:
            RetvecLiteError: for a file that cannot be opened or lacks a column; and later for each bad row, unless `skipped` takes it.
            OSError, ValueError, EOFError, zlib.error: later, for a damaged file.
        """
        delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter  # as people type it
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise RetvecLiteError(f"delimiter must be one character, such as ';', or tab, not {shown(delimiter)}.")
        self._path, self._required, self._skipped, self._whole = path, required, skipped or lines.Skipped(), whole
        self._is_text = is_text
        self._options = _OPTIONS if can_rename else (None,) * len(required)
        self._suffix, codec = format_of(path)
        self.columns: list[str] = []
        self.schema: Any = None
        self.unit = "line"
        self._opened = contextlib.ExitStack()
        try:
            self._file = self._opened.enter_context(path.open("rb"))
        except OSError as error:
            raise lines.unreadable(path, error) from error
        try:
            if self._suffix in PARQUET:
                self._open_parquet()
                return
            # In CSV a quoted cell keeps its own line ends; in text and JSON only \n ends a line.
            stream = self._opened.enter_context(lines.unpacked(self._file, codec))
            self._text = self._opened.enter_context(
                lines.open_lines(stream, "" if self._suffix in DELIMITERS else "\n")
            )
            self._lines = lines.marked(self._text, path)
            if self._suffix in DELIMITERS:
                self._open_table(delimiter)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "RowReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def position(self) -> int:
        """How many bytes of the file have been read."""
        return self._file.tell()

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        if self._suffix in PARQUET:
            return self._parquet_rows()
        if self._suffix in DELIMITERS:
            return self._records()
        if self._suffix in JSON_SUFFIXES:
            return self._objects()
        return self._text_lines()

    def bad(self, line: int, problem: str, kind: type[RetvecLiteError] = RetvecLiteError) -> RetvecLiteError:
        """Return the error about a row."""
        return kind(f"{self._path}, {self.unit} {line}: {problem}.")

    def _text_lines(self) -> Iterator[Row]:
        (column,) = self._required
        bad, rows = self._skipped.count, text_rows(self._lines, column, str(self._path), self._skipped)
        if not self._is_text:
            return rows
        text = "\n".join(row.fields[column] for row in rows).strip("\n")
        return iter([Row(1, {column: text})] if self._skipped.count == bad else [])

    def _open_table(self, delimiter: str | None) -> None:
        # The limit is global to the process, so it is raised once and never put back under another reader's feet.
        csv.field_size_limit(max(lines.LONGEST, csv.field_size_limit()))
        head: list[str] = []
        while len(head) < _HEAD and sum(map(len, head)) < lines.LONGEST and (line := next(self._lines, "")):
            head.append(line)
        if head and (said := _EXCEL.fullmatch(head[0])):
            head[0], delimiter = "\n", delimiter or said[1]
        likely = _sniffed(head, DELIMITERS[self._suffix], self._required)
        delimiter = delimiter or likely
        # Spaces before a quote are no part of the cell where a file has such quotes; elsewhere all spaces stay.
        mark = re.escape(delimiter)
        spaced = re.search(rf'(?m)(?:^|{mark}) +"[^"]*(?:""[^"]*)*"(?={mark}|\r?$)', "".join(head))
        self._table = csv.reader(
            itertools.chain(head, self._lines),
            delimiter=delimiter,
            skipinitialspace=spaced is not None and delimiter != " ",
            strict=True,
        )
        try:
            header = _first_record(self._table)
        except csv.Error as error:
            raise self._broken(self._table.line_num, error) from error
        if header is None:
            raise RetvecLiteError(f"{self._path} is empty.")
        if problem := lines.problem_in(",".join(header)):
            raise self.bad(self._table.line_num, problem)
        while not header[-1].strip():  # spreadsheets write columns that were emptied
            header.pop()
        if not set(header).issuperset(self._required):
            header = [name.strip() for name in header]  # "text, label" is what people write
        note = f" The first row must hold the names of the columns.{lines.delimiter_hint(header, self._required)}"
        if likely != delimiter:
            note = f" The header looks separated by {likely!r}, not {delimiter!r}: leave --delimiter (delimiter) out."
        self._check_columns(header, note)

    def _check_columns(self, columns: list[str], note: str = "") -> None:
        """Refuse columns without the required ones; the note is added where one is missing."""
        for column, option in zip(self._required, self._options, strict=False):
            if columns.count(column) != 1:
                error = missing_column(self._path, column, columns, option)
                raise RetvecLiteError(f"{error}{'' if column in columns else note}")
        self.columns = columns

    def _broken(self, line: int, error: csv.Error) -> RetvecLiteError:
        last = self._table.line_num
        reach = f" in a row that reaches line {last:,}" if last > line else ""
        return self.bad(line, f"broken quoting{reach} ({error}). Quote fields as RFC 4180 says")

    def _records(self) -> Iterator[Row]:
        size = len(self.columns)
        while True:
            line = self._table.line_num + 1
            try:
                record = next(self._table, None)
            except csv.Error as error:
                if self._table.line_num > line and str(error).startswith(_NEVER_CLOSED):
                    raise self._broken(line, error) from error  # what the quote swallowed are rows, and no bad ones
                self._skipped.bad(self._broken(line, error))
                continue
            if record is None:
                return
            if len(record) > 1 and not any(map(str.strip, record)):
                self._skipped.empty += 1
                continue
            while len(record) > size and not record[-1].strip():
                record.pop()
            if record and len(record) != size:
                cells = counted(len(record), "cell")
                self._skipped.bad(self.bad(line, f"{cells}, but the header has {size}{lines.cells_hint(record)}"))
            elif record and (problem := lines.problem_in(",".join(record))):
                self._skipped.bad(self.bad(line, problem, SystematicError))
            elif record:
                yield Row(line, dict(zip(self.columns, record, strict=True)))

    def _objects(self) -> Iterator[Row]:
        for line, source in self._json_sources():
            if source.strip():
                try:
                    fields = self._object(line, source)
                except RetvecLiteError as error:
                    self._skipped.bad(error)
                    continue
                yield Row(line, fields)

    def _json_sources(self) -> Iterator[tuple[int, str]]:
        """Yield the JSON of each row: of each line, or of each item of an array."""
        line = 1
        while (head := self._text.readline(_LINE)) and not head.strip():
            line += head.endswith("\n")
        if head.lstrip().startswith("["):
            self.unit = "row"
            number = -1
            try:
                for number, source in enumerate(lines.array_items(head, self._text.read)):
                    yield number, source.replace("\0", "\udc00")
            except (ValueError, RecursionError) as error:
                problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise self.bad(number + 1, f"not a JSON array of objects ({problem})") from error
            return
        if not head.endswith("\n"):
            head += self._text.readline(lines.LONGEST)
            if len(head) > lines.LONGEST:
                raise lines.too_long(f"{self._path}, line {line}")
        yield from enumerate(itertools.chain([head.replace("\0", "\udc00")], self._lines), line)

    def _object(self, line: int, source: str) -> dict[str, Any]:
        if problem := lines.problem_in(source):
            raise self.bad(line, problem, SystematicError)
        problem = f"not a JSON object with the field {self._required[0]!r}: {source[:40].rstrip()!r}"
        try:
            fields, twice = lines.row_object(source)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and error.pos >= len(source.rstrip()) > source.find("{") >= 0:
                raise self.bad(
                    line, f"the object does not end on its line. {lines.ONE_A_ROW}", SystematicError
                ) from error
            raise self.bad(line, f"{problem} ({error}){lines.cells_hint([source])}") from error
        if not isinstance(fields, dict):
            raise self.bad(line, problem)
        if again := twice.intersection(self._required):
            raise self.bad(line, f"the field {min(again)!r} stands twice")
        if hint := lines.json_hint(fields, self._required[0]):
            raise self.bad(line, hint, SystematicError)
        for column, option in zip(self._required, self._options, strict=False):
            if column not in fields:
                found = ", ".join(map(repr, fields)) or "none"
                advice = f". Name it with {option}" if option else ""
                raise self.bad(line, f"no field {column!r} (found: {found}){advice}")
        self._check_text(line, fields)
        return fields

    def _check_text(self, line: int, fields: dict[str, Any]) -> None:
        text = fields[self._required[0]]
        if not isinstance(text, str | None):
            raise self.bad(line, f"{self._required[0]!r} {lines.no_text(text)}")

    def _open_parquet(self) -> None:
        from pyarrow.parquet import ParquetFile

        self.unit = "row"
        self._parquet = self._opened.enter_context(ParquetFile(self._file, pre_buffer=False))
        self.schema = self._parquet.schema_arrow
        self._check_columns(self._parquet.schema_arrow.names)

    def _parquet_rows(self) -> Iterator[Row]:
        batches = self._parquet.iter_batches(_BATCH, columns=None if self._whole else list(self._required))
        rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, fields in enumerate(rows):
            try:
                # What Hive and Impala call a string may have no mark that says so.
                for name in self._required:
                    if isinstance(fields[name], bytes):
                        fields[name] = fields[name].decode()
                self._check_text(number, fields)
            except UnicodeDecodeError as error:
                self._skipped.bad(self.bad(number, f"the byte 0x{error.object[error.start]:02X} is not UTF-8"))
            except RetvecLiteError as error:
                self._skipped.bad(error)
            else:
                yield Row(number, fields)


def text_rows(texts: Iterable[str], column: str, name: str, skipped: lines.Skipped) -> Iterator[Row]:
    """Yield one text a line; messages call their source by `name`."""
    for number, line in enumerate(texts, 1):
        if problem := lines.problem_in(line):
            skipped.bad(SystematicError(f"{name}, line {number}: {problem}."))
        else:
            yield Row(number, {column: line.removesuffix("\n").removesuffix("\r")})


def _first_record(table: Iterable[list[str]]) -> list[str] | None:
    """Return the first row of a table that is not blank."""
    return next((record for record in table if any(map(str.strip, record))), None)


def _sniffed(head: Sequence[str], usual: str, required: Sequence[str]) -> str:
    """Return the delimiter that gives a table the required columns, the usual one if it does; else the most columns."""
    most, found = 0, usual
    for delimiter in (usual, *_CANDIDATES):
        try:
            header = _first_record(csv.reader(head, delimiter=delimiter, skipinitialspace=True, strict=True)) or ()
        except csv.Error:  # quotes beside another delimiter
            continue
        if required and all(column in header for column in required):
            return delimiter
        if len(header) > most:
            most, found = len(header), delimiter
    return found
