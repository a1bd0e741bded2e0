"""What is left of the answers of a ready-made classifier: which texts count, in which column they stand, and what is kept between classifiers."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import common
from makers.ready import robustness
from makers.ready.robustness import KINDS, shares, tables

TEXTS = [
    ("win a prize", ["spam"]),
    ("a prize won", ["spam", "sport"]),
    ("see you", ["ham"]),
    ("the prize of work", ["ham"]),
    ("free money", ["spam"]),
]


def keyword(texts: Sequence[str]) -> list[str]:
    """Spam is what has the word prize, as it is written here."""
    return ["spam" if "prize" in text else "ham" for text in texts]


def test_right_answers_are_kept_or_lost() -> None:
    kept = shares(keyword, TEXTS)
    # "free money" is missed, and "the prize of work" is taken for spam.
    assert kept["right as written"] == 3 / 5
    # Capitals hide the word: of three right answers, the one of "see you" is left.
    assert kept["upper case"] == 1 / 3
    assert {way for ways in KINDS.values() for way in ways} | {"right as written"} == set(kept)


def test_where_nothing_was_right_nothing_can_be_kept() -> None:
    wrong = shares(keyword, [("see you", ["spam"])])
    assert (wrong["right as written"], wrong["!!!"]) == (0, None)
    rows = [{"name": "x", "test": test, "kept": kept} for test, kept in (("a", wrong), ("b", shares(keyword, TEXTS)))]
    lines = tables(rows).splitlines()
    assert lines[0] == "| answers kept | x |" and lines[2] == "| right as written | .30 |"


def test_a_classifier_is_measured_beside_those_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    texts = {"words": [("guten Morgen", ["de"]), ("good morning", ["en"]), ("17:30", ["none"])]}
    monkeypatch.setattr(robustness, "test_texts", lambda *_: texts)
    for name in ("sentiment", "support"):
        robustness.measure_robustness(name, "language", Path("data"), Path("cache"))
    rows = json.loads((tmp_path / "ready-robustness.json").read_text())
    assert [(row["name"], row["test"], row["texts"]) for row in rows] == [
        ("sentiment", "words", 3),
        ("support", "words", 3),
    ]
    table = (tmp_path / "ready-robustness.md").read_text()
    assert table.startswith("| answers kept | sentiment | support |\n")
    assert "\n| sentiment | " in table and "\n| support | " in table
    assert 0 < rows[0]["kept"]["right as written"] <= 1
