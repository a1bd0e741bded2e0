"""What held-out texts decide: which labels a text has, when it has none, and how good the answers are.

One label a text: `data.rejection` says when it has none.

Several labels: each has a threshold of its own, which maximizes its F1. A rare label has too few texts to tell where that is, so the
counts of all labels together are added to its own, with a weight. Weight and scores are cross-validated: thresholds never see the
texts they are scored on.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.outcome import Bools, Outcome
from retvec_lite.data.rejection import (
    choose_blindly,
    choose_decision,
    count_answers,
    measure_rates,
    measure_rejection,
    usual,
)
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.data.typos import Way
from retvec_lite.decision import UNKNOWN_POWER, Decision
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.plan import HeldOutLogits
from retvec_lite.windows import decided_text

_GRID: Final = np.arange(2, 99) / 100
"""Thresholds of several labels to choose from."""
_WEIGHTS: Final = (1e9, 300.0, 100.0, 30.0, 10.0, 3.0)
"""How many answers and right labels all labels together count for beside a label's own; the first gives all labels one threshold."""
_GROUPS: Final = 5
"""Groups of held-out texts where texts are not cross-validated."""

_CONFUSIONS: Final = 8
"""Pairs of labels that the report of a training names, the most frequently confused ones."""

_WEAKEST: Final = 2
"""Labels that it names because their F1 is the lowest."""


class Decided(NamedTuple):
    """What held-out texts say.

    Attributes:
        decision: which labels a text has, and when it has none.
        outcomes: what was answered to them, by the way in which they are written.
        facts: what the report of the training says of them.
    """

    decision: Decision
    outcomes: Mapping[Way, Outcome]
    facts: Mapping[str, Any]


def decide(
    logits: HeldOutLogits,
    data: TrainingData,
    reject_at: float,
    unknown_label: str | None,
    background: Floats | None = None,
) -> Decided:
    """Choose when a text has a label, and score the answers; logits are float32 `[texts, classes]`.

    Those of the `background`, texts of no label, decide where there are no held-out texts.
    """
    power = UNKNOWN_POWER if unknown_label is not None else 0.0
    decision = Decision(
        unknown_label=unknown_label, unknown_power=power, characters=data.characters, shares=data.label_shares
    )
    probabilities = data.scheme.probabilities
    outcomes = {
        way: Outcome(
            [decided_text(text, data.config) for text in data.held_out_texts[way]],
            data.held_out.truth,
            probabilities(found),
            data.labels,
            decision,
        )
        for way, found in logits.items()
    }
    if not len(data.held_out.truth):
        others = None if background is None else probabilities(background)
        facts = {"accuracy_error": 0.0, "validation": {}, "rates": [], "right_answers": 0.0}
        return Decided(choose_blindly(decision, data.labels, others), outcomes, facts)
    if data.scheme.multi_label:
        outcomes = choose_several(outcomes, data)
        decision = outcomes[Way.CLEAN].decision
    else:
        decision = choose_decision(outcomes, reject_at)
        outcomes = {way: dataclasses.replace(each, decision=decision) for way, each in outcomes.items()}
    return Decided(decision, outcomes, _facts(outcomes, _standard_error(logits[Way.CLEAN], data)))


def _facts(outcomes: Mapping[Way, Outcome], error: float) -> dict[str, Any]:
    """Return what the report of the training says of held-out texts; scores by the share of mistyped words."""
    clean, several = outcomes[Way.CLEAN], outcomes[Way.CLEAN].decision.multi_label
    scores = {way: score(each) for way, each in outcomes.items() if way.rate is not None}
    validation: dict[str, dict[str, Any]] = {}
    for way, found in scores.items():
        row = {name: getattr(found, name) for name in ("accuracy", "macro_f1", "calibration_error")}
        if several:
            row["micro_f1"] = found.micro_f1
        else:
            rejected = measure_rejection(outcomes[way])
            row |= {name: getattr(rejected, name) for name in ("in_scope_unknown", "unknown_recognized")}
        validation[f"{way.rate:g}"] = row
    shares = clean.decision.shares
    largest = shares.index(max(shares)) if shares else 0
    unread = int((clean.is_labelled & clean.unread).sum())
    rates = () if several else measure_rates(usual(outcomes))
    return {
        "accuracy_error": error,
        "validation": validation,
        "confusions": [list(row) for row in scores[Way.CLEAN].confusions[:_CONFUSIONS]],
        "weakest": weakest_labels(scores[Way.CLEAN]),
        "largest_label": None if several else float((clean.truth == largest).mean()),
        **({"unread": unread} if unread else {}),
        "rates": [[None if share is None else round(share, 6) for share in rate] for rate in rates],
        "right_answers": 0.0 if several else round(count_answers(outcomes), 6),
    }


def weakest_labels(scores: Evaluation) -> list[dict[str, Any]]:
    """Return the labels with the lowest F1, worst first, of those that miss any of their texts.

    Each with its texts, how many of them were right, how many texts it was the answer to, and the label that most mistakes were taken for
    ("taken_for", None where that is not known) with how many ("times").
    """
    found = []
    missed = [row for row in scores.classes if row.recall < 1.0 and row.texts]
    for row in sorted(missed, key=lambda row: (row.f1, row.label))[:_WEAKEST]:
        right = round(row.recall * row.texts)
        # The most frequent ones come first.
        taken = next((pair for pair in scores.confusions if pair.expected == row.label), None)
        found.append(
            {
                "label": row.label,
                "texts": row.texts,
                "right": right,
                "answered": round(right / row.precision) if row.precision else 0,
                "taken_for": taken.predicted if taken else None,
                "times": taken.texts if taken else 0,
            }
        )
    return found


def _standard_error(logits: Floats, data: TrainingData) -> float:
    """Return the standard error of the score: the scheme's, or that of the folds' own scores where they differ more."""
    truth, score_of = data.held_out.truth, data.scheme.score
    error = data.scheme.error(logits, truth, data.held_out.independent)
    if not data.folds:
        return error
    scores = [score_of(logits[others], truth[others]) for _, others in data.splits]
    return max(error, float(np.std(scores, ddof=1) / np.sqrt(len(scores))))


class Thresholds(NamedTuple):
    """A threshold for each label; which labels the texts have under those chosen on other groups, bool `[texts, classes]`."""

    values: tuple[float, ...]
    answers: Bools


class _Counts(NamedTuple):
    """Of each label at each threshold, `[classes, thresholds]`: answers that are right; all answers, plus all texts that have it."""

    right: Floats
    both: Floats


def choose_several(outcomes: Mapping[Way, Outcome], data: TrainingData) -> dict[Way, Outcome]:
    """Choose thresholds for texts in all ways of writing together; return what texts get under those chosen on other groups."""
    truth, count = data.held_out.truth, len(data.held_out.truth)
    groups = np.arange(count) % _GROUPS
    if data.folds:
        for number, (_, others) in enumerate(data.splits):
            groups[others] = number
    ways = len(outcomes)
    probabilities = np.concatenate([each.probabilities for each in outcomes.values()])
    found = choose_thresholds_of_several(probabilities, np.tile(truth, (ways, 1)), np.tile(groups, ways))
    decision = Decision(characters=data.characters, thresholds=found.values)
    given = np.split(found.answers, ways)
    return {
        way: dataclasses.replace(each, decision=decision, given=part)
        for (way, each), part in zip(outcomes.items(), given, strict=True)
    }


def choose_thresholds_of_several(probabilities: Floats, truth: Ints, groups: Ints) -> Thresholds:
    """Choose a threshold for each label.

    Probabilities, float32 `[texts, classes]`, are of texts that the classifier was not trained on; `truth`, int32 `[texts, classes]`, is
    1 for each label of a text. Texts of one of the `groups`, int `[texts]`, at least two, are scored together.
    """
    names = np.unique(groups)
    counts = [_count(probabilities[groups == name], truth[groups == name]) for name in names]
    whole = _Counts(*(np.sum(part, axis=0) for part in zip(*counts, strict=True)))
    best: tuple[float, float, Bools] | None = None
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
    return Thresholds(tuple(_best(whole, best[1]).tolist()), best[2])


def micro_f1(answers: Bools, truth: Ints) -> float:
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
