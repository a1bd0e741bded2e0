"""Labelled texts: from a CSV, TSV or JSON Lines file, from Python sequences, or from the starter data.

Files are read strictly: a row that cannot be what its author meant is an error with its line, not a bad example.
"""

import atexit
import contextlib
import json
import os
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from retvec_lite.contract import SEPARATORS
from retvec_lite.data.rows import DELIMITERS, JSON_SUFFIXES, Rows
from retvec_lite.data.texts import as_texts
from retvec_lite.errors import RetvecLiteError

STARTER: Final = "starter"
"""What users type instead of a file name for the starter data."""

STARTER_SPLITS: Final = ("train", "test")

IN_MEMORY: Final = Path("the given data")
"""What messages call data that came from no file."""

SEPARATOR: Final = "|"
"""Stands between the labels of one text in multi-label data."""

_BLANK: Final = "".join(map(chr, SEPARATORS))
_NAN: Final = ("nan", "NaN", "NAN")
"""What a data frame writes for a missing cell."""


@dataclass(frozen=True)
class Dataset:
    """Labelled texts, row by row.

    Attributes:
        texts: as they stand in the file.
        labels: one for each text, without surrounding white space; in multi-label data those of a text, joined by `|`.
        path: where they came from, for messages.
        multi_label: whether a text may have several labels, or none.

    Example:
        >>> from retvec_lite import Dataset
        >>> data = Dataset(("hi", "bye", "hello"), ("greet", "part", "greet"))
        >>> len(data), data.classes
        (3, ('greet', 'part'))
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    path: Path = IN_MEMORY
    multi_label: bool = False

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted by code point: the order of a classifier's outputs."""
        return tuple(sorted({label for labels in self.label_sets for label in labels}))

    @property
    def label_sets(self) -> tuple[tuple[str, ...], ...]:
        """The labels of each text, sorted: one; in multi-label data any number."""
        return tuple(split_labels(label) if self.multi_label else (label,) for label in self.labels)

    @property
    def strata(self) -> tuple[str, ...]:
        """The group of each text, of which every part of the data should get its share: its label, or its rarest one if any."""
        if not self.multi_label:
            return self.labels
        counts = Counter(label for labels in self.label_sets for label in labels)
        return tuple(min(labels, key=lambda label: (counts[label], label), default="") for labels in self.label_sets)

    def select(self, rows: Iterable[int]) -> "Dataset":
        """Return the rows with the given indices, in their order."""
        chosen = list(rows)
        texts, labels = (tuple(column[row] for row in chosen) for column in (self.texts, self.labels))
        return replace(self, texts=texts, labels=labels)


class _Row(NamedTuple):
    line: int
    text: str
    label: str


def as_dataset(
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    text_column: str = "text",
    label_column: str = "label",
    split: str = "train",
    multi_label: bool = False,
) -> Dataset:
    """Return labelled texts in whatever form the user has them.

    The data are a `Dataset`; a file (see `read_dataset`); "starter", which means the `split` of the starter data; or, with `labels`, any
    sequence of strings (list, NumPy array, pandas Series). Labels are strings, or booleans and numbers, which become strings as JSON
    writes them. In multi-label data, each is a list of them, or a string with `|` between them.

    Raises:
        RetvecLiteError: for anything else, as many labels as there are not texts, or a file that `read_dataset` refuses.
    """
    if labels is None:
        if isinstance(data, Dataset):
            if multi_label and not data.multi_label:
                raise RetvecLiteError("This Dataset has one label a text. Make it with multi_label=True.")
            return data
        if isinstance(data, (str, os.PathLike)):
            path = starter_file(split) if os.fspath(data) == STARTER else data
            return read_dataset(path, text_column, label_column, multi_label)
        raise RetvecLiteError("Pass labels with the texts: one for each.")
    texts = as_texts(data)
    given = list(labels)
    if len(given) != len(texts):
        raise RetvecLiteError(
            f"There are {len(texts):,} texts but {len(given):,} labels: pass one label for each text."
        )
    rows = []
    for row, (text, label) in enumerate(zip(texts, given, strict=True)):
        rows.append(_Row(row, text, cell_of(label, f"row {row}", "label", multi_label)))
    return _checked(IN_MEMORY, rows, ("text", "label"), "row", multi_label)


def read_dataset(
    path: str | os.PathLike[str], text_column: str = "text", label_column: str = "label", multi_label: bool = False
) -> Dataset:
    r"""Read a labelled file; its suffix decides the format.

    `.csv` and `.tsv` are UTF-8 with a header row, quoted as RFC 4180 says. `.jsonl`, `.ndjson` and `.json` hold one JSON
    object a line; a label may be a string, a boolean or a number. A byte order mark and blank lines are skipped.

    Args:
        path: the file.
        text_column: column or field of the texts.
        label_column: column or field of the labels.
        multi_label: a text may have several labels, separated by `|` (in JSON Lines also a list), or none.

    Raises:
        RetvecLiteError: names the file, the line and what is wrong with it.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import read_dataset
        >>> _ = Path("messages.csv").write_text("text,label\nwhere is my parcel?,delivery\nhi,greeting\n")
        >>> read_dataset("messages.csv").labels
        ('delivery', 'greeting')
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in DELIMITERS and suffix not in JSON_SUFFIXES:
        known = ", ".join([*DELIMITERS, *JSON_SUFFIXES])
        raise RetvecLiteError(f"Cannot read {file.name!r}: the name of a labelled file ends in {known}.")
    if text_column == label_column:
        raise RetvecLiteError(f"Texts and labels must be two different columns, not both {text_column!r}.")
    found = []
    with Rows(file, (text_column, label_column)) as rows:
        for line, fields in rows:
            label = cell_of(fields[label_column], f"{file}, line {line}", label_column, multi_label)
            found.append(_Row(line, fields[text_column], label))
    return _checked(file, found, (text_column, label_column), "line", multi_label)


def check_trainable(dataset: Dataset) -> None:
    """Make sure that a classifier can be trained: two labels or more, two texts or more of each.

    Raises:
        RetvecLiteError: names the label that falls short.
    """
    counts = Counter(label for labels in dataset.label_sets for label in labels)
    if len(counts) < 2:
        only = f"only {min(counts)!r}" if counts else "none"
        raise RetvecLiteError(f"{dataset.path} needs at least 2 different labels, but has {only}.")
    label, count = min(counts.items(), key=lambda item: (item[1], item[0]))
    if count < 2:
        raise RetvecLiteError(
            f"{dataset.path} needs at least 2 examples of every label, but has 1 of {label!r}. Add one, or drop the label."
        )


def split(dataset: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Return training and validation part, with a share of every class in the latter; the same seed gives the same split everywhere.

    Shares are rounded by largest remainder, so that the whole comes out right even with many small classes. Every class
    keeps at least one training example, and both parts keep the order of the file.

    Raises:
        RetvecLiteError: for a fraction that is not between 0 and 1 (exclusive).
    """
    if not 0.0 < fraction < 1.0:
        raise RetvecLiteError(f"The validation share must lie between 0 and 1, not {fraction!r}.")
    draw = random.Random(seed).random
    strata = dataset.strata
    rows: dict[str, list[int]] = {label: [] for label in sorted(set(strata))}
    for row, label in enumerate(strata):
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


@cache
def starter_file(split: str) -> Path:
    """Return the CSV file of one split of the starter data, with the columns `text`, `label` and `lang`.

    The starter data are 9,309 labelled short messages in ten languages, written for this project; `starter/README.md`
    describes them. The path exists until the process ends, even if the package is imported from a zip file.

    Raises:
        RetvecLiteError: for a split other than `train` and `test`.
    """
    if split not in STARTER_SPLITS:
        raise RetvecLiteError(f"The starter data has the splits {' and '.join(STARTER_SPLITS)}, not {split!r}.")
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(as_file(files("retvec_lite") / "starter" / f"{split}.csv"))


def load_starter(split: str) -> Dataset:
    """Return the texts and labels of one split of the starter data, `train` or `test`; raises as `starter_file`."""
    return read_dataset(starter_file(split))


def split_labels(cell: str) -> tuple[str, ...]:
    """Return the labels in a cell of multi-label data, such as "urgent | billing", sorted, each once."""
    return tuple(sorted({label for part in cell.split(SEPARATOR) if (label := part.strip())}))


def join_labels(labels: Iterable[str]) -> str:
    """Return what `split_labels` reads back as these labels."""
    return SEPARATOR.join(sorted(labels))


def cell_of(value: Any, place: str, column: str, multi_label: bool) -> str:
    """Return a label from JSON or Python, or a list of them in multi-label data, as it stands in a cell of a table.

    Booleans and numbers are written as in JSON, so that `true` and "true" are one label. The place and the column are for messages.

    Raises:
        RetvecLiteError: for another type, or a label in a list that holds the separator.
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if multi_label and value is None:
        return ""
    if multi_label and not isinstance(value, (str, dict)) and hasattr(value, "__iter__"):
        labels = [cell_of(label, place, column, multi_label=False) for label in value]
        if broken := [label for label in labels if SEPARATOR in label]:
            raise RetvecLiteError(f"{place}: the label {broken[0]!r} holds {SEPARATOR!r}, which separates labels.")
        return join_labels(labels)
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int)) or (isinstance(value, float) and abs(value) < float("inf")):
        return json.dumps(value)
    shown = json.dumps(value, default=repr)[:40]
    kinds = "a string, a boolean or a number" + (", or a list of them" if multi_label else "")
    raise RetvecLiteError(f"{place}: {column!r} must be {kinds}, not {shown}.")


def no_label_hint(labels: Sequence[str]) -> str:
    """Return what to say about a row without a label, beside all `labels` of the data with one label a text."""
    several = sum(SEPARATOR in label for label in labels)
    count = f" ({several:,} of {len(labels):,} rows have a {SEPARATOR!r} in theirs)" if several else ""
    return f". Pass --multi-label if a text may have no label{count}"


def check_single(labels: Sequence[str], source: object) -> None:
    """Make sure that no label looks like several; raises RetvecLiteError with how many do."""
    rows = [row for row, label in enumerate(labels) if SEPARATOR in label]
    if rows:
        raise RetvecLiteError(
            f"{len(rows):,} of {len(labels):,} rows of {source} have a {SEPARATOR!r} in their label, such as "
            f"{labels[rows[0]]!r}: pass --multi-label (multi_label=True) if it separates labels, or --no-multi-label "
            "(multi_label=False) if it is part of one."
        )


def _checked(
    file: Path, rows: Sequence[_Row], columns: tuple[str, str], unit: str, multi_label: bool = False
) -> Dataset:
    """Return the rows as a dataset; refuse what cannot be meant as a text or a label."""
    texts, labels = [], []
    for row in rows:
        names = split_labels(row.label) if multi_label else (row.label.strip(_BLANK),)
        label = join_labels(names)
        for column, cell in ((columns[0], row.text), *((columns[1], name) for name in names)):
            stripped = cell.strip(_BLANK)
            if not stripped:
                hint = no_label_hint([other.label for other in rows]) if column == columns[1] else ""
                _refuse(file, row.line, f"the column {column!r} is empty{hint}", unit)
            if stripped in _NAN:
                _refuse(file, row.line, f"{cell!r} in the column {column!r} is a missing value", unit)
        kinds = set(map(unicodedata.category, label))
        for is_wrong, problem in (
            (len(label.splitlines()) > 1, "has more than one line"),
            ("Cc" in kinds, "holds a control character, such as TAB or ESC"),
            ("Cs" in kinds, "holds an unpaired surrogate, which is not valid Unicode"),
        ):
            if is_wrong:
                _refuse(file, row.line, f"the label {label!r} {problem}", unit)
        texts.append(row.text)
        labels.append(label)
    if not texts:
        raise RetvecLiteError(f"There are no rows in {file}.")
    return Dataset(tuple(texts), tuple(labels), file, multi_label)


def _refuse(file: Path, line: int, problem: str, unit: str = "line") -> NoReturn:
    raise RetvecLiteError(f"{file}, {unit} {line}: {problem}.")
