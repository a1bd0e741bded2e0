"""The pages show the tables that the commands wrote."""

from pathlib import Path

import pytest

from benchmarks.tables import pages


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
def test_a_page_shows_the_tables_as_they_were_measured(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert pages.with_tables(page, pages.RESULTS) == page, "run python -m benchmarks.tables.pages"


def test_a_table_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "speed.md").write_text("| new |\n", encoding="utf-8")
    page = "before\n<!-- table: speed -->\n\n| old |\n| older |\n\n<!-- end -->\nbehind\n<!-- end -->\n"
    renewed = pages.with_tables(page, tmp_path)
    assert renewed == "before\n<!-- table: speed -->\n\n| new |\n\n<!-- end -->\nbehind\n<!-- end -->\n"
    assert pages.with_tables(renewed, tmp_path) == renewed


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"No table speed: .* does not exist"):
        pages.with_tables("<!-- table: speed -->\n\n<!-- end -->\n", tmp_path)


def test_every_table_is_on_a_page_or_linked_from_one() -> None:
    shown = "".join(path.read_text(encoding="utf-8") for path in pages.PAGES)
    for path in sorted(pages.RESULTS.glob("*.md")):
        if path.stem.endswith("quick") or f"results/{path.name}" in shown:
            continue
        markdown = path.read_text(encoding="utf-8")
        assert markdown.strip() in shown, path.name


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
    with pytest.raises(SystemExit, match=r"The page opens \d tables but only \d are closed"):
        pages.with_tables(page, tmp_path)
