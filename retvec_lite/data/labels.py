"""What a label is: how values become the strings that classifiers answer with, how several stand in one cell, and what each weighs."""

import contextlib
import json
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.arguments import finite
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, SystematicError, shown
from retvec_lite.json_text import parse_json
from retvec_lite.terminal import DIRECTION

SEPARATOR: Final = "|"
"""Stands between the labels of one text in multi-label data."""

_NAMED: Final = 5
"""Labels that an error names."""

_EXACT: Final = 2**53
"""Up to here, floats are as exact as integers."""

_BRACKETS: Final = re.compile(r"(?:array|frozenset|set)?\(?(\[.*\]|\{.*\}|\(.*\))(?:, dtype=\w+)?\)?", re.DOTALL)
"""How a list begins and ends, as Python, NumPy, JSON and databases write it."""
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_NUMBERS: Final = re.compile(r"(?:\s*\d{1,9}\.?)+\s*")
_QUOTING: Final = re.compile(r"[\[\]{}'\"]")


def split_labels(cell: str) -> tuple[str, ...]:
    """Return the labels in a cell of multi-label data, such as "urgent | billing", sorted, each once."""
    return tuple(sorted({label for part in cell.split(SEPARATOR) if (label := part.strip())}))


def join_labels(labels: Iterable[str]) -> str:
    """Return what `split_labels` reads back as these labels."""
    return SEPARATOR.join(sorted(labels))


def label_table(sets: Sequence[Sequence[str]], labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which of some labels each text has, bool `[texts, labels]`."""
    number = {label: place for place, label in enumerate(labels)}
    found = np.zeros((len(sets), len(labels)), bool)
    for row, names in enumerate(sets):
        found[row, [number[name] for name in names]] = True
    return found


def unknown_rows(labels: Sequence[str], path: object, unknown: set[str], asked: str | None) -> npt.NDArray[np.bool_]:
    """Return which labels mean that a text has none, bool `[texts]`; raises RetvecLiteError when the one asked for is missing."""
    if asked is not None and asked not in labels:
        classes = sorted(set(labels))
        found = ", ".join(map(repr, classes[:_NAMED])) + (", ..." if len(classes) > _NAMED else "")
        raise RetvecLiteError(f"The unknown label {asked!r} does not occur in {path} (it has: {found}).")
    rows = np.array([label in unknown for label in labels], bool)
    if rows.all():
        raise RetvecLiteError(f"All texts of {path} have the unknown label: add texts of other labels.")
    return rows


def label_of(value: Any) -> str | None:
    """Return a string as it is, and a boolean or a finite number as JSON writes it; None for anything else.

    A whole number is written without a decimal point: a column of integers with a gap comes from pandas as floats.

    Example:
        >>> from retvec_lite.data.labels import label_of
        >>> [label_of(value) for value in ("1", 1, 1.0, 1.5, True)]
        ['1', '1', '1', '1.5', 'true']
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a number of NumPy
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    # JSON readers elsewhere take integers that are larger than any float for infinity.
    return json.dumps(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None


def cell_of(value: Any, place: str, column: str, multi_label: bool) -> str:
    """Return a label, or in multi-label data several, as they stand in a cell of a table; a list of one is that label.

    The value is from a table, JSON or Python. A cell may hold a list, too, see `listed_in`. The place and the column are for messages.

    Raises:
        RetvecLiteError: for another type, a list of several where a text has one label, or a label in a list that holds the separator.
    """
    value = listed_in(value, multi_label) if isinstance(value, str) else value
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(inner := next(iter(value.values())), list | tuple):
        value = inner  # {"choices": [...]} of Label Studio
    if (found := label_of(value)) is not None:
        return found
    if isinstance(value, Mapping | bytes | bytearray) or not hasattr(value, "__iter__"):
        kinds = "a string, a boolean or a number" + (", or a list of them" if multi_label else "")
        raise RetvecLiteError(f"{place}: {column!r} must be {kinds}, not {_shown(value)}.")
    parts = list(value)
    labels = [name for label in parts if (name := label_of(label)) is not None]
    if len(labels) < len(parts):
        wrong = next(label for label in parts if label_of(label) is None)
        raise RetvecLiteError(
            f"{place}: a label in {column!r} must be a string, a boolean or a number, not {_shown(wrong)}."
        )
    if len(set(labels)) < len(labels) and not any(isinstance(label, str) for label in parts):
        raise SystematicError(
            f"{place}: {column!r} is a row of numbers, one for each label: {_shown(parts)}. List the names of the labels that the text has."
        )
    if multi_label:
        if broken := [label for label in labels if SEPARATOR in label]:
            raise RetvecLiteError(f"{place}: the label {broken[0]!r} holds {SEPARATOR!r}, which separates labels.")
        return join_labels(labels)
    if len(labels) > 1:
        raise SystematicError(
            f"{place}: {column!r} is a list of labels: {_shown(parts)}. Pass --multi-label (multi_label=True) if a text may have several."
        )
    return labels[0] if labels else ""


def listed_in(cell: str, multi_label: bool = False) -> Any:
    """Return the list, or the object, that a cell holds as Python, NumPy, JSON or a database writes it; any other cell as it is.

    One word in brackets is a list in multi-label data alone: labels are written so, too.

    Example:
        >>> from retvec_lite.data.labels import listed_in
        >>> [listed_in(cell) for cell in ("['a', 'b']", '["a"]', "['a' 'b']", "{a,b}", "[1 0]", "[]", "[spam]", "a, b")]
        [['a', 'b'], ['a'], ['a', 'b'], ['a', 'b'], [1, 0], [], '[spam]', 'a, b']
    """
    text = cell.strip()
    if not (match := _BRACKETS.fullmatch(text)):
        return cell
    inside = match[1][1:-1]
    quoted = _QUOTED.findall(inside)
    if not _QUOTED.sub("", inside).strip(" ,\t\r\n"):
        return [_ESCAPED.sub(r"\1", part[1:-1]) for part in quoted]
    for written in (match[1], match[1].replace("'", '"')):  # JSON, and Python's objects
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(written)
    if match[1][0] == "(":
        return cell
    if _NUMBERS.fullmatch(inside):
        return [float(part) if "." in part else int(part) for part in inside.split()]
    parts = inside.split(",")
    is_list = (multi_label or len(parts) > 1) and not _QUOTING.search(inside)
    return [part.strip() for part in parts] if is_list else cell


def _shown(value: object) -> str:
    try:
        return json.dumps(value, default=repr)[:40]
    except (ValueError, RecursionError):  # an integer of too many digits, or a list in itself
        return shown(value)


def problem_in_label(label: str) -> str | None:
    """Return why a string cannot be a label: it is empty, would steer a terminal, or break a file; None where it can."""
    kinds = set(map(unicodedata.category, label))
    for is_wrong, problem in (
        (not label.strip(), "is empty"),
        (label.splitlines() != [label], "has more than one line"),
        ("Cc" in kinds, "holds a control character, such as TAB or ESC"),
        ("Cs" in kinds, "holds an unpaired surrogate, which is not valid Unicode"),
        (not DIRECTION.isdisjoint(label), "holds a direction mark, which turns the letters around it. Remove it"),
    ):
        if is_wrong:
            return problem
    return None


def check_labels(labels: Any) -> None:
    """Check the labels of a classifier from a file: two or more different strings that training could have had.

    Raises:
        RetvecLiteError: naming the first label that is wrong.
    """
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise RetvecLiteError(f"the labels must be a list of strings, not {shown(labels)}.")
    for label in labels:
        if problem := problem_in_label(label):
            raise RetvecLiteError(f"the label {shown(label)} {problem}.")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise RetvecLiteError(f"a classifier needs at least 2 different labels, not {shown(list(labels))}.")


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
        given: "sqrt", "balanced" or "none"; label -> weight; or a JSON file with one object of label: weight.
        labels: the labels of the training texts.

    Raises:
        RetvecLiteError: for an unknown name, a file that cannot be read, a label that is missing or has no texts, or a weight
            that is not positive and finite.
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
        usual = float(np.mean([*rule.values()]))  # of texts that a teacher finds unlike all labels
        weights = np.array([rule.get(label, usual) for label in labels]) / max(rule.values())
    scaled: Floats = (weights * counts.sum() / max(float(weights @ counts), 1e-9)).astype(np.float32)
    return scaled


def _read(file: Path) -> dict[str, Any]:
    from retvec_lite.data.lines import read_text

    if file.suffix.lower() != ".json":
        raise RetvecLiteError(
            f"class_weights is {', '.join(POWERS)}, or a file whose name ends in .json, not {os.fspath(file)!r}."
        )
    pairs = parse_json(read_text(file), file, pairs=tuple)
    if not isinstance(pairs, tuple):  # the hook makes one of an object only
        raise RetvecLiteError(f'{file} must hold one JSON object, such as {{"ham": 1, "spam": 5}}.')
    if twice := [label for label, count in Counter(label for label, _ in pairs).items() if count > 1]:
        raise RetvecLiteError(f"{file}: the label {twice[0]!r} has two weights. Remove one.")
    return dict(pairs)
