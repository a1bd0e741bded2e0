"""Honest probabilities, texts without a label, and what a threshold costs and saves: by hand and against slow versions."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.contract import Floats
from retvec_lite.data.outcome import Outcome, auroc
from retvec_lite.data.rejection import (
    FALSE_ALARMS,
    KEPT,
    CoveragePoint,
    choose_threshold,
    measure_rates,
    measure_rejection,
)
from retvec_lite.decision import Decision

LABELS = ("a", "none", "b")


def outcome(
    texts: list[str], expected: list[str | None], table: Floats, decision: Decision, labels: tuple[str, ...] = LABELS
) -> Outcome:
    truth = [-1 if label is None else labels.index(label) for label in expected]
    return Outcome(texts, np.array(truth), table, labels, decision)


@given(st.lists(st.integers(0, 5), min_size=1), st.lists(st.integers(0, 5), min_size=1))
def test_the_auroc_counts_pairs(above: list[int], below: list[int]) -> None:
    pairs = [(one > other) + (one == other) / 2 for one in above for other in below]
    assert auroc(np.array(above, float), np.array(below, float)) == pytest.approx(np.mean(pairs))


ROWS = {
    "a one": ("a", [0.8, 0.1, 0.1]),
    "a two": ("a", [0.3, 0.1, 0.6]),
    "a three": ("a", [0.4, 0.35, 0.25]),
    "b one": ("b", [0.1, 0.2, 0.7]),
    "x": (None, [0.3, 0.4, 0.3]),
    "y": (None, [0.9, 0.05, 0.05]),
    "?": (None, [0.0, 0.0, 1.0]),
}


def test_rejection_by_hand() -> None:
    decision = Decision(threshold=0.5, unknown_label="none", characters="abxy")
    table = np.array([row for _, row in ROWS.values()], np.float32)
    found = measure_rejection(outcome(list(ROWS), [label for label, _ in ROWS.values()], table, decision))
    assert found.rule == "below 0.5000" and found.unknown_texts == 3
    assert found.in_scope_accuracy == pytest.approx(2 / 4)  # "a two" is wrong, "a three" rejected
    assert found.in_scope_unknown == pytest.approx(1 / 4)
    assert found.unknown_recognized == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx(4 / 7)
    assert found.answered == pytest.approx(4 / 7) and found.answered_accuracy == pytest.approx(2 / 4)
    assert found.auroc == pytest.approx(8 / 12)  # "y" is surer than all, the others than none
    assert found.coverage[-1] == CoveragePoint(1.0, pytest.approx(3 / 7))
    assert found.coverage[0].accuracy == 0.0, "the surest answer is to a text without a label"


def test_without_unknown_texts_there_is_no_auroc() -> None:
    table = np.array([[0.8, 0.2], [0.4, 0.6]], np.float32)
    found = measure_rejection(outcome(["a", "b"], ["a", "b"], table, Decision(), ("a", "b")))
    assert (found.auroc, found.unknown_recognized, found.accuracy, found.answered) == (None, None, 1.0, 1.0)
    assert all("AUROC" not in name for name, _ in found.rows())
    assert found.to_dict()["coverage"] == [{"coverage": 0.5, "accuracy": 1.0}, {"coverage": 1.0, "accuracy": 1.0}]


def test_nothing_answered_is_no_error() -> None:
    table = np.array([[0.6, 0.4]], np.float32)
    assert measure_rejection(outcome(["x"], ["a"], table, Decision(threshold=0.9), ("a", "b"))).answered_accuracy == 0.0


# --- thresholds ---

TABLE = [
    ("a", [0.8, 0.1, 0.1]),
    ("a", [0.6, 0.1, 0.3]),
    ("a", [0.1, 0.2, 0.7]),  # wrong
    ("b", [0.3, 0.3, 0.4]),
    (None, [0.5, 0.0, 0.5]),
    (None, [0.1, 0.0, 0.9]),
]


def test_the_table_by_hand() -> None:
    expected, table = [label for label, _ in TABLE], np.array([row for _, row in TABLE], np.float32)
    rates = measure_rates(outcome(["x"] * 6, expected, table, Decision(threshold=0.55)))
    # Right are a .8, a .6 and b .4: a label counts the same, whether it has two texts or one.
    assert [rate.threshold for rate in rates] == pytest.approx([0.4, 0.55, 0.6, 0.8], abs=2e-6)
    assert [rate.kept for rate in rates] == pytest.approx([1.0, 0.5, 0.5, 0.25])
    assert [rate.answered for rate in rates] == pytest.approx([1.0, 4 / 6, 4 / 6, 2 / 6])
    assert [rate.accuracy for rate in rates] == pytest.approx([3 / 6, 2 / 4, 2 / 4, 1 / 2])
    assert [rate.false_alarms for rate in rates] == [1.0, 0.5, 0.5, 0.5]
    assert choose_threshold(rates, keep=0.9) == rates[0].threshold
    assert (
        choose_threshold(rates, keep=0.5) == rates[2].threshold
        and choose_threshold(rates, keep=0.2) == rates[3].threshold
    )
    assert choose_threshold(rates, false_alarms=0.5) == rates[1].threshold
    assert choose_threshold(rates, false_alarms=0.1) is None


def test_what_is_lost_to_the_unknown_label_or_unread_is_never_answered() -> None:
    table = np.array([[0.4, 0.5, 0.1], [0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.9, 0.1, 0.0]], np.float32)
    decision = Decision(unknown_label="none", unknown_power=0.2, characters="x")
    rates = measure_rates(outcome(["x", "x", "?", "x"], ["a", "a", "a", None], table, decision))
    assert {rate[1:] for rate in rates} == {(1.0, 2 / 4, 1 / 2, 1.0)}
    assert rates[0].threshold == pytest.approx(0.9 / 0.1**0.2, abs=2e-6), "with an unknown label it may be above 1"


def test_without_a_right_answer_there_is_no_table() -> None:
    table = np.array([[0.9, 0.0, 0.1]], np.float32)
    assert measure_rates(outcome(["x"], ["b"], table, Decision(threshold=0.5))) == ()
    assert choose_threshold((), keep=0.5) is None and choose_threshold((), false_alarms=0.5) is None


def test_answers_are_as_often_right_as_was_asked_for() -> None:
    """Whoever is 100 s % sure is right so often: from a threshold t up, (1 + t) / 2 of the answers are."""
    rng, chosen = np.random.default_rng(0), []
    for _ in range(100):
        sure = rng.uniform(0.5, 1.0, 2_000).astype(np.float32)
        expected = ["a" if is_right else "b" for is_right in rng.uniform(size=2_000) < sure]
        table = np.stack([sure, 1 - sure], axis=1)
        rates = measure_rates(outcome(["x"] * 2_000, expected, table, Decision(), ("a", "b")))
        chosen.append((1 + (choose_threshold(rates, right=0.9, texts=2_000) or 1.0)) / 2)
    assert np.mean(np.array(chosen) < 0.9) < 0.1 and np.mean(chosen) < 0.93, "neither too often wrong nor too careful"
    assert choose_threshold(rates, right=0.9, texts=20) is None, "twenty texts cannot tell"


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(51, 100), st.booleans()), min_size=1))
def test_each_share_has_the_best_threshold_for_it(drawn: list[tuple[str | None, int, bool]]) -> None:
    """Against a slow version, and against what `measure_rejection` says of a classifier with that threshold."""
    expected = [label for label, _, _ in drawn]
    answers = ["a" if (label == "b") != right else "b" for label, _, right in drawn]
    probabilities = np.array([[p, 0, 100 - p] if answer == "a" else [100 - p, 0, p] for answer, (_, p, _) in zip(answers, drawn, strict=True)], np.float32) / 100  # fmt: skip
    scores = Decision().scores(probabilities, LABELS)
    right = np.array([answer == label for answer, label in zip(answers, expected, strict=True)])
    rates = measure_rates(outcome(["x"] * len(drawn), expected, probabilities, Decision()))
    if not right.any():
        assert rates == ()
        return

    def kept(threshold: float) -> float:
        each = [scores[right & (np.array(expected) == label)] for label in ("a", "b")]
        return float(np.mean([(part >= threshold).mean() for part in each if len(part)]))

    candidates = sorted({float(min(np.floor(score * 1e6) / 1e6, 1 - 1e-6)) for score in scores[right]})
    for share in KEPT:
        assert choose_threshold(rates, keep=share) == max(t for t in candidates if kept(t) >= share - 1e-9)
    none = scores[[label is None for label in expected]]
    for share in FALSE_ALARMS:
        quiet = [t for t in candidates if len(none) and (none >= t).mean() <= share + 1e-9]
        assert choose_threshold(rates, false_alarms=share) == min(quiet, default=None)
    if all(label is None for label in expected):
        return
    for rate in rates:
        decision = dataclasses.replace(Decision(), threshold=rate.threshold)
        found = measure_rejection(outcome(["x"] * len(drawn), expected, probabilities, decision))
        assert found.answered == pytest.approx(rate.answered) and found.answered_accuracy == pytest.approx(
            rate.accuracy
        )
        assert rate.kept == pytest.approx(kept(rate.threshold)) and rate in found.rates
        if found.unknown_recognized is not None:
            assert found.unknown_recognized == pytest.approx(1 - (rate.false_alarms or 0.0))


def test_the_printed_table_marks_the_present_threshold_once() -> None:
    expected, table = [label for label, _ in TABLE], np.array([row for _, row in TABLE], np.float32)
    found = measure_rejection(outcome(["x"] * 6, expected, table, Decision(threshold=0.55))).threshold_table()
    assert [row[0] for row in found.rows if row[-1]] == ["0.5500"] and "false alarms" in found.columns
    assert len({row[1:-1] for row in found.rows}) == len(found.rows), "thresholds with the same effect are one"
    found = measure_rejection(outcome(["x"] * 4, expected[:4], table[:4], Decision())).threshold_table()
    assert "false alarms" not in found.columns and {len(row) for row in found.rows} == {len(found.columns)}
