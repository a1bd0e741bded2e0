"""What the benchmarks share: where data and results lie, tables."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.dataset import Dataset
from retvec_lite.files import atomic_write

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT.parent / "shared" / "data"
"""The project's data sets lie beside the checkout and are not part of it; `--data` names another folder of the same form."""
RESULTS: Final = ROOT / "benchmarks" / "results"


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


def write_results(path: Path, rows: Sequence[Any], table: str) -> None:
    """`path`.json with the rows and `path`.md with the table, which is printed as well."""
    atomic_write(path.with_suffix(".json"), (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
    atomic_write(path.with_suffix(".md"), table.encode())
    print(table)


def read_results(path: Path) -> list[Any]:
    """The rows that `write_results` wrote, none when it has not."""
    file = path.with_suffix(".json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
