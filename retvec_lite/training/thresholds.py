"""What held-out texts decide: which labels a text has, when it has none, and how good the answers are.

One label a text: a text whose best label is less probable than a threshold has none. The threshold keeps a share of the right
answers.

Several labels: each has a threshold of its own, which maximizes its F1. A rare label has too few texts to tell where that is, so the
counts of all labels together are added to its own, with a weight. Weight and scores are cross-validated: thresholds never see the
texts they are scored on.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.calibration import Rejection, measure_rejection
from retvec_lite.data.rates import Rate, choose_threshold, lean, lowered, measure_rates, score_answers
from retvec_lite.data.scores import Evaluation, score, score_sets
from retvec_lite.data.typos import Way
from retvec_lite.decision import UNKNOWN_POWER, Decision
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.plan import HeldOutLogits
from retvec_lite.windows import decided_text

_USUAL: Final = (Way.CLEAN, Way.FEW_TYPOS)
"""How the held-out texts are written that choose the threshold of one label."""

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

Answers = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """What held-out texts say.

    Attributes:
        decision: which labels a text has, and when it has none.
        scores: by the share of mistyped words.
        rejections: how texts without a label are told, likewise; empty where a text may have several labels.
        accuracy_error: standard error of the score of clean texts.
        largest_label: share of the texts that have the most common label; None where a text may have several labels.
        rates: what other thresholds would do; empty where a text may have several labels.
        answers: how many right answers the threshold was chosen by, see `count_answers`.
        unread: how many texts with a label get none whatever is learned, see `count_unread`.
    """

    decision: Decision
    scores: Mapping[float, Evaluation]
    rejections: Mapping[float, Rejection]
    accuracy_error: float
    largest_label: float | None = None
    rates: tuple[Rate, ...] = ()
    answers: float = 0.0
    unread: int = 0

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
        if not self.scores:
            return {"accuracy_error": 0.0, "validation": {}, "rates": [], "right_answers": 0.0}
        confusions = [list(row) for row in self.scores[0.0].confusions[:_CONFUSIONS]]
        found: dict[str, Any] = {
            "accuracy_error": self.accuracy_error,
            "validation": validation,
            "confusions": confusions,
        }
        found |= {"weakest": weakest_labels(self.scores[0.0]), "largest_label": self.largest_label}
        found |= {"unread": self.unread} if self.unread else {}
        rates = [[None if share is None else round(share, 6) for share in rate] for rate in self.rates]
        return {**found, "rates": rates, "right_answers": round(self.answers, 6)}


def decide(
    logits: HeldOutLogits,
    data: TrainingData,
    reject_at: float,
    unknown_label: str | None,
    background: Floats | None = None,
) -> Judged:
    """Choose when a text has a label, and score the answers; logits are float32 `[texts, classes]`.

    Those of the `background`, texts of no label, decide where there are no held-out texts.
    """
    if not len(data.held_out.truth):
        return Judged(choose_blindly(data, unknown_label, background), {}, {}, 0.0)
    probabilities = {way: data.scheme.probabilities(found) for way, found in logits.items()}
    error = _standard_error(logits[Way.CLEAN], data)
    if data.scheme.multi_label:
        several, scores = choose_several(probabilities, data)
        return Judged(several, scores, {}, error, unread=count_unread(data, several))
    truth = [data.labels[place] for place in data.held_out.truth]
    decision = choose_decision(probabilities, data, reject_at, unknown_label)
    rates = measure_rates(*_usual(probabilities, data, decision), data.labels, decision)
    answers = count_answers(probabilities, data, decision)
    mistyped = {way: found for way, found in probabilities.items() if way.rate is not None}
    scores = {way.value: score(truth, found, data.labels) for way, found in mistyped.items()}
    shares = data.label_shares
    largest = float((data.held_out.truth == (shares.index(max(shares)) if shares else 0)).mean())
    rejections = measure_held_out(mistyped, data, decision)
    return Judged(decision, scores, rejections, error, largest, rates, answers, count_unread(data, decision))


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


def choose_decision(
    probabilities: Mapping[Way, Floats], data: TrainingData, keep: float, unknown_label: str | None = None
) -> Decision:
    """Choose the largest threshold that keeps a share of the right answers to clean texts and those with a few typos together.

    Disguised, translated and badly mistyped texts do not choose: their right answers are less probable, and a threshold that keeps them
    lets many more texts pass that have no label (docs/benchmarks.md). All labels count alike, however many texts they have, or the
    threshold would keep nearly all of a common label and lose a rare one. Texts of `unknown_label` belong to no other label.

    Few right answers do not decide alone, see `lean`.
    """
    decision = _undecided(data, unknown_label)
    usual = _usual(probabilities, data, decision)
    rates = measure_rates(*usual, data.labels, decision, kept=(keep,), false_alarms=())
    threshold = choose_threshold(rates, keep=keep)
    if threshold is not None:
        threshold = lean(threshold, keep, count_answers(probabilities, data, decision), decision, len(data.labels))
    return dataclasses.replace(decision, threshold=threshold)


def choose_blindly(data: TrainingData, unknown_label: str | None, background: Floats | None) -> Decision:
    """Choose the threshold without an answer that is known to be right: the one that lets half of the texts of no label pass.

    More of them would pass at a lower one, and right answers be lost at a higher one (docs/names.md).
    """
    decision = _undecided(data, unknown_label)
    if background is None:
        threshold = lean(1.0, 1.0, 0.0, decision, len(data.labels))
    else:
        probabilities = data.scheme.probabilities(background)
        threshold = lowered(float(np.median(decision.scores(probabilities, data.labels))), decision)
    return dataclasses.replace(decision, threshold=threshold)


def _undecided(data: TrainingData, unknown_label: str | None) -> Decision:
    """Return the decision without a threshold."""
    power = UNKNOWN_POWER if unknown_label is not None else 0.0
    return Decision(
        unknown_label=unknown_label, unknown_power=power, characters=data.characters, shares=data.label_shares
    )


def count_answers(probabilities: Mapping[Way, Floats], data: TrainingData, decision: Decision) -> float:
    """Return how many right answers to different texts there are to choose by, less where some labels have few of them (Kish 1965)."""
    _, right, truth = score_answers(*_usual(probabilities, data, decision), data.labels, decision)
    counts = np.unique(truth[right], return_counts=True)[1]
    copies = sum(way in _USUAL for way in probabilities)
    return float(len(counts) ** 2 / np.sum(1.0 / counts) / copies) if len(counts) else 0.0


def _usual(
    probabilities: Mapping[Way, Floats], data: TrainingData, decision: Decision
) -> tuple[list[str], list[str | None], Floats]:
    """Return held-out texts as users write them, clean and with a few typos, the right label of each, and the probabilities."""
    usual = {way: found for way, found in probabilities.items() if way in _USUAL}
    texts = [text for way in usual for text in _read(way, data)]
    return texts, _expected(data, decision) * len(usual), np.concatenate(list(usual.values()))


def measure_held_out(
    probabilities: Mapping[Way, Floats], data: TrainingData, decision: Decision
) -> dict[float, Rejection]:
    """Return how held-out texts are answered by the share of mistyped words."""
    expected = _expected(data, decision)
    return {
        way.value: measure_rejection(_read(way, data), expected, found, data.labels, decision)
        for way, found in probabilities.items()
    }


def count_unread(data: TrainingData, decision: Decision) -> int:
    """Return how many held-out texts with a label have no letter, digit or sign of the training texts."""
    truth = data.held_out.truth
    labelled = (
        truth.any(axis=1) if data.scheme.multi_label else [label is not None for label in _expected(data, decision)]
    )
    return sum(has and not decision.reads(text) for has, text in zip(labelled, _read(Way.CLEAN, data), strict=True))


def _expected(data: TrainingData, decision: Decision) -> list[str | None]:
    """Return the right label of each held-out text; None where it has the unknown label."""
    labels = [data.labels[place] for place in data.held_out.truth]
    return [None if label == decision.unknown_label else label for label in labels]


def _read(way: Way, data: TrainingData) -> list[str]:
    """Return the held-out texts as the decision sees them."""
    return [decided_text(text, data.config) for text in data.held_out_texts[way]]


class Thresholds(NamedTuple):
    """A threshold for each label; which labels the texts have under those chosen on other groups, bool `[texts, classes]`."""

    values: tuple[float, ...]
    answers: Answers


class _Counts(NamedTuple):
    """Of each label at each threshold, `[classes, thresholds]`: answers that are right; all answers, plus all texts that have it."""

    right: Floats
    both: Floats


def choose_several(probabilities: Mapping[Way, Floats], data: TrainingData) -> tuple[Decision, dict[float, Evaluation]]:
    """Choose thresholds for clean texts and mistyped ones together; return them, and scores at each share of mistyped words."""
    truth, count = data.held_out.truth, len(data.held_out.truth)
    groups = np.arange(count) % _GROUPS
    if data.folds:
        for number, (_, others) in enumerate(data.splits):
            groups[others] = number
    copies = len(probabilities)
    found = choose_thresholds(
        np.concatenate(list(probabilities.values())), np.tile(truth, (copies, 1)), np.tile(groups, copies)
    )
    names = [tuple(data.labels[column] for column in np.flatnonzero(row)) for row in truth]
    scores = {
        way.value: score_sets(names, table, found.answers[place * count : (place + 1) * count], data.labels)
        for place, (way, table) in enumerate(probabilities.items())
        if way.rate is not None
    }
    return Decision(characters=data.characters, thresholds=found.values), scores


def choose_thresholds(probabilities: Floats, truth: Ints, groups: Ints) -> Thresholds:
    """Choose a threshold for each label.

    Probabilities, float32 `[texts, classes]`, are of texts that the classifier was not trained on; `truth`, int32 `[texts, classes]`, is
    1 for each label of a text. Texts of one of the `groups`, int `[texts]`, at least two, are scored together.
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
    return Thresholds(tuple(_best(whole, best[1]).tolist()), best[2])


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
