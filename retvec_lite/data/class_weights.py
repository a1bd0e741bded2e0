"""Class weights: how much the texts of each label count in training, by a rule or as the user says."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.arguments import finite
from retvec_lite.contract import Floats
from retvec_lite.data.decoding import read_text
from retvec_lite.data.labels import label_of
from retvec_lite.data.rows import DELIMITERS, Rows
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.json_text import parse_json

ClassWeights = str | Mapping[str, float]
"""The name of a rule, or label -> weight."""

POWERS: Final = {"sqrt": 0.5, "balanced": 1.0, "none": 0.0}
"""Rule -> the power of the inverse frequency of a label that its texts weigh.

`balanced`, the full inverse, lets every label count as much as any other, whatever its number of texts; the root is halfway."""

DEFAULT: Final = "sqrt"


def choose_class_weights(
    given: ClassWeights | Mapping[Any, float] | os.PathLike[str], labels: Sequence[str]
) -> ClassWeights:
    """Return the name of a rule as it is, and weights from a mapping or a file with one for each label, checked.

    Args:
        given: "sqrt", "balanced" or "none"; label -> weight; or a file: CSV or TSV with the columns label,weight, or JSON with
            one object of label: weight.
        labels: the labels of the training texts.

    Raises:
        RetvecLiteError: for an unknown name, a file that cannot be read, a label that is missing or has no texts, or a weight
            that is not positive and finite.

    Example:
        >>> from retvec_lite.data.class_weights import choose_class_weights
        >>> choose_class_weights({"ham": 1, "spam": 5}, ["ham", "spam"])
        {'ham': 1.0, 'spam': 5.0}
    """
    if isinstance(given, str) and given in POWERS:
        return given
    if isinstance(given, Mapping):
        found, place = {label_of(label) or shown(label): weight for label, weight in given.items()}, "class_weights"
    elif isinstance(given, (str, os.PathLike)):
        found, place = _read(Path(given)), os.fspath(given)
    else:
        raise RetvecLiteError(
            f"class_weights is {', '.join(POWERS)}, a file, or a mapping from labels to weights, not {shown(given)}."
        )
    for label, weight in found.items():
        is_number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not is_number or (finite(weight) or 0.0) <= 0:
            raise RetvecLiteError(
                f"{place}: the weight of {shown(label)} must be a positive, finite number, not {shown(weight)}."
            )
    if unknown := sorted(found.keys() - set(labels)):
        raise RetvecLiteError(f"{place}: the label {unknown[0]!r} does not occur in the training texts.")
    if missing := sorted(set(labels) - found.keys()):
        raise RetvecLiteError(f"{place}: the label {missing[0]!r} has no weight. Give one for every label.")
    return {label: float(weight) for label, weight in found.items()}


def class_weights(rule: ClassWeights, targets: npt.NDArray[np.int32], labels: Sequence[str]) -> Floats:
    """Return the weight of each label's texts, float32 `[classes]`, scaled to a mean of 1 over the texts.

    `rule` is what `choose_class_weights` returned. The targets are int32 `[texts]`, the index of each text's label; or
    `[texts, classes]`, 1 for each label of a text.
    """
    counts = targets.sum(axis=0) if targets.ndim > 1 else np.bincount(targets, minlength=len(labels))
    if isinstance(rule, str):
        weights = np.maximum(counts, 1.0) ** -POWERS[rule]
    else:
        # Only their ratios matter, and the largest may be near the end of a float.
        weights = np.array([rule[label] for label in labels]) / max(rule.values())
    scaled: Floats = (weights * counts.sum() / max(float(weights @ counts), 1e-9)).astype(np.float32)
    return scaled


def _read(file: Path) -> dict[str, Any]:
    suffix = file.suffix.lower()
    if suffix not in DELIMITERS and suffix != ".json":
        raise RetvecLiteError(
            f"class_weights is {', '.join(POWERS)}, or a file whose name ends in .csv, .tsv or .json, not {os.fspath(file)!r}."
        )
    pairs = _table(file) if suffix in DELIMITERS else _object(file)
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(label for label, count in Counter(label for label, _ in pairs).items() if count > 1)
        raise RetvecLiteError(f"{file}: the label {twice!r} has two weights. Remove one.")
    return found


def _table(file: Path) -> Sequence[tuple[str, Any]]:
    with Rows(file, ()) as rows:
        if sorted(rows.columns) != ["label", "weight"]:
            raise RetvecLiteError(f"{file} needs a header that names the two columns label and weight.")
        return [(fields["label"].strip(), _number(fields["weight"])) for _, fields in rows]


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell  # what is wrong with it is told later


def _object(file: Path) -> Sequence[tuple[str, Any]]:
    pairs = parse_json(read_text(file), file, pairs=tuple)
    if not isinstance(pairs, tuple):  # the hook makes one of an object only
        raise RetvecLiteError(f'{file} must hold one JSON object, such as {{"ham": 1, "spam": 5}}.')
    return pairs
