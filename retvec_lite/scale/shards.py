"""The work folder of a large run, beside its output: finished shards as Parquet files, and what they belong to.

A shard is written whole or not at all, and its name tells which rows of which version of which file it answers. So a run that was
killed goes on with the shards that are missing, also when files were repaired or added meanwhile.
"""

import contextlib
import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, busy, explain_os_error, open_locked
from retvec_lite.scale.batches import BatchClassifier
from retvec_lite.scale.sources import READ_ERRORS, Chunk, Source

IS_JSON: Final = {b"json": b"1"}
"""Metadata of a column whose texts are JSON values."""

_BAD: Final = b"retvec_lite.bad"
_RUN: Final = "run.json"


class Shard(NamedTuple):
    """A finished shard.

    Attributes:
        rows: it has.
        bad: rows that were left out, and what was wrong with the first.
    """

    rows: int
    bad: tuple[int, str]


class Job(NamedTuple):
    """A shard to make.

    Attributes:
        path: where it will be.
        source: the file that its rows come from.
        chunk: its rows.
    """

    path: Path
    source: Source
    chunk: Chunk


@contextlib.contextmanager
def work_folder(output: Path, belongs_to: Mapping[str, Any]) -> Iterator[Path]:
    """Lock and yield the work folder of an output, made if missing. It stays when the block raises, for the next run.

    Args:
        output: the final file.
        belongs_to: all that shards depend on besides their rows, by the names that messages use.

    Raises:
        RetvecLiteError: when another process uses it, its shards belong to another run, or it cannot be written.
    """
    path = output.with_name(f"{output.name}.parts")
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = open_locked(path / "lock")
    except BlockingIOError as error:
        raise busy(output) from error
    except OSError as error:
        raise explain_os_error(error, path) from error
    with contextlib.ExitStack() as held:
        held.callback(os.close, lock)
        run = path / _RUN
        if run.exists():
            try:
                before = json.loads(run.read_bytes())
            except (OSError, ValueError):
                before = {}
            for name, value in belongs_to.items():
                if before.get(name) != value:
                    raise RetvecLiteError(
                        f"{path} holds the parts of a run with another {name}. Repeat its command, or remove the folder to "
                        "begin again."
                    )
        else:
            atomic_write(run, json.dumps(belongs_to).encode())
        yield path
    shutil.rmtree(path, ignore_errors=True)


def write_shard(job: Job, classify: BatchClassifier) -> bytes:
    """Classify a chunk and write it, in a worker process, which answers nothing.

    Raises:
        RetvecLiteError: when it cannot be written.
    """
    chunk = job.chunk
    table = chunk.content if isinstance(chunk.content, pa.Table) else _table(chunk, classify.text_column)
    table = classify(table.replace_schema_metadata({_BAD: json.dumps(chunk.bad).encode()}))
    content = io.BytesIO()
    pa.parquet.write_table(table, content)
    atomic_write(job.path, content.getbuffer())
    return b""


def read_shard(path: Path) -> Shard | None:
    """Return the facts of a finished shard; None for one that is missing, or so damaged that it must be made again."""
    try:
        metadata = pa.parquet.read_metadata(path)
        bad = json.loads(metadata.metadata[_BAD])
        return Shard(metadata.num_rows, (int(bad[0]), str(bad[1])))
    except READ_ERRORS:
        return None


def _table(chunk: Chunk, text_column: str) -> pa.Table:
    names = chunk.columns or dict.fromkeys(name for row in chunk.content for name in row) or (text_column,)
    columns = [json_column(name, [row.get(name) for row in chunk.content]) for name in names]
    schema = pa.schema([field for field, _ in columns])
    return pa.table([array for _, array in columns], schema=schema)


def json_column(name: str, values: list[Any]) -> tuple[pa.Field, pa.Array]:
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
