"""Labelled texts: from a file, from Python, or from the starter data.

Data are read strictly: a row that cannot be what its author meant is an error with its line, not a bad example.
"""

import functools
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict

from retvec_lite.arguments import checked, finite, takes
from retvec_lite.data.copies import Groups, find_copies, split_rows
from retvec_lite.data.descriptions import Description
from retvec_lite.data.labels import SEPARATOR, cell_of, join_labels, problem_in_label, split_labels
from retvec_lite.data.lines import Skipped, explained
from retvec_lite.data.rows import LABELLED, TEXT_SUFFIX, RowReader
from retvec_lite.data.sources import check_files, data_files, given_files, label_in_name, names_of_files
from retvec_lite.data.texts import BLANK, is_missing, or_none, two_columns
from retvec_lite.errors import RetvecLiteError, SystematicError, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

STARTER: Final = "starter"
"""What users type instead of a file name for the starter data."""

IN_MEMORY: Final = Path("the given data")
"""What messages call data that came from no file."""

_BLANK_OR_MARK: Final = f"{BLANK}\ufeff"
"""A byte order mark begins each of the files that were joined."""


@dataclass(frozen=True)
class Dataset:
    """Labelled texts, row by row.

    Attributes:
        texts: as they stand in the file.
        labels: one for each text, without surrounding white space; in multi-label data those of a text, joined by `|`.
        path: where they came from, for messages.
        multi_label: whether a text may have several labels, or none.
        left_out: sentences about how files were read, and rows that are not here: empty ones, and bad ones that were to be skipped.
        weights: how much each text counts in training; empty where all count the same.
        rows: row of each text in the data that were given, counted from 0, without the header; empty where none was left out.
        descriptions: labels, with texts or without, and what they mean; see `data.descriptions`.

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
    left_out: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    rows: tuple[int, ...] = ()
    descriptions: tuple[Description, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def given_rows(self) -> Sequence[int]:
        """The row of each text in the data that were given, see `rows`."""
        return self.rows or range(len(self.texts))

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, of texts and of descriptions, sorted by code point: the order of a classifier's outputs."""
        return tuple(sorted({*self.label_counts, *dict(self.descriptions)}))

    @property
    def label_sets(self) -> tuple[tuple[str, ...], ...]:
        """The labels of each text, sorted: one; in multi-label data any number."""
        return tuple(split_labels(label) if self.multi_label else (label,) for label in self.labels)

    @property
    def label_counts(self) -> Counter[str]:
        """How many texts each label has."""
        return Counter(label for labels in self.label_sets for label in labels)

    @property
    def smallest_label(self) -> tuple[str, int]:
        """The label with the fewest texts, and how many these are."""
        counts = self.label_counts
        return min(((label, counts[label]) for label in self.classes), key=lambda item: (item[1], item[0]))

    @property
    def strata(self) -> tuple[str, ...]:
        """The stratum of each text, of which every part of the data should get its share: its label, or its rarest one if any."""
        if not self.multi_label:
            return self.labels
        counts = self.label_counts
        return tuple(min(labels, key=lambda label: (counts[label], label), default="") for labels in self.label_sets)

    @functools.cached_property
    def groups(self) -> Groups:
        """Which texts are copies of each other, int64 `[texts]`, see `find_copies`."""
        return find_copies(self.texts)

    def select(self, rows: Iterable[int]) -> "Dataset":
        """Return the rows with the given indices, in their order."""
        chosen = list(rows)
        texts, labels = (tuple(column[row] for row in chosen) for column in (self.texts, self.labels))
        return replace(
            self,
            texts=texts,
            labels=labels,
            weights=tuple(self.weights[row] for row in chosen if self.weights),
            rows=_rows_if_left_out(tuple(self.given_rows[row] for row in chosen)),
        )

    def split(self, fraction: float, seed: int) -> tuple["Dataset", "Dataset"]:
        """Return training and validation part, divided by `split_rows`."""
        rows, others = split_rows(self.groups, self.strata, fraction, seed)
        return self.select(rows), self.select(others)


def _rows_if_left_out(rows: tuple[int, ...]) -> tuple[int, ...]:
    return () if rows == tuple(range(len(rows))) else rows


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How labelled files and tables are read: the last arguments of every function that takes labelled texts.

    Attributes:
        text_column: column of the texts in a file or table.
        label_column: column of the labels in a file or table.
        delimiter: between the cells of a CSV or TSV file, such as ; or tab (default: the one of , ; | and tab that fits the header).
        skip_bad_rows: leave out rows that cannot be read, or lack a text or a label, and count them (default: they are an error).
        multi_label: a text may have several labels, separated by |, or as a list (also in a cell: ['a', 'b']), or none;
            --no-multi-label (False): | is part of a label (default: one label, without | where a classifier is trained).
        labels_from: what says the label of a text: a column of its file, the name of the file (delivery.csv, or delivery.txt with a text
            a line), or the name of its folder (delivery/march.csv, or delivery/1.txt, which is one text).
    """

    text_column: str = "text"
    label_column: str = "label"
    delimiter: str | None = None
    skip_bad_rows: bool = False
    multi_label: bool | None = None
    labels_from: Literal["column", "file", "folder"] = "column"

    def __post_init__(self) -> None:
        if self.text_column == self.label_column:
            raise RetvecLiteError(f"Texts and labels must be two different columns, not both {self.text_column!r}.")


class ReadingOptions(TypedDict, total=False):
    """The same for type checkers."""

    text_column: str
    label_column: str
    delimiter: str | None
    skip_bad_rows: bool
    multi_label: bool | None
    labels_from: Literal["column", "file", "folder"]


class _Row(NamedTuple):
    number: int
    place: int
    text: Any
    label: Any


class _Source(NamedTuple):
    """Where rows come from, for messages: a file, its columns of texts and labels, and what the places count."""

    path: Path
    columns: tuple[str, str]
    unit: str

    def bad(self, row: _Row, problem: str, kind: type[RetvecLiteError] = RetvecLiteError) -> RetvecLiteError:
        return kind(f"{self.path}, {self.unit} {row.place}: {problem}.")


def as_dataset(
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    split: str = "train",
    sample_weight: Sequence[float] | None = None,
    **reading: "Unpack[ReadingOptions]",
) -> Dataset:
    """Return labelled texts in whatever form the user has them.

    The data are a `Dataset`; a file, or a list of paths (see `read_dataset`); "starter", which means the `split` of the starter data; with `labels`, any
    sequence of strings (list, NumPy array, pandas Series); or without, a table of any library (such as a DataFrame), records, or pairs
    (see `two_columns`). Labels are strings, or booleans and numbers, which become strings as JSON writes them (1 and 1.0: "1", True:
    "true"). In multi-label data, each is a list of them, or a string with `|` between them. Rows without text and label are left out,
    with their weight if there is one for each row.

    Raises:
        RetvecLiteError: for anything else, a row that lacks one of them (unless `skip_bad_rows` leaves it out), as many labels as there
            are not texts, or a file that `read_dataset` refuses.
    """
    how = Reading(**reading)
    if labels is None:
        if isinstance(data, Dataset):
            if how.multi_label and not data.multi_label:
                raise RetvecLiteError("This Dataset has one label a text. Make it with multi_label=True.")
            _check_dataset(data)
            return data if sample_weight is None else weighted(data, sample_weight)
        if (names := names_of_files(data)) is not None:
            found = read_dataset([starter_file(split)] if names == (STARTER,) else names, **reading)
            return found if sample_weight is None else weighted(found, sample_weight)
    columns = two_columns(data, labels, (how.text_column, how.label_column), IN_MEMORY)
    rows = [_Row(row, row, *cells) for row, cells in enumerate(zip(*columns, strict=True))]
    names = ("text", "label") if labels is not None else (how.text_column, how.label_column)
    origin, skipped = _Source(IN_MEMORY, names, "row"), Skipped(how.skip_bad_rows)
    return _checked(IN_MEMORY, [(origin, rows)], bool(how.multi_label), skipped, sample_weight)


@checked
@takes(Reading)
def read_dataset(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **reading: "Unpack[ReadingOptions]"
) -> Dataset:
    r"""Read a labelled file, or several; the suffix decides the format.

    `.csv` and `.tsv` have a header row and are quoted as RFC 4180 says. `.jsonl`, `.ndjson` and `.json` hold one JSON object a line,
    or an array of them; a label may be a string, a boolean or a number. `.parquet` needs pyarrow. All but Parquet may be packed
    (`.csv.gz`). Text is UTF-8, or what a byte order mark says. Rows without text and label are left out.

    Args:
        path: the file; a folder, with all data files in it; a pattern such as "data/*.csv"; or a list of these.
        reading: see `Reading`.

    Raises:
        RetvecLiteError: names the file, the line and what is wrong with it.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import read_dataset
        >>> _ = Path("messages.csv").write_text("text;label\nwhere is my parcel?;delivery\n;\nhi;greeting\n")
        >>> data = read_dataset("messages.csv")
        >>> data.labels, data.left_out
        (('delivery', 'greeting'), ('1 empty row skipped.',))
    """
    how, given = Reading(**reading), given_files(path)
    has_column, skipped = how.labels_from == "column", Skipped(how.skip_bad_rows)
    suffixes = LABELLED if has_column else (*LABELLED, TEXT_SUFFIX)
    parts, before = [], 0
    for file in data_files(given, suffixes, "a labelled file"):
        label = None if has_column else label_in_name(file, how.labels_from)
        columns = (how.text_column, how.label_column if label is None else label)
        required, is_text = columns[: 1 + has_column], how.labels_from == "folder"
        with (
            explained(file),
            RowReader(file, required, delimiter=how.delimiter, skipped=skipped, is_text=is_text) as rows,
        ):
            found: list[_Row] = []
            for place, fields in rows:
                if has_column and fields.get("answer") in ("reject", "ignore"):  # Prodigy
                    why = f"its 'answer' is {fields['answer']!r}, so its label is not right"
                    skipped.bad(rows.bad(place, why))
                    continue
                text = or_none(fields[how.text_column])
                last = or_none(fields[how.label_column]) if label is None else None if is_missing(text) else label
                number = before + len(found) + skipped.empty + skipped.count
                found.append(_Row(number, place, text, last))
        before += len(found)
        parts.append((_Source(file, columns, rows.unit), found))
    texts = {origin.path: [row.text for row in rows] for origin, rows in parts}
    skipped.notes += check_files(given, texts, how.labels_from == "folder")
    others = f" and {len(given) - 1} more" if len(given) > 1 else ""
    return _checked(Path(f"{os.fspath(given[0])}{others}"), parts, bool(how.multi_label), skipped)


def weighted(dataset: Dataset, weights: Sequence[float]) -> Dataset:
    """Return the texts that count, with how much each does; those that weigh 0 are left out.

    Raises:
        RetvecLiteError: for another number of weights than texts, or one that is no finite number of at least 0.
    """
    try:
        given = list(weights)
    except TypeError as error:
        raise RetvecLiteError("sample_weight must be a sequence of numbers, one for each text.") from error
    if len(given) != len(dataset):
        raise RetvecLiteError(f"sample_weight has {len(given):,} numbers, but there are {len(dataset):,} texts.")
    numbers = []
    for weight in given:
        number = finite(weight)
        if number is None or number < 0:
            raise RetvecLiteError(f"sample_weight must hold finite numbers of at least 0, not {shown(weight)}.")
        numbers.append(number)
    if not any(numbers):
        raise RetvecLiteError("sample_weight is 0 for every text: give those that count a larger one.")
    least, most = min(filter(None, numbers)), max(numbers)
    if least * 1e9 < most:  # the losses of the network are sums of float32
        raise RetvecLiteError(
            f"sample_weight ranges from {least:g} to {most:g}: the largest may be 1e9 times the smallest. Give texts that hardly count a 0."
        )
    counting = replace(dataset, weights=tuple(numbers))
    return counting.select(row for row, number in enumerate(numbers) if number)


def starter_file(split: str) -> Path:
    """Return the CSV file of one split of the starter data, with the columns `text`, `label` and `lang`.

    The starter data are 9,309 labelled short messages in ten languages, written for this project; `starter/README.md` describes them.

    Raises:
        RetvecLiteError: for a split other than `train` and `test`.
    """
    if split not in ("train", "test"):
        raise RetvecLiteError(f"The starter data has the splits train and test, not {split!r}.")
    return Path(__file__).parents[1] / "starter" / f"{split}.csv"


def _check_dataset(dataset: Dataset) -> None:
    """Check a dataset that may have been made by hand: columns of one length, texts and labels that files could hold."""
    columns = (dataset.texts, dataset.labels, dataset.weights or dataset.texts)
    if len(set(map(len, columns))) > 1:
        raise RetvecLiteError("A Dataset needs as many labels as texts, and as many weights if there are any.")
    if wrong := [cell for cell in (*dataset.texts, *dataset.labels) if not isinstance(cell, str)]:
        raise RetvecLiteError(f"The texts and labels of a Dataset must be strings, not {shown(wrong[0])}.")
    for label in dataset.classes:
        if problem := problem_in_label(label):
            raise RetvecLiteError(f"The label {shown(label)} {problem}.")
    if dataset.weights:
        weighted(dataset, dataset.weights)


def _checked(
    path: Path,
    parts: Sequence[tuple[_Source, Sequence[_Row]]],
    multi_label: bool,
    skipped: Skipped,
    weights: Sequence[float] | None = None,
) -> Dataset:
    """Return the rows as a dataset; refuse what cannot be meant as a text or a label, unless bad rows are skipped."""
    texts, labels, kept = [], [], []
    everything = [(origin, rows, row) for origin, rows in parts for row in rows]
    for number, (origin, rows, row) in enumerate(everything):
        if is_missing(row.text) and is_missing(row.label):  # of tables of text, `RowReader` has dropped these
            skipped.empty += 1
            continue
        cells = tuple(cell.strip(_BLANK_OR_MARK) if isinstance(cell, str) else "" for cell in (row.text, row.label))
        if cells == origin.columns:
            skipped.headers.append(f"{origin.path}, {origin.unit} {row.place}")
            continue
        if cells == origin.columns[::-1]:  # even where bad rows are skipped: those behind it are worse
            again = "here the names of the columns come again, in another order. Split the file before this line"
            raise origin.bad(row, again)
        try:
            label = _label(origin, row, multi_label, () if skipped.count else rows)
        except RetvecLiteError as error:
            skipped.bad(error)
            continue
        texts.append(row.text)
        labels.append(label)
        kept.append(number)
    if not texts:
        raise RetvecLiteError(" ".join([f"There are no rows in {path}.", *skipped.sentences()]))
    numbers = _rows_if_left_out(tuple(everything[place][2].number for place in kept))
    dataset = Dataset(tuple(texts), tuple(labels), path, multi_label, skipped.sentences(), rows=numbers)
    if weights is None:
        return dataset
    # Weights of all rows lose those of the rows that were left out.
    each = list(weights) if hasattr(weights, "__len__") and len(weights) == len(everything) else None
    return weighted(dataset, weights if each is None else [each[number] for number in kept])


def _label(origin: _Source, row: _Row, multi_label: bool, rows: Sequence[_Row]) -> str:
    """Return the label of a row, as `Dataset` has it; raises RetvecLiteError for one that has none, or no text.

    All `rows` are for a hint, which takes time; none where nobody is told.
    """
    text_column, label_column = origin.columns
    if not isinstance(row.text, str | None):
        raise origin.bad(row, f"{text_column!r} must be a string, not {shown(row.text)}")
    place = f"{origin.path}, {origin.unit} {row.place}"
    cell = "" if row.label is None else cell_of(row.label, place, label_column, multi_label)
    names = split_labels(cell) if multi_label else (cell.strip(BLANK),)
    for column, value in ((text_column, row.text or ""), *((label_column, name) for name in names)):
        if not value.strip(BLANK):
            hint = ""
            if rows and column == label_column:
                several = sum(SEPARATOR in str(other.label) for other in rows)
                count = f" ({several:,} of {len(rows):,} rows have a {SEPARATOR!r} in theirs)" if several else ""
                hint = f". Pass --multi-label (multi_label=True) if a text may have no label{count}"
            raise origin.bad(row, f"the column {column!r} is empty{hint}")
    label = join_labels(names)
    if label and (problem := problem_in_label(label)):  # a text may have none of several labels
        raise origin.bad(row, f"the label {label!r} {problem}", SystematicError)
    return label
