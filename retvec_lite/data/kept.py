"""The texts that a trained folder keeps, so that its classifier can go on learning, and how newer ones join them.

A file of JSON lines, which a person can read, and `read_dataset` as well. What is learned is told apart by what is written, numbers
included: copies in the wider sense of `data.copies` may well have two labels.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.data.copies import as_written
from retvec_lite.data.dataset import Dataset, as_dataset
from retvec_lite.data.labels import join_labels
from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import TEXT, check_fields, listed, number, parse_json

TEXTS_NAME: Final = "texts.jsonl"
"""Where a trained folder keeps the texts."""

Keys = npt.NDArray[np.uint64]
"""What tells texts apart, uint64 `[texts]`."""


class Joined(NamedTuple):
    """What newer texts change.

    Attributes:
        stay: places of the older texts that stay as they are.
        new: places of the newer texts that are learned.
        corrected: how many of these have another label than an older text.
        repeated: how many newer texts were there already, or come again later on.
    """

    stay: list[int]
    new: list[int]
    corrected: int
    repeated: int


def text_keys(texts: Sequence[str]) -> Keys:
    """Return a hash of each text: the same where only case, spaces and what ends a word differ, see `as_written`.

    Example:
        >>> from retvec_lite.data.kept import text_keys
        >>> first, second, third = text_keys(["Wake me at 6!", "wake me at 6", "wake me at -6"]).tolist()
        >>> first == second, first == third
        (True, False)
    """
    written = (text.encode("utf-8", "surrogatepass") for text in as_written(texts))
    return np.frombuffer(b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in written), np.uint64)


def join(keys: Keys, labels: Sequence[str], new_keys: Keys, new_labels: Sequence[str]) -> Joined:
    """Find out what newer texts change: where a text has another label, the newer label counts, and the last one of all."""
    last = {key: place for place, key in enumerate(new_keys.tolist())}
    labels_of: dict[int, set[str]] = {}
    for key, label in zip(keys.tolist(), labels, strict=True):
        labels_of.setdefault(key, set()).add(label)
    # A text that had two labels is one text with the newer label from then on.
    corrected = {key for key, place in last.items() if labels_of.get(key, set()) - {new_labels[place]}}
    new = sorted(place for key, place in last.items() if key in corrected or key not in labels_of)
    stay = [place for place, key in enumerate(keys.tolist()) if key not in corrected]
    return Joined(stay, new, len(corrected), len(new_keys) - len(new))


def texts_bytes(dataset: Dataset) -> bytes:
    """Return the content of the file: a line for each text, with its label, and its weight if they have any; then one for each description."""
    weights: Sequence[float | None] = dataset.weights or [None] * len(dataset)
    rows = zip(dataset.texts, dataset.label_sets if dataset.multi_label else dataset.labels, weights, strict=True)
    lines = [
        _line({"text": _whole(text), "label": label} | ({} if weight is None else {"weight": weight}))
        for text, label, weight in rows
    ]
    lines += [_line({"label": label, "description": _whole(text)}) for label, text in dataset.descriptions]
    return b"".join(lines)


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _whole(text: str) -> str:
    """Return a text with U+FFFD for each half of a character, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_texts_file(path: Path, multi_label: bool) -> Dataset:
    """Read the file; rows may have been removed from it by hand.

    Raises:
        RetvecLiteError: for a file that cannot be read, or a line that `texts_bytes` would not write.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {path}: {error.strerror or error}.") from error
    rows = [_row(line, f"{path}, line {number}", multi_label) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise RetvecLiteError(f"{path} holds no texts to go on from: train again on all texts.")
    described = tuple((row["label"], row["description"]) for row in rows if "description" in row)
    rows = [row for row in rows if "text" in row]
    labels = tuple(join_labels(row["label"]) if multi_label else row["label"] for row in rows)
    weights = tuple(row["weight"] for row in rows if row.get("weight") is not None)
    found = Dataset(tuple(row["text"] for row in rows), labels, path, multi_label, weights=weights)
    try:
        return replace(as_dataset(found) if rows else found, descriptions=described)
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{path} is damaged: {error}") from error


def _row(line: bytes, place: str, multi_label: bool) -> dict[str, Any]:
    """Return a line: text, label and weight, or label and description."""
    row = parse_json(line, place)
    try:
        fields = {
            "text": TEXT,
            "label": listed(TEXT) if multi_label else TEXT,
            "weight": number(0),
            "description": TEXT,
        }
        check_fields(row, fields)
        if "label" not in row or ("text" in row) == ("description" in row):
            raise KeyError("label")
        return dict(row)
    except (RetvecLiteError, KeyError, AttributeError, TypeError) as error:
        raise RetvecLiteError(f"{place} has no text and label as a training writes them. Remove the line.") from error


def joined_texts(kept: Dataset, new: Dataset, found: Joined) -> Dataset:
    """Return the older texts that stay, and behind them the newer ones, each of which counts as much as an older one on average."""
    old = kept.select(found.stay)
    more = new.select(found.new)
    weights = (*old.weights, *[float(np.mean(kept.weights))] * len(more)) if kept.weights else ()
    return replace(
        kept, texts=(*old.texts, *more.texts), labels=(*old.labels, *more.labels), weights=weights, rows=(), left_out=()
    )
