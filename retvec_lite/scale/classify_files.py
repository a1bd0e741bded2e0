"""`classify_files`: files of any size in, one file with labels out; all cores, flat memory, and it goes on after a kill."""

import contextlib
import functools
import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from retvec_lite.arguments import checked
from retvec_lite.data.decoding import READ_ERRORS
from retvec_lite.data.skipped import Skipped
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, explain_os_error, require_writable
from retvec_lite.foreign import require_entries
from retvec_lite.json_text import parse_json
from retvec_lite.locks import open_locked
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.text_classifier import WorkPool, answered, available_cores, check_count
from retvec_lite.runtime.worker import Worker, WorkerFailed
from retvec_lite.scale.batches import BatchClassifier
from retvec_lite.scale.output import check_output, write_output
from retvec_lite.scale.sources import (
    ROWS,
    Chunk,
    Source,
    as_table,
    check_columns,
    find_sources,
    read_chunks,
)
from retvec_lite.terminal import Progress, watched

_CUT_VERSION: Final = 3
"""Of how files are cut into parts; another one cannot go on with earlier parts."""

_WHAT: Final = "classifying (kB)"

_DEATHS: Final = 3
"""How often a process may die over a shard."""

_OURS: Final = dict.fromkeys(("lock", "run.json", f"{'?' * 16}-*.parquet", "output.*", ".*.retvec-lite-new"), False)
"""What the folder of the parts of an output holds, none of it a folder; it is removed as a whole in the end."""

_SMALL: Final = 256 << 10
"""Bytes of input that are worth a further process."""


@dataclass(frozen=True)
class FilesReport:
    r"""What `classify_files` did.

    Attributes:
        output: the file written.
        rows: in it.
        resumed: rows of these that an earlier run had classified.
        skipped: bad rows that were left out.
        left_out: sentences about them, and about empty rows, which are always left out.
        seconds: it took.
        workers: processes that ran.

    Example:
        >>> from pathlib import Path
        >>> import retvec_lite as rl
        >>> _ = Path("inbox.csv").write_text("text\nyour code is 482913\n")
        >>> report = rl.classify_files("classifier-int8.tflite", "inbox.csv", "inbox.jsonl")
        >>> report.rows, report.skipped
        (1, 0)
    """

    output: Path
    rows: int
    resumed: int
    skipped: int
    left_out: tuple[str, ...]
    seconds: float
    workers: int


@checked
def classify_files(
    model: str | os.PathLike[str],
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    text_column: str = "text",
    label_column: str = "label",
    probability_column: str = "probability",
    reject: bool = True,
    delimiter: str | None = None,
    skip_bad_rows: bool = False,
    workers: int | None = None,
    runtime: str | None = None,
    isolated: bool = False,
    languages: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
) -> FilesReport:
    r"""Classify files of any size on all cores, and write one file: all columns, with label and probability beside them.

    Rows keep their order. Memory does not grow with them. Finished parts are kept in the folder `OUTPUT.parts` until the output is
    whole: after a kill the same call goes on where it was. Needs pyarrow.

    Args:
        model: an exported `.tflite`.
        inputs: files, glob patterns or folders: Parquet, CSV, TSV, JSON (Lines or an array), or text with one text a line; all but
            Parquet may be packed (`.csv.gz`, `.jsonl.zst`). None is read twice.
        output: a Parquet, CSV, TSV or JSON Lines file to write; all but Parquet may be packed. A link is followed.
        text_column: column of the texts. A missing one (null) gets no label.
        label_column: column to add: text, null where a text belongs to none of the labels; lists where it may have several.
        probability_column: column to add: float32, or lists.
        reject: give no label to texts that belong to none; otherwise every text gets one.
        delimiter: between the cells of CSV and TSV; by default recognized by the header.
        skip_bad_rows: leave out rows that cannot be read, and count them; otherwise they are an error.
        workers: processes; by default one a core.
        runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that is installed.
        isolated: run the model in further processes, so that a file that crashes the runtime is an error.
        languages: the only labels to choose from, beside that of unknown texts; all by default.
        force: replace an existing output, and finished parts of a run with another model or other options.
        progress: a callback (what, done, total), or True for bars on standard error.

    Raises:
        RetvecLiteError: for an output that exists or cannot be written, a missing column, a file of another format, one that
            cannot be read, bad rows, and a model that cannot be loaded. Finished parts are kept.
        ModuleNotFoundError: when pyarrow is not installed.

    Example:
        >>> from pathlib import Path
        >>> import retvec_lite as rl
        >>> Path("archive").mkdir()
        >>> _ = Path("archive/codes.csv").write_text("text,id\nyour code is 482913,007\n")
        >>> rl.classify_files("classifier-int8.tflite", "archive/*.csv", "labels.jsonl").rows
        1
        >>> Path("labels.jsonl").read_text()[:68]
        '{"text": "your code is 482913", "id": "007", "label": "one_time_code'
    """
    languages = None if languages is None else tuple(languages)
    began = time.perf_counter()
    output = Path(output)
    target = Path(os.path.realpath(output)) if output.is_symlink() else output
    check_output(output)
    require_writable(output, force)
    workers = None if workers is None else check_count("workers", workers)
    sources = find_sources([inputs] if isinstance(inputs, str | os.PathLike) else inputs, output)
    classify = BatchClassifier(
        model,
        text_column=text_column,
        label_column=label_column,
        probability_column=probability_column,
        reject=reject,
        runtime=runtime,
        isolated=isolated,
        languages=languages,
    )
    classify([""])  # a model that cannot run is found out at once
    for source in sources:
        check_columns(source, text_column, (label_column, probability_column), delimiter)
    # A process takes a third of a second to start.
    count = min(workers or available_cores(), 1 + sum(source.size for source in sources) // _SMALL)
    belongs_to = _facts(model, classify, reject, delimiter, languages)
    skipped = Skipped(skip_bad_rows)
    chunks = functools.partial(read_chunks, text_column=text_column, skipped=skipped, delimiter=delimiter)
    with watched(progress) as report, _work_folder(target, belongs_to, force) as folder:
        shards, resumed = _classify(sources, chunks, folder, classify, count, report)
        empty = classify(pa.table({text_column: pa.array([], pa.string())})).schema
        write_output(output, target, list(shards), empty, folder, report)
    seconds = time.perf_counter() - began
    return FilesReport(output, sum(shards.values()), resumed, skipped.count, skipped.sentences(), seconds, count)


def _facts(
    model: str | os.PathLike[str],
    classify: BatchClassifier,
    reject: bool,
    delimiter: str | None,
    languages: Sequence[str] | None,
) -> dict[str, Any]:
    """Return all that shards depend on besides their rows, by the names that messages use.

    Bad rows are no part of it: where they are an error, the shards behind the first are not made, and are not used.
    """
    metadata = sorted(read_artifact(model).metadata.items())
    return {
        "model": hashlib.sha256(repr(metadata).encode()).hexdigest()[:16],
        "text column": classify.text_column,
        "label column": classify.label_column,
        "probability column": classify.probability_column,
        "choice about texts without a label": reject,
        "delimiter": delimiter,
        "choice of languages": languages and sorted(languages),
        "version of pyarrow": pa.__version__,
        "way to cut files": [_CUT_VERSION, ROWS],
    }


class _Job(NamedTuple):
    """A shard to make, and how many bytes of input have been read by its end."""

    path: Path
    chunk: Chunk
    position: int


def _classify(
    sources: Sequence[Source],
    chunks: Callable[[Source], Iterator[Chunk]],
    folder: Path,
    classify: BatchClassifier,
    processes: int,
    report: Progress,
) -> tuple[dict[Path, int], int]:
    """Make all shards that are missing; return the rows of each, in their order, and how many rows were there already."""
    size = sum(source.size for source in sources)
    shards: dict[Path, int] = {}
    resumed = 0

    def jobs() -> Iterator[_Job]:
        nonlocal resumed
        behind = 0
        for source in sources:
            for chunk in chunks(source):
                path = folder / f"{source.key}-{chunk.number:06d}.parquet"
                shards[path] = len(chunk.content)
                if _is_whole(path):
                    resumed += shards[path]
                else:
                    yield _Job(path, chunk, behind + chunk.position)
            behind += source.size

    workers = WorkPool(Worker)
    workers.grow(processes)
    for position in answered(functools.partial(_make, workers, classify), jobs(), processes):
        report(_WHAT, position // 1000, max(1, size // 1000))
    return shards, resumed


def _make(workers: "WorkPool[Worker]", classify: BatchClassifier, job: _Job) -> int:
    """Make a shard in a worker process, and again where the process dies."""
    for _ in range(_DEATHS):
        with workers.borrow() as worker:
            try:
                worker.ask(write_shard, job.path, job.chunk, classify, size=0)
                return job.position
            except WorkerFailed:
                worker.restart()
    raise RetvecLiteError(
        "Worker processes were killed three times in a row, perhaps for want of memory. Finished parts are kept: "
        "repeat the command with fewer --workers."
    )


@contextlib.contextmanager
def _work_folder(output: Path, belongs_to: Mapping[str, Any], force: bool = False) -> Iterator[Path]:
    """Lock and yield the work folder of an output, made if missing. It stays when the block raises, for the next run.

    `belongs_to` is what `_facts` returns; with `force`, shards that belong to another run are removed.

    Raises:
        RetvecLiteError: when another process uses it, its shards belong to another run, or it cannot be written.
    """
    path = output.with_name(f"{output.name}.parts")
    try:
        require_entries(path, _OURS, only=True)
        path.mkdir(parents=True, exist_ok=True)
        lock = open_locked(path / "lock")
    except OSError as error:
        raise explain_os_error(error, output) from error
    with contextlib.ExitStack() as held:
        held.callback(os.close, lock)
        run = path / "run.json"
        if not run.exists() and (found := [part for part in path.glob("[!.]*") if part.name != "lock"]):
            raise RetvecLiteError(f"{found[0]} is not ours: no run of this command left it. Move it away.")
        if run.exists():
            try:
                before = parse_json(run.read_bytes(), run)
            except (OSError, RetvecLiteError):
                before = {}
            before = before if isinstance(before, dict) else {}
            other = next((name for name, value in belongs_to.items() if before.get(name) != value), None)
            if other and not force:
                raise RetvecLiteError(
                    f"{path} holds the parts of a run with another {other}. Repeat its command, or begin again with --force (in "
                    "Python: force=True)."
                )
            if other:
                for pattern in ("*.parquet", "output.*"):
                    for part in path.glob(pattern):
                        part.unlink()
                run.unlink()  # last: without it, shards would be taken for those of this run
        if not run.exists():
            atomic_write(run, json.dumps(belongs_to).encode(), follow=False)
        yield path
    shutil.rmtree(path, ignore_errors=True)


def write_shard(path: Path, chunk: Chunk, classify: BatchClassifier) -> bytes:
    """Classify a chunk and write it, in a worker process, which answers nothing."""
    content = io.BytesIO()
    pa.parquet.write_table(classify(as_table(chunk, classify.text_column)), content)
    atomic_write(path, content.getbuffer(), follow=False)
    return b""


def _is_whole(path: Path) -> bool:
    """Return whether a shard is there, and not so damaged that it must be made again."""
    try:
        pa.parquet.read_metadata(path)
    except READ_ERRORS:
        return False
    return True
