"""Faults of training data: those that forbid training, and those that cost accuracy without an error and are told in its report."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from retvec_lite.contract import BLANK, INVISIBLE
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import SEPARATOR
from retvec_lite.errors import RetvecLiteError
from retvec_lite.normal_form import is_ignored

_MANY: Final = 10
"""Labels with one text each that look like a column of texts; of fewer, texts may be missing."""

_FEW: Final = 5
"""Fewer texts of a label teach little."""

_SHOWN: Final = 3
"""Examples in a warning."""

_MISSING: Final = frozenset(("nan", "NaN", "NAN", "null", "NULL", "None", "NA", "N/A", "#N/A", "<NA>", "NaT"))
"""What programs write for a missing value. In a table these may be words as well, so they are told and not refused."""

_SINGLE: Final = re.compile("'.+'", re.DOTALL)
_QUOTED: Final = 0.05
"""Share of rows that no chance puts into single quotes: some programs quote only cells that hold the delimiter."""

_ODD_SPACES: Final = frozenset(BLANK) - {" "}

_UNSEEN: Final = frozenset((*BLANK, *map(chr, INVISIBLE)))


def check_trainable(dataset: Dataset) -> None:
    """Make sure that a classifier can be trained: two labels or more, two texts or more of each.

    Raises:
        RetvecLiteError: names the label that falls short.
    """
    counts = Counter(label for labels in dataset.label_sets for label in labels)
    if len(counts) < 2:
        only = f"only {min(counts)!r}" if counts else "none"
        raise RetvecLiteError(f"{dataset.path} needs at least 2 different labels, but has {only}.")
    label, count = min(counts.items(), key=lambda item: (item[1], item[0]))
    if count < 2:
        advice = _swapped_columns(dataset) or "Add one, or drop the label."
        raise RetvecLiteError(
            f"{dataset.path} needs at least 2 examples of every label, but has 1 of {label!r}. {advice}"
        )


def _swapped_columns(dataset: Dataset) -> str | None:
    """Return the question to ask where there are as many different labels as different texts, or more; None elsewhere."""
    labels, texts = len(dataset.classes), len(set(dataset.texts))
    if dataset.multi_label or labels < max(texts, _MANY):
        return None
    return (
        f"{labels:,} different labels for {texts:,} different texts: are the columns swapped? Name them with --text-column and "
        "--label-column (text_column, label_column)."
    )


def check_single(labels: Sequence[str], source: object) -> None:
    """Make sure that no label looks like several; raises RetvecLiteError with how many do."""
    rows = [row for row, label in enumerate(labels) if SEPARATOR in label]
    if rows:
        raise RetvecLiteError(
            f"{len(rows):,} of {len(labels):,} rows of {source} have a {SEPARATOR!r} in their label, such as "
            f"{labels[rows[0]]!r}: pass --multi-label (multi_label=True) if it separates labels, or --no-multi-label "
            "(multi_label=False) if it is part of one."
        )


def data_warnings(training: Dataset, validation: Dataset | None = None) -> list[str]:
    """Return one sentence for each kind of fault; without `validation`, those texts are taken from `training`.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import Dataset
        >>> data_warnings(Dataset(("hi", "hi") * 5, ("a", "b") * 5, Path("d.csv")))
        ["1 text has several labels: 'hi' ('a', 'b')."]
    """
    found = [*_left_out(training, *([] if validation is None else [validation]))]
    swapped = _swapped_columns(training)
    found += [swapped] if swapped else _contradictions(training)
    found += [
        *_single(training),
        *_similar_labels(training),
        *_missing(training),
        *_quoted(training),
        *_empty(training),
    ]
    return [*found, *_rare(training)] + ([] if validation is None else list(_seen(training, validation)))


def _left_out(*data: Dataset) -> Iterator[str]:
    for part in data:
        yield from (f"{part.path}: {sentence}" for sentence in part.left_out)


def _single(data: Dataset) -> Iterator[str]:
    if data.multi_label and all(len(labels) == 1 for labels in data.label_sets):
        yield "Every text has exactly one label: without --multi-label, the classifier would know that."


def _contradictions(data: Dataset) -> Iterator[str]:
    labels: dict[str, set[str]] = defaultdict(set)
    for text, label in zip(data.texts, data.labels, strict=True):
        labels[text].add(label)
    several = [text for text, found in labels.items() if len(found) > 1]
    if several:
        examples = [f"{_short(text)} ({', '.join(map(repr, sorted(labels[text])))})" for text in several[:_SHOWN]]
        kind = "different labels in different rows" if data.multi_label else "several labels"
        yield f"{_count(several, 'text has', 'texts have')} {kind}: {_listed(examples, several)}."


def _similar_labels(data: Dataset) -> Iterator[str]:
    alike: dict[str, list[str]] = defaultdict(list)
    for label in data.classes:
        alike[_key(label)].append(label)
    several = [found for found in alike.values() if len(found) > 1]
    if several:
        examples = [" and ".join(map(_with_code_points, found)) for found in several[:_SHOWN]]
        what = "case, spaces, invisible characters or Unicode form"
        yield f"Labels that differ only in {what}: {_listed(examples, several)}. Is each of them one label?"


def _key(label: str) -> str:
    visible = "".join(character for character in label if not _is_invisible(character))
    return " ".join(unicodedata.normalize("NFKC", visible).casefold().split())


def _is_invisible(character: str) -> bool:
    # Among what is ignored are marks that decorate letters, too.
    is_mark = unicodedata.combining(character) or unicodedata.category(character) == "Me"
    return is_ignored(ord(character)) and not is_mark


def _with_code_points(label: str) -> str:
    odd = dict.fromkeys(
        f"U+{ord(character):04X}" for character in label if _is_invisible(character) or character in _ODD_SPACES
    )
    return repr(label) + (f" (with {', '.join(odd)})" if odd else "")


def _missing(data: Dataset) -> Iterator[str]:
    for what, cells in (("text", data.texts), ("label", [label for labels in data.label_sets for label in labels])):
        counts = Counter(cell for cell in cells if cell.strip() in _MISSING)
        if counts:
            words = [repr(word) for word in counts]
            rows = _count([*counts.elements()], f"{what} reads", f"{what}s read")
            yield (
                f"{rows} {_listed(words[:_SHOWN], words)}, which programs write for a missing value. "
                "If it is one, leave these rows out."
            )


def _quoted(data: Dataset) -> Iterator[str]:
    rows = [row for row in zip(data.texts, data.labels, strict=True) if any(map(_SINGLE.fullmatch, row))]
    if len(rows) >= _QUOTED * len(data):
        yield (
            f"{len(rows):,} of {len(data):,} rows have a cell in single quotes, which are read as part of it: {_short(rows[0][0])}. "
            'Quote cells with ", or read them in Python with csv.reader(..., quotechar="\'").'
        )


def _empty(data: Dataset) -> Iterator[str]:
    rows = [row for row, text in enumerate(data.texts) if all(character in _UNSEEN for character in text)]
    if rows:
        examples = [f"{_short(data.texts[row])} ({data.labels[row]!r})" for row in rows[:_SHOWN]]
        yield f"{_count(rows, 'text holds', 'texts hold')} nothing but invisible characters: {_listed(examples, rows)}."


def _rare(data: Dataset) -> Iterator[str]:
    counts = Counter(label for labels in data.label_sets for label in labels)
    rare = sorted((label for label in counts if counts[label] < _FEW), key=lambda label: (counts[label], label))
    if rare:
        examples = [f"{label!r} ({counts[label]})" for label in rare[:_SHOWN]]
        yield f"{_count(rare, 'label has', 'labels have')} fewer than {_FEW} texts: {_listed(examples, rare)}. Add some."


def _seen(training: Dataset, validation: Dataset) -> Iterator[str]:
    known = set(training.texts)
    both = [text for text in dict.fromkeys(validation.texts) if text in known]
    if both:
        yield (
            f"{_count(both, 'validation text is', 'validation texts are')} in the training data as well, so accuracy will look "
            f"too good: {_listed([_short(text) for text in both[:_SHOWN]], both)}."
        )


def _count(found: Sequence[object], one: str, several: str) -> str:
    return f"{len(found):,} {one if len(found) == 1 else several}"


def _listed(examples: Sequence[str], found: Sequence[object]) -> str:
    return ", ".join(examples) + (" and more" if len(found) > len(examples) else "")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
