"""What a classifier answered to labelled texts, and what follows from it: what its probabilities are worth, and what thresholds would do.

Scores, thresholds, checks, tables and pages are all made of an `Outcome`.
"""

import dataclasses
import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import label_table
from retvec_lite.decision import Decision
from retvec_lite.terminal import Table

KEPT: Final = (1.0, 0.999, 0.995, *(n / 100 for n in range(99, 79, -1)), *(n / 100 for n in range(75, 0, -5)))
"""Shares of the right answers to keep, for which a table has the threshold."""

FALSE_ALARMS: Final = (0.0, 0.001, 0.002, 0.005, *(n / 100 for n in range(1, 6)), 0.1, 0.2, 0.3, 0.5)
"""Shares of the texts of no label that may be answered, likewise."""

_COVERAGES: Final = 50
"""Points of the coverage curve."""

_KEPT_SHOWN: Final = (1.0, 0.99, 0.97, 0.95, 0.9, 0.8, 0.6)
_ALARMS_SHOWN: Final = (0.1, 0.05, 0.02, 0.01)
"""Shares whose thresholds a table shows."""

_ABOVE_CHANCE: Final = 0.2
"""How far from chance to certainty the usual threshold of one label lies. By hand, once, and chosen there: of 2 and 3 texts a label of AG News, Banking77 and CLINC150,
with one to twenty right answers to choose by, thresholds that lean on it keep 98 to 99 % of the right answers to test texts, instead of
65 to 98 %."""

_STEPS: Final = 1e6
"""Thresholds are multiples of a millionth."""

_ROUNDING: Final = 1e-9
"""How far a share, a sum of fractions, may be off."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """Labelled texts, and what a classifier answered to them.

    Attributes:
        texts: as the decision reads them, see `windows.decided_text`.
        truth: the column of each text's label, -1 for a text that has none, int `[texts]`; where texts may have several labels, which
            it has, int or bool `[texts, labels]`.
        probabilities: float32 `[texts, labels]`.
        labels: in the order of the columns.
        decision: from probabilities to an answer.
        given: where texts may have several labels, which ones they got, bool `[texts, labels]`; None: those of the decision.
    """

    texts: Sequence[str]
    truth: npt.NDArray[Any]
    probabilities: Floats
    labels: Sequence[str]
    decision: Decision = dataclasses.field(default_factory=Decision)
    given: Bools | None = None

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        texts: Sequence[str],
        probabilities: Floats,
        labels: Sequence[str],
        decision: Decision | None = None,
        none: Collection[str] = (),
    ) -> "Outcome":
        """Return the outcome for the labels of a dataset, of which some mean `none` of the classifier's."""
        truth = label_table(dataset.label_sets, labels) if dataset.multi_label else None
        if truth is None:
            number = {label: place for place, label in enumerate(labels) if label not in none}
            truth = np.array([number.get(label, -1) for label in dataset.labels], np.int64)
        return cls(texts, truth, probabilities, labels, decision or Decision())

    def select(self, rows: npt.NDArray[Any]) -> "Outcome":
        """Return some of the texts, by their places or by a mask."""
        texts = [self.texts[row] for row in np.arange(len(self.texts))[rows].tolist()]
        given = None if self.given is None else self.given[rows]
        return dataclasses.replace(
            self, texts=texts, truth=self.truth[rows], probabilities=self.probabilities[rows], given=given
        )

    @functools.cached_property
    def is_labelled(self) -> Bools:
        """Which texts have a label that can be an answer."""
        if self.truth.ndim == 2:
            found: Bools = self.truth.any(axis=1)
            return found
        return np.isin(self.truth, self._columns)

    @functools.cached_property
    def has(self) -> Bools:
        """Which labels the texts got where they may get several, bool `[texts, labels]`."""
        return self.decision.has(self.texts, self.probabilities) if self.given is None else self.given

    @functools.cached_property
    def unanswered(self) -> Bools:
        """Which texts got no label."""
        if self.decision.multi_label:
            found: Bools = ~self.has.any(axis=1)
            return found
        return self.decision.unknown(self.texts, self.probabilities, self.labels)

    @functools.cached_property
    def unread(self) -> Bools:
        """Which texts have no character that the classifier knows."""
        return np.array([not self.decision.reads(text) for text in self.texts], bool)

    @functools.cached_property
    def is_right(self) -> Bools:
        """Which texts have the most probable label, be it an answer or not, where they have one label."""
        best = self._columns[self.probabilities[:, self._columns].argmax(axis=1)]
        found: Bools = best == self.truth
        return found

    @functools.cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """What is compared with the threshold of one label; 0 for texts that are not read."""
        return np.where(self.unread, 0.0, self.decision.scores(self.probabilities, self.labels))

    @functools.cached_property
    def passing(self) -> npt.NDArray[np.float64]:
        """The same, also 0 where the unknown label is the most probable one: no threshold lets these texts pass."""
        always = dataclasses.replace(self.decision, threshold=None)
        return np.where(always.unknown(self.texts, self.probabilities, self.labels), 0.0, self.scores)

    @property
    def _columns(self) -> npt.NDArray[np.int64]:
        return np.array(self.decision.columns(self.labels))


# --- what a probability is worth --------------------------------------------------------------------------------------


class ReliabilityBin(NamedTuple):
    """The texts whose answer has a probability from `least` on: how probable it is on average, and how often it is right."""

    least: float
    texts: int
    probability: float
    accuracy: float


class CoveragePoint(NamedTuple):
    """Share of the texts that are answered, the surest first, and the share of right answers among them."""

    coverage: float
    accuracy: float


def auroc(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> float:
    """Return the chance that a number drawn from `above` is larger than one drawn from `below`; equal ones count half."""
    values, numbers = np.unique(np.concatenate([above, below]), return_inverse=True)
    counts = np.bincount(numbers[: len(above)], minlength=len(values))
    others = np.bincount(numbers[len(above) :], minlength=len(values))
    lower = np.cumsum(others) - others / 2
    return float((counts * lower).sum() / (len(above) * len(below)))


class Rate(NamedTuple):
    """What a threshold does.

    Attributes:
        threshold: answers below it are "unknown", see `Decision.rule`.
        kept: share of the right answers that are kept, every label counting the same.
        answered: share of all texts whose answer is a label.
        accuracy: share of right answers among these.
        false_alarms: share of the texts of no label that are answered nevertheless; None without such texts.
    """

    threshold: float
    kept: float
    answered: float
    accuracy: float
    false_alarms: float | None


@dataclass(frozen=True)
class Rejection:
    """How well a classifier tells texts that belong to none of its labels.

    Attributes:
        rule: which answers are too improbable, see `Decision.rule`.
        accuracy: share of all texts that are answered right; for texts without a label, "unknown" is right.
        in_scope_accuracy: share of the texts with a label that are answered right.
        in_scope_unknown: share of the texts with a label that are answered "unknown".
        answered: share of all texts whose answer is a label.
        answered_accuracy: share of right answers among the answers that are a label.
        unknown_texts: how many texts belong to none of the labels.
        unknown_recognized: share of them that are answered "unknown"; None without such texts.
        auroc: chance that a text with a label has a more probable answer than one without; None without such texts.
        coverage: accuracy of the answers when only the surest are given.
        threshold: the present one; None where no answer is too improbable.
        rates: what other thresholds would do, the present one among them.
    """

    rule: str
    accuracy: float
    in_scope_accuracy: float
    in_scope_unknown: float
    answered: float
    answered_accuracy: float
    unknown_texts: int
    unknown_recognized: float | None
    auroc: float | None
    coverage: tuple[CoveragePoint, ...]
    threshold: float | None = None
    rates: tuple[Rate, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = ("coverage", "rates")
        return {**dataclasses.asdict(self), **{name: [row._asdict() for row in getattr(self, name)] for name in lists}}

    def rows(self) -> list[tuple[str, str]]:
        """Return what a table shows: in words, and the value."""
        rows = [
            ("too improbable", self.rule),
            ("texts with a label: right", f"{self.in_scope_accuracy:.4f}"),
            ('texts with a label: answered "unknown"', f"{self.in_scope_unknown:.4f}"),
            ("answers that are a label: right", f"{self.answered_accuracy:.4f}"),
        ]
        if self.auroc is not None:
            rows += [
                (f"{self.unknown_texts:,} texts without: recognized", f"{self.unknown_recognized:.4f}"),
                ("all texts: right", f"{self.accuracy:.4f}"),
                ("AUROC", f"{self.auroc:.4f}"),
            ]
        return rows

    def threshold_table(self) -> Table:
        """Return what some thresholds would do, the present one among them; without rows where no answer is right."""
        shown = {self.threshold, *(choose_threshold(self.rates, keep=share) for share in _KEPT_SHOWN)}
        columns = ["threshold", "right answers kept", "answered", "accuracy", ""]
        if self.unknown_texts:
            shown |= {choose_threshold(self.rates, false_alarms=share) for share in _ALARMS_SHOWN}
            columns.insert(4, "false alarms")
        # Of thresholds with the same effect one is enough: the present one, if it is among them.
        by_effect = {rate[1:]: rate for rate in self.rates if rate.threshold in shown}
        by_effect |= {rate[1:]: rate for rate in self.rates if rate.threshold == self.threshold}
        rows = [
            (
                f"{rate.threshold:.4f}",
                *(f"{share:.1%}" for share in rate[1:] if share is not None),
                "<- now" if rate.threshold == self.threshold else "",
            )
            for rate in by_effect.values()
        ]
        return Table("What other thresholds would do", columns, rows, frozenset(columns))


def measure_rejection(outcome: Outcome) -> Rejection:
    """Return how a classifier of one label answers texts, of which one at least has a label."""
    is_right, has_label, is_unknown = outcome.is_right, outcome.is_labelled, outcome.unanswered
    recognized = area = None
    if not has_label.all():
        recognized = float(is_unknown[~has_label].mean())
        area = auroc(outcome.scores[has_label], outcome.scores[~has_label])
    answered = is_right & ~is_unknown
    return Rejection(
        outcome.decision.rule,
        float(np.where(has_label, answered, is_unknown).mean()),
        float(answered[has_label].mean()),
        float(is_unknown[has_label].mean()),
        float(1 - is_unknown.mean()),
        float(is_right[~is_unknown].mean()) if not is_unknown.all() else 0.0,
        int((~has_label).sum()),
        recognized,
        area,
        _coverage(outcome.scores, is_right),
        outcome.decision.threshold,
        measure_rates(outcome),
    )


def _coverage(sure: npt.NDArray[Any], right: Bools) -> tuple[CoveragePoint, ...]:
    order = np.argsort(-sure, kind="stable")
    counts = np.unique(np.ceil(np.linspace(0, len(order), _COVERAGES + 1)[1:]).astype(int))
    accuracy = np.cumsum(right[order])[counts - 1] / counts
    return tuple(
        CoveragePoint(float(count / len(order)), float(share)) for count, share in zip(counts, accuracy, strict=True)
    )


# --- thresholds -------------------------------------------------------------------------------------------------------


def measure_rates(
    outcome: Outcome, *, kept: Sequence[float] = KEPT, false_alarms: Sequence[float] = FALSE_ALARMS
) -> tuple[Rate, ...]:
    """Return the thresholds that keep some shares of the right answers, and let some of the false alarms pass, the lowest first.

    Of the decision, all but its threshold decides; that one is in the table, too.
    All labels count alike, however many texts they have, or a threshold would keep nearly all of a common label and lose a rare one.

    Returns:
        For each of `kept` the largest threshold that keeps as many; for each of `false_alarms` the smallest that lets no more pass, if
        there is one; nothing where no answer is right.
    """
    scores, truth, decision = outcome.passing, outcome.truth, outcome.decision
    right = outcome.is_right & (scores > 0)
    if not right.any():
        return ()

    # Candidates: the scores of right answers, rounded down, which keeps the answers themselves; below 1 even where all are 1.
    most = math.inf if decision.unknown_power else 1 - 1 / _STEPS
    candidates = np.unique(np.clip(np.floor(scores[right] * _STEPS) / _STEPS, 1 / _STEPS, most))
    _, numbers, counts = np.unique(truth[right], return_inverse=True, return_counts=True)
    weights = 1.0 / (counts[numbers] * len(counts))
    share_kept = _share_above(candidates, scores[right], weights)
    chosen = {float(candidates[np.flatnonzero(share_kept >= share - _ROUNDING)[-1]]) for share in kept}
    none = scores[~outcome.is_labelled]
    if len(none):
        alarms = _share_above(candidates, none, np.full(len(none), 1.0 / len(none)))
        places = [np.flatnonzero(alarms <= share + _ROUNDING) for share in false_alarms]
        chosen |= {float(candidates[found[0]]) for found in places if len(found)}
    if decision.threshold is not None:
        chosen.add(decision.threshold)

    table = np.array(sorted(chosen))
    answers = [scores >= value for value in table]
    found = zip(
        table.tolist(),
        _share_above(table, scores[right], weights).tolist(),
        [float(given.mean()) for given in answers],
        [float(right[given].mean()) if given.any() else 0.0 for given in answers],
        [float((none >= value).mean()) if len(none) else None for value in table],
        strict=True,
    )
    return tuple(map(Rate._make, found))


def lean(threshold: float, keep: float, answers: float, decision: Decision, labels: int) -> float:
    """Return a threshold that few right answers do not decide alone.

    Too few do not say where a share is lost: the least of two is far above the least of a hundred. The threshold then lies between theirs
    and a lower, usual one: the share of the answers needed that are there, its square root, is how much theirs counts (the square-root
    rule of credibility, Mowbray 1914).

    Args:
        threshold: what the answers say.
        keep: share of them that it keeps.
        answers: how many there are.
        decision: its power of the unknown label's probability.
        labels: how many labels there are.
    """
    credible = math.sqrt(answers * (1.0 - keep))
    if credible >= 1.0:
        return threshold
    chance = 1.0 / labels
    common = (chance + (1.0 - chance) * _ABOVE_CHANCE) / chance**decision.unknown_power
    return lowered(float(threshold**credible * min(threshold, common) ** (1.0 - credible)), decision)


def lowered(threshold: float, decision: Decision) -> float:
    """Return a threshold as a multiple of a millionth, which keeps the answers at it, within what a decision may have."""
    most = math.inf if decision.unknown_power else 1 - 1 / _STEPS
    return min(max(math.floor(threshold * _STEPS) / _STEPS, 1 / _STEPS), most)


def choose_threshold(
    rates: Sequence[Rate], *, keep: float | None = None, false_alarms: float | None = None
) -> float | None:
    """Return the largest threshold of a table that keeps a share of the right answers, or the smallest with few enough false alarms.

    None: no threshold of the table does.

    Example:
        >>> from retvec_lite.data.outcome import Rate, choose_threshold
        >>> rates = [Rate(0.4, 0.99, 0.95, 0.9, 0.2), Rate(0.7, 0.9, 0.8, 0.97, 0.01)]
        >>> choose_threshold(rates, keep=0.95), choose_threshold(rates, false_alarms=0.02)
        (0.4, 0.7)
    """
    if keep is not None:
        return max((rate.threshold for rate in rates if rate.kept >= keep - _ROUNDING), default=None)
    most = false_alarms or 0.0
    quiet = (rate for rate in rates if rate.false_alarms is not None and rate.false_alarms <= most + _ROUNDING)
    return min((rate.threshold for rate in quiet), default=None)


def _share_above(thresholds: Any, scores: Any, weights: Any) -> Any:
    """Return for each threshold the share, by weight, of the scores that reach it, float64 `[thresholds]`."""
    order = np.argsort(scores, kind="stable")
    # From the highest score down, so that nothing is exactly 0; the whole may be off by the last digit.
    reached = np.concatenate([[0.0], np.cumsum(weights[order][::-1])])
    places = len(scores) - np.searchsorted(scores[order], thresholds, side="left")
    return np.minimum(reached[places], 1.0)
