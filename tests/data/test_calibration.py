"""Honest probabilities and texts without a label: the definitions, by hand and against slow versions."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data.calibration import (
    CoveragePoint,
    auroc,
    calibration_error,
    measure_rejection,
    reliability,
    unknown_rows,
)
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError

LABELS = ("a", "none", "b")


def test_the_calibration_error_by_hand() -> None:
    probability = np.array([0.05, 0.05, 0.95, 0.95, 0.95, 0.95, 1.0])
    right = np.array([False, True, True, True, True, False, True])
    bins = reliability(probability, right)
    assert [(part.least, part.texts) for part in bins] == [(0.0, 2), (pytest.approx(14 / 15), 5)]
    assert [part.accuracy for part in bins] == pytest.approx([0.5, 0.8])
    assert calibration_error(bins) == pytest.approx(2 / 7 * 0.45 + 5 / 7 * (0.96 - 0.8))


def test_probabilities_that_come_true_have_no_error() -> None:
    probability = np.repeat([0.1, 0.5, 0.9], 10)
    right = np.concatenate([np.arange(10) < share for share in (1, 5, 9)])
    assert calibration_error(reliability(probability, right)) == pytest.approx(0.0, abs=1e-12)


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
    found = measure_rejection(list(ROWS), [label for label, _ in ROWS.values()], table, LABELS, decision)
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
    found = measure_rejection(["a", "b"], ["a", "b"], table, ("a", "b"), Decision())
    assert (found.auroc, found.unknown_recognized, found.accuracy, found.answered) == (None, None, 1.0, 1.0)
    assert all("AUROC" not in name for name, _ in found.rows())
    assert found.to_dict()["coverage"] == [{"coverage": 0.5, "accuracy": 1.0}, {"coverage": 1.0, "accuracy": 1.0}]


def test_nothing_answered_is_no_error() -> None:
    table = np.array([[0.6, 0.4]], np.float32)
    assert measure_rejection(["x"], ["a"], table, ("a", "b"), Decision(threshold=0.9)).answered_accuracy == 0.0


def test_which_rows_are_unknown() -> None:
    assert unknown_rows(["a", "oos", "b"], Path("d.csv"), {"oos"}, "oos").tolist() == [False, True, False]
    assert not unknown_rows(["a", "b"], Path("d.csv"), {"oos"}, None).any(), "that of the training need not occur"
    with pytest.raises(RetvecLiteError, match=r"'other' does not occur in d\.csv \(it has: 'a', 'b'\)"):
        unknown_rows(["a", "b"], Path("d.csv"), {"other"}, "other")
    with pytest.raises(RetvecLiteError, match=r"All texts of d\.csv"):
        unknown_rows(["oos"], Path("d.csv"), {"oos"}, "oos")
