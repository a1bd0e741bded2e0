"""What all benchmarks share: paths, options, result files, rows that are saved one by one."""

import argparse
import contextlib
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write

ROOT: Final = Path(__file__).resolve().parents[2]
DATA: Final = ROOT.parent / "shared" / "data"
"""The data sets are not part of the project. By default they lie beside the checkout; `--data` names another folder."""
RESULTS: Final = Path(__file__).resolve().parent / "results"
PICTURES: Final = ROOT / "docs"
WORK: Final = ROOT / "out" / "benchmarks"
"""Folder that keeps trained systems between commands (ignored by git); `--work` names another."""

SIZE_LIMIT: Final = 1_000_000
"""Bytes: the size class of the comparisons. A file must be smaller."""

Row = dict[str, Any]


def command_parser(doc: str | None, *, quick: str | None = None, data: bool = False) -> argparse.ArgumentParser:
    """Return a parser whose help is the command's docstring; what its user can mend is told in one sentence from then on.

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
    sys.excepthook = _tell
    return parser


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error of ours as its sentence, and others with their traceback."""
    if isinstance(error, RetvecLiteError):
        print(error, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


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


def run_module(name: str, *arguments: object) -> str:
    """Run a module of this project in a process of its own and return what it printed."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", name, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


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

    def fill(self, row: Row, measure: Callable[..., Row], *arguments: Any, again: bool = False) -> None:
        """Measure a row and save it, unless it is there.

        Args:
            row: its key and `settings`.
            measure: returns the rest of the row.
            *arguments: of `measure`.
            again: whether a row that is there is measured again.
        """
        done = self.has(row) and not again
        name = ", ".join(f"{row[field]}" for field in self._key)
        print(f"{name}: {'already measured' if done else '...'}", file=sys.stderr, flush=True)
        if not done:
            self.add(row | measure(*arguments))

    def show(self) -> None:
        """Write both files again and print the table."""
        with self._alone():
            self._write(show=True)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing, and read what they have written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
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


def _without_seed(settings: Row) -> Row:
    return {name: value for name, value in settings.items() if name != "seed"}
