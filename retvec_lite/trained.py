"""`TrainedClassifier`: a classifier with its weights: how it was trained, its folder, exports of it, and going on learning.

Importing this module is cheap: the exporter is loaded by `export`, TensorFlow by none that predicts.
"""

import dataclasses
import functools
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retvec_lite.arguments import checked, takes
from retvec_lite.card import CARD_NAME, REPORT_NAME, model_card, report_json, report_of
from retvec_lite.classifier import Classifier
from retvec_lite.data.dataset import Dataset, Reading, ReadingOptions
from retvec_lite.data.rejection import Rate, check_asked, lean, read_threshold, without_answer
from retvec_lite.data.suspects import HeldOutAnswers
from retvec_lite.errors import RetvecLiteError
from retvec_lite.evaluating import evaluate
from retvec_lite.evidence import Facts
from retvec_lite.files import ANSWERS, WORK, atomic_directory, explain_os_error
from retvec_lite.learning import TEXTS_NAME, Lesson, is_in, joined, newer_texts, options_of, read_kept, texts_bytes
from retvec_lite.model.facts import facts_at
from retvec_lite.model.reference_network import Reference
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.answers import DAMAGED
from retvec_lite.runtime.artifact import CLASSIFIER_FILE, Artifact
from retvec_lite.runtime.pool import USUAL, Running, Runs
from retvec_lite.summary import summary
from retvec_lite.terminal import Progress, watched
from retvec_lite.training.request import Request, read_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from retvec_lite.converters.export_report import Report

PAGE_NAME: Final = "report.html"

SAVED_FILES: Final = (CLASSIFIER_FILE, REPORT_NAME, CARD_NAME, PAGE_NAME)
"""What `TrainedClassifier.save` writes; the page right after a training only."""

OWNED_FILES: Final = (*SAVED_FILES, TEXTS_NAME)
"""All that `force` may replace."""


class TrainedClassifier(Classifier):
    """A `Classifier` with its weights, which can be saved, exported, and go on learning. `train` makes one, and `load` of a trained folder.

    It answers as its `.retvec` with int8 weights does, which the C engine runs, built in memory: what is measured is what a phone will say.
    Where no engine can run it, a warning says why, and the NumPy reference answers.

    Attributes:
        model: the weights.
        validation: what it scored on validation texts at each share of mistyped words, right after its training; otherwise empty.
        held_out: what it answered to texts that the answering fit had not seen, right after its training; otherwise None.
        lesson: what `learn` taught it, right after that; otherwise None.

    Example:
        >>> import retvec_lite as rl
        >>> isinstance(rl.load("classifier"), rl.TrainedClassifier)
        True
    """

    def __init__(
        self,
        model: TrainedModel,
        held_out: HeldOutAnswers | None = None,
        *,
        kept: Dataset | Path | None = None,
        running: Running = USUAL,
    ) -> None:
        """Wrap weights, and what is kept of the texts of their training, or where."""
        self.model, self.held_out = model, held_out
        self.validation = dict(held_out.validation) if held_out else {}
        self.lesson: Lesson | None = None
        self._kept = kept
        self._begin(model.labels, model.encoder, model.decision, running)
        running.refuse_litert()

    def __getstate__(self) -> dict[str, Any]:
        # Texts stay here: other processes answer, and need none of them.
        return {**super().__getstate__(), "held_out": None, "_kept": None}

    def _like(self, model: TrainedModel, kept: Dataset | Path | None) -> "TrainedClassifier":
        """Return a classifier of another model with the options of this one, and what it answered to held-out texts."""
        made = TrainedClassifier(model, self.held_out, kept=kept, running=self._running)
        made.validation = self.validation
        return made

    @functools.cached_property
    def _file(self) -> Artifact | None:  # type: ignore[override]  # built when it is first asked for
        from retvec_lite.converters.engine import in_memory

        try:
            return in_memory(self.model)
        except FloatingPointError as error:
            raise RetvecLiteError(f"This classifier cannot answer: {DAMAGED}") from error
        except RetvecLiteError as error:
            warnings.warn(f"{error} Until then the NumPy reference answers, which is slow.", stacklevel=4)
            return None

    @functools.cached_property
    def _engine(self) -> tuple[str, Callable[[], Runs]]:
        if self._file is not None:
            return super()._engine
        if self._running.isolated:
            raise RetvecLiteError("Without an engine, a trained classifier cannot be isolated: export it as .tflite.")
        make: Any = functools.partial(Reference, self.model)  # which is asked for probabilities alone
        return "numpy", make

    @property
    def training(self) -> Mapping[str, Any]:
        """How it was trained: data, settings, epochs, accuracy on validation texts."""
        return self.model.training

    @property
    def kept(self) -> Dataset | None:
        """The texts of the training; None where they are not kept.

        Raises:
            RetvecLiteError: for a file in the trained folder that is damaged.
        """
        if isinstance(self._kept, Path):
            self._kept = read_kept(self._kept, self.model)
        return self._kept

    @checked
    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the classifier and its model card as a folder; `load` reads it back.

        Args:
            folder: the folder to make; an empty one may exist.
            force: replace an earlier classifier in it.

        Raises:
            RetvecLiteError: for a folder that exists without `force`, holds other files, or cannot be written.

        Example:
            >>> import retvec_lite as rl
            >>> rl.load("classifier").save("copy")
            >>> rl.load("copy").labels == rl.load("classifier").labels
            True
        """
        with atomic_directory(folder, force=force, owned=OWNED_FILES) as place:
            self._write(place)

    def _write(self, place: Path) -> None:
        """Write the files of `save` into a folder that exists, the same bytes for equal classifiers, and what is kept to go on learning."""
        report = report_of(self.model, {f"{rate:g}": found.to_dict() for rate, found in self.validation.items()})
        contents = [self.model.to_bytes(), report_json(report), model_card(report)]
        if self.held_out:
            from retvec_lite.report_page import training_page

            contents.append(training_page(self.model, self.held_out))
        files = [
            *zip(SAVED_FILES, contents, strict=False),
            *(() if self.kept is None else [(TEXTS_NAME, texts_bytes(self.kept))]),
        ]
        try:
            for name, content in files:
                (place / name).write_bytes(content)
        except OSError as error:
            raise explain_os_error(error, place) from error

    @checked
    @takes(Reading)
    def with_threshold(
        self,
        threshold: float | None = None,
        *,
        keep: float | None = None,
        right: float | None = None,
        false_alarms: float | None = None,
        data: Any = None,
        labels: Sequence[Any] | None = None,
        unknown_label: str | None = None,
        progress: Progress | bool | None = None,
        **reading: "Unpack[ReadingOptions]",
    ) -> "TrainedClassifier":
        """Return a classifier like this one with another threshold of rejection, without training again.

        Pass one of `threshold`, `keep`, `right` and `false_alarms`. Without data, shares are those of the held-out texts of the training, clean and
        with a few typos, as for `reject_at` of `train`; with data, those of its texts as they are, in the table that `evaluate` prints.
        Of the thresholds in the table, the one next to a share is taken that keeps it.

        Args:
            threshold: the threshold itself, as in the tables of `evaluate`.
            keep: share of the right answers to keep, every label counting the same.
            right: share of the answers that are right, with 95 % confidence: the others are for a person. The lowest such threshold is taken.
            false_alarms: share of the texts of no label that may be answered. In a filter of spam these are the harmless texts: pass their
                label as `unknown_label`, and nothing but spam is an answer.
            data: labelled texts to choose by, as `evaluate` takes them.
            labels: the right label of each text.
            unknown_label: the label in the data of the texts of no label; that of the training is known. One of the classifier's own is
                never an answer from then on, as with `unknown_label` of `train`.
            progress: a callback (what, done, total), or True for a bar on standard error.
            reading: see `data.dataset.Reading`.

        Raises:
            RetvecLiteError: for several labels a text, a share out of range, data without what to choose by, or where no threshold is right.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier")
            >>> careful = classifier.with_threshold(keep=0.9)
            >>> careful.decision.threshold >= classifier.decision.threshold
            True
        """
        whole, model = self, self.model
        if model.multi_label:
            raise RetvecLiteError(
                "with_threshold and reject_at are for classifiers that give a text one label: where a text may have several, each label "
                "has a threshold that the training chose."
            )
        asked = {"threshold": threshold, "keep": keep, "right": right, "false_alarms": false_alarms}
        check_asked(asked)
        has_data = data is not None
        if not has_data and (labels is not None or unknown_label not in (None, *model.labels)):
            raise RetvecLiteError("labels and unknown_label are for texts to choose by: pass those as data.")
        if unknown_label in model.labels and unknown_label != model.decision.unknown_label:
            blind = not has_data and threshold is None
            decision, facts = without_answer(model.decision, model.training, str(unknown_label), blind)
            whole = self._like(dataclasses.replace(model, decision=decision, training=facts), self._kept)
        if has_data:
            scores = evaluate(whole, data, labels, unknown_label=unknown_label, typos=(), progress=progress, **reading)
            assert scores.rejection is not None
            rates, texts = scores.rejection.rates, float(scores.texts + scores.rejection.unknown_texts)
        else:
            rates = tuple(Rate(*row) for row in whole.training.get("rates", ()))
            texts = Facts(whole.training, model.labels, model.decision).independent
        if threshold is None:
            threshold = read_threshold(rates, asked, texts, has_data=has_data)
            if keep is not None and not has_data:
                answers = whole.training.get("right_answers", math.inf)
                threshold = lean(threshold, keep, answers, model.decision, len(model.labels))
        decision = dataclasses.replace(whole.decision, threshold=float(threshold))
        facts = facts_at(whole.training, None if has_data else keep)
        return self._like(dataclasses.replace(whole.model, decision=decision, training=facts), self._kept)

    @checked
    def export(
        self,
        out: str | os.PathLike[str],
        *,
        formats: str | Sequence[str] = ("tflite",),
        recipes: str | Sequence[str] = ("int8",),
        embed: bool = False,
        data: str | os.PathLike[str] | None = None,
        android: str | os.PathLike[str] | None = None,
        reject_at: float | None = None,
        name: str | None = None,
        model_version: int | None = None,
        sign: str | os.PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
    ) -> "Report":
        """Write and verify `.tflite`, `.mlpackage`, `.retvec` and `.onnx` files, with labels, golden texts, a manifest, a report and the float reference.

        Args:
            out: the folder to make.
            formats: "tflite", "coreml", "engine", "onnx", or several (a list, or "all").
            recipes: how weights are stored: "int8", "int4", "float32".
            embed: let `.tflite` files also answer the embeddings of a text and of its words.
            data: a labelled file to measure what rounding the weights costs; the starter texts by default.
            android: an Android project to put the model and its test texts into as well.
            reject_at: share of the right answers to keep, as for `train` (default: as it was trained; see `with_threshold`).
            name: of the model, the same for all its versions; it stands in every file, with `model_version`.
            model_version: a whole number that grows from one update to the next, such as 7.
            sign: file with the private key of `make_key`, which signs `manifest.json` for updates; needs `name` and the extra `sign`.
            force: replace an earlier export.
            progress: a callback (what, done, total), or True for progress on standard error.

        Returns:
            What was written, how big it is, and where it was shown to be right. `print(report)` shows a table.

        Raises:
            IncompleteExportError: where some files cannot be made: they are too large, or compute something else than the reference.
                The others are written, in place of an earlier export, and its `report` lists them.
            RetvecLiteError: for options that do not go together, a folder that exists without `force`, or where no file can be made.
                Nothing is changed then.

        Example:
            >>> import retvec_lite as rl
            >>> report = rl.load("classifier").export("dist", recipes=("int8", "float32"))
            >>> [path.name for path in report.files]
            ['classifier-int8.tflite', 'classifier-float32.tflite']
        """
        from retvec_lite.converters.export import export_model

        if reject_at is not None:
            check_asked({"reject_at": reject_at})
        model = self.model if reject_at is None else self.with_threshold(keep=reject_at).model
        with watched(progress) as report:
            return export_model(
                model,
                out,
                formats=formats,
                recipes=recipes,
                embed=embed,
                data=data,
                android=android,
                name=name,
                model_version=model_version,
                sign=sign,
                force=force,
                progress=report,
            )

    @checked
    @takes(Reading)
    def learn(
        self,
        data: Any,
        labels: Sequence[Any] | None = None,
        *,
        unlabelled: Any = None,
        teacher: Any = "auto",
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
        **reading: "Unpack[ReadingOptions]",
    ) -> "TrainedClassifier":
        """Return a classifier that is trained as this one was, on the texts that it kept and on more.

        A text that was there, but for case, punctuation and spaces, has its newer label from now on; of several such texts in the data the
        last one counts. Labels may be new. It takes as long as a training of all texts. `lesson` of the new one tells what was new;
        `compare` tells what became better and worse.

        Args:
            data: labelled texts, as `train` takes them.
            labels: a label for each text.
            unlabelled: texts without labels, which are not kept: give them again. `out` keeps what a teacher said of them.
            teacher: what labels them, as for `train`.
            out: folder for the new classifier; it may be that of this one.
            force: replace an earlier classifier in that folder.
            progress: a callback (what, done, total), or True for bars on standard error.
            reading: see `data.dataset.Reading`.

        Raises:
            RetvecLiteError: for a classifier that keeps no texts (`keep` of `train`), or was trained with texts without labels that are not
                given again, or with files of your own; data to learn nothing from; or a folder that exists or cannot be written.
            ModuleNotFoundError: when a package of the extra `train` is not installed.

        Example:
            >>> import retvec_lite as rl
            >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
            >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, epochs=2)
            >>> better = classifier.learn(["play some jazz", "play rock music"], ["music", "music"])
            >>> better.labels
            ('alarm', 'delivery', 'music')
        """
        options = options_of(self.model, unlabelled=unlabelled, teacher=teacher)
        both, lesson = joined(self.kept, newer_texts(self.model, data, labels, reading))
        same = not lesson.changes and unlabelled is None

        def learned(report: Progress) -> "TrainedClassifier":
            if same:
                return self._like(self.model, self.kept)
            result = fitted(read_request(both, None, options), True, report, out)
            chosen = self.model.decision.threshold
            return result if "reject_at" in self.training or chosen is None else result.with_threshold(chosen)

        with watched(progress) as report:
            # A folder that has this classifier stays as it is, its report.html too, where there is nothing to learn.
            stays = same and out is not None and force and is_in(out, self.model)
            result = written(lambda: learned(report), None if stays else out, force)
        result.lesson = lesson
        return result

    def _head(self) -> str:
        return self.model.head.name

    def __str__(self) -> str:
        return summary(self.model, self.held_out)


def fitted(request: Request, keep: bool, progress: Progress, out: str | os.PathLike[str] | None) -> TrainedClassifier:
    """Train what is asked for; `keep` its texts to go on learning, and what a teacher says in the folder for it."""
    from retvec_lite.training.train import fit_classifier

    answers = None if out is None or not keep else Path(os.path.realpath(out)) / WORK / ANSWERS
    model, held_out = fit_classifier(dataclasses.replace(request, answers=answers), progress=progress)
    return TrainedClassifier(model, held_out, kept=request.training if keep else None)


def written(
    make: Callable[[], TrainedClassifier], out: str | os.PathLike[str] | None, force: bool
) -> TrainedClassifier:
    """Make a classifier, and write it into a folder if one is given, which is opened before: a place that cannot be written must cost no result."""
    if out is None:
        return make()
    with atomic_directory(out, force=force, owned=OWNED_FILES) as place:
        classifier = make()
        classifier._write(place)
    return classifier
