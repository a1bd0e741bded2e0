"""From shards to the one file that was asked for: Parquet, CSV or JSON Lines, in the order of the input."""

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from retvec_lite.data.decoding import COMPRESSION, READ_ERRORS
from retvec_lite.data.labels import SEPARATOR
from retvec_lite.data.rows import DELIMITERS, JSON_SUFFIXES, LABELLED, PARQUET, format_of
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.files import explain_os_error, flush_folder
from retvec_lite.foreign import require_file
from retvec_lite.scale.sources import IS_JSON, is_binary, json_text, text_of_bytes
from retvec_lite.terminal import Progress

_GROUP_BYTES: Final = 64 << 20
"""Bytes of a row group of Parquet, which is what its readers take into memory at a time."""


def check_output(output: Path) -> None:
    """Refuse an output of an unknown format with RetvecLiteError."""
    suffix, codec = format_of(output)
    if suffix not in LABELLED or (codec and suffix in PARQUET):
        raise RetvecLiteError(
            f"Cannot write {output}: its name must end in {', '.join(LABELLED)}; the first five also with "
            f"{', '.join(COMPRESSION)} behind it."
        )


def write_output(
    output: Path, target: Path, shards: Sequence[Path], empty: pa.Schema, folder: Path, progress: Progress
) -> None:
    """Write all shards as one file, whole or not at all.

    Columns whose types differ from shard to shard get the type that holds all of them, or else become JSON texts; where there is no
    shard, they are those of `empty`. The file is written in `folder`, on the same file system, before it takes its place at `target`,
    which is where `output` leads.

    Raises:
        RetvecLiteError: when it cannot be written, or a shard is damaged.
    """
    schema = _common_schema(shards) if shards else empty
    temporary = folder / f"output{''.join(output.suffixes[-2:])}"
    try:
        require_file(temporary)
        with _writer(temporary, format_of(output)[0], schema) as write:
            for number, shard in enumerate(shards, 1):
                table = _read(shard, pa.parquet.read_table)
                write(pa.table([_as(field, table) for field in schema], schema=schema))
                progress("writing", number, len(shards))
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
        flush_folder(target.parent)
    except OSError as error:
        raise explain_os_error(error, output) from error


def _read(shard: Path, read: Callable[[Path], Any]) -> Any:
    try:
        return read(shard)
    except READ_ERRORS as error:
        raise RetvecLiteError(
            f"{shard} is damaged ({reason(error)}). Remove it and repeat the command: this part alone is made again."
        ) from error


def _common_schema(shards: Sequence[Path]) -> pa.Schema:
    """Return the columns of all shards, in the order in which they first appear."""
    kinds: dict[str, dict[tuple[pa.DataType, bool], None]] = {}
    for shard in shards:
        schema = _read(shard, pa.parquet.read_schema)
        for field in schema:
            kinds.setdefault(field.name, {})[_plain(field.type), field.metadata == IS_JSON] = None
    return pa.schema([_common_field(name, list(found)) for name, found in kinds.items()])


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, however a file happens to store them."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return pa.string() if pa.types.is_string_view(kind) else kind


def _common_field(name: str, kinds: Sequence[tuple[pa.DataType, bool]]) -> pa.Field:
    values = [(kind, is_json) for kind, is_json in kinds if not pa.types.is_null(kind)]
    if any(is_json for _, is_json in values):
        return pa.field(name, pa.string(), metadata=IS_JSON)
    try:
        schemas = [pa.schema([(name, kind)]) for kind, _ in values or kinds]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    except pa.ArrowTypeError:
        return pa.field(name, pa.string(), metadata=IS_JSON)


def _as(field: pa.Field, table: pa.Table) -> Any:
    """Return a column of a shard as the output has it."""
    if field.name not in table.schema.names:
        return pa.nulls(table.num_rows, field.type)
    column, given = table[field.name], table.schema.field(field.name)
    if field.metadata != IS_JSON:
        return column.cast(field.type)
    if given.metadata == IS_JSON:
        return column
    return _texts(column, json_text)


def _texts(column: Any, text_of: Callable[[Any], str]) -> pa.Array:
    """Return a column as texts; null stays null."""
    return pa.array([None if value is None else text_of(value) for value in column.to_pylist()], pa.string())


_Write = Callable[[pa.Table], None]


@contextlib.contextmanager
def _writer(path: Path, suffix: str, schema: pa.Schema) -> Iterator[_Write]:
    """Yield what writes a table to a file."""
    if suffix in PARQUET:
        with _parquet(path, schema) as write:
            yield write
        return
    with pa.output_stream(path, compression="detect") as stream:
        if suffix in JSON_SUFFIXES:
            names = [field.name for field in schema if field.metadata == IS_JSON]
            yield lambda table: stream.write(_json_lines(table, names))
            return
        flat = pa.schema([(field.name, pa.string() if _is_nested(field.type) else field.type) for field in schema])
        with pa.csv.CSVWriter(stream, flat, write_options=pa.csv.WriteOptions(delimiter=DELIMITERS[suffix])) as writer:
            yield lambda table: writer.write_table(pa.table([_flat(column) for column in table.columns], schema=flat))


@contextlib.contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[_Write]:
    """Yield what collects tables into row groups of a size that readers like."""
    plain = pa.schema([field.remove_metadata() for field in schema])
    waiting: list[pa.Table] = []
    with pa.parquet.ParquetWriter(path, plain, compression="zstd") as writer:

        def flush() -> None:
            if waiting:
                writer.write_table(pa.concat_tables(waiting))
                waiting.clear()

        def write(table: pa.Table) -> None:
            waiting.append(table.cast(plain))
            if sum(one.nbytes for one in waiting) >= _GROUP_BYTES:
                flush()

        yield write
        flush()


def _json_lines(table: pa.Table, json_columns: Sequence[str]) -> bytes:
    """Return one object a line; JSON texts become the values that they were."""
    for place, field in enumerate(table.schema):
        if field.type == pa.float32():
            # The shortest digits that mean the same float32.
            table = table.set_column(place, field.name, table[field.name].cast(pa.string()).cast(pa.float64()))
    rows = table.to_pylist()
    for row in rows:
        row |= {name: json.loads(row[name]) for name in json_columns if row[name] is not None}
    return "".join(f"{json_text(row)}\n" for row in rows).encode()


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or is_binary(kind))


def _flat(column: Any) -> Any:
    """Return a column as CSV can hold it: lists of labels as training reads them, other nested values as JSON."""
    if not _is_nested(column.type):
        return column
    if is_binary(column.type):
        return _texts(column, text_of_bytes)
    if pa.types.is_list(column.type) and column.type.value_type in (pa.string(), pa.float32()):
        return _texts(
            column,
            lambda values: SEPARATOR.join(f"{one:.4f}" if isinstance(one, float) else str(one) for one in values),
        )
    return _texts(column, json_text)
