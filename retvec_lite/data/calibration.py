"""What the probability of an answer is worth: whether it is honest, and whether it tells texts that belong to no label."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.rates import Rate, choose_threshold, measure_rates
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import Table

_BINS: Final = 15
"""Of the calibration error, as in Guo et al. 2017."""

_NAMED: Final = 5
"""Labels that an error names."""

_COVERAGES: Final = 50
"""Points of the coverage curve."""

_KEPT_SHOWN: Final = (1.0, 0.99, 0.97, 0.95, 0.9, 0.8, 0.6)
_ALARMS_SHOWN: Final = (0.1, 0.05, 0.02, 0.01)
"""Shares whose thresholds a table shows."""

Bools = npt.NDArray[np.bool_]


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


def auroc(above: Floats, below: Floats) -> float:
    """Return the chance that a number drawn from `above` is larger than one drawn from `below`; equal ones count half."""
    values, numbers = np.unique(np.concatenate([above, below]), return_inverse=True)
    counts = np.bincount(numbers[: len(above)], minlength=len(values))
    others = np.bincount(numbers[len(above) :], minlength=len(values))
    lower = np.cumsum(others) - others / 2
    return float((counts * lower).sum() / (len(above) * len(below)))


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


def measure_rejection(
    texts: Sequence[str],
    expected: Sequence[str | None],
    probabilities: Floats,
    labels: Sequence[str],
    decision: Decision,
) -> Rejection:
    """Measure how a classifier answers texts, as far as it reads them, from its probabilities, float32 `[texts, classes]`.

    The right label of a text is None where it has none. One text at least has one.
    """
    columns = decision.columns(labels)
    found = [labels[columns[place]] for place in probabilities[:, columns].argmax(axis=1)]
    is_right = np.array([label == right for label, right in zip(found, expected, strict=True)], bool)
    has_label = np.array([label is not None for label in expected], bool)
    is_unknown = decision.unknown(texts, probabilities, labels)
    # What no threshold would answer comes last.
    unread = np.array([not decision.reads(text) for text in texts], bool)
    sure = np.where(unread, 0.0, decision.scores(probabilities, labels))
    recognized = area = None
    if not has_label.all():
        recognized = float(is_unknown[~has_label].mean())
        area = auroc(sure[has_label], sure[~has_label])
    answered = is_right & ~is_unknown
    return Rejection(
        decision.rule,
        float(np.where(has_label, answered, is_unknown).mean()),
        float(answered[has_label].mean()),
        float(is_unknown[has_label].mean()),
        float(1 - is_unknown.mean()),
        float(is_right[~is_unknown].mean()) if not is_unknown.all() else 0.0,
        int((~has_label).sum()),
        recognized,
        area,
        _coverage(sure, is_right),
        decision.threshold,
        measure_rates(texts, expected, probabilities, labels, decision),
    )


def _coverage(sure: Floats, right: Bools) -> tuple[CoveragePoint, ...]:
    order = np.argsort(-sure, kind="stable")
    counts = np.unique(np.ceil(np.linspace(0, len(order), _COVERAGES + 1)[1:]).astype(int))
    accuracy = np.cumsum(right[order])[counts - 1] / counts
    return tuple(
        CoveragePoint(float(count / len(order)), float(share)) for count, share in zip(counts, accuracy, strict=True)
    )


def unknown_rows(labels: Sequence[str], path: object, unknown: set[str], asked: str | None) -> Bools:
    """Return which labels mean that a text has none, bool `[texts]`; raises RetvecLiteError when the one asked for is missing."""
    if asked is not None and asked not in labels:
        classes = sorted(set(labels))
        found = ", ".join(map(repr, classes[:_NAMED])) + (", ..." if len(classes) > _NAMED else "")
        raise RetvecLiteError(f"The unknown label {asked!r} does not occur in {path} (it has: {found}).")
    rows = np.array([label in unknown for label in labels], bool)
    if rows.all():
        raise RetvecLiteError(f"All texts of {path} have the unknown label: add texts of other labels.")
    return rows
