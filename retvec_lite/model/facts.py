"""The facts of a training that a classifier carries: where it came from, and what each must be where a file is read."""

import datetime
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from retvec_lite import json_text as kind
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.terminal import one_line
from retvec_lite.version import __version__

_OF_THE_THRESHOLD: Final = ("in_scope_unknown", "unknown_recognized")
"""Scores of held-out texts that hold for the threshold of the training alone."""

_POINT: Final = kind.row("a pair of a number of texts and a score", kind.COUNT, kind.SHARE)
_CONFUSION: Final = kind.row(
    "a label, the label that was taken for it, and how often", kind.TEXT, kind.TEXT, kind.COUNT
)
_COUNTED: Final = kind.row("a label and its number of texts", kind.TEXT, kind.COUNT)
_RATE: Final = kind.row(
    "a threshold, and the shares of right answers kept, texts answered, right ones among them and false alarms, the last of which may be null",
    *(kind.number(0), kind.SHARE, kind.SHARE, kind.SHARE, kind.either(kind.SHARE, kind.NOTHING)),
)
_COPIES: Final = {"texts": kind.COUNT, "groups": kind.COUNT}
_WEAK: Final = {"label": kind.TEXT, "texts": kind.COUNT, "right": kind.COUNT, "answered": kind.COUNT, "times": kind.COUNT, "taken_for": kind.either(kind.TEXT, kind.NOTHING)}  # fmt: skip

_SCORES: Final = kind.Kind(
    "an object of scores",
    lambda value: (
        kind.mapped(kind.either(kind.SHARE, kind.NOTHING)).fits(value) and kind.SHARE.fits(value.get("accuracy"))
    ),
)
_BY_RATE: Final = kind.Kind(
    "an object of scores from 0 to 1 by the share of mistyped words, that of 0 among them",
    lambda value: kind.mapped(_SCORES).fits(value) and all(map(_is_rate, value)) and (not value or "0" in value),
)

_MEANING: Final = kind.structured(
    {
        "used": kind.FLAG,
        "left_out": kind.TEXT,
        "language": kind.TEXT,
        "pieces": kind.TEXT,
        "words": kind.COUNT,
        "known_words": kind.SHARE,
        "languages": kind.mapped(kind.COUNT),
        "spoken": kind.mapped(kind.SHARE),
    }
)

_TAUGHT: Final = {"by": kind.TEXT, "alone": kind.SHARE, "taught": kind.SHARE, "teacher": kind.SHARE}

_KINDS: Final[Mapping[str, kind.Kind]] = {
    "accuracy_error": kind.number(0),
    "baseline": kind.either(kind.SHARE, kind.NOTHING),
    "best_epoch": kind.COUNT,
    "confusions": kind.listed(_CONFUSION),
    "copies": kind.structured(_COPIES, _COPIES, "an object of how many texts repeat others, and how many groups of copies there are"),
    "created_by": kind.TEXT,
    "data": kind.TEXT,
    "described": kind.structured({"names": kind.COUNT, "descriptions": kind.COUNT}),
    "doubtful": kind.COUNT,
    "data_hash": kind.TEXT,
    "epochs": kind.either(kind.COUNT, kind.NOTHING),
    "estimated_bytes": kind.mapped(kind.COUNT),
    "factors": kind.mapped(kind.number(0)),
    "folds": kind.COUNT,
    "largest_label": kind.either(kind.SHARE, kind.NOTHING),
    "learning_curve": kind.either(kind.listed(_POINT), kind.NOTHING),
    "max_kb": kind.COUNT,
    "leaked": kind.COUNT,
    "meaning": kind.Kind(
        "what a training says of what words mean",
        lambda value: _MEANING.fits(value) and set(value) >= _needed_of_meaning(value),
    ),
    "multi_label": kind.FLAG,
    "one_label": kind.either(_CONFUSION, kind.NOTHING),
    "options": kind.structured({"seed": kind.COUNT}),
    "rates": kind.listed(_RATE),
    "right_answers": kind.number(0),
    "sentences": kind.FLAG,
    "settings": kind.structured({"variants": kind.COUNT, "typo_rate": kind.SHARE}, (), "an object of how texts were mistyped"),
    "taught": kind.structured(_TAUGHT, ("by",), "an object of who labelled texts, and the scores without them, with them, and of who did"),
    "smallest_label": _COUNTED,
    "texts_cut_by_max_words": kind.SHARE,
    "texts_in_windows": kind.SHARE,
    "trained_on": kind.TEXT,
    "training_texts": kind.COUNT,
    "unlabelled_texts": kind.COUNT,
    "unread": kind.COUNT,
    "validation": _BY_RATE,
    "validation_texts": kind.COUNT,
    "versions": kind.mapped(kind.TEXT),
    "warned": kind.COUNT,
    "warnings": kind.listed(kind.TEXT),
    "weakest": kind.listed(
        kind.structured(
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
    kind.check_fields(facts, _KINDS)


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


_CLOCK: Final = "SOURCE_DATE_EPOCH"
"""Variable of the environment that says the time, in seconds since 1970, for files that shall be the same on another day:
https://reproducible-builds.org/specs/source-date-epoch/."""


def data_hash(dataset: Dataset) -> str:
    """Return 16 hexadecimal digits for texts, labels, weights and descriptions in their order, whatever file they stood in."""
    digest = hashlib.sha256(str(dataset.multi_label).encode())
    # Only the ratios of weights matter.
    most = max(dataset.weights, default=1.0)
    weights = [repr(weight / most) for weight in dataset.weights] if len(set(dataset.weights)) > 1 else []
    described = (
        ["descriptions", *(cell for row in dataset.descriptions for cell in row)] if dataset.descriptions else []
    )
    for cell in (*dataset.texts, *dataset.labels, *weights, *described):
        content = cell.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


def today() -> str:
    """Return the day (UTC) as YYYY-MM-DD, or that of SOURCE_DATE_EPOCH; raises RetvecLiteError where that is no time."""
    said = os.environ.get(_CLOCK)
    if not said:
        return datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    try:
        return datetime.datetime.fromtimestamp(int(said), datetime.timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise RetvecLiteError(f"{_CLOCK} must be a number of seconds since 1970, not {shown(said)}.") from error


def versions() -> Mapping[str, str]:
    """Return the versions of what a training used; TensorFlow is there if it was loaded."""
    found = {"retvec-lite": __version__, "numpy": np.__version__, "python": platform.python_version()}
    tensorflow = getattr(sys.modules.get("tensorflow"), "__version__", None)
    return found if tensorflow is None else {**found, "tensorflow": tensorflow}


def facts_at(facts: Mapping[str, Any], keep: float | None) -> dict[str, Any]:
    """Return the facts of a training under another threshold, which may be chosen to `keep` a share of the right held-out answers.

    What the threshold of the training did to held-out texts is left out.
    """
    kept = {name: fact for name, fact in facts.items() if name != "reject_at"}
    if keep is not None:
        kept["reject_at"] = float(keep)
    if "validation" in kept:
        kept["validation"] = {
            rate: {name: value for name, value in row.items() if name not in _OF_THE_THRESHOLD}
            for rate, row in kept["validation"].items()
        }
    return kept
