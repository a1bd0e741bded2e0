"""What is known of a classifier from the facts that its training wrote down: its score, how well that is known, and what more texts would add.

Each fact may be missing: a classifier that was not trained with `train` has none.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from retvec_lite.data.outcome import ONE_SIDED, TWO_SIDED, wilson
from retvec_lite.decision import Decision
from retvec_lite.errors import shown
from retvec_lite.terminal import percent

_TELLING: Final = 0.7
"""Share of the texts that tell as much as if the same classifier had answered them all.

By hand, once: with it, the interval held the accuracy on test texts after 96 % of 129 trainings on 6 to 500 texts of SMS spam, AG News,
Banking77, CLINC150 and the starter data (it was chosen on 67 of them); with all texts, after 94 %."""
_OF_FOLD: Final = 1.5
"""All texts, counted in those that one of three folds learned from."""

_FEWEST: Final = 5
"""Texts a label below which nobody can say how good a classifier is."""

_MOST: Final = 1e9
"""Texts that floats can still tell from one more."""

_SURE: Final = 0.02
"""Width of an interval below which scores are shown with a decimal."""


class Interval(NamedTuple):
    """Between which scores that of a classifier lies, with 95 % confidence."""

    low: float
    high: float


class Facts:
    """The facts of a training as the verdict reads them.

    Attributes:
        clean: scores on clean held-out texts.
        unread: how many of the texts that these are of get no label whatever is learned, since nothing in them is known.
        score: the accuracy, or with several labels a text the micro F1, without those.
        tested: how many texts it is of; 0 where no scores were kept.
        independent: how many of them repeat no other one.
        doubtful: how many have labels that may be wrong.
        wrong: the share of labels that can be wrong, since a plain SVM, tested on the same texts, gets the others right.
    """

    def __init__(self, facts: Mapping[str, Any], labels: Sequence[str], decision: Decision) -> None:
        self.facts, self.labels, self.decision = facts, labels, decision
        self.clean: Mapping[str, Any] = facts.get("validation", {}).get("0", {})
        self.several = self.clean.get("micro_f1") is not None
        self.tested = int(facts.get("validation_texts", 0)) if self.clean else 0
        self.unread = int(facts.get("unread", 0))
        score = float(self.clean.get("micro_f1" if self.several else "accuracy", 0.0))
        self.score = max(0.0, score - self.unread / max(self.tested, 1))
        self.doubtful = int(facts.get("doubtful", 0))
        self.wrong = min(self.doubtful / max(self.tested, 1), 1 - (facts.get("baseline") or 0.0))
        self.independent = max(1.0, self.tested * (1 - self.repeated * (not self._is_tested_elsewhere)))

    @functools.cached_property
    def bounds(self) -> Interval:
        """Where the score lies on texts like those that it was measured on, with 95 % confidence; asked for where texts were tested.

        It is the interval of Wilson with a continuity correction (Newcombe 1998) for as many texts as tell something: those that repeat
        others tell nothing; where the folds differ by more than chance, each text tells less; and so it does since no two trainings learn
        the same. Cross-validated, it also holds what the classifier may have learned from all texts. It is one-sided where all were right.
        """
        texts = min(self.independent, _MOST)
        # One text more of each kind, right and wrong (Laplace's rule): texts that are all right have no error of their own.
        smooth = (self.score * texts + 1) / (texts + 2)
        error = max(min(self.facts.get("accuracy_error", 0.0), 0.5), math.sqrt(smooth * (1 - smooth) / texts))
        telling = _TELLING * smooth * (1 - smooth) / error**2
        low, high = wilson(self.score, telling, ONE_SIDED if self.score == 1.0 else TWO_SIDED)
        return Interval(low, min(1.0, high + self.gain_of_all))

    @property
    def weakest(self) -> Sequence[Mapping[str, Any]]:
        """The labels with the lowest F1, worst first."""
        found: Sequence[Mapping[str, Any]] = self.facts.get("weakest", ())
        return found

    def percent(self, share: float) -> str:
        """Return a share in percent, as precise as the score is known; it is 100 % or 0 % only where it is exactly that."""
        return percent(share, self._digits)

    def bound(self, bound: float, *, up: bool) -> str:
        """Return a bound in percent, rounded outwards."""
        scale = 10**self._digits
        # What is a whole number but for rounding stays one.
        value = round(bound * 100 * scale, 6)
        return f"{(math.ceil(value) if up else math.floor(value)) / scale:.{self._digits}f}%"

    @property
    def _digits(self) -> int:
        return 0 if self.bounds.high - self.bounds.low >= _SURE else 1

    @property
    def _is_tested_elsewhere(self) -> bool:
        """Whether the texts that it was tested on are from other data, of which a training knows no copies: then their hash is kept."""
        return isinstance(self.facts.get("options", {}).get("validation"), str)

    @property
    def texts(self) -> int:
        """How many texts the data had, those that were held out of them among them."""
        trained = int(self.facts.get("training_texts", self.tested))
        return trained if self.facts.get("folds") or self._is_tested_elsewhere else trained + self.tested

    @property
    def repeats(self) -> int:
        """How many texts repeat another one."""
        return int(self.facts.get("copies", {}).get("texts", 0))

    @property
    def repeated(self) -> float:
        """Their share."""
        return min(1.0, self.repeats / max(self.texts, 1))

    @property
    def say_little(self) -> bool:
        """Whether the texts are too few to say anything, or all of one label."""
        fewest = _FEWEST * len(self.labels) if self.facts.get("folds") else 2 * _FEWEST
        return self.tested > 0 and (self.independent < fewest or self.facts.get("largest_label") == 1.0)

    @property
    def usual(self) -> str:
        """The most common label, quoted where it is known and not all are as common."""
        shares = self.decision.shares
        if shares is None or len(shares) != len(self.labels):
            return "the most common label"
        return shown(self.labels[shares.index(max(shares))])

    @property
    def steepness(self) -> float:
        """By what power the share of errors falls with the number of texts: the slope of the learning curve, both in logarithms, 0 to 1."""
        least = 0.5 / max(self.tested, 1)
        points = [
            (math.log(texts), math.log(max(1 - score, least)))
            for texts, score in self.facts.get("learning_curve") or ()
            if texts
        ]
        if len(points) < 2:
            return 0.0
        middles = [sum(column) / len(points) for column in zip(*points, strict=True)]
        spread = sum((texts - middles[0]) ** 2 for texts, _ in points)
        slope = sum((texts - middles[0]) * (error - middles[1]) for texts, error in points) / spread if spread else 0.0
        return min(max(-slope, 0.0), 1.0)

    @property
    def gain_of_all(self) -> float:
        """What the classifier may have learned from the texts that each fold held out.

        That is as much as the last doubling of texts added, or more where the whole curve says so.
        """
        if not self.facts.get("folds"):
            return 0.0
        scores = [score for _, score in self.facts.get("learning_curve") or ()]
        last = scores[-1] - scores[-2] if len(scores) > 1 else 0.0
        return max(last, self._gain(1.0, _OF_FOLD))

    @property
    def gain_of_more(self) -> float:
        """What twice as many texts would add to the score."""
        learned = _OF_FOLD if self.facts.get("folds") else 1.0
        return self._gain(learned, 2 * learned)

    def _gain(self, before: float, after: float) -> float:
        """Return what the score gains between two numbers of texts, counted in what it was measured with."""
        wrong = 1 - (self.score or 0.0)
        return float(wrong * (before**-self.steepness - after**-self.steepness))


class Expected(NamedTuple):
    """The share of right answers on a set: from the names of its labels, and with a description of each."""

    data: str
    labels: int
    of_names: float
    of_descriptions: float


MEASURED: Final = (
    Expected("AG News", 4, 0.71, 0.72),
    Expected("Banking77", 77, 0.51, 0.58),
    Expected("CLINC150", 150, 0.56, 0.69),
)
"""What to expect of a classifier that was trained without texts (`python -m benchmarks.experiments.names`, on test texts: docs/names.md)."""


def expected(labels: int) -> Expected:
    """Return what was measured on the set whose number of labels is the nearest one, in logarithms."""
    return min(MEASURED, key=lambda row: abs(math.log(row.labels / labels)))
