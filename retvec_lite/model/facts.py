"""The facts of a training that a classifier carries: what each must be where a file is read."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import (
    COUNT,
    FLAG,
    NOTHING,
    SHARE,
    TEXT,
    Kind,
    check_fields,
    either,
    listed,
    mapped,
    number,
    row,
    structured,
)
from retvec_lite.terminal import one_line

_POINT: Final = row("a pair of a number of texts and a score", COUNT, SHARE)
_CONFUSION: Final = row("a label, the label that was taken for it, and how often", TEXT, TEXT, COUNT)
_COUNTED: Final = row("a label and its number of texts", TEXT, COUNT)
_RATE: Final = row(
    "a threshold, and the shares of right answers kept, texts answered, right ones among them and false alarms, the last of which may be null",
    *(number(0), SHARE, SHARE, SHARE, either(SHARE, NOTHING)),
)
_COPIES: Final = {"texts": COUNT, "groups": COUNT}
_WEAK: Final = {"label": TEXT, "texts": COUNT, "right": COUNT, "answered": COUNT, "times": COUNT, "taken_for": either(TEXT, NOTHING)}  # fmt: skip

_SCORES: Final = Kind(
    "an object of scores",
    lambda value: mapped(either(SHARE, NOTHING)).fits(value) and SHARE.fits(value.get("accuracy")),
)
_BY_RATE: Final = Kind(
    "an object of scores from 0 to 1 by the share of mistyped words, that of 0 among them",
    lambda value: mapped(_SCORES).fits(value) and all(map(_is_rate, value)) and (not value or "0" in value),
)

_MEANING: Final = structured(
    {
        "used": FLAG,
        "left_out": TEXT,
        "language": TEXT,
        "pieces": TEXT,
        "words": COUNT,
        "known_words": SHARE,
        "languages": mapped(COUNT),
        "spoken": mapped(SHARE),
    }
)

_TAUGHT: Final = {"by": TEXT, "alone": SHARE, "taught": SHARE, "teacher": SHARE}

_KINDS: Final[Mapping[str, Kind]] = {
    "accuracy_error": number(0),
    "baseline": either(SHARE, NOTHING),
    "best_epoch": COUNT,
    "confusions": listed(_CONFUSION),
    "copies": structured(_COPIES, _COPIES, "an object of how many texts repeat others, and how many groups of copies there are"),
    "created_by": TEXT,
    "data": TEXT,
    "described": structured({"names": COUNT, "descriptions": COUNT}),
    "doubtful": COUNT,
    "data_hash": TEXT,
    "epochs": either(COUNT, NOTHING),
    "estimated_bytes": mapped(COUNT),
    "factors": mapped(number(0)),
    "folds": COUNT,
    "largest_label": either(SHARE, NOTHING),
    "learning_curve": either(listed(_POINT), NOTHING),
    "max_kb": COUNT,
    "leaked": COUNT,
    "meaning": Kind(
        "what a training says of what words mean",
        lambda value: _MEANING.fits(value) and set(value) >= _needed_of_meaning(value),
    ),
    "multi_label": FLAG,
    "one_label": either(_CONFUSION, NOTHING),
    "options": structured({"seed": COUNT}),
    "rates": listed(_RATE),
    "right_answers": number(0),
    "sentences": FLAG,
    "taught": structured(_TAUGHT, ("by",), "an object of who labelled texts, and the scores without them, with them, and of who did"),
    "smallest_label": _COUNTED,
    "texts_cut_by_max_words": SHARE,
    "texts_in_windows": SHARE,
    "trained_on": TEXT,
    "training_texts": COUNT,
    "unlabelled_texts": COUNT,
    "unread": COUNT,
    "validation": _BY_RATE,
    "validation_texts": COUNT,
    "versions": mapped(TEXT),
    "warned": COUNT,
    "warnings": listed(TEXT),
    "weakest": listed(
        structured(
            _WEAK,
            _WEAK.keys() - {"taken_for"},
            "an object of a label, its texts, those that are right, those it is the answer to, and what they are taken for",
        )
    ),
}  # fmt: skip


def check_facts(facts: Mapping[str, Any]) -> None:
    """Check the facts that this release reads; those of other releases are kept as they are, and each may be missing.

    Raises:
        RetvecLiteError: naming the first that is not what a training writes.
    """
    check_fields(facts, _KINDS)


def _needed_of_meaning(facts: Mapping[str, Any]) -> set[str]:
    """Return the facts that cannot be missing beside the others."""
    if facts.get("used"):
        return {"language", "words", "known_words"}
    return {"language"} if facts.get("languages") else set()


def _is_rate(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


_LARGEST: Final = 1e10
"""Weights above this, which no training gives, would overflow in float32 on their way to a probability."""

_SHOWN: Final = 8
"""Names of weights that an error shows."""


def check_names(path: str | os.PathLike[str], found: Iterable[str], expected: Iterable[str]) -> None:
    """Raise RetvecLiteError, naming the file, unless it has the expected weights and no others."""
    for what, names in (
        ("lacks the weights", set(expected) - set(found)),
        ("contains the unknown weights", set(found) - set(expected)),
    ):
        if names:
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            raise RetvecLiteError(f"{path} {what} {', '.join(map(one_line, sorted(names)[:_SHOWN]))}{more}.")


def check_finite(path: str | os.PathLike[str], name: str, *values: Floats) -> None:
    """Raise RetvecLiteError, naming file and weight, for numbers that cannot be computed with."""
    if not all((np.abs(value) <= _LARGEST).all() for value in values):
        raise RetvecLiteError(f"{path}: {name} contains NaN or infinity, or a number above {_LARGEST:g}.")
