"""What held-out texts say of a trained model: when a text has a label, how good it is, and the facts stored beside its weights."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.data.calibration import Rejection
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.decision import Decision
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.folds import Folds
from retvec_lite.training.rejection import choose_decision, measure_held_out
from retvec_lite.training.thresholds import choose_several


class Judged(NamedTuple):
    """What held-out texts say.

    Attributes:
        decision: which labels a text has, and when it has none.
        scores: by the share of mistyped words.
        rejections: how texts without a label are told, likewise; empty where a text may have several labels.
        accuracy_error: standard error of the score of clean texts.
    """

    decision: Decision
    scores: Mapping[float, Evaluation]
    rejections: Mapping[float, Rejection]
    accuracy_error: float

    def facts(self) -> dict[str, Any]:
        """Return what the report of the training says of held-out texts; scores by the share of mistyped words."""
        validation: dict[str, dict[str, Any]] = {}
        for rate, scores in self.scores.items():
            row = {name: getattr(scores, name) for name in ("accuracy", "macro_f1", "calibration_error")}
            if scores.micro_f1 is not None:
                row["micro_f1"] = scores.micro_f1
            if rate in self.rejections:
                rejected = self.rejections[rate]
                row |= {name: getattr(rejected, name) for name in ("in_scope_unknown", "unknown_recognized")}
            validation[f"{rate:g}"] = row
        return {"accuracy_error": self.accuracy_error, "validation": validation}


def judge(
    logits: Mapping[float, Floats],
    truth: Sequence[str],
    data: TrainingData,
    folds: Folds | None,
    reject_at: float,
    unknown_label: str | None,
) -> Judged:
    """Choose when a text has a label, and score the answers.

    Args:
        logits: of the held-out texts at each share of mistyped words, float32 `[texts, classes]`.
        truth: their labels.
        data: what `prepare` made of the texts.
        folds: of the cross-validation; None without one.
        reject_at: see `choose_decision`.
        unknown_label: see `choose_decision`.
    """
    probabilities = {rate: data.task.probabilities(found) for rate, found in logits.items()}
    error = _standard_error(logits[0.0], data, folds)
    if data.task.multi_label:
        several, scores = choose_several(probabilities, data, folds)
        return Judged(several, scores, {}, error)
    scores = {rate: score(truth, found, data.labels) for rate, found in probabilities.items()}
    decision = choose_decision(probabilities, data, reject_at, unknown_label)
    return Judged(decision, scores, measure_held_out(probabilities, data, decision), error)


def _standard_error(logits: Floats, data: TrainingData, folds: Folds | None) -> float:
    """Return the standard error of the score: the task's, or that of the folds' own scores where they differ more."""
    truth = data.held_out.truth
    error = data.task.error(logits, truth)
    if folds is None:
        return error
    scores = [data.task.score(logits[others], truth[others]) for _, others in folds]
    return max(error, float(np.std(scores, ddof=1) / np.sqrt(len(scores))))
