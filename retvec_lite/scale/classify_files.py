"""`classify_files`: files of any size in, one file with labels out, in flat memory."""

import contextlib
import csv
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    RowReader,
    format_of,
)
from retvec_lite.data.sources import data_files, refuse_input
from retvec_lite.data.texts import encodable
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_file, require_writable
from retvec_lite.runtime.pool import check_count
from retvec_lite.scale import BatchClassifier
from retvec_lite.terminal import Progress, watched

Fields = dict[str, Any]
Columns = dict[str, set[Any]]
"""Name of a column -> what its values are: types of Arrow, or what `_kind_of` returns."""

_SUFFIXES: Final = (*LABELLED, TEXT_SUFFIX)

_ROWS: Final = 1 << 15
_CHARACTERS: Final = 16 << 20
"""A batch, which is a row group of Parquet, ends with so many rows, or when its texts are as long together."""

_WHAT: Final = "classifying (kB)"


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
    _check_output(output, force)
    workers = None if workers is None else check_count("workers", workers)
    sources = data_files([inputs] if isinstance(inputs, str | os.PathLike) else inputs, _SUFFIXES)
    refuse_input(output, sources)
    classify = BatchClassifier(
        model, reject=reject, workers=workers, runtime=runtime, isolated=isolated, languages=languages
    )
    reading = {"required": [text_column], "delimiter": delimiter, "whole": True}
    added = label_column, probability_column
    columns = _all_columns(sources, skip_bad_rows, reading, added)
    skipped, count = Skipped(skip_bad_rows), 0
    with watched(progress) as report, _opened(output, columns, added, classify.several) as write:
        for rows in _answered(sources, skipped, reading, classify, added, report):
            write(rows)
            count += len(rows)
    seconds = time.perf_counter() - began
    return FilesReport(output, count, skipped.count, skipped.sentences(), seconds, classify.classifier.workers)


def _check_output(output: Path, force: bool) -> None:
    """Refuse, before long work and with RetvecLiteError, an output of another format, that exists, or cannot be written."""
    suffix, codec = format_of(output)
    if suffix not in LABELLED or (codec and suffix in PARQUET):
        raise RetvecLiteError(
            f"Cannot write {output}: its name must end in {', '.join(LABELLED)}; the first five also with "
            f"{', '.join(COMPRESSION)} behind it."
        )
    require_writable(output, force)


def _all_columns(
    sources: Sequence[Path], skip_bad_rows: bool, reading: dict[str, Any], added: tuple[str, str]
) -> Columns:
    """Return the columns of all files, none of which is `added`; outputs begin with their names.

    JSON is read twice for them, because its rows may differ.
    """
    columns: Columns = {}
    for source in sources:
        for name, kinds in _columns(source, Skipped(skip_bad_rows), reading).items():
            columns.setdefault(name, set()).update(kinds)
            if name in added:
                option = ("label_column", "probability_column")[added.index(name)]
                advice = f"Name the new one with --{option.replace('_', '-')} ({option})"
                raise RetvecLiteError(f"{source} already has a column {name!r}. {advice}.")
    return columns or {reading["required"][0]: {str}}


def _columns(source: Path, skipped: Skipped, reading: dict[str, Any]) -> Columns:
    """Return the columns of a file; of JSON, those of all rows."""
    (text,) = reading["required"]
    with explained(source), RowReader(source, skipped=skipped, **reading) as rows:
        names = rows.columns or [text] * (format_of(source)[0] == TEXT_SUFFIX)
        if twice := [name for name in names if names.count(name) > 1]:
            raise RetvecLiteError(f"The column {twice[0]!r} appears twice in {source}. Rename one of them.")
        if rows.schema is not None:
            return {field.name: {str if field.name == text else _plain_type(field.type)} for field in rows.schema}
        found: Columns = {name: {str} for name in names}
        for row in () if names else rows:
            for name, value in row.fields.items():
                found.setdefault(name, set()).update(() if value is None else (_kind_of(value),))
        return found


def _batches(sources: Sequence[Path], skipped: Skipped, reading: dict[str, Any]) -> Iterator[tuple[list[Fields], int]]:
    """Yield some rows after the other, and how many bytes have been read by then."""
    behind = 0
    for source in sources:
        with explained(source), RowReader(source, skipped=skipped, **reading) as rows:
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


def _answered(
    sources: Sequence[Path],
    skipped: Skipped,
    reading: dict[str, Any],
    classify: BatchClassifier,
    added: tuple[str, str],
    report: Progress,
) -> Iterator[list[Fields]]:
    """Yield some rows after the other, with their answers in the `added` columns, and tell how many kB are done."""
    (text,) = reading["required"]
    size = max(1, sum(os.path.getsize(source) for source in sources) // 1000)
    for rows, position in _batches(sources, skipped, reading):
        for row, *answer in zip(rows, *classify.answers(row[text] for row in rows), strict=True):
            row |= zip(added, map(_short, answer), strict=True)
        yield rows
        report(_WHAT, min(position // 1000, size), size)


def _short(answer: Any) -> Any:
    """Return a probability, float32, with the fewest digits that mean it, or a list of them; labels as they are."""
    if isinstance(answer, list):
        return [_short(one) for one in answer]
    return answer if answer is None or isinstance(answer, str) else float(str(np.float32(answer)))


@contextlib.contextmanager
def _opened(
    output: Path, columns: Columns, added: tuple[str, str], several: bool
) -> Iterator[Callable[[Sequence[Fields]], None]]:
    """Yield what writes rows with the given columns and the `added` ones; the file takes its place when the block ends well.

    Raises:
        RetvecLiteError: when it cannot be written.
    """
    suffix, codec = format_of(output)
    names = [*columns, *added]
    with atomic_file(output) as file, contextlib.ExitStack() as stack:
        if suffix in PARQUET:
            yield stack.enter_context(_parquet(file, columns, added, several))
            return
        stream = file
        if codec:
            import pyarrow

            # A second descriptor, because pyarrow closes what it is given.
            copy = stack.enter_context(os.fdopen(os.dup(file.fileno()), "wb"))
            stream = stack.enter_context(pyarrow.CompressedOutputStream(copy, codec))

        def write_json(rows: Sequence[Fields]) -> None:
            lines = (_json({name: row.get(name) for name in names}) for row in rows)
            stream.write(encodable("".join(f"{line}\n" for line in lines)).encode())

        def write_table(rows: Sequence[Fields]) -> None:
            lines = io.StringIO()
            writer = csv.writer(lines, delimiter=DELIMITERS[suffix], lineterminator="\n")
            writer.writerows([_cell(row.get(name), name in added) for name in names] for row in rows)
            stream.write(encodable(lines.getvalue()).encode())

        if suffix not in JSON_SUFFIXES:
            write_table([dict(zip(names, names, strict=True))])
        yield write_json if suffix in JSON_SUFFIXES else write_table


@contextlib.contextmanager
def _parquet(
    file: Any, columns: Columns, added: tuple[str, str], several: bool
) -> Iterator[Callable[[Sequence[Fields]], None]]:
    """Yield what writes rows as a row group."""
    import pyarrow as pa
    import pyarrow.parquet

    kinds = {name: _common(found) for name, found in columns.items()}
    kinds |= {
        name: pa.list_(kind) if several else kind for name, kind in zip(added, (pa.string(), pa.float32()), strict=True)
    }
    schema = pa.schema([(name, kind or pa.string()) for name, kind in kinds.items()])
    texts = {name: _json if kind is None else encodable for name, kind in kinds.items() if kind in (None, pa.string())}
    with pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:

        def write(rows: Sequence[Fields]) -> None:
            table = {name: [row.get(name) for row in rows] for name in kinds}
            for name, text in texts.items():
                table[name] = [None if value is None else text(value) for value in table[name]]
            writer.write_table(pa.table(table, schema))

        yield write


def _common(kinds: set[Any]) -> Any:
    """Return the Arrow type that holds all values of a column; None where they are written as JSON texts."""
    import pyarrow as pa

    if object in kinds:
        return None
    types = [pa.infer_type([kind()]) if isinstance(kind, type) else kind for kind in kinds] or [pa.string()]
    try:
        schemas = [pa.schema([("", kind)]) for kind in types]
        kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowTypeError:
        return None
    return pa.string() if pa.types.is_null(kind) else kind


def _kind_of(value: object) -> type:
    """Return the type of a JSON value that a column can have; object for objects, lists, and integers of more than 64 bits."""
    is_big = isinstance(value, int) and not -(2**63) <= value < 2**63
    return type(value) if isinstance(value, str | int | float) and not is_big else object


def _plain_type(kind: Any) -> Any:
    """Return the Arrow type of the values, however a file happens to store them."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    return pa.string() if pa.types.is_string_view(kind) else kind


def _json(value: object) -> str:
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


def _cell(value: object, is_added: bool) -> str:
    """Return a value as CSV can hold it: our lists, and those of texts, as training reads labels, other nested values as JSON."""
    if value is None:
        return ""
    if isinstance(value, list) and (is_added or (value and all(isinstance(one, str) for one in value))):
        return SEPARATOR.join(map(str, value))
    return _json(value) if isinstance(value, bool | dict | list | tuple) else _text(value)
