"""The one file that `classify_files` writes: Parquet, CSV or JSON Lines, row by row, whole or not at all."""

import contextlib
import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.data.decoding import COMPRESSION
from retvec_lite.data.labels import SEPARATOR
from retvec_lite.data.rows import DELIMITERS, JSON_SUFFIXES, LABELLED, PARQUET, format_of
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_file

Fields = dict[str, Any]
Columns = Mapping[str, set[Any]]
"""Name of a column -> what its values are: types of Arrow, what `kind_of` returns, and what is added ("label", "several probability")."""

_SEVERAL: Final = ("several label", "several probability")

_GROUP: Final = 64 << 20
"""Bytes of a row group of Parquet, which is what its readers take into memory at a time."""


def check_output(output: Path) -> None:
    """Refuse an output of an unknown format with RetvecLiteError."""
    suffix, codec = format_of(output)
    if suffix not in LABELLED or (codec and suffix in PARQUET):
        raise RetvecLiteError(
            f"Cannot write {output}: its name must end in {', '.join(LABELLED)}; the first five also with "
            f"{', '.join(COMPRESSION)} behind it."
        )


@contextlib.contextmanager
def opened(output: Path, columns: Columns) -> Iterator[Callable[[Sequence[Fields]], None]]:
    """Yield what writes rows of the given columns; the file takes its place when the block ends well.

    Raises:
        RetvecLiteError: when it cannot be written.
    """
    suffix, codec = format_of(output)
    with atomic_file(output) as file, contextlib.ExitStack() as stack:
        if suffix in PARQUET:
            yield stack.enter_context(_parquet(file, columns))
            return
        stream = file
        if codec:
            import pyarrow

            # A second descriptor, because pyarrow closes what it is given.
            copy = stack.enter_context(os.fdopen(os.dup(file.fileno()), "wb"))
            stream = stack.enter_context(pyarrow.CompressedOutputStream(copy, codec))
        if suffix in JSON_SUFFIXES:

            def write_lines(rows: Sequence[Fields]) -> None:
                lines = (json_text({name: row.get(name) for name in columns}) for row in rows)
                stream.write(_valid("".join(f"{line}\n" for line in lines)).encode())

            yield write_lines
            return

        def write(rows: Sequence[Sequence[str]]) -> None:
            lines = io.StringIO()
            csv.writer(lines, delimiter=DELIMITERS[suffix], lineterminator="\n").writerows(rows)
            stream.write(_valid(lines.getvalue()).encode())

        def cell(name: str, value: Any) -> str:
            is_ours = isinstance(value, list) and not columns[name].isdisjoint(_SEVERAL)
            return SEPARATOR.join(map(str, value)) if is_ours else _cell(value)

        write([list(columns)])
        yield lambda rows: write([[cell(name, row.get(name)) for name in columns] for row in rows])


@contextlib.contextmanager
def _parquet(file: Any, columns: Columns) -> Iterator[Callable[[Sequence[Fields]], None]]:
    """Yield what collects rows into groups of a size that readers like."""
    import pyarrow as pa
    import pyarrow.parquet

    kinds = {name: _common(kinds) for name, kinds in columns.items()}
    schema = pa.schema([(name, kind or pa.string()) for name, kind in kinds.items()])
    of_text = {
        name: json_text if kind is None else _valid for name, kind in kinds.items() if kind in (None, pa.string())
    }
    waiting: list[Any] = []
    with pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:

        def flush() -> None:
            writer.write_table(pa.concat_tables(waiting))
            waiting.clear()

        def write(rows: Sequence[Fields]) -> None:
            full = [
                {
                    name: of(row[name]) if (of := of_text.get(name)) and row[name] is not None else row[name]
                    for name in row
                }
                for row in rows
            ]
            waiting.append(pa.Table.from_pylist(full, schema))
            if sum(table.nbytes for table in waiting) >= _GROUP:
                flush()

        yield write
        if waiting:
            flush()


def _common(kinds: set[Any]) -> Any:
    """Return the Arrow type that holds all values of a column; None where they are written as JSON texts."""
    import pyarrow as pa

    of_json = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    added = {"label": pa.string(), "probability": pa.float32()}
    known: dict[Any, Any] = {**of_json, **added, **dict(zip(_SEVERAL, map(pa.list_, added.values()), strict=True))}
    if object in kinds:
        return None
    try:
        schemas = [pa.schema([("", known.get(kind, kind))]) for kind in kinds] or [pa.schema([("", pa.string())])]
        kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowTypeError:
        return None
    return pa.string() if pa.types.is_null(kind) else kind


def kind_of(value: object) -> type:
    """Return the type of a JSON value that a column can have; object for objects, lists, and integers of more than 64 bits."""
    kind = type(value)
    is_big = kind is int and not -(2**63) <= value < 2**63  # type: ignore[operator]
    return kind if kind in (str, bool, int, float) and not is_big else object


def plain_type(kind: Any) -> Any:
    """Return the Arrow type of the values, however a file happens to store them."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return pa.string() if pa.types.is_string_view(kind) else kind


def json_text(value: object) -> str:
    """Return a value as JSON, with null for NaN and infinity; dates and decimals, which JSON has no form for, become texts."""
    try:
        return json.dumps(value, default=_text, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=_text, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: object) -> str:
    r"""Return a value as a text, bytes as UTF-8 with escapes like \xff for what is none."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _cell(value: object) -> str:
    """Return a value as CSV can hold it: lists of texts as training reads labels, other nested values as JSON."""
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return SEPARATOR.join(value)
    return json_text(value) if isinstance(value, bool | dict | list | tuple) else _text(value)


def _valid(text: str) -> str:
    """Return a text with U+FFFD, as the model reads it, for what is no Unicode: an unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
