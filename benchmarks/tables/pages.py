"""Renew the measured tables in README.md and docs: `python -m benchmarks.tables.pages`.

A page marks the place of a table with `<!-- table: NAME -->` and `<!-- end -->`; everything in between is replaced by
`benchmarks/results/NAME.md`. `<!-- table: NAME/DATA SET -->` shows only the tables of one data set. The tables of
summaries.py are made first, from the results of other commands.
"""

import re
from pathlib import Path
from typing import Final

from benchmarks.common import RESULTS, ROOT
from benchmarks.data.sets import FOLDERS
from benchmarks.tables.summaries import SUMMARIES
from retvec_lite.files import atomic_write

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

DETECTOR: Final = ROOT / "tools" / "language_detector" / "results"

_TABLE: Final = re.compile(r"(<!-- table: ([^>\n]+?) -->\n)(?:(?!<!--).)*(\n<!-- end -->)", re.DOTALL)
_OPENING: Final = re.compile(r"<!--\s*table\b")
_DATA_SET: Final = re.compile(rf"^(?=\*\*(?:{'|'.join(map(re.escape, FOLDERS))})\b)", re.MULTILINE)
"""Where the tables of a data set begin: a line such as `**MASSIVE by script**, clean / 50 % mistyped`."""


def tables_by_set(markdown: str) -> dict[str, str]:
    """Split a result file at its data sets: name -> its tables. A file without data sets gives an empty dict."""
    found: dict[str, str] = {}
    for part in _DATA_SET.split(markdown)[1:]:
        name = next(name for name in FOLDERS if part.startswith(f"**{name}"))
        found[name] = f"{found.get(name, '')}{part.strip()}\n\n"
    return found


def table_of(name: str, results: Path) -> str:
    """Return the Markdown of the table `NAME` or `NAME/DATA SET` in the folder `results`.

    Raises:
        SystemExit: no such file, or the file has no tables of this data set.
    """
    file, _, data_set = name.partition("/")
    path = next((found for place in (results, DETECTOR) if (found := place / f"{file}.md").is_file()), None)
    if path is None:
        raise SystemExit(f"No table {name}: {results / file}.md does not exist. Run its benchmark first.")
    markdown = path.read_text(encoding="utf-8")
    if not data_set:
        return markdown.strip()
    parts = tables_by_set(markdown)
    if data_set not in parts:
        raise SystemExit(f"No tables of {data_set} in {path} (found: {', '.join(parts) or 'no data set'}).")
    return parts[data_set].strip()


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
