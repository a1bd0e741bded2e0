"""What a training wrote down of itself: the facts that reports, model cards and exports read, and what each of them is."""

from collections.abc import Mapping
from typing import Any, Final

from retvec_lite.schema import (
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
    structured,
)

_POINT: Final = Kind(
    "a pair of a number of texts and a score",
    lambda value: type(value) is list and len(value) == 2 and COUNT.fits(value[0]) and SHARE.fits(value[1]),
)
_CONFUSION: Final = Kind(
    "a label, the label that was taken for it, and how often",
    lambda value: type(value) is list and len(value) == 3 and all(map(TEXT.fits, value[:2])) and COUNT.fits(value[2]),
)
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
        "words": COUNT,
        "known_words": SHARE,
        "languages": mapped(COUNT),
        "tables": listed(TEXT),
    }
)

_HEAD: Final = Kind(
    "an object of strings with a language", lambda value: mapped(TEXT).fits(value) and "language" in value
)

_KINDS: Final[Mapping[str, Kind]] = {
    "accuracy_error": number(0),
    "best_epoch": COUNT,
    "confusions": listed(_CONFUSION),
    "created_by": TEXT,
    "data": TEXT,
    "epochs": either(COUNT, NOTHING),
    "estimated_bytes": mapped(COUNT),
    "folds": COUNT,
    "learning_curve": either(listed(_POINT), NOTHING),
    "max_kb": COUNT,
    "meaning": Kind(
        "what a training says of what words mean",
        lambda value: _MEANING.fits(value) and set(value) >= _needed_of_meaning(value),
    ),
    "multi_label": FLAG,
    "pretrained_head": either(_HEAD, NOTHING),
    "texts_cut_by_max_words": SHARE,
    "texts_in_windows": SHARE,
    "training_texts": COUNT,
    "validation": _BY_RATE,
    "validation_texts": COUNT,
    "warnings": listed(TEXT),
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
