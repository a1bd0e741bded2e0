"""The questions of the benchmark of near-duplicates, and its figures, counted by hand."""

import random

import numpy as np
import pytest

from benchmarks.experiments.duplicates import Questions, measure, nouns_of, reordered


def test_a_copy_is_reordered_or_greeted() -> None:
    draw = random.Random(0)
    text = "can i get a refund for my last order"
    found = {reordered(text, draw) for _ in range(60)}
    assert "my last order, can i get a refund for" not in found and "for my last order, can i get a refund" in found
    assert any(copy.endswith(text) for copy in found) and any(copy.startswith(text) for copy in found - {text})
    assert all(sorted(text.split()) <= sorted(copy.replace(",", "").split()) or text in copy for copy in found)


def test_nouns_follow_articles() -> None:
    assert nouns_of(["where is my card", "the card is a new card", "my card", "a fee", "see the new one"]) == ["card"]


def test_precision_where_nine_in_ten_copies_are_found() -> None:
    texts = [f"text {number}" for number in range(40)]
    planted = {(2 * number, 2 * number + 1): "mistyped" for number in range(10)}
    questions = Questions(texts, {**planted, (20, 21): "in other words"}, {31})
    pairs = [*planted, (20, 21), (30, 31), (32, 33), (34, 35)]
    scores = np.array([*np.linspace(1.0, 0.1, 10), 0.95, 0.9, 0.5, 0.15])
    found = measure(questions, scores, pairs)
    assert found["threshold"] == pytest.approx(0.2)
    assert found["precision"] == pytest.approx(9 / 11) and found["precision_nouns"] == pytest.approx(9 / 10)
    assert found["unplanted"] == 1 and found["recall"] == {"in other words": 1.0, "mistyped": 0.9}
