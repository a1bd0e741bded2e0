"""The input files of a large run: finding them, checking them, and reading them a chunk at a time."""

import contextlib
import glob
import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from retvec_lite.data.decoding import READ_ERRORS, not_utf_8
from retvec_lite.data.rows import (
    LABELLED,
    PARQUET,
    TEXT_SUFFIX,
    Rows,
    check_suffix,
    endings,
    format_of,
    missing_column,
)
from retvec_lite.data.skipped import Skipped
from retvec_lite.errors import RetvecLiteError, reason

SUFFIXES: Final = (*LABELLED, TEXT_SUFFIX)

IS_JSON: Final = {b"json": b"1"}
"""Metadata of a column whose texts are JSON values."""

ROWS: Final = 4_096
"""Rows of a chunk: half a second of one core. That is what a kill costs, and how long other cores may wait for the last chunk."""
_BYTES: Final = 16 << 20
"""Bytes after which a chunk ends before it has as many rows, so that long texts take no more memory."""
_BLOCK: Final = 4 << 20
"""Bytes of Parquet that are read at a time."""


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
        if not isinstance(given, str | os.PathLike):
            raise RetvecLiteError(f"The name of a file must be a string or a path, not {given!r:.40}.")
        name = os.fspath(given)
        if os.path.isdir(name):
            files = sorted(path for path in Path(name).rglob("*") if path.is_file() and _is_data(path, Path(name)))
            if not files:
                raise RetvecLiteError(f"The folder {name} has no file whose name ends in {endings(SUFFIXES)}.")
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


def _source(path: Path) -> Source:
    check_suffix(path, SUFFIXES, "an input file")
    try:
        status = path.stat()
        with path.open("rb"):
            pass
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {path}: {error.strerror or error}.") from error
    facts = f"{os.path.realpath(path)}|{status.st_size}|{status.st_mtime_ns}"
    return Source(path, format_of(path)[0], status.st_size, hashlib.sha256(facts.encode()).hexdigest()[:16])


def check_columns(source: Source, text_column: str, added: Sequence[str], delimiter: str | None) -> None:
    """Refuse, before any work, a file that cannot be read or has no texts, or a column of the name of one that is added."""
    try:
        if source.suffix in PARQUET:
            with pa.parquet.ParquetFile(source.path) as file:
                names = file.schema_arrow.names
                if text_column in names:
                    _check_type(source, text_column, file.schema_arrow.field(text_column).type)
        else:
            # Of JSON, the first row; whether a bad one is an error is found out later.
            with _open(source, text_column, Skipped(bad_rows=True), delimiter) as rows:
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
    if not is_binary(values) and not any(is_kind(values) for is_kind in text):
        raise RetvecLiteError(f"The column {text_column!r} of {source.path} holds {kind}, not texts.")


def _unreadable(source: Source, error: Exception, row: int = 0) -> RetvecLiteError:
    """Return the error to raise when a file is damaged behind a row."""
    behind = f" behind row {row:,}" if row else ""
    return RetvecLiteError(
        f"Cannot read {source.path}{behind}: {reason(error)}. Repair it or leave it out; finished parts are kept."
    )


def is_binary(kind: pa.DataType) -> bool:
    """Return whether values are bytes, which some programs call texts."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def read_chunks(source: Source, text_column: str, skipped: Skipped, delimiter: str | None) -> Iterator[Chunk]:
    """Yield the rows of a file, a chunk at a time: the same chunks each time that it is read.

    Raises:
        RetvecLiteError: for a file that cannot be read, and a bad row that `skipped` does not take.
    """
    row = 0
    try:
        for chunk in _chunks(source, text_column, skipped, delimiter):
            yield chunk
            row = chunk.first + len(chunk.content)
    except READ_ERRORS as error:
        raise _unreadable(source, error, row) from error


def _chunks(source: Source, text_column: str, skipped: Skipped, delimiter: str | None) -> Iterator[Chunk]:
    return (
        _parquet(source, text_column, skipped)
        if source.suffix in PARQUET
        else _rows(_open(source, text_column, skipped, delimiter), text_column)
    )


def _parquet(source: Source, text_column: str, skipped: Skipped) -> Iterator[Chunk]:
    with pa.parquet.ParquetFile(source.path, pre_buffer=False, buffer_size=_BLOCK) as file:
        total = max(file.metadata.num_rows, 1)
        number = first = 0
        waiting: list[Any] = []
        for batch in itertools.chain(file.iter_batches(ROWS), [None]):
            table = pa.Table.from_batches(waiting, None if waiting else file.schema_arrow)
            is_full = waiting and batch and (len(table) + len(batch) > ROWS or table.nbytes >= _BYTES)
            if is_full or batch is None:
                table.validate(full=True)  # its texts may be no UTF-8, which nobody notices before they are used
                position = source.size * (first + len(table)) // total
                yield Chunk(number, first, _with_texts(table, text_column, source, first, skipped), position)
                number, first, waiting = number + 1, first + len(table), []
            waiting.append(batch)


def _with_texts(table: pa.Table, text_column: str, source: Source, first: int, skipped: Skipped) -> pa.Table:
    """Return a table whose texts are no bytes, without the rows where these are no UTF-8; it begins with the row `first`."""
    place = table.schema.get_field_index(text_column)
    kind = table.schema.field(place).type
    if not is_binary(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return table
    column = table[text_column].cast(pa.binary())
    try:
        return table.set_column(place, text_column, column.cast(pa.string()))
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        kept = []
        for row, value in enumerate(column.to_pylist()):
            try:
                texts.append(None if value is None else value.decode())
                kept.append(row)
            except UnicodeDecodeError as error:
                skipped.bad(not_utf_8(f"{source.path}, row {first + row + 1}", error))
        return table.take(kept).set_column(place, text_column, pa.array(texts, pa.string()))


def _rows(opened: Rows, text_column: str) -> Iterator[Chunk]:
    with opened as rows:
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


def _open(source: Source, text_column: str, skipped: Skipped, delimiter: str | None) -> Rows:
    return Rows(source.path, [text_column], delimiter=delimiter, skipped=skipped)


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
    texts = [None if value is None else _valid(json_text(value)) for value in values]
    return pa.field(name, pa.string(), metadata=IS_JSON), pa.array(texts, pa.string())


def json_text(value: object) -> str:
    """Return a value as JSON, with null for NaN and infinity; dates and decimals, which JSON has no form for, become texts."""
    try:
        return json.dumps(value, default=_text_of, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=_text_of, ensure_ascii=False)


def text_of_bytes(value: bytes) -> str:
    r"""Return bytes as UTF-8, with escapes like \xff for what is none."""
    return value.decode("utf-8", "backslashreplace")


def _text_of(value: object) -> str:
    return text_of_bytes(value) if isinstance(value, bytes) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _valid(text: str) -> str:
    """Return a text with U+FFFD, as the model reads it, for what is no Unicode: an unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
