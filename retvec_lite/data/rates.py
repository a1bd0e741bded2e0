"""What a rejection threshold costs and saves, and the one rule that chooses it: while training, and afterwards."""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.decision import Decision

KEPT: Final = (1.0, 0.999, 0.995, *(n / 100 for n in range(99, 79, -1)), *(n / 100 for n in range(75, 0, -5)))
"""Shares of the right answers to keep, for which a table has the threshold."""

FALSE_ALARMS: Final = (0.0, 0.001, 0.002, 0.005, *(n / 100 for n in range(1, 6)), 0.1, 0.2, 0.3, 0.5)
"""Shares of the texts of no label that may be answered, likewise."""

_ABOVE_CHANCE: Final = 0.2
"""How far from chance to certainty the usual threshold of one label lies. By hand, once, and chosen there: of 2 and 3 texts a label of AG News, Banking77 and CLINC150,
with one to twenty right answers to choose by, thresholds that lean on it keep 98 to 99 % of the right answers to test texts, instead of
65 to 98 %."""

_STEPS: Final = 1e6
"""Thresholds are multiples of a millionth."""

_ROUNDING: Final = 1e-9
"""How far a share, a sum of fractions, may be off."""


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


def measure_rates(
    texts: Sequence[str],
    expected: Sequence[str | None],
    probabilities: Floats,
    labels: Sequence[str],
    decision: Decision,
    *,
    kept: Sequence[float] = KEPT,
    false_alarms: Sequence[float] = FALSE_ALARMS,
) -> tuple[Rate, ...]:
    """Return the thresholds that keep some shares of the right answers, and let some of the false alarms pass, the lowest first.

    The arguments are those of `measure_rejection`. Of the decision, all but its threshold decides; that one is in the table, too.
    All labels count alike, however many texts they have, or a threshold would keep nearly all of a common label and lose a rare one.

    Returns:
        For each of `kept` the largest threshold that keeps as many; for each of `false_alarms` the smallest that lets no more pass, if
        there is one; nothing where no answer is right.
    """
    scores, right, truth = score_answers(texts, expected, probabilities, labels, decision)
    if not right.any():
        return ()

    # Candidates: the scores of right answers, rounded down, which keeps the answers themselves; below 1 even where all are 1.
    most = math.inf if decision.unknown_power else 1 - 1 / _STEPS
    candidates = np.unique(np.clip(np.floor(scores[right] * _STEPS) / _STEPS, 1 / _STEPS, most))
    _, numbers, counts = np.unique(truth[right], return_inverse=True, return_counts=True)
    weights = 1.0 / (counts[numbers] * len(counts))
    share_kept = _share_above(candidates, scores[right], weights)
    chosen = {float(candidates[np.flatnonzero(share_kept >= share - _ROUNDING)[-1]]) for share in kept}
    none = scores[truth < 0]
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


def score_answers(
    texts: Sequence[str],
    expected: Sequence[str | None],
    probabilities: Floats,
    labels: Sequence[str],
    decision: Decision,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return the score of each text's answer, 0 where no threshold lets it pass; whether it is right; and the right label's number, or -1."""
    columns = np.array(decision.columns(labels))
    number = {label: place for place, label in enumerate(labels)}
    truth = np.array([-1 if label is None else number[label] for label in expected])
    right = columns[probabilities[:, columns].argmax(axis=1)] == truth
    never = Decision(unknown_label=decision.unknown_label, characters=decision.characters)
    scores = np.where(never.unknown(texts, probabilities, labels), 0.0, decision.scores(probabilities, labels))
    return scores, right & (scores > 0), truth


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
        >>> from retvec_lite.data.rates import Rate, choose_threshold
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
