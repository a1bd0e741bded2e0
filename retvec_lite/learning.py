"""Going on learning: what a trained classifier keeps for it, how it learns from more texts, and what it tells then."""

import dataclasses
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from retvec_lite.classifier import Classifier
from retvec_lite.data.comparison import Answer, Comparison, compare_answers
from retvec_lite.data.dataset import Dataset, ReadingOptions, as_dataset
from retvec_lite.data.kept import TEXTS_NAME, VECTORS_NAME, read_texts_file, texts_bytes
from retvec_lite.data.warnings import check_single, labels_alike
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import Progress, draw, one_line

if TYPE_CHECKING:
    from retvec_lite.training.learning import Kept

Made = TypeVar("Made", bound=Classifier)

_CHUNK: Final = 512
"""Texts between two reports of progress."""
_COMPARED: Final = 2_000
"""Texts of the earlier training that are answered again, most: so many tell what was forgotten."""
_FEW_TEXTS: Final = 3_000
"""Texts up to which a training makes the kind of classifier that knows sentences."""
_ADVICE: Final = "With more than 3,000 texts, a training of all of them makes another kind of classifier: try it."


@dataclasses.dataclass(frozen=True)
class Lesson:
    """What a classifier learned last. `print(lesson)` shows it.

    Attributes:
        added: how many texts are new.
        corrected: how many were there with another label.
        repeated: how many were there already, or came again later on.
        new_labels: labels that it did not know.
        before: share of the texts that were added or corrected that the earlier classifier got right, which had not seen them so.
        after: the same of the new one, which has.
        comparison: both on texts of the earlier training, which both have seen: what was forgotten. None where no text was kept, or
            nothing was learned.
        advice: what else to do.
    """

    added: int
    corrected: int
    repeated: int
    new_labels: tuple[str, ...] = ()
    before: float | None = None
    after: float | None = None
    comparison: Comparison | None = None
    advice: str = ""

    def __str__(self) -> str:
        known = f" {self.repeated:,} were there already, or came again." if self.repeated else ""
        if self.before is None:
            return f"Nothing changed: there is no text to learn from that was not there with this label.{known}"
        labels = f" New labels: {', '.join(map(one_line, self.new_labels))}." if self.new_labels else ""
        parts = [
            f"Learned {self.added:,} new {'text' if self.added == 1 else 'texts'} and {self.corrected:,} corrected "
            f"{'one' if self.corrected == 1 else 'ones'}.{known}{labels}",
            f"Of these texts, the earlier classifier got {self.before:.1%} right, which had not learned from them; the new one, which "
            f"has, gets {self.after:.1%} right.",
        ]
        if self.comparison:
            parts += [
                "",
                "What became of texts that were there before, which both have learned from:",
                str(self.comparison),
            ]
        parts += [
            "",
            "The figures of the training are of the earlier one. Compare both on texts that neither has seen: "
            "retvec-lite compare OLD NEW --data test.csv. A training of all texts measures anew.",
            self.advice,
        ]
        return draw(*parts).rstrip()


def read_kept(place: Path, model: TrainedModel) -> "Kept | None":
    """Return what a trained folder, by its own path or that of its classifier, keeps of the texts: a `Dataset`, what is read of them, or None.

    Raises:
        RetvecLiteError: for a file that is damaged, or of another classifier.
    """
    folder = place if place.is_dir() else place.parent
    kept: Kept | None = None
    if (folder / TEXTS_NAME).is_file():
        kept = read_texts_file(folder / TEXTS_NAME, model.multi_label)
    elif (folder / VECTORS_NAME).is_file():
        from retvec_lite.training.kept_vectors import read_vectors_file

        kept = read_vectors_file(folder / VECTORS_NAME)
    if kept and (odd := sorted(set(kept.classes) - set(model.labels))):
        raise RetvecLiteError(
            f"{folder} keeps texts of {odd[0]!r}, which its classifier does not know: train it again."
        )
    return kept


def kept_file(kept: "Kept") -> tuple[str, bytes]:
    """Return the name and the content of the file that `read_kept` reads."""
    return (TEXTS_NAME, texts_bytes(kept)) if isinstance(kept, Dataset) else (VECTORS_NAME, kept.to_bytes())


def newer_texts(
    model: TrainedModel, has_kept: bool, data: Any, labels: Sequence[Any] | None, reading: "ReadingOptions"
) -> Dataset:
    """Return the texts to learn from, checked; they have one label each, or several, as the classifier gives them."""
    if not has_kept:
        raise RetvecLiteError(
            "This classifier keeps nothing of its training texts, so it cannot go on learning: train it again on all texts, old and "
            "new (retvec-lite train OLD.csv NEW.csv --out DIR), without --keep nothing (keep)."
        )
    if "taught" in model.training and model.training["unlabelled_texts"]:
        raise RetvecLiteError(
            "This classifier was trained with texts without labels, which it does not keep: train it again on all labelled texts, old and "
            "new, with the same --unlabelled (unlabelled)."
        )
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


def taught_more(
    old: Made,
    model: TrainedModel,
    kept: "Kept",
    new: Dataset,
    make: Callable[[TrainedModel, "Kept"], Made],
    progress: Progress,
) -> tuple[Made, Lesson]:
    """Return a classifier that has learned from texts as well, and what that changed.

    Args:
        old: the classifier that learns.
        model: its weights.
        kept: what is kept of its texts.
        new: the texts to learn from.
        make: makes a classifier of weights, and of what it is to keep.
        progress: the callback.
    """
    from retvec_lite.training.learning import changes, learn

    found = changes(kept, new)
    if not found.new:
        return make(model, kept), Lesson(0, 0, found.repeated)
    none = {label for label in (old.decision.unknown_label,) if label is not None}
    texts = new.select(found.new)

    def right(classifier: Classifier, what: str) -> float:
        answers = answers_of(classifier, texts.texts, none, what, progress)
        return compare_answers(texts, answers, answers, none=none).old_accuracy

    before = right(old, "earlier classifier")
    better, kept_now = learn(model, kept, new, found, before, progress)
    result = make(better, kept_now)
    after = right(result, "new classifier")
    forgotten = None
    if isinstance(kept, Dataset) and found.stay:
        same = kept.select(found.stay[:: -(-len(found.stay) // _COMPARED)])
        same = dataclasses.replace(same, path=Path("the earlier texts"), left_out=())
        both = [answers_of(each, same.texts, none, "earlier texts", progress) for each in (old, result)]
        forgotten = compare_answers(same, *both, none=none)
    new_labels = tuple(sorted(set(better.labels) - set(model.labels)))
    advice = list(labels_alike(better.labels, new_labels))
    if better.training["linear"]["few"] and better.training["training_texts"] > _FEW_TEXTS:
        advice.append(_ADVICE)
    counts = (len(found.new) - found.corrected, found.corrected, found.repeated)
    return result, Lesson(*counts, new_labels, before, after, forgotten, " ".join(advice))


def answers_of(
    classifier: Classifier,
    texts: Sequence[str],
    none: Container[str],
    what: str,
    progress: Progress,
    *,
    reject: bool = True,
) -> list[Answer]:
    """Return what a classifier answers; a label that means `none` of the others is no label."""
    several, found = classifier.decision.multi_label, []
    for done, predictions in enumerate(classifier.predict_many(texts, None if several else 1, reject=reject), 1):
        labels = [label for label, _ in predictions if label is not None and label not in none]
        probability = min((probability for _, probability in predictions), default=None)
        found.append(Answer(tuple(sorted(labels)), probability))
        if not done % _CHUNK or done == len(texts):
            progress(what, done, len(texts))
    return found
