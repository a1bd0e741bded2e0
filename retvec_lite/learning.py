"""Going on learning: what a trained classifier keeps of its training, and what it is trained on when more texts have come."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retvec_lite.arguments import checked
from retvec_lite.data.dataset import Dataset, ReadingOptions, as_dataset
from retvec_lite.data.kept import TEXTS_NAME, join, joined_texts, read_texts_file, text_keys
from retvec_lite.data.warnings import check_single
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import one_line
from retvec_lite.training.options import TrainOptions
from retvec_lite.training.request import OWN


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

    def __str__(self) -> str:
        known = f" {self.repeated:,} were there already, or came again." if self.repeated else ""
        if not self.added + self.corrected:
            return f"Nothing changed: there is no text to learn from that was not there with this label.{known}"
        labels = f" New labels: {', '.join(map(one_line, self.new_labels))}." if self.new_labels else ""
        return (
            f"Learned {self.added:,} new {'text' if self.added == 1 else 'texts'} and {self.corrected:,} corrected "
            f"{'one' if self.corrected == 1 else 'ones'}.{known}{labels}"
        )


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
    return kept


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


def joined(model: TrainedModel, kept: Dataset | None, new: Dataset) -> tuple[Dataset | None, Lesson]:
    """Return the texts that were kept with newer ones, None where these change nothing; and what is new."""
    assert kept is not None
    found = join(text_keys(kept.texts), kept.labels, text_keys(new.texts), new.labels)
    labels = tuple(sorted({*new.select(found.new).classes} - {*model.labels}))
    lesson = Lesson(len(found.new) - found.corrected, found.corrected, found.repeated, labels)
    return joined_texts(kept, new, found) if found.new else None, lesson


def options_of(model: TrainedModel, has_kept: bool) -> TrainOptions:
    """Return the options that a classifier was trained with. Labelled texts that it was tested on are not kept: it is tested as others are then.

    Raises:
        RetvecLiteError: where they name texts, files or objects that it does not keep, or it keeps no texts.
    """
    if not has_kept:
        raise RetvecLiteError(
            "This classifier keeps nothing of its training texts, so it cannot go on learning: train it again on all texts, old and "
            "new (retvec-lite train OLD.csv NEW.csv --out DIR), without --keep nothing (keep)."
        )
    record = {name: value for name, value in model.training.get("options", {}).items() if value not in (None, [])}
    if str(record.get("validation")).startswith(OWN):
        del record["validation"]
    if model.training.get("unlabelled_texts") == 0:  # they were left out, because they cost right answers
        record = {name: value for name, value in record.items() if name not in ("unlabelled", "teacher")}
    if own := [name for name, value in record.items() if OWN in str(value)]:
        raise RetvecLiteError(
            f"This classifier does not keep what it was given as --{own[0]} ({own[0]}): train it again on all texts, old and new, with the same."
        )
    unknown, threshold = model.decision.unknown_label, model.training.get("reject_at")
    chosen_since = {"unknown_label": unknown} | ({} if threshold is None else {"reject_at": threshold})
    try:
        return checked(TrainOptions)(**{**record, **chosen_since, "multi_label": model.multi_label})
    except TypeError as error:
        raise RetvecLiteError(f"This classifier does not tell how it was trained: {error}. Train it again.") from error
