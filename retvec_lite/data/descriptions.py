"""What labels mean, in words: names and descriptions, read from a mapping or a file such as `labels.csv`."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.contract import UNSPACED
from retvec_lite.data.labels import label_of, problem_in_label
from retvec_lite.data.lines import explained
from retvec_lite.data.rows import LABELLED, RowReader
from retvec_lite.data.sources import data_files
from retvec_lite.errors import RetvecLiteError, shown

Description = tuple[str, str]
"""A label, and what it means; "" where only its name says so."""

Described = Mapping[Any, str | Sequence[str] | None] | str | os.PathLike[str]
"""Label -> description or descriptions, None for its name alone; or a file with the columns of `COLUMNS`."""

COLUMNS: Final = ("label", "description")

_UNSPACED: Final = "".join(f"{chr(first)}-{chr(last)}" for spans in UNSPACED.values() for first, last in spans)
SAYS: Final = re.compile(rf"[^\W\d_]{{3}}|[{_UNSPACED}]")
"""What a name needs to say something: three letters, not `7` or `C`; one letter in scripts without spaces."""

_NO_WORD: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
"""Between the words of a name, such as `card_arrival`, `Card arrival` or `cardArrival`."""

_HOW: Final = 'such as {"refund": "wants money back"}'


def is_described(labels: Any) -> bool:
    """Return whether labels are names with descriptions, or the file of these, and not the labels of texts."""
    return isinstance(labels, Mapping | str | os.PathLike)


def plain_name(label: str) -> str:
    """Return the name of a label as people write it.

    Example:
        >>> from retvec_lite.data.descriptions import plain_name
        >>> plain_name("card_arrival"), plain_name("CardArrival")
        ('card arrival', 'Card Arrival')
    """
    return " ".join(_NO_WORD.sub(" ", label).split())


def read_descriptions(given: Described) -> tuple[Description, ...]:
    """Return labels with their descriptions, in the order given, none twice.

    Raises:
        RetvecLiteError: for something else than labels and texts, no labels at all, or the same description of two labels.

    Example:
        >>> from retvec_lite.data.descriptions import read_descriptions
        >>> read_descriptions({"refund": "wants money back", "delivery": None})
        (('refund', 'wants money back'), ('delivery', ''))
    """
    if isinstance(given, Mapping):
        place, rows = "labels", list(_of_mapping(given))
    else:
        place, rows = os.fspath(given), list(_of_file(given))
    if not rows:
        raise RetvecLiteError(f"There are no labels in {place}: name two or more, {_HOW}.")
    found: dict[Description, None] = {}
    labels_of: dict[str, str] = {}
    for label, text in rows:
        if problem := problem_in_label(label):
            raise RetvecLiteError(f"{place}: the label {shown(label)} {problem}.")
        key = " ".join(text.casefold().split())
        if key and labels_of.setdefault(key, label) != label:
            raise RetvecLiteError(
                f"{place}: {shown(labels_of[key])} and {shown(label)} have the same description, {shown(text)}. Say how they differ."
            )
        found[label, " ".join(text.split())] = None
    return tuple(found)


def _of_mapping(given: Mapping[Any, Any]) -> Iterator[Description]:
    for key, value in given.items():
        label = label_of(key)
        if label is None or not label.strip():
            raise RetvecLiteError(f"labels: the name of a label must be a string, not {shown(key)}.")
        texts = [""] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise RetvecLiteError(
                f"labels: the description of {shown(label)} must be a string, a list of strings or None, not {shown(value)}."
            )
        for text in texts or [""]:
            yield label.strip(), text


def _of_file(given: str | os.PathLike[str]) -> Iterator[Description]:
    (name, described) = COLUMNS
    for file in data_files([given], LABELLED, "a file of labels"):
        with explained(file), RowReader(file, (name,), whole=True, can_rename=False) as rows:
            if len(rows.columns) > 1 and described not in rows.columns:
                raise RetvecLiteError(
                    f"No column {described!r} in {file} (found: {', '.join(map(repr, rows.columns))}): name the one of the descriptions 'description'."
                )
            for place, fields in rows:
                label, text = label_of(fields[name]), fields.get(described)
                if not isinstance(text, str | None):
                    raise rows.bad(place, f"{described!r} must be a string, not {shown(text)}")
                if not (label or "").strip() and not (text or "").strip():
                    continue
                if label is None or not label.strip():
                    raise rows.bad(place, f"the column {name!r} is empty")
                yield label.strip(), text or ""


def source_of(labels: Described) -> Path | None:
    """Return the file that labels come from, if they do."""
    return None if isinstance(labels, Mapping) else Path(labels)
