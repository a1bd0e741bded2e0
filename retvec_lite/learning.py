"""Going on learning: the texts that a trained classifier keeps, how newer ones join them, and the options that it is trained with again.

The texts are a file of JSON lines, which a person can read, and `read_dataset` as well. They are told apart by what is written, numbers
included: copies in the wider sense of `data.copies` may well have two labels.
"""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.data.copies import as_written
from retvec_lite.data.dataset import Dataset, ReadingOptions, as_dataset
from retvec_lite.data.labels import join_labels
from retvec_lite.data.lines import explained
from retvec_lite.data.texts import encodable
from retvec_lite.data.warnings import check_single
from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import TEXT, check_fields, listed, number, parse_json
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFIER_FILE
from retvec_lite.terminal import counted, one_line
from retvec_lite.training.options import TrainOptions
from retvec_lite.training.request import NONE_LABEL, OWN

TEXTS_NAME: Final = "texts.jsonl"
"""Where a trained folder keeps the texts."""


@dataclasses.dataclass(frozen=True)
class Lesson:
    """What a classifier learned last. `print(lesson)` shows it.

    Attributes:
        added: how many texts are new.
        corrected: how many were there with another label.
        repeated: how many were there already, or came again later on.
        new_labels: labels that it did not know.
    """

    added: int
    corrected: int
    repeated: int
    new_labels: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """How many texts there are to learn from."""
        return self.added + self.corrected

    def __str__(self) -> str:
        known = f" {self.repeated:,} were there already, or came again." if self.repeated else ""
        if not self.changes:
            return f"Nothing is new: there is no text to learn from that was not there with this label.{known}"
        labels = f" New labels: {', '.join(map(one_line, self.new_labels))}." if self.new_labels else ""
        learned = f"{counted(self.added, 'new text')} and {counted(self.corrected, 'corrected one')}"
        return f"Learned {learned}.{known}{labels}"


def joined(kept: Dataset | None, new: Dataset) -> tuple[Dataset, Lesson]:
    """Return texts that were kept, and behind them newer ones, each of which counts as much as an older one on average; and what is new.

    Where a text has another label, the newer label counts, and the last one of all.

    Raises:
        RetvecLiteError: where none were kept.
    """
    if kept is None:
        raise RetvecLiteError(
            "This classifier keeps nothing of its training texts, so it cannot go on learning: train it again on all texts, old and "
            "new (retvec-lite train OLD.csv NEW.csv --out DIR), without --keep nothing (keep)."
        )
    keys, new_keys = as_written(kept.texts), as_written(new.texts)
    last = {key: place for place, key in enumerate(new_keys)}
    labels_of: dict[str, set[str]] = {}
    for key, label in zip(keys, kept.labels, strict=True):
        labels_of.setdefault(key, set()).add(label)
    # A text that had two labels is one text with the newer label from then on.
    corrected = {key for key, place in last.items() if labels_of.get(key, set()) - {new.labels[place]}}
    rows = sorted(place for key, place in last.items() if key in corrected or key not in labels_of)
    old, more = kept.select(row for row, key in enumerate(keys) if key not in corrected), new.select(rows)
    lesson = Lesson(
        len(rows) - len(corrected),
        len(corrected),
        len(new_keys) - len(rows),
        tuple(sorted({*more.classes} - {*kept.classes})),
    )
    weights = (*old.weights, *[float(np.mean(kept.weights))] * len(more)) if kept.weights else ()
    texts, labels = (*old.texts, *more.texts), (*old.labels, *more.labels)
    return dataclasses.replace(kept, texts=texts, labels=labels, weights=weights, rows=(), left_out=()), lesson


# --- what a trained folder has ---


def texts_bytes(dataset: Dataset) -> bytes:
    """Return the content of the file: a line for each text, with its label, and its weight if they have any; then one for each description."""
    weights: Sequence[float | None] = dataset.weights or [None] * len(dataset)
    rows = zip(dataset.texts, dataset.label_sets if dataset.multi_label else dataset.labels, weights, strict=True)
    lines = [
        _line({"text": encodable(text), "label": label} | ({} if weight is None else {"weight": weight}))
        for text, label, weight in rows
    ]
    lines += [_line({"label": label, "description": encodable(text)}) for label, text in dataset.descriptions]
    return b"".join(lines)


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def is_in(folder: str | os.PathLike[str], model: TrainedModel) -> bool:
    """Return whether a folder has this classifier."""
    try:
        return (Path(folder) / CLASSIFIER_FILE).read_bytes() == model.to_bytes()
    except OSError:
        return False


def read_texts_file(path: Path, multi_label: bool) -> Dataset:
    """Read the file; rows may have been removed from it by hand.

    Raises:
        RetvecLiteError: for a file that cannot be read, or a line that `texts_bytes` would not write.
    """
    with explained(path):
        lines = path.read_bytes().split(b"\n")
    rows = [_row(line, f"{path}, line {number}", multi_label) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise RetvecLiteError(f"{path} holds no texts to go on from: train again on all texts.")
    described = tuple((row["label"], row["description"]) for row in rows if "description" in row)
    rows = [row for row in rows if "text" in row]
    labels = tuple(join_labels(row["label"]) if multi_label else row["label"] for row in rows)
    weights = tuple(row["weight"] for row in rows if row.get("weight") is not None)
    found = Dataset(tuple(row["text"] for row in rows), labels, path, multi_label, weights=weights)
    try:
        return dataclasses.replace(as_dataset(found) if rows else found, descriptions=described)
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


def read_kept(place: Path, model: TrainedModel) -> Dataset | None:
    """Return the texts that a trained folder keeps, found by its own path or that of its classifier; None without any.

    Raises:
        RetvecLiteError: for a file that is damaged, or of another classifier.
    """
    file = (place if place.is_dir() else place.parent) / TEXTS_NAME
    if not file.is_file():
        return None
    kept = read_texts_file(file, model.multi_label)
    if odd := sorted(set(kept.classes) - set(model.labels)):
        raise RetvecLiteError(f"{file} has texts of {odd[0]!r}, which its classifier does not know: train it again.")
    return dataclasses.replace(kept, path=Path(model.training.get("data", file)))  # as its reports call it


def newer_texts(model: TrainedModel, data: Any, labels: Sequence[Any] | None, reading: ReadingOptions) -> Dataset:
    """Return the texts to learn from, checked; they have one label each, or several, as the classifier gives them."""
    several = model.multi_label
    has, gives = ("several labels", "one") if not several else ("one label", "several")
    asked = reading.get("multi_label")
    if asked not in (None, several) or (isinstance(data, Dataset) and data.multi_label != several):
        raise RetvecLiteError(
            f"This classifier gives a text {gives}, so it cannot learn from texts with {has}: train another one on them."
        )
    reading["multi_label"] = several
    new = as_dataset(data, labels, **reading)
    if asked is None and not several and not any("|" in label for label in model.labels):
        check_single(new.labels, new.path)
    return new


def options_of(model: TrainedModel, **given: Any) -> TrainOptions:
    """Return the options that a classifier was trained with, and those that are given again, but None. Labelled texts that it was tested on are not kept.

    Raises:
        RetvecLiteError: where they name texts, files or objects that it does not keep.
    """
    again = {name: value for name, value in given.items() if value is not None}
    kept = {name: value for name, value in model.training.get("options", {}).items() if value not in (None, [])}
    record = {name: value for name, value in kept.items() if name not in again}
    if str(record.get("validation")).startswith(OWN):
        del record["validation"]
    if model.training.get("unlabelled_texts") == 0:  # they were left out, because they cost right answers
        record = {name: value for name, value in record.items() if name not in ("unlabelled", "teacher")}
    if own := [name for name, value in record.items() if OWN in str(value)]:
        raise RetvecLiteError(
            f"This classifier does not keep what it was given as --{own[0]} ({own[0]}): "
            f"{'give' if own[0] == 'unlabelled' else 'train it again on all texts, old and new, and give'} it the same again."
        )
    unknown, threshold = model.decision.unknown_label, model.training.get("reject_at")
    chosen_since = {} if unknown == NONE_LABEL else {"unknown_label": unknown}
    chosen_since |= {} if threshold is None else {"reject_at": threshold}
    try:
        return checked(TrainOptions)(**{**record, **chosen_since, **again, "multi_label": model.multi_label})
    except TypeError as error:
        raise RetvecLiteError(f"This classifier does not tell how it was trained: {error}. Train it again.") from error
