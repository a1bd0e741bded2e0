"""Faults of training data that cost accuracy without an error: found before training, and told in its report."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from retvec_lite.contract import BLANK, INVISIBLE
from retvec_lite.data.dataset import Dataset

_FEW: Final = 5
"""Fewer texts of a label teach little."""

_SHOWN: Final = 3
"""Examples in a warning."""

_UNSEEN: Final = frozenset((*BLANK, *map(chr, INVISIBLE)))


def data_warnings(training: Dataset, validation: Dataset | None = None) -> list[str]:
    """Return one sentence for each kind of fault; without `validation`, those texts are taken from `training`.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import Dataset
        >>> data_warnings(Dataset(("hi", "hi") * 5, ("a", "b") * 5, Path("d.csv")))
        ["1 text has several labels: 'hi' ('a', 'b')."]
    """
    found = [*_left_out(training, *([] if validation is None else [validation]))]
    found += [*_single(training), *_contradictions(training), *_similar_labels(training), *_empty(training)]
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
        alike[unicodedata.normalize("NFKC", label).casefold()].append(label)
    several = [found for found in alike.values() if len(found) > 1]
    if several:
        examples = [" and ".join(map(repr, found)) for found in several[:_SHOWN]]
        yield f"Labels that differ only in case or Unicode form: {_listed(examples, several)}. Is each of them one label?"


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
