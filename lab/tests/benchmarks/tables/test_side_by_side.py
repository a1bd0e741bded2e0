"""The table of every system on every data set."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tables import pages
from benchmarks.tables.cells import NOT_RUN
from benchmarks.tables.pages import side_by_side

SETTINGS = {"test_texts": 10_000}


def row(system: str, clean: float, mistyped: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    accuracy = {"0": clean, "0.2": 0.5, "0.5": mistyped, "1": 0.1}
    return {"data": "AG News", "system": system, "seed": seed, "accuracy": accuracy, "settings": SETTINGS} | more


@pytest.fixture
def lines(tmp_path: Path) -> dict[str, str]:
    """System -> its cell on AG News."""
    few_shot = [row("default file", 0.9, value, seed, shots=0) for seed, value in enumerate((0.79, 0.8, 0.81))]
    few_shot += [row("default file", 0.1, 0.1, shots=5), row("SVM, characters", 0.9, 0.7, shots=0)]
    compared = [
        row("network alone", 1.0, 1.0, head="cnn"),
        row("SentencePiece, under 1 MB", 0.899, 0.5, head="cnn"),
        row("fastText", 0.8, 0.6, head="whole"),
        row("Whitespace, under 1 MB", 0.7, 0.5, head="cnn", settings={**SETTINGS, "head_sizes": {"filters": 1}}),
        row("hashed n-grams, naive Bayes", 0.95, 0.95, head="rnn"),
    ]
    for name, rows in {"few_shot": few_shot, "languages": [], "comparison": compared}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    written = side_by_side(tmp_path).splitlines()
    table = [[cell.strip() for cell in line.split("|")] for line in written if line.startswith("|")]
    column = table[0].index("AG News")
    return {line[1]: line[column] for line in table[2:]}


def test_it_shows_what_was_measured() -> None:
    written = (pages.RESULTS / "side_by_side.md").read_text(encoding="utf-8")
    assert written == side_by_side(pages.RESULTS), "run python -m benchmarks.tables.pages"


def test_seeds_are_averaged_and_leads_beyond_the_noise_are_bold(lines: dict[str, str]) -> None:
    assert lines["default file"] == ".900 ± .000 / **.800** ± .006"
    assert lines["SVM, characters, any size, clean texts"] == ".900 / .700"


def test_what_was_not_measured_says_so_and_other_heads_do_not_count(lines: dict[str, str]) -> None:
    assert lines["SentencePiece, under 1 MB"] == ".899 / .500" and lines["fastText, under 1 MB"] == ".800 / .600"
    assert lines["Whitespace, under 1 MB"] == ".700 / .500, earlier"
    assert lines["hashed n-grams, naive Bayes"] == lines["hashed n-grams, linear SVM"] == NOT_RUN
