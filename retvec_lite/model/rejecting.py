"""Another threshold of rejection for a trained model: which one, and what its facts then say."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from retvec_lite.data.outcome import Rate, choose_threshold
from retvec_lite.decision import UNKNOWN_POWER
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel

_OF_THE_THRESHOLD: Final = ("in_scope_unknown", "unknown_recognized")
"""Scores of held-out texts that hold for the threshold of the training alone."""


def check_asked(asked: Mapping[str, float | None]) -> None:
    """Refuse, with RetvecLiteError, all but one way of choosing a threshold, and a share that is none."""
    given = {name: value for name, value in asked.items() if value is not None}
    if len(given) != 1:
        raise RetvecLiteError("Pass one of threshold (0.6), keep (0.95) and false_alarms (0.02).")
    ((name, value),) = given.items()
    if name in ("keep", "reject_at") and not 0 < value < 1:
        raise RetvecLiteError(f"{name} must be a share above 0 and below 1 (0.95 for 95 %), not {value!r}.")
    if name == "false_alarms" and not 0 <= value < 1:
        raise RetvecLiteError(f"false_alarms must be a share from 0 to below 1 (0.02 for 2 %), not {value!r}.")


def read_threshold(rates: Sequence[Rate], keep: float | None, false_alarms: float | None, *, has_data: bool) -> float:
    """Return the threshold of a table that is asked for; raises RetvecLiteError where there is none."""
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
    if keep is None and not alarms:
        raise RetvecLiteError(
            f"false_alarms needs texts of no label, and {where} has none: pass data with such texts, and their label as unknown_label."
        )
    found = choose_threshold(rates, keep=keep, false_alarms=false_alarms)
    if found is None:
        raise RetvecLiteError(
            f"No threshold that keeps a right answer gives so few false alarms: {min(alarms):.1%} is the least in {where}."
        )
    return found


def with_unknown_label(model: TrainedModel, label: str, is_blind: bool) -> TrainedModel:
    """Return a model that never answers with one of its labels, and rejects nothing else; raises RetvecLiteError where it has such a label."""
    if model.decision.unknown_label is not None:
        raise RetvecLiteError(
            f"{label!r} is an answer of this classifier, whose unknown label is {model.decision.unknown_label!r}."
        )
    if is_blind:
        raise RetvecLiteError(
            f"To choose a threshold when {label!r} is no answer any more, pass labelled texts (data)."
        )
    decision = dataclasses.replace(model.decision, threshold=None, unknown_label=label, unknown_power=UNKNOWN_POWER)
    facts = {name: fact for name, fact in model.training.items() if name != "rates"}
    return dataclasses.replace(model, decision=decision, training=facts)


def with_threshold(model: TrainedModel, threshold: float, keep: float | None) -> TrainedModel:
    """Return a model with a threshold, which may be chosen to `keep` a share of the right held-out answers.

    Its facts leave out what another threshold did to held-out texts.
    """
    facts = {name: fact for name, fact in model.training.items() if name != "reject_at"}
    if keep is not None:
        facts["reject_at"] = float(keep)
    if "validation" in facts:
        facts["validation"] = {
            rate: {name: value for name, value in row.items() if name not in _OF_THE_THRESHOLD}
            for rate, row in facts["validation"].items()
        }
    return dataclasses.replace(model, decision=dataclasses.replace(model.decision, threshold=threshold), training=facts)
