"""The pages show the tables that the commands wrote."""

from pathlib import Path

import pages
import pytest


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
def test_a_page_shows_the_tables_as_they_were_measured(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert pages.with_tables(page, pages.RESULTS) == page, "run python benchmarks/pages.py"


def test_a_table_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "speed.md").write_text("| new |\n", encoding="utf-8")
    page = "before\n<!-- table: speed -->\n\n| old |\n| older |\n\n<!-- end -->\nbehind\n<!-- end -->\n"
    renewed = pages.with_tables(page, tmp_path)
    assert renewed == "before\n<!-- table: speed -->\n\n| new |\n\n<!-- end -->\nbehind\n<!-- end -->\n"
    assert pages.with_tables(renewed, tmp_path) == renewed


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="Expected the table speed at"):
        pages.with_tables("<!-- table: speed -->\n\n<!-- end -->\n", tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        "<!-- table: a -->\n\nprose\n\n<!-- table: b -->\n\n<!-- end -->\n",
        "<!-- table:a -->\n\n<!-- end -->\n",
        "<!-- table: a -->\n<!-- end -->\n",
        "<!-- table: a -->\n",
    ],
    ids=["not closed", "no space", "no room", "no end"],
)
def test_nothing_between_two_tables_is_lost(tmp_path: Path, page: str) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text("| new |\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"Expected an empty line or a table .* received"):
        pages.with_tables(page, tmp_path)
