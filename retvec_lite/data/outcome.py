"""What a classifier answered to labelled texts: scores, thresholds, checks, tables and pages are all made of an `Outcome`."""

import dataclasses
import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import label_table
from retvec_lite.decision import Decision

Bools = npt.NDArray[np.bool_]

TWO_SIDED, ONE_SIDED = 1.96, 1.645
"""Standard deviations that 95 % of a normal distribution lie within, and below."""


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


class ReliabilityBin(NamedTuple):
    """The texts whose answer has a probability from `least` on: how probable it is on average, and how often it is right."""

    least: float
    texts: int
    probability: float
    accuracy: float


def auroc(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> float:
    """Return the chance that a number drawn from `above` is larger than one drawn from `below`; equal ones count half."""
    values, numbers = np.unique(np.concatenate([above, below]), return_inverse=True)
    counts = np.bincount(numbers[: len(above)], minlength=len(values))
    others = np.bincount(numbers[len(above) :], minlength=len(values))
    lower = np.cumsum(others) - others / 2
    return float((counts * lower).sum() / (len(above) * len(below)))


def wilson(share: float, texts: float, deviations: float) -> tuple[float, float]:
    """Return Wilson's interval, corrected for continuity, of a share of some texts, which need not be a whole number."""
    bounds = []
    for part in (share, 1 - share):
        root = deviations**2 - 2 - 1 / texts + 4 * part * (texts * (1 - part) + 1)
        low = (
            (2 * texts * part + deviations**2 - 1 - deviations * math.sqrt(max(root, 0.0)))
            / 2
            / (texts + deviations**2)
        )
        bounds.append(min(max(low, 0.0), part))
    return bounds[0], 1 - bounds[1]
