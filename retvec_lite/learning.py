"""Going on learning: `Classifier.learn`, what it tells, and what a trained classifier keeps for it."""

import dataclasses
import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from retvec_lite.arguments import checked, takes
from retvec_lite.data.comparison import Answer, Comparison, compare_answers
from retvec_lite.data.dataset import READING, Dataset, ReadingOptions, as_dataset, read_dataset
from retvec_lite.data.kept import TEXTS_NAME, VECTORS_NAME, read_texts_file, texts_bytes
from retvec_lite.data.warnings import check_single
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, explain_os_error
from retvec_lite.runtime.artifact import CLASSIFIER_FILE
from retvec_lite.terminal import Progress, draw, one_line, watched
from retvec_lite.trained import OWNED_FILES, Trained

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from retvec_lite.classifier import Classifier
    from retvec_lite.training.learning import Kept

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
        known = f" {self.repeated:,} were there already." if self.repeated else ""
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


class Learning(Trained):
    """The part of a `Classifier` that goes on learning."""

    decision: Decision
    lesson: Lesson | None = None
    """What `learn` taught this classifier, right after it; otherwise None."""
    _kept: "Kept | Path | None" = None

    def keeping(self, kept: "Kept | Path | None") -> "Classifier":
        """Keep texts, or what is read of them, or what a folder has of either, to go on learning; return the classifier itself."""
        self._kept = kept
        return cast("Classifier", self)

    @property
    def kept(self) -> "Kept | None":
        """What is kept of the texts of the training: a `Dataset`, or what is read of them; None for nothing.

        Raises:
            RetvecLiteError: for an exported file, or a file in the trained folder that is damaged.
        """
        model = self.model
        if isinstance(self._kept, Path):
            folder = self._kept if self._kept.is_dir() else self._kept.parent
            if (folder / TEXTS_NAME).is_file():
                self._kept = read_texts_file(folder / TEXTS_NAME, model.multi_label)
            elif (folder / VECTORS_NAME).is_file():
                from retvec_lite.training.kept_vectors import read_vectors_file

                self._kept = read_vectors_file(folder / VECTORS_NAME)
            else:
                self._kept = None
            if self._kept and (odd := sorted(set(self._kept.classes) - set(model.labels))):
                raise RetvecLiteError(
                    f"{folder} keeps texts of {odd[0]!r}, which its classifier does not know: train it again."
                )
        return self._kept

    def write(self, place: Path) -> None:
        """Write the files of `save` into a folder that exists, as `Trained.write` does, and what is kept to go on learning."""
        super().write(place)
        kept = self.kept
        if kept is None:
            return
        name, content = (
            (TEXTS_NAME, texts_bytes(kept)) if isinstance(kept, Dataset) else (VECTORS_NAME, kept.to_bytes())
        )
        try:
            (place / name).write_bytes(content)
        except OSError as error:
            raise explain_os_error(error, place) from error

    @checked
    @takes(read_dataset, *READING)
    def learn(
        self,
        data: Any,
        labels: Sequence[Any] | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
        **reading: "Unpack[ReadingOptions]",
    ) -> "Classifier":
        """Return a classifier that has learned from more texts as well, in a fraction of the time of a training.

        A text that was there, but for case, punctuation and spaces, has its newer label from now on; of several such texts in the data the
        last one counts. Labels may be new. The classifier needs what `train` keeps (`keep`) of the texts before. What those chose stays as
        it is, such as which n-grams are read, a network and thresholds; `lesson` of the new one tells what changed.

        Args:
            data: labelled texts, as `train` takes them.
            labels: a label for each text.
            out: folder for the new classifier; it may be that of this one.
            force: replace an earlier classifier in that folder.
            progress: a callback (what, done, total), or True for bars on standard error.
            reading: how files and tables are read: `text_column`, `label_column`, `delimiter`, `skip_bad_rows`, `multi_label` and `labels_from`, see `read_dataset`.

        Raises:
            RetvecLiteError: for an exported file, a classifier that keeps nothing, data that cannot be learned from, or a folder that
                exists without `force` or cannot be written.
            ModuleNotFoundError: when a package of the extra `train` is not installed.

        Example:
            >>> import retvec_lite as rl
            >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
            >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, epochs=2)
            >>> better = classifier.learn(["play some jazz", "play rock music"], ["music", "music"])
            >>> better.labels
            ('alarm', 'delivery', 'music')
        """
        if out is None or self._is_in(out, force):
            new = self._newer(data, labels, reading)
            # A folder that has this classifier stays as it is, its report.html too, where there is nothing to learn.
            if out is None or not self._changes(new):
                return self._learned(new, progress)
        with atomic_directory(out, force=force, owned=OWNED_FILES) as place:
            found = self._learned(self._newer(data, labels, reading), progress)
            found.write(place)
        return found

    def _is_in(self, folder: str | os.PathLike[str], force: bool) -> bool:
        """Return whether a folder that may be replaced has this classifier."""
        try:
            return force and (Path(folder) / CLASSIFIER_FILE).read_bytes() == self.model.to_bytes()
        except OSError:
            return False

    def _changes(self, new: Dataset) -> bool:
        """Return whether there is something to learn from texts."""
        from retvec_lite.training.learning import changes

        kept = self.kept
        return kept is not None and bool(changes(kept, new).new)

    def _newer(self, data: Any, labels: Sequence[Any] | None, reading: "ReadingOptions") -> Dataset:
        """Return the texts to learn from, checked; they have one label each, or several, as the classifier gives them."""
        several = self.model.multi_label
        if self.kept is None:
            raise RetvecLiteError(
                "This classifier keeps nothing of its training texts, so it cannot go on learning: train it again on all texts, old and "
                "new (retvec-lite train OLD.csv NEW.csv --out DIR), without --keep nothing (keep)."
            )
        if "taught" in self.model.training:
            raise RetvecLiteError(
                "This classifier was trained with texts without labels, which it does not keep: train it again on all labelled texts, old and "
                "new, with the same --unlabelled (unlabelled)."
            )
        has, gives = ("several labels", "one") if not several else ("one label", "several")
        asked = reading.get("multi_label")
        if asked not in (None, several) or (isinstance(data, Dataset) and data.multi_label != several):
            raise RetvecLiteError(
                f"This classifier gives a text {gives}, so it cannot learn from texts with {has}: train another one on them."
            )
        reading["multi_label"] = several
        new = as_dataset(data, labels, **reading)
        if asked is None and not several and not any("|" in label for label in self.model.labels):
            check_single(new.labels, new.path)
        return new

    def _learned(self, new: Dataset, progress: Progress | bool | None) -> "Classifier":
        """Return the classifier that has learned from texts, with what that changed as its `lesson`."""
        from retvec_lite.training.learning import changes, learn

        whole, kept = cast("Classifier", self), self.kept
        assert kept is not None
        found = changes(kept, new)
        if not found.new:
            result = whole.like(self.model)
            result.lesson = Lesson(0, 0, found.repeated)
            return result
        none = {label for label in (self.decision.unknown_label,) if label is not None}
        texts = new.select(found.new)
        with watched(progress) as report:
            answers = answers_of(whole, texts.texts, none, "earlier classifier", report)
            before = compare_answers(texts, answers, answers, none=none).old_accuracy
            model, kept_now = learn(self.model, kept, new, found, before, report)
            result = whole.like(model).keeping(kept_now)
            # What was measured is of the earlier training: its facts have it, but no page shows it as the new one's.
            result.validation, result.held_out = {}, None
            answers = answers_of(result, texts.texts, none, "new classifier", report)
            after = compare_answers(texts, answers, answers, none=none).new_accuracy
            forgotten = None
            if isinstance(kept, Dataset) and found.stay:
                same = kept.select(found.stay[:: -(-len(found.stay) // _COMPARED)])
                same = dataclasses.replace(same, path=Path("the earlier texts"), left_out=())
                both = [answers_of(each, same.texts, none, "earlier texts", report) for each in (whole, result)]
                forgotten = compare_answers(same, *both, none=none)
        result.lesson = Lesson(
            len(found.new) - found.corrected,
            found.corrected,
            found.repeated,
            tuple(sorted(set(model.labels) - set(self.model.labels))),
            before,
            after,
            forgotten,
            _ADVICE if model.training["linear"]["few"] and model.training["training_texts"] > _FEW_TEXTS else "",
        )
        return result


def answers_of(
    classifier: "Classifier",
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
