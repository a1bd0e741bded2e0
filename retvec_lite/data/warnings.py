"""Faults of training data: those that forbid training, and those that cost accuracy without an error and are told in its report."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final, TypeVar

from retvec_lite.condensing import condense
from retvec_lite.contract import BLANK, INVISIBLE, EncoderConfig
from retvec_lite.data.copies import CopyGroup, as_written, copy_groups, count_copies, find_copies
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.descriptions import SAYS, plain_name
from retvec_lite.data.labels import SEPARATOR
from retvec_lite.data.wrong_encoding import is_garbled
from retvec_lite.errors import RetvecLiteError
from retvec_lite.letters import compatibility_forms, lookalikes
from retvec_lite.normal_form import is_ignored
from retvec_lite.windows import read_limit

T = TypeVar("T")

_MANY: Final = 10
"""Labels with one text each that look like a column of texts; of fewer, texts may be missing."""

_REPEATED: Final = 0.1
"""Share of copies that is told; fewer are in most data."""

FEWEST_TEXTS: Final = 5
"""Fewer texts of a label teach little."""

_SHOWN: Final = 3
"""Examples in a warning."""

_MISSING: Final = frozenset(("nan", "NaN", "NAN", "null", "NULL", "None", "NA", "N/A", "<NA>", "NaT"))
"""What programs write for a missing value. In a table these may be words as well, so they are told and not refused."""

_FAILED: Final = re.compile(r"#(?:[¡¿]?[^\W\d_]{2,}(?:/0)?[!?]|[^\W\d_]/[^\W\d_]|NV|DIV/0|GETTING_DATA)")
"""What spreadsheets show where a formula fails, in capitals and in the language that they speak: `#REF!`, `#BEZUG!`, `#NOM?`, `#N/A`."""
_FORMULA: Final = re.compile(r"=\s*(?:\"|[-+(]*(?:[^\W\d][\w.]*\(|(?:'[^']+'!|[\w.]+!)?\$?[A-Za-z]{1,3}\$?\d+(?!\w)))")
"""How a formula begins: with a function, a cell or a text."""

_BETWEEN: Final = {",": True, ";": True, "#": True, "><": True, "/": False, "+": False, "&": False}
"""Signs that people write between labels, and whether they hardly stand in one; the others must have labels on both sides."""

_SINGLE: Final = re.compile("'.+'", re.DOTALL)
_QUOTED: Final = 0.05
"""Share of rows that no chance puts into single quotes: some programs quote only cells that hold the delimiter."""

_BETWEEN_CELLS: Final = re.compile("[,;\t|]")

_ODD_SPACES: Final = frozenset(BLANK) - {" "}

_UNSEEN: Final = frozenset((*BLANK, *map(chr, INVISIBLE)))


def check_trainable(dataset: Dataset) -> None:
    """Make sure that a classifier can be trained: two labels or more, and something that says what each is.

    That is a text, a description, or a name with a word; where a text may have several labels, two texts.

    Raises:
        RetvecLiteError: names the label that falls short.
    """
    labels, counts = dataset.classes, dataset.label_counts
    if len(labels) < 2:
        only = f"only {labels[0]!r}" if labels else "none"
        raise RetvecLiteError(f"{dataset.path} needs at least 2 different labels, but has {only}.")
    label, count = dataset.smallest_label
    if dataset.multi_label and count < 2:
        raise RetvecLiteError(
            f"{dataset.path} needs at least 2 examples of every label, but has 1 of {label!r}. Add one, or drop the label."
        )
    if count < 2 and (question := _swapped_columns(dataset)):
        raise RetvecLiteError(f"{dataset.path} has 1 example of {label!r}. {question}")
    described = {label for label, text in dataset.descriptions if SAYS.search(f"{text} {plain_name(label)}")}
    if silent := [label for label in labels if not counts[label] and label not in described]:
        raise RetvecLiteError(
            f"Nothing says what the label {silent[0]!r} of {dataset.path} is: its name has no word. Describe it in words, or give texts of it."
        )


def _swapped_columns(dataset: Dataset) -> str | None:
    """Return the question to ask where there are as many different labels as different texts, or more, and longer ones; None elsewhere."""
    labels, texts = len(dataset.classes), len(set(dataset.texts))
    if dataset.multi_label or labels < max(texts, _MANY):
        return None
    if sum(map(len, dataset.labels)) <= sum(map(len, dataset.texts)):  # one text a label is few, and no mistake
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
    check_separated(labels, source)


def check_separated(labels: Sequence[str], source: object) -> None:
    """Make sure that no label is several with another sign than `|` between them; raises RetvecLiteError with how many rows have such.

    Its parts are labels of their own, or stand beside several others.
    """
    counts = Counter(labels)
    for sign, is_list in _BETWEEN.items():
        names_of = {label: [name for part in label.split(sign) if (name := part.strip(" <>"))] for label in counts}
        parts = {label: names for label, names in names_of.items() if len(names) > 1}
        beside = Counter(part for names in parts.values() for part in set(names))
        places = {(part, place) for names in parts.values() for place, part in enumerate(names)}
        own = {names[0] for names in names_of.values() if len(names) == 1}
        own |= {part for part, count in Counter(part for part, _ in places).items() if is_list and count > 1}
        found = [
            label
            for label, names in parts.items()
            if all(part in own or (is_list and beside[part] > 1) for part in names) and not own.isdisjoint(names)
        ]
        if found:
            raise RetvecLiteError(
                f"{sum(counts[label] for label in found):,} of {len(labels):,} labels of {source} seem to be several with {sign!r} between "
                f"them, such as {found[0]!r}: write {SEPARATOR} in its place and pass --multi-label (multi_label=True), or pass "
                "--no-multi-label (multi_label=False) if each is one label."
            )


def data_warnings(training: Dataset, validation: Dataset | None = None, both: Sequence[str] | None = None) -> list[str]:
    """Return one sentence for each kind of fault; without `validation`, those texts are taken from `training`.

    `both` are texts of the two, as `in_both` finds them; None to find them.

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite import Dataset
        >>> data_warnings(Dataset(("hi", "hi", *"cdefghijkl"), ("a", "b") * 6, Path("d.csv")))
        ["1 text has several labels: 'hi' ('a', 'b')."]
    """
    parts = [training] if validation is None else [training, validation]
    found = [f"{part.path}: {sentence}" for part in parts for sentence in part.left_out]

    groups = training.groups
    several = [group for group in copy_groups(training.texts, training.labels, groups) if len(group.labels) > 1]
    if swapped := _swapped_columns(training):
        found.append(swapped)
    elif several:
        kind = "different labels in different rows" if training.multi_label else "several labels"
        examples = _listed(several, lambda group: _contradiction(training, group))
        found.append(f"{_count(several, 'text has', 'texts have')} {kind}: {examples}.")
    if (copies := count_copies(groups)["texts"]) > _REPEATED * len(training):
        found.append(
            f"{copies:,} of {len(training):,} texts repeat others, or nearly so: they count once, and teach little."
        )

    found += _read_alike(training)
    found += _swallowed_rows(training)

    counts = training.label_counts
    described = dict(training.descriptions)
    if training.multi_label and all(len(names) == 1 for names in training.label_sets):
        found.append(
            "Every text has exactly one label: without --multi-label (multi_label), the classifier would know that."
        )
    found += labels_alike(training.classes, training.classes)
    for what, cells in (("text", training.texts), ("label", [*counts.elements(), *(described.keys() - counts.keys())])):
        found += _odd_cells(what, cells)

    rows = list(zip(training.texts, training.labels, strict=True))
    quoted = [row for row in rows if any(map(_SINGLE.fullmatch, row))]
    if quoted and len(quoted) >= _QUOTED * len(rows):
        found.append(
            f"{len(quoted):,} of {len(rows):,} rows have a cell in single quotes, which are read as part of it: {_short(quoted[0][0])}. "
            'Quote cells with ", or read them in Python with csv.reader(..., quotechar="\'").'
        )
    if empty := [row for row in rows if all(character in _UNSEEN for character in row[0])]:
        examples = _listed(empty, lambda row: f"{_short(row[0])} ({row[1]!r})")
        found.append(f"{_count(empty, 'text holds', 'texts hold')} nothing but invisible characters: {examples}.")

    rare = sorted(
        (label for label in training.classes if counts[label] < FEWEST_TEXTS), key=lambda label: (counts[label], label)
    )
    if rare and len(training):
        examples = _listed(rare, lambda label: f"{label!r} ({counts[label]})")
        found.append(
            f"{_count(rare, 'label has', 'labels have')} fewer than {FEWEST_TEXTS} texts: {examples}. Add some."
        )

    both = in_both(training, validation) if both is None and validation else both
    if both:
        found.append(
            f"{_count(both, 'validation text is', 'validation texts are')} in the training data as well, or nearly so, so accuracy "
            f"will look too good: {_listed(both, _short)}."
        )
    return found


def labels_alike(labels: Sequence[str], new: Container[str]) -> Iterator[str]:
    """Yield a sentence about the labels that look like a new one, or are one number with it."""
    alike: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        alike[_key(label)].append(label)
    if found := [names for names in alike.values() if len(names) > 1 and any(name in new for name in names)]:
        examples = _listed(found, lambda names: " and ".join(_with_code_points(name, names[0]) for name in names))
        yield f"Labels that look alike, or are one number: {examples}. Is each of them one label?"


def _contradiction(dataset: Dataset, group: CopyGroup) -> str:
    """Return a text and its labels, or, where the texts of two labels are not quite the same, both."""
    texts = {dataset.labels[place]: dataset.texts[place] for place in reversed(group.rows)}
    if len(set(texts.values())) == 1:
        return f"{_short(group.text)} ({', '.join(map(repr, group.labels))})"
    return " and ".join(f"{_short(texts[label])} ({label!r})" for label in group.labels[:_SHOWN])


def _read_alike(dataset: Dataset) -> Iterator[str]:
    """Yield a sentence about texts that differ and have other labels, but are read as the same."""
    forms, limit = compatibility_forms(), read_limit(EncoderConfig())
    read: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for text, label, written in zip(dataset.texts, dataset.labels, as_written(dataset.texts), strict=True):
        key = " ".join(condense(text, limit).translate(forms).casefold().split())
        read[key].setdefault(written, (text, label))
    alike = [list(texts.values()) for texts in read.values() if len({label for _, label in texts.values()}) > 1]
    if alike:
        examples = _listed(
            alike, lambda pair: " and ".join(f"{_short(text)} ({label!r})" for text, label in pair[:_SHOWN])
        )
        yield (
            f"No classifier tells apart {examples}: they differ in what is not read, such as markup, letters drawn out, or numbers of 17 "
            "digits and more."
        )


def _swallowed_rows(dataset: Dataset) -> Iterator[str]:
    """Yield a sentence about texts of several lines, one of which looks like a row of the file."""
    labels, rows = set(dataset.classes), zip(dataset.given_rows, dataset.texts, strict=True)
    found = [row for row, text in rows if "\n" in text and any(_is_row(line, labels) for line in text.split("\n"))]
    if found:
        yield (
            f"{_count(found, 'text holds', 'texts hold')} a line that looks like a row of its own, the first in row {found[0]:,} (counted from 0, "
            "without the header). Is a quote in front of it never closed?"
        )


def _is_row(line: str, labels: set[str]) -> bool:
    cells = [cell.strip('"\r') for cell in _BETWEEN_CELLS.split(line)]
    return len(cells) > 1 and not labels.isdisjoint((cells[0], cells[-1]))


def _odd_cells(what: str, cells: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each kind of cell that a program left, and no person wrote; `what` is "text" or "label"."""
    missing = "which programs write for a missing value. If it is one, leave these rows out."
    failed = "which spreadsheets show where a formula fails. Mend the sheet, or leave these rows out."
    again = "Export the file anew, as UTF-8."
    values = "Save the sheet with their values, as CSV UTF-8."
    for is_odd, one, several, says in (
        (lambda cell: cell in _MISSING, f"{what} reads", f"{what}s read", f", {missing}"),
        (lambda cell: cell.isupper() and _FAILED.fullmatch(cell), f"{what} reads", f"{what}s read", f", {failed}"),
        (
            is_garbled,
            f"{what} is garbled:",
            f"{what}s are garbled:",
            f". UTF-8 looks so when it is read as another encoding. {again}",
        ),
        (
            lambda cell: "\ufffd" in cell,
            f"{what} lacks letters:",
            f"{what}s lack letters:",
            f", with U+FFFD in their place. {again}",
        ),
        (_FORMULA.match, f"{what} is a formula:", f"{what}s are formulas:", f". {values}"),
    ):
        if odd := [cell for cell in cells if is_odd(cell.strip())]:
            yield f"{_count(odd, one, several)} {_listed(list(dict.fromkeys(odd)), _short)}{says}"


def in_both(training: Dataset, validation: Dataset) -> list[str]:
    """Return the different texts of the validation data that are copies of training texts."""
    groups = find_copies([*training.texts, *validation.texts]).tolist()
    known = set(groups[: len(training)])
    others = zip(validation.texts, groups[len(training) :], strict=True)
    return list(dict.fromkeys(text for text, group in others if group in known))


def _key(label: str) -> str:
    visible = "".join(character for character in label if not _is_invisible(character))
    folded = " ".join(unicodedata.normalize("NFKC", visible).casefold().split())
    try:
        return str(float(folded))  # 1, 01 and 1.0
    except ValueError:
        return folded.translate(lookalikes())


def _is_invisible(character: str) -> bool:
    # Among what is ignored are marks that decorate letters, too.
    is_mark = unicodedata.combining(character) or unicodedata.category(character) == "Me"
    return is_ignored(ord(character)) and not is_mark


def _with_code_points(label: str, other: str) -> str:
    odd = dict.fromkeys(
        f"U+{ord(character):04X}"
        for character in label
        if _is_invisible(character)
        or character in _ODD_SPACES
        or (ord(character) in lookalikes() and character.casefold() not in other.casefold())
    )
    return repr(label) + (f" (with {', '.join(odd)})" if odd else "")


def _count(found: Sequence[object], one: str, several: str) -> str:
    return f"{len(found):,} {one if len(found) == 1 else several}"


def _listed(found: Sequence[T], show: Callable[[T], str]) -> str:
    return ", ".join(map(show, found[:_SHOWN])) + (" and more" if len(found) > _SHOWN else "")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
