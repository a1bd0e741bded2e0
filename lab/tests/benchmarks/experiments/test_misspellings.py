import random

import pytest

from benchmarks.experiments.typo_resilience import (
    ALL_KINDS,
    PEOPLE,
    curves,
    misspell,
    mistyped,
    tables,
)

KNOWN = {"receive": ("recieve",), "their": ("thier", "there"), "money": ("mony",)}
TEXT = "They receive THEIR money, not mine"


def test_people_replace_whole_words_and_keep_capitals() -> None:
    for seed in range(10):
        text, count = misspell(TEXT, 1.0, KNOWN, random.Random(seed))
        assert count == 3
        assert text in {f"They recieve {word} mony, not mine" for word in ("THIER", "THERE")}
    assert misspell("Receive", 1.0, KNOWN, random.Random(0)) == ("Recieve", 1)


def test_the_share_that_was_reached_is_told() -> None:
    texts, changed = mistyped([TEXT, "all unknown"], PEOPLE, 1.0, KNOWN)
    assert changed == pytest.approx(3 / 8)
    assert texts[1] == "all unknown"
    texts, changed = mistyped([TEXT], "delete", 1.0, KNOWN)
    assert changed == 1.0
    assert all(len(new) == max(1, len(old) - 1) for old, new in zip(TEXT.split(), texts[0].split(), strict=True))


def row(system: str, category: str, seed: int, accuracy: dict[str, float], changed: dict[str, float]) -> dict:
    return {
        "data": "Banking77",
        "system": system,
        "head": "whole" if system == "fastText" else "cnn",
        "seed": seed,
        "category": category,
        "settings": {"test_texts": 100, "texts": "x", "epochs": 4},
        "accuracy": accuracy,
        "changed": changed,
    }


def test_tables_and_curves_show_means_and_what_was_really_changed() -> None:
    rates = {"0": 0.0, "1": 1.0}
    rows = [
        row("fastText", ALL_KINDS, 0, {"0": 0.9, "1": 0.5}, rates),
        row("network alone", ALL_KINDS, 0, {"0": 0.9, "1": 0.7}, rates),
        row("network alone", ALL_KINDS, 1, {"0": 0.9, "1": 0.8}, rates),
        row("network alone", "swap", 0, {"0": 0.9, "1": 0.85}, rates),
        row("network alone", PEOPLE, 0, {"0": 0.9, "0.5": 0.8}, {"0": 0.0, "0.5": 0.31}),
    ]
    panels = curves(rows, ALL_KINDS)
    assert list(panels["Banking77"]) == ["network alone, cnn", "fastText"]
    assert panels["Banking77"]["network alone, cnn"][""][1] == pytest.approx((1.0, 0.75, 0.0707), abs=1e-3)
    assert panels["Banking77"]["fastText"][""][1] == (1.0, 0.5, 0.0)
    assert curves(rows, PEOPLE)["Banking77"]["network alone, cnn"][""][1][0] == 0.31
    markdown = tables(rows)
    assert "| network alone | cnn | 0.900 ± 0.000 | 0.750 ± 0.071 |" in markdown
    assert "50% (31%)" in markdown
    assert "| system | head | swap |" in markdown
