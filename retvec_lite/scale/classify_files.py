"""`classify_files`: files of any size in, one file with labels out, in flat memory."""

import glob
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.data.decoding import explained
from retvec_lite.data.rows import LABELLED, TEXT_SUFFIX, Rows, check_suffix, endings, format_of
from retvec_lite.data.skipped import Skipped
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import require_writable
from retvec_lite.runtime.pool import check_count
from retvec_lite.scale.batches import BatchClassifier
from retvec_lite.scale.output import Columns, Fields, check_output, kind_of, opened, plain_type
from retvec_lite.terminal import Progress, watched

_SUFFIXES: Final = (*LABELLED, TEXT_SUFFIX)

_ROWS: Final = 4096
_CHARACTERS: Final = 16 << 20
"""A batch ends with so many rows, or when its texts are as long together."""

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
