"""Thresholds of multi-label classifiers: each label's own where its texts say enough, the common one where they do not."""

import numpy as np
import pytest

from retvec_lite.contract import Floats, Ints
from retvec_lite.training.thresholds import choose_thresholds, micro_f1


def drawn(cuts: list[float], texts: int, seed: int = 0) -> tuple[Floats, Ints, Ints]:
    """Probabilities where label k is right exactly from `cuts[k]` on, and the group of each text."""
    rng = np.random.default_rng(seed)
    probabilities = rng.random((texts, len(cuts))).astype(np.float32)
    return probabilities, (probabilities >= cuts).astype(np.int32), rng.integers(0, 3, texts)


def test_labels_with_many_texts_get_thresholds_of_their_own() -> None:
    probabilities, truth, groups = drawn([0.2, 0.5, 0.8], 3000)
    found = choose_thresholds(probabilities, truth, groups)
    assert found.values == pytest.approx((0.2, 0.5, 0.8), abs=0.011)
    assert micro_f1(found.answers, truth) > 0.98


def test_a_rare_label_gets_nearly_the_threshold_of_all() -> None:
    probabilities, truth, groups = drawn([0.5] * 8, 2000)
    rare = np.zeros((2000, 1), np.int32)
    rare[7] = 1  # its only text has a probability that says nothing
    probabilities = np.concatenate([probabilities, np.full((2000, 1), 0.02, np.float32)], axis=1)
    probabilities[7, -1] = 0.97
    found = choose_thresholds(probabilities, np.concatenate([truth, rare], axis=1), groups)
    assert found.values[-1] == pytest.approx(0.5, abs=0.1)


def test_answers_are_those_of_thresholds_that_did_not_see_the_text() -> None:
    # In one group the label is right from .2 on, in the other from .8: each is scored with the other's threshold.
    probabilities = np.tile(np.linspace(0.05, 0.95, 91, dtype=np.float32), 2)[:, None]
    groups = np.repeat([0, 1], 91)
    truth = np.where(groups[:, None] == 0, probabilities >= 0.2, probabilities >= 0.8).astype(np.int32)
    answers = choose_thresholds(np.tile(probabilities, 2), np.tile(truth, 2), groups).answers
    assert answers[(groups == 0), 0].sum() == pytest.approx((probabilities[:91] >= 0.8).sum(), abs=2)
    assert answers[(groups == 1), 0].sum() == pytest.approx((probabilities[91:] >= 0.2).sum(), abs=2)


def test_micro_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    answers = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    truth = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0]], np.int32)
    precision, recall = 2 / 3, 2 / 3
    assert micro_f1(answers, truth) == pytest.approx(2 * precision * recall / (precision + recall))
    assert micro_f1(np.zeros((2, 2), bool), np.zeros((2, 2), np.int32)) == 1.0


def test_a_label_that_no_text_has_is_no_error() -> None:
    probabilities, truth, groups = drawn([0.5, 0.5], 300)
    truth[:, 1] = 0
    assert 0.0 < choose_thresholds(probabilities, truth, groups).values[1] < 1.0
