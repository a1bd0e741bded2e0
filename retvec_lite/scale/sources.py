"""The input files of a large run: finding them, checking them, and reading them a chunk at a time."""

import contextlib
import glob
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from retvec_lite.data.rows import (
    COMPRESSION,
    DELIMITERS,
    JSON_SUFFIXES,
    TEXT_SUFFIX,
    Rows,
    format_of,
    missing_column,
)
from retvec_lite.errors import RetvecLiteError, reason

PARQUET: Final = (".parquet", ".pq")
SUFFIXES: Final = (*PARQUET, *DELIMITERS, *JSON_SUFFIXES, TEXT_SUFFIX)

IS_JSON: Final = {b"json": b"1"}
"""Metadata of a column whose texts are JSON values."""

ROWS: Final = 4_096
"""Rows of a chunk: half a second of one core. That is what a kill costs, and how long other cores may wait for the last chunk."""
_BYTES: Final = 16 << 20
"""Bytes after which a chunk ends before it has as many rows, so that long texts take no more memory."""
_BLOCK: Final = 4 << 20
"""Bytes of Parquet that are read at a time."""

READ_ERRORS: Final = (OSError, ValueError, EOFError)
"""What reading a damaged file raises; Arrow's errors are among them."""


@dataclass(frozen=True)
class Source:
    """One input file.

    Attributes:
        path: where it is.
        suffix: one of `SUFFIXES`, which decides the format.
        size: in bytes.
        key: names its parts; another one as soon as the file changes.
    """

    path: Path
    suffix: str
    size: int
    key: str


class Chunk(NamedTuple):
    """Some rows of a source.

    Attributes:
        number: of the chunk, from 0.
        first: the row it begins with, from 0.
        content: a table for Parquet; else the fields of each row.
        position: bytes of the file that have been read by its end.
        columns: of a CSV file, all of texts.
    """

    number: int
    first: int
    content: Any
    position: int
    columns: tuple[str, ...] = ()


def find_sources(inputs: Iterable[str | os.PathLike[str]], output: Path) -> list[Source]:
    """Return the files that paths, patterns and folders name, in their order, none twice.

    Raises:
        RetvecLiteError: for a file that is missing, of another format or the output, a pattern or folder without files.
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
    return not hidden and format_of(path)[0] in SUFFIXES


def _endings() -> str:
    return f"{', '.join(SUFFIXES)}, also with {', '.join(COMPRESSION)} behind it"


def _source(path: Path) -> Source:
    suffix, codec = format_of(path)
    if suffix not in SUFFIXES or (codec and suffix in PARQUET):
        raise RetvecLiteError(f"Cannot read {path}: the name of an input file ends in {_endings()}.")
    try:
        status = path.stat()
        with path.open("rb"):
            pass
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {path}: {error.strerror or error}.") from error
    facts = f"{os.path.realpath(path)}|{status.st_size}|{status.st_mtime_ns}"
    return Source(path, suffix, status.st_size, hashlib.sha256(facts.encode()).hexdigest()[:16])


def check_columns(source: Source, text_column: str, added: Sequence[str]) -> None:
    """Refuse, before any work, a file that cannot be read or has no texts, or a column of the name of one that is added."""
    try:
        if source.suffix in PARQUET:
            with pa.parquet.ParquetFile(source.path) as file:
                names = file.schema_arrow.names
                if text_column in names:
                    _check_type(source, text_column, file.schema_arrow.field(text_column).type)
        else:
            # Of JSON Lines, the first row; whether a bad one is an error is found out later.
            with _open(source, text_column, lambda _: None) as rows:
                names = rows.columns or next((list(row.fields) for row in rows), [text_column])
    except READ_ERRORS as error:
        raise _unreadable(source, error) from error
    if names.count(text_column) != 1:
        raise missing_column(source.path, text_column, names, "--text-column")
    for name, option in zip(added, ("--label-column", "--probability-column"), strict=True):
        if name in names:
            raise RetvecLiteError(f"{source.path} already has a column {name!r}. Name the new one with {option}.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RetvecLiteError(f"The column {twice!r} appears twice in {source.path}. Rename one of them.")


def _check_type(source: Source, text_column: str, kind: pa.DataType) -> None:
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(is_kind(values) for is_kind in text):
        raise RetvecLiteError(f"The column {text_column!r} of {source.path} holds {kind}, not texts.")


def _unreadable(source: Source, error: Exception, row: int = 0) -> RetvecLiteError:
    """Return the error to raise when a file is damaged behind a row."""
    behind = f" behind row {row:,}" if row else ""
    return RetvecLiteError(
        f"Cannot read {source.path}{behind}: {reason(error)}. Repair it or leave it out; finished parts are kept."
    )


def read_chunks(source: Source, text_column: str, skip: Callable[[RetvecLiteError], None]) -> Iterator[Chunk]:
    """Yield the rows of a file, a chunk at a time: the same chunks each time that it is read.

    Raises:
        RetvecLiteError: for a file that cannot be read, and a bad row that `skip` does not take.
    """
    row = 0
    try:
        for chunk in _parquet(source) if source.suffix in PARQUET else _rows(source, text_column, skip):
            yield chunk
            row = chunk.first + len(chunk.content)
    except READ_ERRORS as error:
        raise _unreadable(source, error, row) from error


def _parquet(source: Source) -> Iterator[Chunk]:
    with pa.parquet.ParquetFile(source.path, pre_buffer=False, buffer_size=_BLOCK) as file:
        total = max(file.metadata.num_rows, 1)
        number = first = 0
        waiting: list[Any] = []
        for batch in itertools.chain(file.iter_batches(ROWS), [None]):
            table = pa.Table.from_batches(waiting, None if waiting else file.schema_arrow)
            is_full = waiting and batch and (len(table) + len(batch) > ROWS or table.nbytes >= _BYTES)
            if is_full or batch is None:
                yield Chunk(number, first, table, source.size * (first + len(table)) // total)
                number, first, waiting = number + 1, first + len(table), []
            waiting.append(batch)


def _rows(source: Source, text_column: str, skip: Callable[[RetvecLiteError], None]) -> Iterator[Chunk]:
    with _open(source, text_column, skip) as rows:
        number = first = size = 0
        content: list[dict[str, Any]] = []
        for row in rows:
            content.append(row.fields)
            size += len(row.fields[text_column] or "")
            if len(content) == ROWS or size >= _BYTES:
                yield Chunk(number, first, content, rows.position, tuple(rows.columns))
                number, first, size, content = number + 1, first + len(content), 0, []
        if content or not number:
            yield Chunk(number, first, content, rows.position, tuple(rows.columns))


def _open(source: Source, text_column: str, skip: Callable[[RetvecLiteError], None]) -> Rows:
    return Rows(source.path, [text_column], invalid="replace", may_lack_text=True, skip=skip)


def as_table(chunk: Chunk, text_column: str) -> pa.Table:
    """Return the rows of a chunk as a table; runs in a worker process."""
    if isinstance(chunk.content, pa.Table):
        return chunk.content
    names = chunk.columns or dict.fromkeys(name for row in chunk.content for name in row) or (text_column,)
    columns = [_json_column(name, [row.get(name) for row in chunk.content]) for name in names]
    schema = pa.schema([field for field, _ in columns])
    return pa.table([array for _, array in columns], schema=schema)


def _json_column(name: str, values: list[Any]) -> tuple[pa.Field, pa.Array]:
    """Return JSON values as a column: of their type where they are all texts, numbers or booleans, else of JSON texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str}:
        return pa.field(name, pa.string()), pa.array([value and _valid(value) for value in values], pa.string())
    if kinds <= {bool} or kinds <= {int, float}:
        with contextlib.suppress(pa.ArrowInvalid, OverflowError):  # an integer of more than 64 bits
            column = pa.array(values)
            return pa.field(name, column.type), column
    texts = [None if value is None else _valid(json.dumps(value, ensure_ascii=False)) for value in values]
    return pa.field(name, pa.string(), metadata=IS_JSON), pa.array(texts, pa.string())


def _valid(text: str) -> str:
    """Return a text with U+FFFD, as the model reads it, for what is no Unicode: an unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
