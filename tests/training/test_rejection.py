"""Which threshold a training chooses, and which arguments it refuses."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from tiny_data import tiny_dataset

from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.training.examples import HeldOut, TrainingData
from retvec_lite.training.rejection import check_rejection, choose_decision, measure_held_out
from retvec_lite.training.trainer import Trained, train

LABELS = ("a", "none", "z")


def held_out(base: TrainingData, truth: list[int], rates: tuple[float, ...] = (0.0,)) -> TrainingData:
    texts = {rate: ["Text"] * len(truth) for rate in rates}
    none = np.zeros((len(truth), 1), np.int32)
    return dataclasses.replace(
        base,
        labels=LABELS,
        clean=["Text", "5 é"],
        held_out=HeldOut(dict.fromkeys(rates, none), np.array(truth, np.int32)),
        held_out_texts=texts,
    )


def row(best: float, label: int = 0, unknown: float = 0.0) -> list[float]:
    found = [1.0 - best - unknown] * 3
    found[1] = unknown
    found[label] = best
    return found


def test_the_threshold_keeps_that_share_of_the_right_answers(tiny_training_data: TrainingData) -> None:
    shares = np.linspace(0.51, 0.9, 200)
    table = np.array([row(share) for share in np.random.default_rng(0).permutation(shares)], np.float32)
    data = held_out(tiny_training_data, [0] * 200)
    for keep in (0.99, 0.9, 0.5):
        decision = choose_decision({0.0: table}, data, keep)
        kept = ~decision.unknown(["t"] * 200, table, LABELS)
        assert kept.mean() == pytest.approx(keep, abs=1e-9)
        assert decision.threshold is not None
        larger = dataclasses.replace(decision, threshold=decision.threshold + 0.004)
        assert (~larger.unknown(["t"] * 200, table, LABELS)).mean() < keep, "the largest such threshold"
    assert (
        set("5ETXetxÉé") < set(decision.characters) and "ｔ" in decision.characters and "a" not in decision.characters
    )


def test_only_right_answers_to_texts_with_a_label_count(tiny_training_data: TrainingData) -> None:
    rows = [row(0.8), row(0.6), row(0.3, unknown=0.2), row(0.4, 0, 0.45), row(0.2, 1, 0.7), row(0.51, 2)]
    data = held_out(tiny_training_data, [0, 0, 2, 0, 1, 0])
    decision = choose_decision({0.0: np.array(rows, np.float32)}, data, 0.99, "none")
    # Of the six, the last is wrong, the fourth and fifth are lost to the unknown label; the third is right with 0.5.
    assert decision.threshold == pytest.approx(0.5 / 0.2**0.2, abs=2e-6)
    assert (decision.unknown_label, decision.unknown_power) == ("none", 0.2)
    scores = measure_held_out({0.0: np.array(rows, np.float32)}, data, decision)[0.0]
    assert scores.unknown_texts == 1 and scores.unknown_recognized == 1.0
    assert scores.in_scope_unknown == pytest.approx(1 / 5)


def test_mistyped_texts_lower_the_threshold(tiny_training_data: TrainingData) -> None:
    data = held_out(tiny_training_data, [0] * 10, (0.0, 0.5))
    clean, mistyped = (np.array([row(share)] * 10, np.float32) for share in (0.9, 0.6))
    assert choose_decision({0.0: clean, 0.5: mistyped}, data, 0.99).threshold == pytest.approx(0.6, abs=2e-6)


def test_a_classifier_that_is_never_right_or_always_sure(tiny_training_data: TrainingData) -> None:
    data = held_out(tiny_training_data, [0, 0])
    assert choose_decision({0.0: np.array([row(0.9, 2)] * 2, np.float32)}, data).threshold is None
    sure = choose_decision({0.0: np.array([row(1.0)] * 2, np.float32)}, data).threshold
    assert sure is not None and 0.999 < sure < 1.0


def test_training_decides(trained: Trained) -> None:
    decision, facts = trained.model.decision, trained.model.training
    assert decision.threshold is not None and 0.0 < decision.threshold < 1.0 and decision.unknown_label is None
    assert {"w", "W", "目", "п", "П"} <= set(decision.characters) and " " not in decision.characters
    assert facts["reject_at"] == 0.99
    for rate, found in facts["validation"].items():
        assert 0.0 <= found["in_scope_unknown"] <= 1.0 and found["unknown_recognized"] is None
        assert found["calibration_error"] == trained.validation[float(rate)].calibration_error


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, float("nan"), "0.9", True, None])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(RetvecLiteError, match="reject_at must be a share above 0 and below 1"):
        train(tiny_dataset(2), reject_at=share)


def test_an_unknown_label_that_is_not_in_the_data_is_refused() -> None:
    with pytest.raises(RetvecLiteError, match=r"'oos' does not occur in tiny\.csv \(it has: 'alarm', "):
        train(tiny_dataset(2), unknown_label="oos")
    check_rejection(Dataset(("x", "y"), ("a", "oos")), 0.5, "oos")


def test_texts_of_the_unknown_label_are_never_an_answer() -> None:
    data = tiny_dataset(12)
    found = train(data, head="linear", max_words=8, unknown_label="weather", reject_at=0.9, typo_rate=0.0)
    decision = found.model.decision
    assert decision.unknown_label == "weather" and "weather" in found.model.labels
    recognized = found.model.training["validation"]["0"]["unknown_recognized"]
    assert recognized is not None and recognized > 0.8
