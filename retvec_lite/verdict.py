"""What a training means, in about ten sentences: whether to ship, why, and what to do next.

They are made of the facts that a classifier keeps of its training, never of its texts, so that it says the same wherever it is loaded.
Earlier releases wrote down less, and a classifier of theirs says less.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from retvec_lite.decision import Decision
from retvec_lite.errors import shown

_TWO_SIDED, _ONE_SIDED = 1.96, 1.645
"""Standard deviations that 95 % of a normal distribution lie within, and below."""

_FEWEST: Final = 5
"""Texts a label below which nobody can say how good a classifier is."""
_ENOUGH: Final = 20
"""Texts a label that say more."""

_REPEATED: Final = 0.3
"""Share of the texts that repeat others from which other texts come first."""
_DOUBTFUL: Final = 0.03
"""Share of the texts with doubtful labels from which these come first."""
_GAIN: Final = 0.01
"""Gain of score that is worth a step."""
_HALF: Final = 0.5
"""Share of a label's texts below which it cannot be relied on."""


class Interval(NamedTuple):
    """Between which scores that of a classifier lies, with 95 % confidence."""

    low: float
    high: float


def verdict(facts: Mapping[str, Any], labels: Sequence[str], decision: Decision) -> list[str]:
    """Return whether to ship a classifier, why, and what to do next: the first sentence decides, the last begins with "Next:".

    Args:
        facts: what a training wrote down, as `Classifier.training` has it.
        labels: those of the classifier.
        decision: when a text has a label.

    Returns:
        A line for each point; none where a classifier keeps no scores. Labels are quoted, and control characters in them escaped.

    Example:
        >>> from retvec_lite.decision import Decision
        >>> from retvec_lite.verdict import verdict
        >>> facts = {"validation": {"0": {"accuracy": 0.96}}, "validation_texts": 400, "folds": 3, "largest_label": 0.6, "baseline": 0.93}
        >>> for line in verdict(facts, ["ham", "spam"], Decision(shares=(0.6, 0.4))):
        ...     print(line)
        Ship it if 93% is enough.
        Expect 96% of texts like these to be right, 93% to 98% with 95% confidence (400 texts, cross-validated in 3 folds).
        Always answering 'ham' would be right about 60% of them, and a plain SVM about 93%.
        Next: nothing. Measure it on texts of your users now and then (retvec-lite evaluate).
    """
    found = Facts(facts, labels, decision)
    if found.score is None:
        return []
    return [
        *_ship(found),
        *_how_good(found),
        *_compared(found),
        *_weakest(found),
        *_none_of_these(found),
        f"Next: {_next(found)}",
    ]


def next_step(facts: Mapping[str, Any], labels: Sequence[str], decision: Decision) -> str:
    """Return the one thing to do next, with what it is expected to gain; arguments as for `verdict`."""
    return _next(Facts(facts, labels, decision))


def interval(facts: Mapping[str, Any]) -> Interval | None:
    """Return where the score of a classifier on texts like those it was measured on lies, with 95 % confidence.

    It is Wilson's interval (1927) for as many texts as tell something: those that repeat others tell nothing, and where the folds differ by
    more than chance, each text tells less. What was cross-validated learned from two thirds of the texts, and the classifier from all: its
    learning curve, carried on, says how much better it may be. Where all texts were right, the interval is one-sided.

    Args:
        facts: what a training wrote down.

    Returns:
        None where it does not say enough.

    Example:
        >>> from retvec_lite.verdict import interval
        >>> interval({"validation": {"0": {"accuracy": 1.0}}, "validation_texts": 30, "folds": 3})
        Interval(low=0.9172621864014352, high=1.0)
    """
    found = Facts(facts, (), Decision())
    score, texts = found.score, found.independent
    if score is None or not texts:
        return None
    # One text more of each kind, right and wrong (Laplace's rule): texts that are all right have no error of their own.
    smooth = (score * texts + 1) / (texts + 2)
    error = max(min(facts.get("accuracy_error", 0.0), 0.5), math.sqrt(smooth * (1 - smooth) / texts))
    telling = smooth * (1 - smooth) / error**2
    deviations = _ONE_SIDED if score == 1.0 else _TWO_SIDED
    low, high = _wilson(score, telling, deviations)
    return Interval(low, min(1.0, high + found.gain_of_all))


def _wilson(share: float, texts: float, deviations: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of some texts, which need not be a whole number."""
    square = deviations**2 / texts
    middle = (share + square / 2) / (1 + square)
    width = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return max(0.0, middle - width), min(1.0, middle + width)


# --- what the facts say -----------------------------------------------------------------------------------------------


class Facts:
    """The facts of a training as the verdict reads them.

    Attributes:
        score: on clean held-out texts, the accuracy or with several labels a text the micro F1; None where it was not kept.
        tested: how many texts it is of.
        independent: how many of them repeat no other one.
    """

    def __init__(self, facts: Mapping[str, Any], labels: Sequence[str], decision: Decision) -> None:
        self.facts, self.labels, self.decision = facts, labels, decision
        self.clean: Mapping[str, Any] = facts.get("validation", {}).get("0", {})
        self.several = self.clean.get("micro_f1") is not None
        self.score: float | None = self.clean.get("micro_f1" if self.several else "accuracy")
        self.tested = int(facts.get("validation_texts", 0))
        self.independent = max(1.0, self.tested * (1 - self.repeated)) if self.tested else 0.0

    @property
    def texts(self) -> int:
        """How many texts there were."""
        trained = int(self.facts.get("training_texts", self.tested))
        return trained if self.facts.get("folds") else trained + self.tested

    @property
    def repeats(self) -> int:
        """How many texts repeat another one."""
        return int(self.facts.get("copies", {}).get("texts", 0))

    @property
    def repeated(self) -> float:
        """Their share."""
        return min(1.0, self.repeats / max(self.texts, 1))

    @property
    def are_few(self) -> bool:
        """Whether the texts are too few to say anything."""
        fewest = _FEWEST * len(self.labels) if self.facts.get("folds") else 2 * _FEWEST
        return bool(self.tested) and self.independent < fewest

    @property
    def usual(self) -> str:
        """The most common label, quoted, or what to call it."""
        shares = self.decision.shares
        if shares is None or len(shares) != len(self.labels):
            return "the same label"
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
        """What the classifier has learned from texts that the folds held out, by its learning curve."""
        return self._gain(0.0, 1.5) if self.facts.get("folds") else 0.0

    @property
    def gain_of_more(self) -> float:
        """What twice as many texts would add to the score."""
        learned = 1.5 if self.facts.get("folds") else 1.0
        return self._gain(learned, 2 * learned)

    def _gain(self, before: float, after: float) -> float:
        assert self.score is not None
        return (1 - self.score) * ((before or 1.0) ** -self.steepness - after**-self.steepness)


# --- the lines --------------------------------------------------------------------------------------------------------


def _ship(found: Facts) -> Iterator[str]:
    """Yield the sentence that decides."""
    bounds = interval(found.facts)
    if bounds is None:
        return
    if found.are_few:
        yield f"Ship or not: nobody can say yet, from {found.texts:,} texts."
        return
    usual = found.facts.get("largest_label")
    if usual is not None and found.score is not None and found.score <= usual:
        yield f"Do not ship it: it is not better than always answering {found.usual}."
    elif usual is not None and bounds.low <= usual:
        yield f"Do not ship it yet: it may be no better than always answering {found.usual}."
    else:
        what = "a micro F1 of " if found.several else ""
        weak = [shown(row["label"]) for row in found.facts.get("weakest", ()) if row["right"] < _HALF * row["texts"]]
        of_weak = f" and less than half of the texts of {' and '.join(weak)} found will do" if weak else ""
        yield f"Ship it if {what}{_bound(bounds.low, bounds, up=False)} is enough{of_weak}."


def _how_good(found: Facts) -> Iterator[str]:
    """Yield what to expect, and how well that is known."""
    bounds, folds, score = interval(found.facts), found.facts.get("folds"), found.score
    if bounds is None or score is None:
        return
    if found.are_few:
        yield f"{found.texts:,} texts are too few to say how good it is: with {_ENOUGH} a label, this says more."
        return
    way = f"cross-validated in {folds} folds" if folds else "held out"
    of_texts = f"{found.tested:,} texts, {way}"
    if found.repeats:
        of_texts += f"; {found.repeats:,} of {found.texts:,} repeat others and count once"
    low, high = (_bound(bound, bounds, up=up) for bound, up in zip(bounds, (False, True), strict=True))
    if score == 1.0:
        what = (
            "a micro F1 of at least {} on texts like these"
            if found.several
            else "at least {} of texts like these to be right"
        )
        yield f"Expect {what.format(low)}: with 95% confidence, since all were ({of_texts})."
        return
    about = _percent(score, bounds)
    what = f"a micro F1 of {about} on texts like these" if found.several else f"{about} of texts like these to be right"
    yield f"Expect {what}, {low} to {high} with 95% confidence ({of_texts})."


def _compared(found: Facts) -> Iterator[str]:
    """Yield what simpler ways would reach."""
    usual, plain = (found.facts.get(name) for name in ("largest_label", "baseline"))
    bounds = interval(found.facts)
    if usual is None or bounds is None or found.score is None or found.are_few:
        return
    line = f"Always answering {found.usual} would be right about {_percent(usual, bounds)} of them"
    if plain is not None:
        line += f", and a plain SVM about {_percent(plain, bounds)}"
        if plain >= found.score:
            line += ": on clean texts, this classifier is not better than the SVM"
    yield f"{line}."


def _weakest(found: Facts) -> Iterator[str]:
    """Yield the labels that are told worst, and what their texts are taken for."""
    rows = [] if found.are_few else found.facts.get("weakest", ())
    if parts := [_weak(row) for row in rows]:
        yield f"Weakest: {'; '.join(parts)}."


def _weak(row: Mapping[str, Any]) -> str:
    texts, right, others = row["texts"], row["right"], row["answered"] - row["right"]
    about = f"{shown(row['label'])}, {right:,} of {texts:,} found"
    if row.get("taken_for") is not None:
        about += f", {row['times']:,} taken for {shown(row['taken_for'])}"
    if others > texts - right:
        about += f", {others:,} of other labels taken for it"
    return about


def _none_of_these(found: Facts) -> Iterator[str]:
    """Yield what the threshold for texts without a label keeps and rejects."""
    lost, recognized = (found.clean.get(name) for name in ("in_scope_unknown", "unknown_recognized"))
    if lost is None or found.are_few or not found.decision.rejects:
        return
    line = f"None of these: it answers no label to {lost:.0%} of the texts that have one, and to "
    yield line + (
        f"{recognized:.0%} of those that have none."
        if recognized is not None
        else "how many of those that have none is not known: there were none to measure."
    )


# --- the next step ----------------------------------------------------------------------------------------------------


def _next(found: Facts) -> str:
    """Return the first step that is worth it, data before texts, since more of the same faults teach nothing."""
    return next(
        (step for rule in (_repeats, _few, _doubts, _twins, _small, _more, _languages) for step in rule(found)),
        _nothing(found),
    )


def _repeats(found: Facts) -> Iterator[str]:
    if found.repeated >= _REPEATED:
        yield f"collect other texts: {found.repeats:,} of {found.texts:,} repeat others, which teaches nothing."


def _few(found: Facts) -> Iterator[str]:
    if found.are_few:
        yield f"collect {_ENOUGH} texts of each label."


def _doubts(found: Facts) -> Iterator[str]:
    doubtful = int(found.facts.get("doubtful", 0))
    share = doubtful / max(found.texts, 1)
    if share >= _DOUBTFUL:
        count = f"{doubtful:,} texts whose labels are" if doubtful > 1 else "text whose label is"
        yield f"look at the {count} doubtful (retvec-lite check): where they are wrong, up to {_points(share)} more."


def _twins(found: Facts) -> Iterator[str]:
    pair = found.facts.get("one_label")
    if pair:
        first, second, texts = pair
        gain = _points(texts / max(found.tested, 1))
        yield f"merge {shown(first)} and {shown(second)} if they mean the same: about {gain} more. Texts do not tell them apart."


def _small(found: Facts) -> Iterator[str]:
    small = found.facts.get("smallest_label")
    if small and small[1] < _ENOUGH / 2 and small[1] * len(found.labels) < found.texts / 2:
        yield f"collect texts of {shown(small[0])}, which has {small[1]:,}: {_ENOUGH} say more."


def _more(found: Facts) -> Iterator[str]:
    if found.score is not None and found.gain_of_more >= _GAIN:
        weak = [shown(row["label"]) for row in found.facts.get("weakest", ())]
        begin = f", those of {' and '.join(weak)} first" if weak else ""
        yield f"collect texts{begin}: twice as many would be right about {_points(found.gain_of_more)} more often."


def _languages(found: Facts) -> Iterator[str]:
    return iter(())


def _nothing(found: Facts) -> str:
    return "nothing. Measure it on texts of your users now and then (retvec-lite evaluate)."


# --- numbers ----------------------------------------------------------------------------------------------------------


def _digits(bounds: Interval) -> int:
    return 0 if bounds.high - bounds.low >= 0.02 else 1


def _bound(bound: float, bounds: Interval, *, up: bool) -> str:
    """Return a bound in percent, rounded outwards."""
    scale = 10 ** _digits(bounds)
    # What is a whole number but for rounding stays one.
    value = round(bound * 100 * scale, 6)
    return f"{(math.ceil(value) if up else math.floor(value)) / scale:.{_digits(bounds)}f}%"


def _percent(share: float, bounds: Interval) -> str:
    """Return a share in percent, as precise as the interval; it is 100 % or 0 % only where it is exactly that."""
    found = f"{share:.{_digits(bounds)}%}"
    is_whole = share in (0.0, 1.0) or found not in ("0%", "100%", "0.0%", "100.0%")
    return found if is_whole else f"{share:.2%}"


def _points(gain: float) -> str:
    points = round(100 * gain)
    return f"{points} points" if points != 1 else "1 point"
