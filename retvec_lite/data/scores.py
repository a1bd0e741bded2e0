"""How good a classifier is: accuracy, F1, confusions, calibration, and what remains of them when words are mistyped."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import SEPARATOR, unknown_rows
from retvec_lite.data.outcome import Bools, Outcome, ReliabilityBin
from retvec_lite.data.plots import draw_coverage, draw_reliability, draw_typo_curve, png
from retvec_lite.data.rejection import Rejection, measure_rejection
from retvec_lite.data.sources import check_output
from retvec_lite.data.typos import check_rate, mistype_many
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import Progress, counted, silent

Classify = Callable[[Sequence[str]], Floats]
"""Texts -> probabilities float32 `[texts, classes]`."""

Counts = npt.NDArray[np.int64]

TYPO_RATES: Final = (0.0, 0.1, 0.2, 0.5, 1.0)
"""The shares of mistyped words of a typo curve."""

TYPO_SEED: Final = 0
"""The seed of every published typo curve, so that figures can be compared."""

_BINS: Final = 15
"""Of the calibration error, as in Guo et al. 2017."""

_CHUNK: Final = 512
"""Texts between two reports of progress."""

_SHOWN: Final = 10
"""Classes and confusions that the tables show; `to_dict` has them all."""


class ClassScore(NamedTuple):
    """One class: precision, recall, their harmonic mean, and its number of texts."""

    label: str
    precision: float
    recall: float
    f1: float
    texts: int


class Confusion(NamedTuple):
    """`texts` texts of the class `expected` were taken for `predicted`."""

    expected: str
    predicted: str
    texts: int


class TypoPoint(NamedTuple):
    """Scores with the share `rate` (0 to 1) of the words mistyped; `unknown` is the share of texts that get no label.

    `micro_f1` is None where every text has one label.
    """

    rate: float
    accuracy: float
    macro_f1: float
    calibration_error: float
    unknown: float
    micro_f1: float | None = None


class GroupScore(NamedTuple):
    """The texts with a value in the column that `evaluate` was told to go by."""

    value: str
    texts: int
    accuracy: float
    macro_f1: float


def score_names(multi_label: bool) -> dict[str, str]:
    """Return score of an evaluation -> its name where people read it, the most telling one first."""
    names = {"accuracy": "accuracy", "macro_f1": "macro F1", "calibration_error": "calibration error"}
    return {"micro_f1": "micro F1", **names, "accuracy": "all labels right"} if multi_label else names


@dataclass(frozen=True)
class Evaluation:
    """How good a classifier is on labelled texts. `print(evaluation)` shows tables.

    All but `rejection` is about the texts that have a label, and about their most probable label, be it an answer or not.
    Where texts may have several labels or none, it is about all texts and all their labels.

    Attributes:
        texts: how many were scored.
        accuracy: share of texts whose most probable label is right; with several labels, of texts whose labels are exactly right.
        macro_f1: mean F1 over the classes that are in the data or were predicted.
        classes: a score for each of them, in the order of the labels.
        confusions: the mistakes, the most frequent first.
        calibration_error: expected calibration error: how far probability and accuracy are apart, on average.
        reliability: how often answers of each probability are right.
        rejection: how well texts are told that belong to no label; None without `evaluate`.
        typos: accuracy and macro F1 at each share of mistyped words that was asked for.
        source: where the texts came from.
        left_out: sentences about rows that were not scored: empty ones, and bad ones that were to be skipped.
        micro_f1: F1 over all pairs of a text and a label; None where every text has one label.
        groups: scores of clean texts for each value of a column, such as their language; empty without `by`.

    Example:
        >>> import retvec_lite as rl
        >>> evaluation = rl.evaluate(rl.load("classifier-int8.tflite"), ["wake me up at six"], ["alarm"], typos=(0, 0.5))
        >>> evaluation.texts, [point.rate for point in evaluation.typos]
        (1, [0.0, 0.5])
    """

    texts: int
    accuracy: float
    macro_f1: float
    classes: tuple[ClassScore, ...]
    confusions: tuple[Confusion, ...]
    calibration_error: float
    reliability: tuple[ReliabilityBin, ...]
    rejection: Rejection | None = None
    typos: tuple[TypoPoint, ...] = ()
    source: str = ""
    left_out: tuple[str, ...] = ()
    micro_f1: float | None = None
    groups: tuple[GroupScore, ...] = ()

    @property
    def largest_label(self) -> float | None:
        """The share of texts with the most frequent label: the accuracy of always answering it; None where texts may have several."""
        return max(row.texts for row in self.classes) / self.texts if self.micro_f1 is None else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = ("classes", "confusions", "reliability", "typos", "groups")
        rows = {name: [row._asdict() for row in getattr(self, name)] for name in lists}
        return {**dataclasses.asdict(self), **rows, "rejection": self.rejection and self.rejection.to_dict()}

    def __str__(self) -> str:
        from retvec_lite.terminal import Table, draw

        source = f" of {self.source}" if self.source else ""
        names = score_names(self.micro_f1 is not None)
        values = ", ".join(f"{name} {getattr(self, key):.4f}" for key, name in names.items())
        parts: list[str | Table] = [f"{counted(self.texts, 'text')}{source}: {values}", *self.left_out]
        columns = ("share", *names.values(), "unknown" if self.micro_f1 is None else "no label")
        numbers = frozenset({*columns, "texts", "precision", "recall", "F1", "value"})
        if self.typos:
            curve = [
                (
                    f"{100 * point.rate:g} %",
                    *(f"{getattr(point, key):.4f}" for key in names),
                    f"{100 * point.unknown:.1f} %",
                )
                for point in self.typos
            ]
            parts.append(Table("Mistyped words", columns, curve, numbers))
        if self.groups:
            each = [(g.value, f"{g.texts:,}", f"{g.accuracy:.4f}", f"{g.macro_f1:.4f}") for g in self.groups]
            parts.append(Table("Groups of texts", ("", "texts", "accuracy", "macro F1"), each, numbers))
        if self.rejection is not None:
            parts.append(Table("Answers, or none", ("", "value"), self.rejection.rows(), numbers))
            if self.rejection.rates:
                parts.append(self.rejection.threshold_table())
        weakest = sorted(self.classes, key=lambda row: row.f1)[:_SHOWN]
        is_all = len(weakest) == len(self.classes)
        title = "Classes" if is_all else f"The {_SHOWN} weakest of {len(self.classes)} classes"
        rows = [(c.label, f"{c.texts:,}", f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}") for c in weakest]
        parts.append(Table(title, ("label", "texts", "precision", "recall", "F1"), rows, numbers))
        if self.confusions:
            mistakes = [(row.expected, row.predicted, f"{row.texts:,}") for row in self.confusions[:_SHOWN]]
            parts.append(Table("Most frequent confusions", ("expected", "predicted", "texts"), mistakes, numbers))
        return draw(*parts)

    @checked
    def plot(self, path: str | os.PathLike[str], *, name: str = "model", force: bool = False) -> None:
        """Draw the typo curve, the reliability diagram, and accuracy against the share of texts answered, as a PNG file.

        Args:
            path: the file.
            name: what the legend calls the classifier.
            force: replace the file if it exists.

        Raises:
            RetvecLiteError: for a name that does not end in `.png`, a file that exists, or a place that cannot be written.
        """
        check_output(path, force, (".png",), "Plots are")
        with png(path, self.source, bool(self.typos) + 1 + (self.rejection is not None)) as axes:
            if self.typos:
                key, score = next(iter(score_names(self.micro_f1 is not None).items()))
                points = [(point.rate, getattr(point, key)) for point in self.typos]
                draw_typo_curve(axes[0], name, points, score, self.largest_label)
            draw_reliability(axes[bool(self.typos)], self.reliability, self.calibration_error)
            if self.rejection is not None:
                draw_coverage(axes[-1], self.rejection)


def evaluate(
    classify: Classify,
    labels: Sequence[str],
    dataset: Dataset,
    *,
    decision: Decision | None = None,
    max_chars: int | None = None,
    unknown_label: str | None = None,
    typos: Sequence[float] = TYPO_RATES,
    seed: int = TYPO_SEED,
    groups: Sequence[str] = (),
    progress: Progress = silent,
) -> Evaluation:
    """Score a classifier, whose columns are the `labels`, on clean texts and at each share of mistyped words; also by `groups`, if given.

    Without a `decision`, every text gets a label; without `max_chars`, texts are read to their end. Texts with the unknown label
    of the decision have no label, as have those with `unknown_label`.

    Raises:
        RetvecLiteError: for labels that the classifier does not know, an unknown label that is not in the data, a share outside
            0 to 1, or texts with several labels for a classifier of one.
    """
    decision = decision or Decision()
    if decision.multi_label and unknown_label is not None:
        raise RetvecLiteError("unknown_label is for classifiers that give a text one label; this one may give none.")
    none = {label for label in (unknown_label, decision.unknown_label) if label is not None}
    is_unknown = unknown_rows(dataset.labels, dataset.path, none, unknown_label)
    check_data(dataset, labels, none, decision.multi_label)
    known = dataset.select(np.flatnonzero(~is_unknown).tolist())
    rates = sorted(check_rates(typos))
    mistyped = [rate for rate in rates if rate]
    total, done = len(dataset) + len(known) * len(mistyped), 0

    def answered(truth: Dataset, texts: Sequence[str]) -> Outcome:
        nonlocal done
        parts = []
        for start in range(0, len(texts), _CHUNK):
            parts.append(classify(texts[start : start + _CHUNK]))
            done += len(parts[-1])
            progress("classifying", done, total)
        return Outcome.of(truth, [text[:max_chars] for text in texts], np.concatenate(parts), labels, decision, none)

    whole = answered(dataset, dataset.texts)
    outcomes = {0.0: whole.select(~is_unknown)} if 0.0 in rates else {}
    outcomes |= {rate: answered(known, mistype_many(known.texts, rate, seed)) for rate in mistyped}
    curve = tuple(_typo_point(rate, found, none) for rate, found in outcomes.items())
    by_value = {value: ~is_unknown & (np.array(groups) == value) for value in dict.fromkeys(groups)}
    scored = {value: score(whole.select(rows), none) for value, rows in by_value.items() if rows.any()}
    return dataclasses.replace(
        score(whole.select(~is_unknown), none),
        source=dataset.path.name,
        left_out=dataset.left_out,
        groups=tuple(GroupScore(value, each.texts, each.accuracy, each.macro_f1) for value, each in scored.items()),
        rejection=None if decision.multi_label else measure_rejection(whole),
        typos=curve,
    )


def _typo_point(rate: float, outcome: Outcome, none: Collection[str]) -> TypoPoint:
    found = score(outcome, none)
    values = found.accuracy, found.macro_f1, found.calibration_error, float(outcome.unanswered.mean())
    return TypoPoint(rate, *values, found.micro_f1)


def check_rates(typos: Iterable[float]) -> set[float]:
    """Return shares of mistyped words, each once; raises RetvecLiteError for what is no share."""
    rates = tuple(typos)
    for rate in rates:
        check_rate(rate)
    return {float(rate) for rate in rates}


def check_data(
    dataset: Dataset,
    labels: Sequence[str],
    none: set[str],
    several: bool,
    who: tuple[str, str] = ("The classifier does not know", "it knows"),
) -> None:
    """Make sure that a classifier, which may give `several` labels, knows those of some data, but for labels that mean `none`."""
    pairs = [label for label in dataset.labels if SEPARATOR in label and label not in labels]
    if not several and (dataset.multi_label or pairs):
        counted = f"{len(pairs):,} of {len(dataset):,} rows of {dataset.path} have several labels"
        told = f"{counted}, such as {pairs[0]!r}" if pairs else f"{dataset.path} gives texts several labels, or none"
        raise RetvecLiteError(f"{told}, but this classifier gives one: train it with --multi-label (multi_label=True).")
    if unknown := [label for label in dataset.classes if label not in {*labels, *none}]:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        names = [label for label in labels if label not in none]
        known = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        raise RetvecLiteError(
            f"{who[0]} these labels in {dataset.path}: {', '.join(map(repr, unknown[:5]))}{more} "
            f"({who[1]}: {known}). Correct them, or pass --unknown-label (unknown_label) if their texts belong to none."
        )


def reliability(probability: Floats, right: Bools) -> tuple[ReliabilityBin, ...]:
    """Return the bins of a reliability diagram, 15 of equal width without the empty ones, from answers `[texts]`."""
    places = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    return tuple(
        ReliabilityBin(
            int(place) / _BINS, int(one.sum()), float(probability[one].mean(dtype=np.float64)), float(right[one].mean())
        )
        for place in np.unique(places)
        for one in [places == place]
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: how far probability and accuracy are apart, on average over the texts.

    Guo et al. 2017, https://arxiv.org/abs/1706.04599.
    """
    texts = sum(part.texts for part in bins)
    return sum(part.texts * abs(part.probability - part.accuracy) for part in bins) / texts


def score(outcome: Outcome, none: Collection[str] = ()) -> Evaluation:
    """Return the scores of an outcome; where texts have one label, of those with one, and of the most probable one that is not among `none`.

    Of equally probable labels the first counts. Where texts may have several labels, the calibration is that of all pairs of a text and a label.
    """
    truth, probabilities, labels = outcome.truth, outcome.probabilities, outcome.labels
    if truth.ndim == 2:
        truth, has = truth > 0, outcome.has
        hits, truths, guesses = (table.sum(axis=0) for table in (truth & has, truth, has))
        bins = reliability(probabilities.reshape(-1), truth.reshape(-1))
        found = _evaluation(labels, hits, truths, guesses, (truth == has).all(axis=1), bins)
        return dataclasses.replace(found, micro_f1=float(2 * hits.sum() / max(truths.sum() + guesses.sum(), 1)))
    columns = np.array([column for column, label in enumerate(labels) if label not in none])
    rows = truth >= 0
    truth, probabilities = truth[rows], probabilities[np.ix_(rows, columns)]
    guess = columns[probabilities.argmax(axis=1)]
    right = truth == guess
    mistakes = Counter(zip(truth[~right].tolist(), guess[~right].tolist(), strict=True))
    confusions = tuple(
        Confusion(labels[pair[0]], labels[pair[1]], count)
        for pair, count in sorted(mistakes.items(), key=lambda item: (-item[1], item[0]))
    )
    hits, truths, guesses = (np.bincount(places, minlength=len(labels)) for places in (truth[right], truth, guess))
    return _evaluation(labels, hits, truths, guesses, right, reliability(probabilities.max(axis=1), right), confusions)


def _evaluation(
    labels: Sequence[str],
    hits: Counts,
    truths: Counts,
    guesses: Counts,
    right: Bools,
    bins: tuple[ReliabilityBin, ...],
    confusions: tuple[Confusion, ...] = (),
) -> Evaluation:
    """Return the scores of the labels that are in the data or were predicted, from counts of texts `[classes]`."""
    classes = tuple(
        ClassScore(
            label,
            float(hits[index] / guesses[index]) if guesses[index] else 0.0,
            float(hits[index] / truths[index]) if truths[index] else 0.0,
            float(2 * hits[index] / (truths[index] + guesses[index])),
            int(truths[index]),
        )
        for index, label in enumerate(labels)
        if truths[index] or guesses[index]
    )
    macro_f1 = sum(row.f1 for row in classes) / max(len(classes), 1)
    error = calibration_error(bins)
    return Evaluation(len(right), float(right.mean()), macro_f1, classes, confusions, error, bins)
