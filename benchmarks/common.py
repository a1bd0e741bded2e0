"""What the benchmarks share: where data and results lie, rows that are kept one by one, tables."""

import argparse
import csv
import dataclasses
import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.data.dataset import Dataset
from retvec_lite.files import atomic_write
from retvec_lite.model.heads import HEADS

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT.parent / "shared" / "data"
"""The project's data sets lie beside the checkout and are not part of it; `--data` names another folder of the same form."""
RESULTS: Final = ROOT / "benchmarks" / "results"
WORK: Final = ROOT / "out" / "benchmarks"
"""Where trained systems are kept between commands (git ignores it); `--work` names another folder."""

EARLIER: Final = ", earlier"
"""Stands after a head's name where a row's head had other sizes than the one of today."""

QUICK_ROWS: Final = 1500
QUICK_TEST_ROWS: Final = 500
QUICK_EPOCHS: Final = 15
QUICK_AUTOTUNE: Final = 30
"""What quick forms train on and for how long: enough to see that a command works, too little to compare systems."""

Row = dict[str, Any]


def read_language(path: Path, language: str) -> Dataset:
    """The rows of one language of a file with the columns text, label, lang."""
    if not path.is_file():
        raise SystemExit(f"Expected the data set at {path}: pass --data DIR (see docs/benchmarks.md for its form).")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["lang"] == language]
    return Dataset(tuple(row["text"] for row in rows), tuple(row["label"] for row in rows), path)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, first column to the left, the rest to the right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_results(path: Path, rows: Sequence[Any], table: str, *, show: bool = True) -> None:
    """`path`.json with the rows and `path`.md with the table, which is printed as well unless `show` is off."""
    atomic_write(path.with_suffix(".json"), (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
    atomic_write(path.with_suffix(".md"), table.encode())
    if show:
        print(table)


def read_results(path: Path) -> list[Any]:
    """The rows that `write_results` wrote, none when it has not."""
    file = path.with_suffix(".json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


class Rows:
    """Results of one command, row by row: each is written at once, and what is there already is not measured again.

    A row is told apart by its `key` fields. Its field `settings` says how it was measured: with other settings it
    counts as not measured, and the new one takes its place and that of its other seeds, so that no mean is over two ways
    of measuring. `unlike` warns of lines that differ among each other.

    Args:
        path: where the JSON and the Markdown table lie, without a suffix.
        key: the fields that tell rows apart.
        table: makes the Markdown of all rows.
    """

    def __init__(self, path: Path, key: Sequence[str], table: Callable[[list[Row]], str]) -> None:
        self._path = path
        self._key = tuple(key)
        self._table = table
        self._rows: dict[tuple[Any, ...], Row] = {self._key_of(row): row for row in read_results(path)}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def has(self, row: Row) -> bool:
        """Whether a row of this key was measured with these settings."""
        found = self._rows.get(self._key_of(row))
        # By way of JSON, where a tuple is a list and a key is a string.
        return found is not None and found.get("settings") == json.loads(json.dumps(row.get("settings")))

    def add(self, row: Row) -> None:
        """Keep a row, in the place of an earlier one of its key, and write the files."""
        row = json.loads(json.dumps(row))
        line, way = self._line_of(row), _without_seed(row["settings"])
        self._rows = {
            key: other
            for key, other in self._rows.items()
            if self._line_of(other) != line or _without_seed(other["settings"]) == way
        }
        self._rows[self._key_of(row)] = row
        self._write(show=False)

    def show(self) -> None:
        """Write JSON and table as they are, and print the table: the end of a command."""
        self._write(show=True)

    def _write(self, *, show: bool) -> None:
        rows = list(self._rows.values())
        write_results(self._path, rows, self._table(rows), show=show)

    def _key_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[field] for field in self._key)

    def _line_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[field] for field in self._key if field != "seed")


def _without_seed(settings: Row) -> Row:
    return {name: value for name, value in settings.items() if name != "seed"}


def with_earlier_heads(rows: Iterable[Row]) -> list[Row]:
    """The rows as tables tell them: one whose head has changed since it was measured is a line of its own.

    Long trainings are not repeated for every change of a head; what they said stays true of what they measured. A row that
    does not tell its head's sizes is taken for one of today's.
    """
    told = []
    for row in rows:
        head = HEADS.get(row["head"])
        sizes = row["settings"].get("head_sizes")
        is_earlier = head is not None and sizes is not None and sizes != dataclasses.asdict(head())
        told.append(row | {"head": row["head"] + EARLIER} if is_earlier else row)
    return told


def differences(rows: Sequence[Row]) -> list[str]:
    """In what lines of one data set were not trained alike.

    Compared are the training texts, the epochs at most and, between lines of fine-tuned systems, what else they learn with;
    fastText, which tunes its epochs itself, has none to compare.
    """
    named = {
        "training texts": "texts",
        "epochs": "epochs",
        "character filters": "character_filters",
        "the embedding's learning rate": "embedding_rate",
    }
    found = []
    for name, field in named.items():
        counted = [row["settings"] for row in rows if field != "epochs" or "autotune" not in row["settings"]]
        if len({str(settings[field]) for settings in counted if field in settings}) > 1:
            found.append(name)
    return found


def unlike(rows: Sequence[Row]) -> str:
    """What to put under a table of one data set: `differences`, and what "earlier" and "fine-tuned" mean where it has such lines."""
    found = differences(rows)
    warning = f"\n**Not comparable:** these lines differ in {' and '.join(found)}.\n" if found else ""
    longer = {row["settings"].get("epochs_of_fine_tuning") for row in rows if row["settings"].get("epochs") is None} - {
        None
    }
    if any(row.get("head", "").endswith(EARLIER) for row in rows):
        warning += "\n*earlier*: measured with other sizes of the head than today's (`head_sizes` in the JSON).\n"
    if not longer:
        return warning
    return f"{warning}\n*ours, fine-tuned* trained for at most {max(longer)} epochs: the product's own choice, which may be more than the others'.\n"


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean and, of two values or more, their sample standard deviation: ".912 ± .004"."""
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(values):.{digits}f}"


def grouped(rows: Sequence[Row], fields: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some fields, in the order of their first appearance: one group per line of a table."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return groups


def kilobytes(size: int | None) -> str:
    """A size as tables show it, 1 kB being 1,000 bytes."""
    return "-" if size is None else f"{size / 1000:,.0f} kB"


def add_common_arguments(parser: argparse.ArgumentParser, quick: str) -> None:
    """The arguments that every command of a trained system has; `quick` says what `--quick` does."""
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder of the data sets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="(default: 0)")
    parser.add_argument(
        "--epochs", type=int, metavar="N", help="passes over the data at most, the same for every system"
    )
    parser.add_argument(
        "--embedding",
        default="default",
        metavar="FILE",
        help="the embedding of `ours` (default: the one in the package)",
    )
    parser.add_argument("--v1", type=Path, metavar="FILE", help="what import-embedding made of the released RETVec v1")
    parser.add_argument(
        "--autotune", type=int, default=300, metavar="S", help="seconds that fastText may tune itself (default: 300)"
    )
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="where trained systems are kept")
    parser.add_argument("--quick", action="store_true", help=quick)
