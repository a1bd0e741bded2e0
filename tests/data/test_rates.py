"""What a threshold costs and saves: the table by hand and against slow versions, and the rule that chooses from it."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data.calibration import measure_rejection
from retvec_lite.data.rates import FALSE_ALARMS, KEPT, choose_threshold, measure_rates
from retvec_lite.decision import Decision

LABELS = ("a", "none", "b")

ROWS = [
    ("a", [0.8, 0.1, 0.1]),
    ("a", [0.6, 0.1, 0.3]),
    ("a", [0.1, 0.2, 0.7]),  # wrong
    ("b", [0.3, 0.3, 0.4]),
    (None, [0.5, 0.0, 0.5]),
    (None, [0.1, 0.0, 0.9]),
]


def test_the_table_by_hand() -> None:
    expected, table = [label for label, _ in ROWS], np.array([row for _, row in ROWS], np.float32)
    rates = measure_rates(["x"] * 6, expected, table, LABELS, Decision(threshold=0.55))
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
    rates = measure_rates(["x", "x", "?", "x"], ["a", "a", "a", None], table, LABELS, decision)
    assert {rate[1:] for rate in rates} == {(1.0, 2 / 4, 1 / 2, 1.0)}
    assert rates[0].threshold == pytest.approx(0.9 / 0.1**0.2, abs=2e-6), "with an unknown label it may be above 1"


def test_without_a_right_answer_there_is_no_table() -> None:
    table = np.array([[0.9, 0.0, 0.1]], np.float32)
    assert measure_rates(["x"], ["b"], table, LABELS, Decision(threshold=0.5)) == ()
    assert choose_threshold((), keep=0.5) is None and choose_threshold((), false_alarms=0.5) is None


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(51, 100), st.booleans()), min_size=1))
def test_each_share_has_the_best_threshold_for_it(drawn: list[tuple[str | None, int, bool]]) -> None:
    """Against a slow version, and against what `measure_rejection` says of a classifier with that threshold."""
    expected = [label for label, _, _ in drawn]
    answers = ["a" if (label == "b") != right else "b" for label, _, right in drawn]
    probabilities = np.array([[p, 0, 100 - p] if answer == "a" else [100 - p, 0, p] for answer, (_, p, _) in zip(answers, drawn, strict=True)], np.float32) / 100  # fmt: skip
    scores = Decision().scores(probabilities, LABELS)
    right = np.array([answer == label for answer, label in zip(answers, expected, strict=True)])
    rates = measure_rates(["x"] * len(drawn), expected, probabilities, LABELS, Decision())
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
        found = measure_rejection(["x"] * len(drawn), expected, probabilities, LABELS, decision)
        assert found.answered == pytest.approx(rate.answered) and found.answered_accuracy == pytest.approx(
            rate.accuracy
        )
        assert rate.kept == pytest.approx(kept(rate.threshold)) and rate in found.rates
        if found.unknown_recognized is not None:
            assert found.unknown_recognized == pytest.approx(1 - (rate.false_alarms or 0.0))


def test_the_printed_table_marks_the_present_threshold_once() -> None:
    expected, table = [label for label, _ in ROWS], np.array([row for _, row in ROWS], np.float32)
    found = measure_rejection(["x"] * 6, expected, table, LABELS, Decision(threshold=0.55)).threshold_table()
    assert [row[0] for row in found.rows if row[-1]] == ["0.5500"] and "false alarms" in found.columns
    assert len({row[1:-1] for row in found.rows}) == len(found.rows), "thresholds with the same effect are one"
    found = measure_rejection(["x"] * 4, expected[:4], table[:4], LABELS, Decision()).threshold_table()
    assert "false alarms" not in found.columns and {len(row) for row in found.rows} == {len(found.columns)}
