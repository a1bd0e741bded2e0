"""Renew the measured tables in README.md and docs: `python -m benchmarks.tables.pages`.

A page marks the place of a table with `<!-- table: NAME -->` and `<!-- end -->`; everything in between is replaced by
`benchmarks/results/NAME.md`. The tables of summaries.py are made first, from the results of other commands.
"""

import re
from pathlib import Path
from typing import Final

from benchmarks.common import RESULTS, ROOT
from benchmarks.tables.summaries import SUMMARIES
from retvec_lite.files import atomic_write

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_TABLE: Final = re.compile(r"(<!-- table: ([^>\n]+?) -->\n)(?:(?!<!--).)*(\n<!-- end -->)", re.DOTALL)
_OPENING: Final = re.compile(r"<!--\s*table\b")


def table_of(name: str, results: Path) -> str:
    """Return the Markdown of a table in the folder `results`.

    Raises:
        SystemExit: no such file.
    """
    path = results / f"{name}.md"
    if not path.is_file():
        raise SystemExit(f"No table {name}: {path} does not exist. Run its benchmark first.")
    return path.read_text(encoding="utf-8").strip()


def with_tables(page: str, results: Path) -> str:
    """Return the page with its tables as they are in the folder `results`.

    Raises:
        SystemExit: a table is missing, or a marker is not of the form above.
    """
    named, closed = len(_OPENING.findall(page)), len(_TABLE.findall(page))
    if named != closed:
        raise SystemExit(
            f"The page opens {named} tables but only {closed} are closed. Write '<!-- table: NAME -->', "
            "an empty line, and '<!-- end -->'."
        )
    return _TABLE.sub(lambda found: f"{found[1]}\n{table_of(found[2], results)}\n{found[3]}", page)


def main() -> None:
    for name, make in SUMMARIES.items():
        atomic_write(RESULTS / f"{name}.md", make(RESULTS).encode())
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        renewed = with_tables(page, RESULTS)
        if renewed != page:
            atomic_write(path, renewed.encode())
            print(f"{path.relative_to(ROOT)}: tables renewed")


if __name__ == "__main__":
    main()
