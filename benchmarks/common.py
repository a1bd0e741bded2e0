"""What all benchmarks share: paths, result files, rows that are saved one by one, Markdown tables."""

import argparse
import contextlib
import csv
import dataclasses
import fcntl
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.data.dataset import Dataset
from retvec_lite.files import atomic_write
from retvec_lite.model.heads import HEADS

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT.parent / "shared" / "data"
"""The data sets are not part of the project. By default they lie beside the checkout; `--data` names another folder."""
RESULTS: Final = ROOT / "benchmarks" / "results"
PICTURES: Final = ROOT / "docs"
WORK: Final = ROOT / "out" / "benchmarks"
"""Folder that keeps trained systems between commands (ignored by git); `--work` names another."""

EARLIER: Final = ", earlier"
"""Follows a head's name in rows whose head had other sizes than today's."""

SIZE_LIMIT: Final = 1_000_000
"""Bytes: the size class of the comparisons. A file must be smaller."""

Row = dict[str, Any]


def command_parser(doc: str | None, *, quick: str | None = None, data: bool = False) -> argparse.ArgumentParser:
    """Return a parser whose help is the command's docstring.

    Args:
        doc: the docstring, lines kept.
        quick: adds `--quick` with this help.
        data: adds `--data`.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder of the data sets")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def result_path(name: str, *, quick: bool) -> Path:
    """Return where a command's results lie, without a suffix. Quick forms have files of their own."""
    return RESULTS / (f"{name}-quick" if quick else name)


def picture_path(name: str, *, quick: bool) -> Path:
    """Return where a plot lies: in docs, whose pages show it; of a quick form beside its results."""
    return (RESULTS / f"{name}-quick.png") if quick else (PICTURES / f"{name}.png")


def require_data(path: Path) -> None:
    """Stop when a file of the data sets is missing.

    Raises:
        SystemExit: no such file.
    """
    if not path.is_file():
        raise SystemExit(
            f"No data set at {path}. Build it with `python -m benchmarks.data.prepare`, or name its folder with --data DIR."
        )


def read_language(path: Path, language: str) -> Dataset:
    """Read the rows of one language from a file with the columns text, label and lang."""
    require_data(path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["lang"] == language]
    return Dataset(tuple(row["text"] for row in rows), tuple(row["label"] for row in rows), path)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column aligned left, the others right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def run_module(name: str, *arguments: object) -> str:
    """Run a module of this project in a process of its own and return what it printed."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", name, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def measure_built(
    doc: str | None,
    script: str,
    build: Callable[[Path], None],
    measure: Callable[[Path, bool], list[Row]],
    table: Callable[[Sequence[Row]], str],
    arguments: Sequence[str] | None,
) -> None:
    """Run a command that times files: build them in a process of its own, measure them, write rows and table.

    LiteRT and TensorFlow do not share a process here.

    Args:
        doc: the docstring of the command.
        script: its module, whose last name is also that of the results.
        build: writes the files to a folder.
        measure: returns the rows from that folder; True for few rounds.
        table: returns the rows as Markdown.
        arguments: of the command line; None for the real ones.
    """
    parser = command_parser(doc, quick="few rounds")
    parser.add_argument("--build", type=Path, help="only write the files to this folder (the command calls itself)")
    args = parser.parse_args(arguments)
    if args.build:
        build(args.build)
        return
    with tempfile.TemporaryDirectory() as folder:
        run_module(script, "--build", folder)
        rows = measure(Path(folder), args.quick)
    write_results(result_path(script.rpartition(".")[2], quick=args.quick), rows, table(rows))


def write_results(path: Path, rows: Sequence[Any], table: str, *, show: bool = True) -> None:
    """Write rows to `path`.json and the table to `path`.md, and print the table if `show`."""
    atomic_write(path.with_suffix(".json"), (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
    atomic_write(path.with_suffix(".md"), table.encode())
    if show:
        print(table)


def read_results(path: Path) -> list[Any]:
    """Read the rows that `write_results` wrote; an empty list if there is no file."""
    file = path.with_suffix(".json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


class Rows:
    """The results of one command. Each row is saved at once, so that an interrupted command can continue.

    The `key` fields identify a row; its field `settings` says how it was measured. A row with other settings counts as
    missing. Adding it replaces the old row and the rows of its other seeds, so that no mean mixes two settings. `unlike`
    warns of differing lines. Several processes may add rows to one file.

    Args:
        path: of the JSON and the Markdown file, without a suffix.
        key: the fields that identify a row.
        table: returns the Markdown of all rows.
    """

    def __init__(self, path: Path, key: Sequence[str], table: Callable[[list[Row]], str]) -> None:
        self._path = path
        self._key = tuple(key)
        self._table = table
        self._rows: dict[tuple[Any, ...], Row] = {}
        self._read()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def has(self, row: Row) -> bool:
        """Return whether a row of this key was measured with these settings."""
        found = self._rows.get(self._key_of(row))
        # JSON turns tuples into lists and keys into strings.
        return found is not None and found.get("settings") == json.loads(json.dumps(row.get("settings")))

    def add(self, row: Row) -> None:
        """Save a row in place of an older one with the same key."""
        row = json.loads(json.dumps(row))
        line, way = self._line_of(row), _without_seed(row["settings"])
        with self._alone():
            self._rows = {
                key: other
                for key, other in self._rows.items()
                if self._line_of(other) != line or _without_seed(other["settings"]) == way
            }
            self._rows[self._key_of(row)] = row
            self._write(show=False)

    def show(self) -> None:
        """Write both files again and print the table."""
        with self._alone():
            self._write(show=True)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing, and read what they have written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._path.with_suffix(".lock")):
            self._read()
            yield

    def _read(self) -> None:
        self._rows = {self._key_of(row): row for row in read_results(self._path)}

    def _write(self, *, show: bool) -> None:
        rows = list(self._rows.values())
        write_results(self._path, rows, self._table(rows), show=show)

    def _key_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[field] for field in self._key)

    def _line_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[field] for field in self._key if field != "seed")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, made if missing; wait while another process has it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _without_seed(settings: Row) -> Row:
    return {name: value for name, value in settings.items() if name != "seed"}


def with_earlier_heads(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with `, earlier` after the head of those whose head has changed since they were measured.

    Long trainings are not repeated for every change of a head. A row without head sizes counts as one of today's.
    """
    marked = []
    for row in rows:
        head = HEADS.get(row["head"])
        sizes = row["settings"].get("head_sizes")
        is_earlier = head is not None and sizes is not None and sizes != dataclasses.asdict(head())
        marked.append(row | {"head": row["head"] + EARLIER} if is_earlier else row)
    return marked


def differences(rows: Sequence[Row]) -> list[str]:
    """Return in which respects the lines of one data set were trained differently.

    Compares the training texts, the most epochs (not of fastText, which tunes them itself) and, among fine-tuned systems,
    the character filters and the embedding's learning rate.
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
    """Return the notes under the table of one data set: differences in training, earlier heads, longer fine-tuning."""
    found = differences(rows)
    warning = f"\n**Not comparable:** these rows differ in {' and '.join(found)}.\n" if found else ""
    longer = {row["settings"].get("epochs_of_fine_tuning") for row in rows if row["settings"].get("epochs") is None} - {
        None
    }
    if any(row.get("head", "").endswith(EARLIER) for row in rows):
        warning += "\n*earlier*: measured before the head got its present sizes (`head_sizes` in the JSON).\n"
    if not longer:
        return warning
    return f"{warning}\n*ours, fine-tuned* trained for at most {max(longer)} epochs, the product's own choice; the others may have had fewer.\n"


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Return the mean and, from two values on, the sample standard deviation: "0.912 ± 0.004"."""
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(values):.{digits}f}"


def grouped(rows: Sequence[Row], fields: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of some fields, in the order of their first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return groups


def kilobytes(size: int | None) -> str:
    """Format a size for a table; 1 kB is 1,000 bytes."""
    return "-" if size is None else f"{size / 1000:,.0f} kB"
