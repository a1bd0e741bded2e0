"""`classify_files`: files of any size in, one file with labels out, in flat memory."""

import contextlib
import csv
import glob
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.data.labels import SEPARATOR
from retvec_lite.data.lines import COMPRESSION, Skipped, explained
from retvec_lite.data.rows import (
    DELIMITERS,
    JSON_SUFFIXES,
    LABELLED,
    PARQUET,
    TEXT_SUFFIX,
    Rows,
    check_suffix,
    endings,
    format_of,
)
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_file, require_writable
from retvec_lite.runtime.pool import check_count
from retvec_lite.scale.batches import BatchClassifier
from retvec_lite.terminal import Progress, watched

_SUFFIXES: Final = (*LABELLED, TEXT_SUFFIX)

_ROWS: Final = 4096
_CHARACTERS: Final = 16 << 20
"""A batch ends with so many rows, or when its texts are as long together."""

_WHAT: Final = "classifying (kB)"

Fields = dict[str, Any]
Columns = Mapping[str, set[Any]]
"""Name of a column -> what its values are: types of Arrow, what `kind_of` returns, and what is added ("label", "several probability")."""

_SEVERAL: Final = ("several label", "several probability")

_GROUP: Final = 64 << 20
"""Bytes of a row group of Parquet, which is what its readers take into memory at a time."""


@dataclass(frozen=True)
class FilesReport:
    r"""What `classify_files` did.

    Attributes:
        output: the file written.
        rows: in it.
        skipped: bad rows that were left out.
        left_out: sentences about them, and about empty rows, which are always left out.
        seconds: it took.
        workers: texts that were answered at a time.

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
    r"""Classify files of any size on all cores, and write one file: all columns, with label and probability behind them.

    Rows keep their order, and memory does not grow with them. The output is there when it is whole, or not at all.

    Args:
        model: a trained folder, an exported file, or what else `load` takes.
        inputs: files, glob patterns or folders: Parquet, CSV, TSV, JSON (Lines or an array), or text with one text a line; all but
            Parquet may be packed (`.csv.gz`, `.jsonl.zst`). None is taken twice. Parquet and packed files need pyarrow.
        output: a Parquet, CSV, TSV or JSON Lines file to write; all but Parquet may be packed. A link is followed.
        text_column: column of the texts. A missing one (null) gets no label.
        label_column: column to add: text, null where a text belongs to none of the labels; lists where it may have several.
        probability_column: column to add: float32, or lists.
        reject: give no label to texts that belong to none; otherwise every text gets one.
        delimiter: between the cells of CSV and TSV; by default recognized by the header.
        skip_bad_rows: leave out rows that cannot be read, and count them; otherwise they are an error.
        workers: texts that are answered at a time; by default one a core.
        runtime: `ai-edge-litert` or `tflite-runtime` for a `.tflite`; by default the one that is installed.
        isolated: run the model in worker processes, so that a file that crashes the runtime is an error.
        languages: the only labels to choose from, beside that of unknown texts; all by default.
        force: replace an existing output.
        progress: a callback (what, done, total), or True for bars on standard error.

    Raises:
        RetvecLiteError: for an output that exists or cannot be written, a missing column, a file of another format, one that
            cannot be read, bad rows, and a model that cannot be loaded. No output is written then.
        ModuleNotFoundError: when pyarrow is needed and not installed.

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
    began = time.perf_counter()
    output = Path(output)
    check_output(output)
    require_writable(output, force)
    workers = None if workers is None else check_count("workers", workers)
    sources = find_sources([inputs] if isinstance(inputs, str | os.PathLike) else inputs, output)
    classify = BatchClassifier(
        model, reject=reject, workers=workers, runtime=runtime, isolated=isolated, languages=languages
    )
    reading = {"required": [text_column], "delimiter": delimiter, "whole": True}
    # Outputs begin with the names of all columns. JSON is read twice for them, because its rows may differ.
    columns: dict[str, set[Any]] = {}
    for source in sources:
        for name, kinds in _columns(source, Skipped(skip_bad_rows), reading).items():
            columns.setdefault(name, set()).update(kinds)
            if name in (label_column, probability_column):
                option = "--label-column" if name == label_column else "--probability-column"
                raise RetvecLiteError(f"{source} already has a column {name!r}. Name the new one with {option}.")
    several = "several " if classify.several else ""
    columns = (columns or {text_column: {str}}) | {
        label_column: {f"{several}label"},
        probability_column: {f"{several}probability"},
    }
    size = max(1, sum(os.path.getsize(source) for source in sources) // 1000)
    skipped, count = Skipped(skip_bad_rows), 0
    with watched(progress) as report, opened(output, columns) as write:
        for rows, position in _batches(sources, skipped, reading):
            labels, probabilities = classify.answers(row[text_column] for row in rows)
            for row, label, probability in zip(rows, labels, probabilities, strict=True):
                row |= {label_column: label, probability_column: _short(probability)}
            write(rows)
            count += len(rows)
            report(_WHAT, min(position // 1000, size), size)
    seconds = time.perf_counter() - began
    return FilesReport(output, count, skipped.count, skipped.sentences(), seconds, classify.classifier.workers)


def find_sources(inputs: Iterable[str | os.PathLike[str]], output: Path) -> list[Path]:
    """Return the files that paths, patterns and folders name, in their order, none twice.

    Raises:
        RetvecLiteError: for a file that is missing, of another format or the output, a pattern or folder without files.
    """
    found: dict[str, Path] = {}
    for given in inputs:
        if not isinstance(given, str | os.PathLike):
            raise RetvecLiteError(f"The name of a file must be a string or a path, not {given!r:.40}.")
        name = os.fspath(given)
        if os.path.isdir(name):
            files = sorted(path for path in Path(name).rglob("*") if path.is_file() and _is_data(path, Path(name)))
            if not files:
                raise RetvecLiteError(f"The folder {name} has no file whose name ends in {endings(_SUFFIXES)}.")
        elif glob.has_magic(name) and not os.path.lexists(name):
            files = [path for path in map(Path, sorted(glob.glob(name, recursive=True))) if not path.is_dir()]
            if not files:
                raise RetvecLiteError(f"No file matches {name}.")
        else:
            files = [Path(name)]
        for file in files:
            check_suffix(file, _SUFFIXES, "an input file")
            real = os.path.realpath(file)
            if real == os.path.realpath(output):
                raise RetvecLiteError(f"{file} is an input, too. Choose another output.")
            found.setdefault(real, file)
    if not found:
        raise RetvecLiteError("No input files.")
    return list(found.values())


def _is_data(path: Path, folder: Path) -> bool:
    # Spark and others leave _SUCCESS, _temporary and .crc files beside their parts.
    hidden = any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
    return not hidden and format_of(path)[0] in _SUFFIXES


def _columns(source: Path, skipped: Skipped, reading: dict[str, Any]) -> Columns:
    """Return the columns of a file; of JSON, those of all rows."""
    with explained(source), Rows(source, skipped=skipped, **reading) as rows:
        names = rows.columns or [*reading["required"]] * (format_of(source)[0] == TEXT_SUFFIX)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise RetvecLiteError(f"The column {twice!r} appears twice in {source}. Rename one of them.")
        if rows.schema is not None:
            text, *_ = reading["required"]
            return {field.name: {str if field.name == text else plain_type(field.type)} for field in rows.schema}
        found: dict[str, set[Any]] = {name: {str} for name in names}
        for row in () if names else rows:
            for name, value in row.fields.items():
                kinds = found.setdefault(name, set())
                if value is not None:
                    kinds.add(kind_of(value))
        return found


def _batches(sources: Sequence[Path], skipped: Skipped, reading: dict[str, Any]) -> Iterator[tuple[list[Fields], int]]:
    """Yield some rows after the other, and how many bytes have been read by then."""
    behind = 0
    for source in sources:
        with explained(source), Rows(source, skipped=skipped, **reading) as rows:
            batch: list[Fields] = []
            characters = 0
            for row in rows:
                batch.append(row.fields)
                characters += len(row.fields[reading["required"][0]] or "")
                if len(batch) == _ROWS or characters >= _CHARACTERS:
                    yield batch, behind + rows.position
                    batch, characters = [], 0
            yield batch, behind + rows.position
        behind += os.path.getsize(source)


def _short(probability: Any) -> Any:
    """Return a float32, or a list of them, with the fewest digits that mean it."""
    if isinstance(probability, list):
        return [_short(one) for one in probability]
    return None if probability is None else float(str(np.float32(probability)))


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
