"""From which probability a text has a label, for each label of multi-label data: chosen on texts that no part was trained on.

The threshold of a label maximizes its F1. A rare label has too few texts to tell where that is, so the counts of all labels
together are added to its own, with a weight. Weight and scores are cross-validated: thresholds never see the texts they are
scored on.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.scores import Evaluation, score_sets
from retvec_lite.decision import Decision, letters_and_digits
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.folds import Folds

_GRID: Final = np.arange(2, 99) / 100
"""Thresholds to choose from."""

_WEIGHTS: Final = (1e9, 300.0, 100.0, 30.0, 10.0, 3.0)
"""How many answers and right labels all labels together count for beside a label's own; the first gives all labels one threshold."""

_GROUPS: Final = 5
"""Groups of held-out texts where there are no folds."""

Answers = npt.NDArray[np.bool_]


class Thresholds(NamedTuple):
    """What was chosen.

    Attributes:
        values: a threshold for each label.
        weight: see `_WEIGHTS`.
        answers: which labels the texts have under thresholds chosen on the texts of other groups, bool `[texts, classes]`.
    """

    values: tuple[float, ...]
    weight: float
    answers: Answers


class _Counts(NamedTuple):
    """Of each label at each threshold, `[classes, thresholds]`: answers that are right; all answers, plus all texts that have it."""

    right: Floats
    both: Floats


def choose_several(
    probabilities: Mapping[float, Floats], data: TrainingData, folds: Folds | None
) -> tuple[Decision, dict[float, Evaluation]]:
    """Choose thresholds for clean texts and mistyped ones together; return them, and scores at each share of mistyped words.

    Args:
        probabilities: of the held-out texts at each share of mistyped words, float32 `[texts, classes]`.
        data: what `prepare` made of the texts.
        folds: the held-out texts are the training texts; None: they are others.
    """
    truth, count = data.held_out.truth, len(data.held_out.truth)
    groups = np.arange(count) % _GROUPS
    for number, (_, others) in enumerate(folds or ()):
        groups[others] = number
    copies = len(probabilities)
    found = choose_thresholds(
        np.concatenate(list(probabilities.values())), np.tile(truth, (copies, 1)), np.tile(groups, copies)
    )
    names = [tuple(data.labels[column] for column in np.flatnonzero(row)) for row in truth]
    scores = {
        rate: score_sets(names, table, found.answers[place * count : (place + 1) * count], data.labels)
        for place, (rate, table) in enumerate(probabilities.items())
    }
    return Decision(
        characters=letters_and_digits(data.clean, data.config.contract_version), thresholds=found.values
    ), scores


def choose_thresholds(probabilities: Floats, truth: Ints, groups: Ints) -> Thresholds:
    """Choose a threshold for each label.

    Args:
        probabilities: of texts that the classifier was not trained on, float32 `[texts, classes]`.
        truth: 1 for each label of a text, int32 `[texts, classes]`.
        groups: which texts are scored together, int `[texts]`; at least two different ones.
    """
    names = np.unique(groups)
    counts = [_count(probabilities[groups == name], truth[groups == name]) for name in names]
    whole = _Counts(*(np.sum(part, axis=0) for part in zip(*counts, strict=True)))
    best: tuple[float, float, Answers] | None = None
    for weight in _WEIGHTS:
        answers = np.zeros(truth.shape, bool)
        for name, own in zip(names, counts, strict=True):
            others = _Counts(whole.right - own.right, whole.both - own.both)
            rows = groups == name
            answers[rows] = probabilities[rows] >= _best(others, weight)
        score = micro_f1(answers, truth)
        if best is None or score > best[0]:
            best = score, weight, answers
    assert best is not None
    return Thresholds(tuple(_best(whole, best[1]).tolist()), best[1], best[2])


def micro_f1(answers: Answers, truth: Ints) -> float:
    """Return the F1 over all pairs of a text and a label; 1 where nothing is right and nothing was answered."""
    named = int(answers.sum() + truth.sum())
    return 2 * int((answers & (truth > 0)).sum()) / named if named else 1.0


def _count(probabilities: Floats, truth: Ints) -> _Counts:
    levels = len(_GRID)
    # How many thresholds each probability reaches.
    reached = np.searchsorted(_GRID, probabilities, side="right")
    right, answers = np.zeros((2, truth.shape[1], levels + 1))
    for label, (column, wanted) in enumerate(zip(reached.T, truth.T, strict=True)):
        answers[label] = np.bincount(column, minlength=levels + 1)
        right[label] = np.bincount(column[wanted > 0], minlength=levels + 1)
    above, found = (np.cumsum(part[:, :0:-1], axis=1)[:, ::-1] for part in (answers, right))
    return _Counts(found, above + truth.sum(axis=0)[:, None])


def _best(counts: _Counts, weight: float) -> Floats:
    """Return the threshold of each label, float64 `[classes]`."""
    together = _Counts(counts.right.sum(axis=0), counts.both.sum(axis=0))
    scale = weight / together.both.min()
    right, both = counts.right + scale * together.right, counts.both + scale * together.both
    best: Floats = _GRID[(right / both).argmax(axis=1)]
    return best
