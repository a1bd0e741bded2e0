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


def test_a_page_can_show_the_tables_of_one_data_set(tmp_path: Path) -> None:
    tables = "**MASSIVE**, 3 test texts\n\n| a |\n\n**MASSIVE by script**, clean\n\n| b |\n\n**Tatoeba**\n\n| c |\n"
    (tmp_path / "comparison.md").write_text(tables, encoding="utf-8")
    page = "<!-- table: comparison/{} -->\n\n<!-- end -->\n"
    massive = pages.with_tables(page.format("MASSIVE"), tmp_path)
    assert "| a |" in massive and "| b |" in massive and "| c |" not in massive
    with pytest.raises(SystemExit, match=r"No tables of SMS spam in .*comparison\.md \(found: MASSIVE, Tatoeba\)"):
        pages.with_tables(page.format("SMS spam"), tmp_path)


def test_every_table_is_on_a_page_or_linked_from_one() -> None:
    shown = "".join(path.read_text(encoding="utf-8") for path in pages.PAGES)
    for path in sorted(pages.RESULTS.glob("*.md")):
        if path.stem.endswith("quick") or f"results/{path.name}" in shown:
            continue
        markdown = path.read_text(encoding="utf-8")
        for part in pages.tables_by_set(markdown).values() or [markdown]:
            assert part.strip() in shown, path.name


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
