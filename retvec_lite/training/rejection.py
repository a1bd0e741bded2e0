"""From what held-out texts were answered to a decision: below which probability a text belongs to none of the labels."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.confidence import Rejection, measure_rejection, unknown_rows
from retvec_lite.data.dataset import Dataset
from retvec_lite.decision import Decision, letters_and_digits
from retvec_lite.errors import RetvecLiteError
from retvec_lite.training.examples import TrainingData

REJECT_AT: Final = 0.99
"""The share of the right answers that a threshold keeps, unless told otherwise."""

_UNKNOWN_POWER: Final = 0.2
"""`Decision.unknown_power` where there is an unknown label; chosen on CLINC150's dev split (docs/benchmarks.md)."""


def check_rejection(training: Dataset, keep: object, unknown_label: str | None) -> None:
    """Refuse arguments of `choose_decision` that do not fit the data, before any work is done.

    Raises:
        RetvecLiteError: for a share that does not lie between 0 and 1, a label that does not occur, or multi-label data.
    """
    if isinstance(keep, bool) or not isinstance(keep, (int, float)) or not 0.0 < keep < 1.0:
        raise RetvecLiteError(f"reject_at must be a share above 0 and below 1, not {keep!r}.")
    if training.multi_label and (unknown_label is not None or keep != REJECT_AT):
        given = "reject_at" if unknown_label is None else "unknown_label"
        option = f"--{given.replace('_', '-')} ({given})"
        raise RetvecLiteError(
            f"Leave out {option}: with --multi-label (multi_label) a text may have no label, and each label has a threshold."
        )
    if unknown_label is not None:
        unknown_rows(training.labels, training.path, {unknown_label}, unknown_label)


def choose_decision(
    probabilities: Mapping[float, Floats], data: TrainingData, keep: float = REJECT_AT, unknown_label: str | None = None
) -> Decision:
    """Choose the largest threshold that keeps a share of the right answers, clean texts and mistyped ones together.

    Clean texts alone would give a threshold that rejects many texts only because they are mistyped.

    Args:
        probabilities: of the held-out texts at each share of mistyped words, float32 `[texts, classes]`.
        data: what `prepare` made of the texts.
        keep: share of the right answers to keep, above 0 and below 1.
        unknown_label: the label of the texts that belong to no other.
    """
    power = _UNKNOWN_POWER if unknown_label is not None else 0.0
    characters = letters_and_digits(data.clean, data.config.contract_version)
    decision = Decision(unknown_label=unknown_label, unknown_power=power, characters=characters)
    kept = np.sort(
        np.concatenate([_right_answers(rate, found, data, decision) for rate, found in probabilities.items()])
    )
    if not len(kept):
        return decision
    threshold = float(kept[int((1.0 - keep) * len(kept) + 1e-9)])
    # Rounded down, which keeps the answer at the threshold; below 1 even where all probabilities are 1.
    threshold = max(math.floor(threshold * 1e6) / 1e6, 1e-6)
    threshold = threshold if power else min(threshold, 1 - 1e-6)
    return dataclasses.replace(decision, threshold=threshold)


def measure_held_out(
    probabilities: Mapping[float, Floats], data: TrainingData, decision: Decision
) -> dict[float, Rejection]:
    """Return how held-out texts are answered at each share of mistyped words; arguments as for `choose_decision`."""
    labels = [data.labels[place] for place in data.held_out.truth]
    expected = [None if label == decision.unknown_label else label for label in labels]
    return {
        rate: measure_rejection(_read(rate, data), expected, found, data.labels, decision)
        for rate, found in probabilities.items()
    }


def _right_answers(
    rate: float, probabilities: Floats, data: TrainingData, decision: Decision
) -> npt.NDArray[np.float64]:
    """Return the scores of the answers that are right and not lost to the unknown label."""
    columns = np.array(decision.columns(data.labels))
    is_right = columns[probabilities[:, columns].argmax(axis=1)] == data.held_out.truth
    is_right &= ~decision.unknown(_read(rate, data), probabilities, data.labels)
    found: npt.NDArray[np.float64] = decision.scores(probabilities, data.labels)[is_right]
    return found


def _read(rate: float, data: TrainingData) -> list[str]:
    """Return the held-out texts as far as the classifier reads them."""
    return [text[: data.config.max_chars] for text in data.held_out_texts[rate]]
