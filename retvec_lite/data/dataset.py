"""Labelled texts from a file: CSV, TSV or JSON Lines, read strictly, so that nothing wrong is trained on unnoticed."""

import atexit
import codecs
import contextlib
import csv
import io
import json
import os
import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from retvec_lite.contract import SEPARATORS
from retvec_lite.errors import RetvecLiteError

DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
JSON_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")

_BLANK: Final = "".join(map(chr, SEPARATORS))
_NAN: Final = ("nan", "NaN", "NAN")
"""How a missing cell looks after a data frame was written: a value that nobody meant as a text or a label."""

_CSV_LIMIT_LOCK: Final = threading.Lock()


@dataclass(frozen=True)
class Dataset:
    """Labelled texts, row by row.

    Attributes:
        texts: as they stand in the file.
        labels: as many as texts, without surrounding white space.
        path: the file they came from, for messages.
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    path: Path

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted by code point: the order of a classifier's outputs."""
        return tuple(sorted(set(self.labels)))

    def select(self, rows: Iterable[int]) -> "Dataset":
        """The rows of the given indices, in their order."""
        chosen = list(rows)
        return Dataset(tuple(self.texts[row] for row in chosen), tuple(self.labels[row] for row in chosen), self.path)


class _Row(NamedTuple):
    line: int
    text: str
    label: str


def read_dataset(path: str | os.PathLike[str], text_column: str = "text", label_column: str = "label") -> Dataset:
    """Read a labelled file; its suffix decides the format.

    `.csv` and `.tsv` are UTF-8 with a header row and the quoting rules of RFC 4180 (a tab instead of the comma in
    `.tsv`); `.jsonl`, `.ndjson` and `.json` hold one JSON object a line, whose label may be a string, a boolean
    (`true` / `false`) or a number (as JSON writes it). A byte order mark is skipped, blank lines are too.

    Raises:
        RetvecLiteError: with the file, the line and what is there: a file that is missing, empty or not UTF-8, a column
            that is missing or there twice, a row with more or fewer fields than the header, an empty or NaN cell, a
            label of several lines, a NUL byte, broken quoting or JSON.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in DELIMITERS and suffix not in JSON_SUFFIXES:
        raise RetvecLiteError(
            f"Expected a file named {', '.join([*DELIMITERS, *JSON_SUFFIXES])}, received {file.name!r}."
        )
    if text_column == label_column:
        raise RetvecLiteError(f"Expected two different columns for text and label, received {text_column!r} for both.")
    content = _read_utf8(file)
    if suffix in DELIMITERS:
        rows = _table_rows(file, content, DELIMITERS[suffix], text_column, label_column)
    else:
        rows = _json_rows(file, content, text_column, label_column)
    texts, labels = [], []
    for row in rows:
        label = row.label.strip(_BLANK)
        for column, cell in ((text_column, row.text), (label_column, label)):
            if not cell.strip(_BLANK):
                _refuse(file, row.line, f"something in the column {column!r}", "an empty cell")
            if cell.strip(_BLANK) in _NAN:
                _refuse(file, row.line, f"something in the column {column!r}", f"{cell!r}, a missing value")
        if len(label.splitlines()) > 1:
            _refuse(file, row.line, "a label of one line", repr(label))
        if not label.isascii() and any("\ud800" <= character <= "\udfff" for character in label):
            _refuse(file, row.line, "a label in valid Unicode", f"{label!r}, with an unpaired surrogate")
        texts.append(row.text)
        labels.append(label)
    if not texts:
        raise RetvecLiteError(f"Expected labelled rows in {file}, received a header and no rows.")
    return Dataset(tuple(texts), tuple(labels), file)


def check_trainable(dataset: Dataset) -> None:
    """Make sure that a classifier can be trained: two classes or more, two examples or more of each.

    Raises:
        RetvecLiteError: naming the class that falls short.
    """
    counts = Counter(dataset.labels)
    if len(counts) < 2:
        raise RetvecLiteError(f"Expected at least 2 different labels in {dataset.path}, received only {min(counts)!r}.")
    label, count = min(counts.items(), key=lambda item: (item[1], item[0]))
    if count < 2:
        raise RetvecLiteError(
            f"Expected at least 2 examples of every label in {dataset.path}, received 1 of {label!r}."
        )


def split(dataset: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Set a share of every class aside for validation; the same seed gives the same split everywhere.

    The shares of the classes are rounded by largest remainder, so that the whole comes out right even with many small
    classes. Every class keeps at least one training example, and both parts keep the order of the file.

    Args:
        dataset: what `check_trainable` accepts.
        fraction: share for validation, between 0 and 1 (exclusive).
        seed: any integer.

    Returns:
        The training part and the validation part.

    Raises:
        RetvecLiteError: for a fraction out of range.
    """
    if not 0.0 < fraction < 1.0:
        raise RetvecLiteError(f"Expected the validation share to lie between 0 and 1, received {fraction!r}.")
    draw = random.Random(seed).random
    rows: dict[str, list[int]] = {label: [] for label in dataset.classes}
    for row, label in enumerate(dataset.labels):
        rows[label].append(row)
    shuffled = {label: sorted(members, key=lambda _: draw()) for label, members in rows.items()}
    counts = {label: min(int(fraction * len(members)), len(members) - 1) for label, members in rows.items()}
    remainders = {label: fraction * len(members) - counts[label] for label, members in rows.items()}
    missing = max(1, round(fraction * len(dataset))) - sum(counts.values())
    by_remainder = sorted(rows, key=lambda label: (-remainders[label], draw()))
    for label in [label for label in by_remainder if counts[label] < len(rows[label]) - 1][: max(0, missing)]:
        counts[label] += 1
    held_out = {row for label, members in shuffled.items() for row in members[: counts[label]]}
    training = dataset.select(row for row in range(len(dataset)) if row not in held_out)
    return training, dataset.select(sorted(held_out))


def _refuse(file: Path, line: int, expected: str, received: str) -> NoReturn:
    raise RetvecLiteError(f"Expected {expected} in {file} line {line}, received {received}.")


def _read_utf8(file: Path) -> str:
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise RetvecLiteError(f"Expected a labelled file, but {file} does not exist.") from error
    except OSError as error:
        raise RetvecLiteError(f"Expected a readable file at {file}, received: {error.strerror or error}.") from error
    for mark, name in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if data.startswith(mark):
            raise RetvecLiteError(
                f"Expected {file} in UTF-8, received {name}: convert it with `iconv -f {name} -t UTF-8` or save it as UTF-8."
            )
    nul = data.find(0)
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        _refuse(
            file, line, "text without NUL characters", f"a NUL byte at byte offset {nul} (UTF-16 or a binary file?)"
        )
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder of utf-8-sig counts from behind the byte order mark.
        offset = error.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        line = data.count(b"\n", 0, offset) + 1
        raise RetvecLiteError(
            f"Expected {file} in UTF-8, received the byte 0x{data[offset]:02X} in line {line} (byte offset {offset}): "
            "convert the file, for example with `iconv -f WINDOWS-1252 -t UTF-8`, or repair that line if encodings are mixed."
        ) from error
    if not content.strip(_BLANK):
        raise RetvecLiteError(f"Expected labelled rows in {file}, received an empty file.")
    return content


def _table_rows(file: Path, content: str, delimiter: str, text_column: str, label_column: str) -> Iterator[_Row]:
    records = _records(file, content, delimiter)
    _, header = next(records)
    places = []
    for column in (text_column, label_column):
        if header.count(column) != 1:
            problem = "twice or more" if column in header else "only"
            there = "it" if column in header else ", ".join(map(repr, header))
            raise RetvecLiteError(f"Expected one column {column!r} in {file}, received {there} {problem}.")
        places.append(header.index(column))
    for line, record in records:
        if len(record) != len(header):
            _refuse(file, line, f"{len(header)} fields as in the header", f"{len(record)}")
        yield _Row(line, record[places[0]], record[places[1]])


def _records(file: Path, content: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(first line, fields) of every record that is not blank, read at once: csv's field limit is global to the process."""
    found = []
    with _CSV_LIMIT_LOCK:
        limit = csv.field_size_limit(max(len(content), 1))
        try:
            reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
            line = 1
            for record in reader:
                if record:
                    found.append((line, record))
                line = reader.line_num + 1
        except csv.Error as error:
            _refuse(file, line, "fields quoted as RFC 4180 says", str(error))
        finally:
            csv.field_size_limit(limit)
    return iter(found)


def _json_rows(file: Path, content: str, text_column: str, label_column: str) -> Iterator[_Row]:
    for line, source in enumerate(content.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            fields = json.loads(source)
        except (ValueError, RecursionError) as error:
            _refuse(file, line, "one JSON object", f"{source[:40]!r} ({error})")
        if not isinstance(fields, dict):
            _refuse(file, line, "one JSON object", repr(source[:40]))
        for column in (text_column, label_column):
            if column not in fields:
                _refuse(file, line, f"a field {column!r}", ", ".join(map(repr, fields)) or "none")
        text = fields[text_column]
        if not isinstance(text, str):
            _refuse(file, line, f"a string as {text_column!r}", json.dumps(text)[:40])
        yield _Row(line, text, _json_label(file, line, label_column, fields[label_column]))


def _json_label(file: Path, line: int, column: str, value: Any) -> str:
    """A label as a string: booleans and numbers as JSON writes them, so that `true` and "true" are one class."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int)) or (isinstance(value, float) and abs(value) < float("inf")):
        return json.dumps(value)
    _refuse(file, line, f"a string, boolean or number as {column!r}", json.dumps(value)[:40])


SPLITS: Final = ("train", "test")


@cache
def starter_file(split: str) -> Path:
    """The CSV file of one split, with the columns `text`, `label` and `lang`.

    Args:
        split: `train` or `test`.

    Returns:
        A path that exists until the process ends, even if the package is imported from a zip file.

    Raises:
        RetvecLiteError: for another split.
    """
    if split not in SPLITS:
        raise RetvecLiteError(f"Expected the split to be {' or '.join(map(repr, SPLITS))}, received {split!r}.")
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(as_file(files("retvec_lite") / "starter" / f"{split}.csv"))


def starter_files() -> tuple[Path, Path]:
    """The paths of the training and the test split, see `starter_file`."""
    return starter_file("train"), starter_file("test")


def load_starter(split: str) -> "Dataset":
    """The texts and labels of one split.

    Args:
        split: `train` or `test`.

    Raises:
        RetvecLiteError: for another split.
    """
    return read_dataset(starter_file(split))
