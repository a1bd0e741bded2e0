"""Texts that belong to no label: how well a classifier tells them, what thresholds would do, and how one is chosen.

A text whose best label is less probable than a threshold has none. The threshold keeps a share of the right answers: a training chooses
it by held-out texts (`choose_decision`), and `with_threshold` of a trained classifier by what is kept of these, or by other texts.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.outcome import ONE_SIDED, Bools, Outcome, auroc, wilson
from retvec_lite.data.typos import Way
from retvec_lite.decision import UNKNOWN_POWER, Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import Table, percent

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

_USUAL: Final = (Way.CLEAN, Way.FEW_TYPOS)
"""How the held-out texts are written that choose the threshold of one label."""


class CoveragePoint(NamedTuple):
    """Share of the texts that are answered, the surest first, and the share of right answers among them."""

    coverage: float
    accuracy: float


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
                *(percent(share, 1) for share in rate[1:] if share is not None),
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
    candidates = np.unique(lowered(scores[right], decision))
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


def _share_above(thresholds: Any, scores: Any, weights: Any) -> Any:
    """Return for each threshold the share, by weight, of the scores that reach it, float64 `[thresholds]`."""
    order = np.argsort(scores, kind="stable")
    # From the highest score down, so that nothing is exactly 0; the whole may be off by the last digit.
    reached = np.concatenate([[0.0], np.cumsum(weights[order][::-1])])
    places = len(scores) - np.searchsorted(scores[order], thresholds, side="left")
    return np.minimum(reached[places], 1.0)


def choose_threshold(
    rates: Sequence[Rate],
    *,
    keep: float | None = None,
    false_alarms: float | None = None,
    right: float | None = None,
    texts: float = 0.0,
) -> float | None:
    """Return the largest threshold of a table that keeps a share of the right answers, or the smallest with few enough false alarms or wrong answers.

    A share of the answers is `right` where Wilson's bound of it, with 95 % confidence, is above that: the table is of so many `texts`.
    None: no threshold of the table does.
    """
    if keep is not None:
        return max((rate.threshold for rate in rates if rate.kept >= keep - _ROUNDING), default=None)
    if right is not None:
        return min((rate.threshold for rate in rates if _surely_right(rate, texts) >= right), default=None)
    most = false_alarms or 0.0
    quiet = (rate for rate in rates if rate.false_alarms is not None and rate.false_alarms <= most + _ROUNDING)
    return min((rate.threshold for rate in quiet), default=None)


def _surely_right(rate: Rate, texts: float) -> float:
    """Return the share of right answers at a threshold, at least."""
    return wilson(rate.accuracy, rate.answered * texts, ONE_SIDED)[0] if rate.answered else 0.0


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
    return float(lowered(threshold**credible * min(threshold, common) ** (1.0 - credible), decision))


def lowered(thresholds: Any, decision: Decision) -> Any:
    """Return thresholds as multiples of a millionth, which keeps the answers at them, within what a decision may have: below 1 without power."""
    most = math.inf if decision.unknown_power else 1 - 1 / _STEPS
    return np.clip(np.floor(thresholds * _STEPS) / _STEPS, 1 / _STEPS, most)


def choose_decision(outcomes: Mapping[Way, Outcome], keep: float) -> Decision:
    """Choose the largest threshold that keeps a share of the right answers to clean texts and those with a few typos together.

    Disguised, translated and badly mistyped texts do not choose: their right answers are less probable, and a threshold that keeps them
    lets many more texts pass that have no label (docs/benchmarks.md). All labels count alike, however many texts they have, or the
    threshold would keep nearly all of a common label and lose a rare one. Texts of the unknown label belong to no other label.

    Few right answers do not decide alone, see `lean`.
    """
    decision, labels = outcomes[Way.CLEAN].decision, outcomes[Way.CLEAN].labels
    threshold = choose_threshold(measure_rates(usual(outcomes), kept=(keep,), false_alarms=()), keep=keep)
    if threshold is not None:
        threshold = lean(threshold, keep, count_answers(outcomes), decision, len(labels))
    return dataclasses.replace(decision, threshold=threshold)


def choose_blindly(decision: Decision, labels: Sequence[str], background: Floats | None) -> Decision:
    """Choose the threshold without an answer that is known to be right: the one that lets half of the texts of no label pass.

    More of them would pass at a lower one, and right answers be lost at a higher one (docs/names.md). Of these texts, the `background`,
    probabilities are given.
    """
    if background is None:
        threshold = lean(1.0, 1.0, 0.0, decision, len(labels))
    else:
        threshold = float(lowered(np.median(decision.scores(background, labels)), decision))
    return dataclasses.replace(decision, threshold=threshold)


def count_answers(outcomes: Mapping[Way, Outcome]) -> float:
    """Return how many right answers to different texts there are to choose by, less where some labels have few of them (Kish 1965)."""
    found = usual(outcomes)
    counts = np.unique(found.truth[found.is_right & (found.passing > 0)], return_counts=True)[1]
    copies = len(found.texts) / len(outcomes[Way.CLEAN].texts)
    return float(len(counts) ** 2 / np.sum(1.0 / counts) / copies) if len(counts) else 0.0


def usual(outcomes: Mapping[Way, Outcome]) -> Outcome:
    """Return what is answered to held-out texts as users write them, clean and with a few typos."""
    found = [each for way, each in outcomes.items() if way in _USUAL]
    return dataclasses.replace(
        found[0],
        texts=[text for each in found for text in each.texts],
        truth=np.concatenate([each.truth for each in found]),
        probabilities=np.concatenate([each.probabilities for each in found]),
    )


def check_asked(asked: Mapping[str, float | None]) -> None:
    """Refuse, with RetvecLiteError, all but one way of choosing a threshold, and a share that is none."""
    given = {name: value for name, value in asked.items() if value is not None}
    if len(given) != 1:
        raise RetvecLiteError("Pass one of threshold (0.6), keep (0.95), right (0.97) and false_alarms (0.02).")
    ((name, value),) = given.items()
    if name in ("keep", "right", "reject_at") and not 0 < value < 1:
        raise RetvecLiteError(f"{name} must be a share above 0 and below 1 (0.95 for 95 %), not {value!r}.")
    if name == "false_alarms" and not 0 <= value < 1:
        raise RetvecLiteError(f"false_alarms must be a share from 0 to below 1 (0.02 for 2 %), not {value!r}.")


def read_threshold(rates: Sequence[Rate], asked: Mapping[str, float | None], texts: float, *, has_data: bool) -> float:
    """Return the threshold of a table of so many texts that is asked for; raises RetvecLiteError where there is none."""
    where = "the data" if has_data else "what is kept of the training"
    if not rates and has_data:
        raise RetvecLiteError(
            "A threshold cannot be chosen: no answer to these texts is right. Pass other texts (data)."
        )
    if not rates:
        raise RetvecLiteError(
            "This classifier has no table of rates: it was trained without texts, or its unknown label was chosen "
            "afterwards. Train it again, or choose by labelled texts, with_threshold(keep=0.95, data=...)."
        )
    alarms = [rate.false_alarms for rate in rates if rate.false_alarms is not None]
    if asked["false_alarms"] is not None and not alarms:
        raise RetvecLiteError(
            f"false_alarms needs texts of no label, and {where} has none: pass data with such texts, and their label as unknown_label."
        )
    found = choose_threshold(rates, texts=texts, **{name: asked[name] for name in ("keep", "false_alarms", "right")})
    if found is None and asked["right"] is not None:
        most = max(_surely_right(rate, texts) for rate in rates)
        raise RetvecLiteError(
            f"No threshold is surely right so often: {math.floor(most * 1000) / 10}% is the most that {where} can tell. Pass a lower share (right), or "
            "more labelled texts (data)."
        )
    if found is None:
        raise RetvecLiteError(
            f"No threshold that keeps a right answer gives so few false alarms: {percent(min(alarms), 1)} is the least in {where}."
        )
    return found


def without_answer(
    decision: Decision, facts: Mapping[str, Any], label: str, is_blind: bool
) -> tuple[Decision, dict[str, Any]]:
    """Return a decision that never answers with a label, and rejects nothing else, and the facts that still hold.

    Raises:
        RetvecLiteError: where there is such a label, or a threshold is to be chosen by what is kept of the training (`is_blind`).
    """
    if decision.unknown_label is not None:
        raise RetvecLiteError(
            f"{label!r} is an answer of this classifier, whose unknown label is {decision.unknown_label!r}."
        )
    if is_blind:
        raise RetvecLiteError(
            f"To choose a threshold when {label!r} is no answer any more, pass labelled texts (data)."
        )
    decision = dataclasses.replace(decision, threshold=None, unknown_label=label, unknown_power=UNKNOWN_POWER)
    return decision, {name: fact for name, fact in facts.items() if name != "rates"}
