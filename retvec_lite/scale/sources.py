"""The input files of a large run: finding them, checking them, and reading them a chunk at a time."""

import codecs
import glob
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from retvec_lite.data.texts import DELIMITERS, JSON_SUFFIXES, TEXT_SUFFIX, missing_column
from retvec_lite.errors import RetvecLiteError

PARQUET: Final = (".parquet", ".pq")
SUFFIXES: Final = (*PARQUET, *DELIMITERS, *JSON_SUFFIXES, TEXT_SUFFIX)
COMPRESSION: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

ROWS: Final = 4_096
"""Rows of a chunk: half a second of one core. That is what a kill costs, and how long other cores may wait for the last chunk."""
_BYTES: Final = 16 << 20
"""Bytes after which a chunk ends before it has as many rows, so that long texts take no more memory."""
_BLOCK: Final = 4 << 20
"""Bytes that are read at a time; no row of a CSV file is longer."""

READ_ERRORS: Final = (OSError, ValueError, EOFError)
"""What reading a damaged file raises; Arrow's errors are among them."""


@dataclass(frozen=True)
class Source:
    """One input file.

    Attributes:
        path: where it is.
        suffix: one of `SUFFIXES`, which decides the format.
        codec: how it is compressed, None for not at all. Parquet compresses by itself.
        size: in bytes.
        key: names its parts; another one as soon as the file changes.
    """

    path: Path
    suffix: str
    codec: str | None
    size: int
    key: str


class Chunk(NamedTuple):
    """Some rows of a source.

    Attributes:
        number: of the chunk, from 0.
        first: the row it begins with, from 0; the line in JSON Lines and text.
        content: a table, or for JSON Lines and text the bytes of their lines, which a worker reads.
        position: bytes of the file that have been read by its end.
        bad: what was wrong with the first row left out since the chunk before, and how many there were.
    """

    number: int
    first: int
    content: Any
    position: int
    bad: tuple[int, str] = (0, "")


def find_sources(inputs: Iterable[str | os.PathLike[str]], output: Path) -> list[Source]:
    """Return the files that paths, patterns and folders name, in their order, none twice.

    Args:
        inputs: files, glob patterns (sorted by name), or folders (every file of a known format in them).
        output: what is written; it cannot be an input.

    Raises:
        RetvecLiteError: for a file that is missing or of another format, a pattern or folder without files.
    """
    found: dict[str, Source] = {}
    for given in inputs:
        name = os.fspath(given)
        if os.path.isdir(name):
            files = sorted(path for path in Path(name).rglob("*") if path.is_file() and _is_data(path, Path(name)))
            if not files:
                raise RetvecLiteError(f"The folder {name} has no file whose name ends in {_endings()}.")
        elif glob.has_magic(name) and not os.path.lexists(name):
            files = [path for path in map(Path, sorted(glob.glob(name, recursive=True))) if not path.is_dir()]
            if not files:
                raise RetvecLiteError(f"No file matches {name}.")
        else:
            files = [Path(name)]
        for file in files:
            real = os.path.realpath(file)
            if real == os.path.realpath(output):
                raise RetvecLiteError(f"{file} is an input, too. Choose another output.")
            if real not in found:
                found[real] = _source(file)
    if not found:
        raise RetvecLiteError("No input files.")
    return list(found.values())


def _is_data(path: Path, folder: Path) -> bool:
    # Spark and others leave _SUCCESS, _temporary and .crc files beside their parts.
    hidden = any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
    return not hidden and _format(path)[0] in SUFFIXES


def _format(path: Path) -> tuple[str, str | None]:
    """Return the suffix of the format, and how the file is compressed."""
    codec = COMPRESSION.get(path.suffix.lower())
    return (Path(path.stem).suffix if codec else path.suffix).lower(), codec


def _endings() -> str:
    return f"{', '.join(SUFFIXES)}, also with {', '.join(COMPRESSION)} behind it"


def _source(path: Path) -> Source:
    suffix, codec = _format(path)
    if suffix not in SUFFIXES or (codec and suffix in PARQUET):
        raise RetvecLiteError(f"Cannot read {path}: the name of an input file ends in {_endings()}.")
    try:
        status = path.stat()
        with path.open("rb"):
            pass
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {path}: {error.strerror or error}.") from error
    facts = f"{os.path.realpath(path)}|{status.st_size}|{status.st_mtime_ns}"
    return Source(path, suffix, codec, status.st_size, hashlib.sha256(facts.encode()).hexdigest()[:16])


def check_columns(source: Source, text_column: str, added: Sequence[str]) -> None:
    """Refuse a file without texts, or with a column of the name of one that is added, before any work is done.

    Raises:
        RetvecLiteError: for these, and for a file that cannot be read.
    """
    with explained(source):
        if source.suffix in PARQUET:
            with pa.parquet.ParquetFile(source.path) as file:
                schema = file.schema_arrow
        elif source.suffix in DELIMITERS:
            schema = _csv_schema(source)
        else:
            schema = _first_line_schema(source, text_column)
    names = schema.names
    if names.count(text_column) != 1:
        raise missing_column(source.path, text_column, names, "--text-column")
    for name, option in zip(added, ("--label-column", "--probability-column"), strict=True):
        if name in names:
            raise RetvecLiteError(f"{source.path} already has a column {name!r}. Name the new one with {option}.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RetvecLiteError(f"The column {twice!r} appears twice in {source.path}. Rename one of them.")
    kind = schema.field(text_column).type
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(is_kind(values) for is_kind in text):
        raise RetvecLiteError(f"The column {text_column!r} of {source.path} holds {kind}, not texts.")


class explained:
    """Turns what a damaged file raises inside the block into one sentence."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.row = 0

    def __enter__(self) -> "explained":
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, READ_ERRORS) or isinstance(error, RetvecLiteError):
            return
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        if "straddling object" in reason:
            reason = f"a row is longer than {_BLOCK >> 20} MB, or a quote is never closed"
        where = (
            f"Cannot read {self._source.path} behind row {self.row:,}"
            if self.row
            else f"Cannot read {self._source.path}"
        )
        raise RetvecLiteError(f"{where}: {reason}. Repair it or leave it out; finished parts are kept.") from error


def read_chunks(source: Source, skip_bad_rows: bool) -> Iterator[Chunk]:
    """Yield the rows of a file, a chunk at a time: the same chunks each time that it is read.

    Raises:
        RetvecLiteError: for a file that cannot be read.
    """
    read = _parquet if source.suffix in PARQUET else _table if source.suffix in DELIMITERS else _lines
    with explained(source) as state:
        for chunk in read(source, skip_bad_rows):
            yield chunk
            state.row = chunk.first + (chunk.content.num_rows if isinstance(chunk.content, pa.Table) else 0)


def _parquet(source: Source, _: bool) -> Iterator[Chunk]:
    with pa.parquet.ParquetFile(source.path, pre_buffer=False, buffer_size=_BLOCK) as file:
        total = max(file.metadata.num_rows, 1)
        batches = file.iter_batches(ROWS)
        for number, (first, table) in enumerate(_rechunked(batches, file.schema_arrow)):
            yield Chunk(number, first, table, source.size * (first + table.num_rows) // total)


def _table(source: Source, skip_bad_rows: bool) -> Iterator[Chunk]:
    schema = _csv_schema(source)
    rows, reasons = 0, [""]

    def left_out(row: Any) -> str:
        nonlocal rows
        rows += 1
        reasons[0] = (
            reasons[0] or f"{source.path}: {row.actual_columns} fields, but the header has {row.expected_columns}."
        )
        return "skip"

    with source.path.open("rb") as file:
        # CSV has no types: every column stays the text that it is, in each file and each chunk.
        options = pa.csv.ConvertOptions(column_types={name: pa.string() for name in schema.names})
        parse = pa.csv.ParseOptions(
            delimiter=DELIMITERS[source.suffix],
            newlines_in_values=True,
            invalid_row_handler=left_out if skip_bad_rows else None,
        )
        content = _clean(file, source)
        reader = pa.csv.open_csv(content, pa.csv.ReadOptions(block_size=_BLOCK), parse, options)
        last: Chunk | None = None
        for number, (first, table) in enumerate(_rechunked(reader, schema)):
            if last is not None:
                yield last
            last = Chunk(number, first, table, file.tell(), (rows, reasons[0]))
            rows, reasons[0] = 0, ""
        assert last is not None
        # Arrow takes a cell whose quote is never closed as it is, with all the rest of the file in it.
        rest = last.content.slice(max(0, last.content.num_rows - 1)).to_pylist()
        if content.quotes % 2 and any("\n" in (cell or "") for row in rest for cell in row.values()):
            raise ValueError("a quote is never closed")
        yield last


def _lines(source: Source, _: bool) -> Iterator[Chunk]:
    with source.path.open("rb") as file, io.BufferedReader(_clean(file, source), _BLOCK) as lines:
        number = first = size = 0
        chunk: list[bytes] = []
        for line in lines:
            chunk.append(line)
            size += len(line)
            if len(chunk) == ROWS or size >= _BYTES:
                yield Chunk(number, first, b"".join(chunk), file.tell())
                number, first, size, chunk = number + 1, first + len(chunk), 0, []
        if chunk:
            yield Chunk(number, first, b"".join(chunk), file.tell())


def _csv_schema(source: Source) -> pa.Schema:
    """Return the columns of a CSV file, each of text."""
    with source.path.open("rb") as file:
        parse = pa.csv.ParseOptions(
            delimiter=DELIMITERS[source.suffix], newlines_in_values=True, invalid_row_handler=lambda _: "skip"
        )
        names = pa.csv.open_csv(_clean(file, source), pa.csv.ReadOptions(block_size=_BLOCK), parse).schema.names
    return pa.schema([(name, pa.string()) for name in names])


def _first_line_schema(source: Source, text_column: str) -> pa.Schema:
    """Return the fields of the first line, without their types; those of a text file are its texts alone."""
    if source.suffix == TEXT_SUFFIX:
        return pa.schema([(text_column, pa.string())])
    with source.path.open("rb") as file, io.BufferedReader(_clean(file, source)) as lines:
        for line in lines:
            if line.strip():
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    break  # the first row is bad: others may not be
                if not isinstance(found, dict):
                    raise RetvecLiteError(
                        f"{source.path} holds no JSON object a line: {line[:40].decode(errors='replace').strip()!r}."
                    )
                return pa.schema([(name, pa.null()) for name in found])
    return pa.schema([(text_column, pa.null())])


def _rechunked(batches: Iterable[Any], schema: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
    """Yield (first row, table) of at most `ROWS` rows and about `_BYTES`; one empty table where there are no rows."""
    waiting: list[Any] = []
    first = rows = size = 0
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            if waiting and (rows + part.num_rows > ROWS or size >= _BYTES):
                yield first, pa.Table.from_batches(waiting)
                first, rows, size, waiting = first + rows, 0, 0, []
            waiting.append(part)
            rows += part.num_rows
            size += part.nbytes
    if waiting or not first:
        yield first, pa.Table.from_batches(waiting, schema)


def _clean(file: BinaryIO, source: Source) -> "_Utf8":
    """Return the unpacked content of a file as valid UTF-8."""
    stream = pa.CompressedInputStream(file, source.codec) if source.codec else file
    return _Utf8(stream.read)


class _Utf8(io.RawIOBase):
    """Content as UTF-8 without a byte order mark; a byte that is no UTF-8 becomes U+FFFD, as the model reads it.

    Attributes:
        quotes: how many quotes there were so far.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._left = b""
        self._ended = False
        self.quotes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Full blocks until the end: where a chunk ends must not depend on how the content is packed.
        while len(self._left) < len(buffer) and not self._ended:
            block = self._read(_BLOCK)
            self._ended = not block
            content = self._decoder.decode(block, self._ended).encode()
            self.quotes += content.count(b'"')
            self._left += content
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size
