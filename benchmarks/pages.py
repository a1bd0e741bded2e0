"""Put the measured tables into the pages that show them: `python benchmarks/pages.py`.

Pages are README.md and those in docs. A page names a table in an HTML comment, `<!-- table: NAME -->`; what stands from there
to the next `<!-- end -->` is replaced by `benchmarks/results/NAME.md`. A test holds that pages and results agree. The table
`summary` is made of another one: run `benchmarks/summary.py` before.
"""

import re
from pathlib import Path
from typing import Final

from common import RESULTS, ROOT

from retvec_lite.files import atomic_write

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_TABLE: Final = re.compile(r"(<!-- table: (\S+) -->\n)(?:(?!<!--).)*(\n<!-- end -->)", re.DOTALL)
_OPENING: Final = re.compile(r"<!--\s*table\b")


def with_tables(page: str, results: Path) -> str:
    """A page with its tables as they are in the folder `results`.

    Raises:
        SystemExit: when a table that the page names is not there, or a comment about a table is not of the form above.
    """

    def table(found: re.Match[str]) -> str:
        path = results / f"{found[2]}.md"
        if not path.is_file():
            raise SystemExit(
                f"Expected the table {found[2]} at {path}: its benchmark has to run first, received no such file."
            )
        return f"{found[1]}\n{path.read_text(encoding='utf-8').strip()}\n{found[3]}"

    named, closed = len(_OPENING.findall(page)), len(_TABLE.findall(page))
    if named != closed:
        raise SystemExit(
            f"Expected an empty line or a table between each '<!-- table: NAME -->' and '<!-- end -->' of a page, received {named} "
            f"tables, {closed} of this form."
        )
    return _TABLE.sub(table, page)


def main() -> None:
    """Renew all pages."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        renewed = with_tables(page, RESULTS)
        if renewed != page:
            atomic_write(path, renewed.encode())
            print(f"{path.relative_to(ROOT)}: tables renewed")


if __name__ == "__main__":
    main()
