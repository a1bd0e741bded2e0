"""`Classifier`: what training gives, to predict, evaluate, save and export.

Importing this module is cheap: TensorFlow and the exporter are loaded by the calls that need them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats
from retvec_lite.data.plots import plot_learning_curve
from retvec_lite.data.scores import Evaluation
from retvec_lite.data.texts import as_texts, chunks
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, explain_os_error, refuse_existing
from retvec_lite.model.file_sizes import describe_sizes
from retvec_lite.model.report import CARD_NAME, REPORT_NAME, describe_meaning, model_card, report_json, report_of
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFIER_FILE
from retvec_lite.runtime.predictor import Predictor
from retvec_lite.terminal import Progress, watched
from retvec_lite.windows import answer_in_windows

if TYPE_CHECKING:
    from retvec_lite.converters.export import Report

SAVED_FILES: Final = (CLASSIFIER_FILE, REPORT_NAME, CARD_NAME)
"""What `Classifier.save` writes."""

OWNED_FILES: Final = (*SAVED_FILES, "training.json", "labels.txt")
"""All that `force` may replace: earlier releases wrote more."""

_BATCH: Final = 64
"""Texts of a stream that are answered at a time."""


class Classifier(Predictor):
    """A trained classifier: predict, evaluate, save and export it. `train` and `load` make one.

    It computes with TensorFlow in float32 what every exported file is compared with.

    Attributes:
        labels: the classes, in the order of `probabilities`' columns.
        config: how texts become words.
        decision: when a text belongs to none of the labels.
        training: how it was trained: data, settings, epochs, accuracy on validation texts.
        validation: what it scored on validation texts at each share of mistyped words; empty for one that was loaded.
        model: its weights.

    Example:
        >>> import retvec_lite as rl
        >>> classifier = rl.load("classifier")
        >>> classifier.predict("wkae me up at half past six", top=1)[0].label
        'alarm'
    """

    runtime = "tensorflow"

    def __init__(self, model: TrainedModel, validation: Mapping[float, Evaluation] | None = None) -> None:
        """Wrap a trained model; `train` and `load` do so."""
        self.model = model
        self.labels = model.labels
        self.config = model.encoder
        self.decision = model.decision
        self.validation = dict(validation or {})
        self._predict: Callable[[Sequence[str]], Floats] | None = None

    @property
    def training(self) -> Mapping[str, Any]:
        """How it was trained: data, settings, epochs, accuracy on validation texts."""
        return self.model.training

    def probabilities(self, texts: str | Iterable[str]) -> Floats:
        """Return the probability of each label for each text.

        Args:
            texts: one text or several (list, NumPy array, pandas Series).

        Returns:
            float32 `[texts, labels]`, columns in the order of `labels`.

        Raises:
            RetvecLiteError: for something else than strings.

        Example:
            >>> import retvec_lite as rl
            >>> rl.load("classifier").probabilities(["hello", "where is my parcel?"]).shape[0]
            2
        """
        found = as_texts(texts)
        if self._predict is None:
            from retvec_lite.model import load_tensorflow

            load_tensorflow()
            from retvec_lite.model.network_graph import predictor

            self._predict = predictor(self.model)
        compute = self._predict
        return answer_in_windows(
            lambda windows: self._require_probabilities(compute(windows)), found, self.config, self._combined
        )

    def _probabilities_of(self, texts: Iterable[object]) -> Iterator[tuple[list[str], Floats]]:
        for chunk in chunks(texts, _BATCH):
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk, self.probabilities(chunk)

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
            self.write(place)

    def write(self, place: Path) -> None:
        """Write the files of `save` into a folder that exists; raises RetvecLiteError when that fails."""
        report = report_of(self.model, {f"{rate:g}": found.to_dict() for rate, found in self.validation.items()})
        contents = (self.model.to_bytes(), report_json(report), model_card(report))
        try:
            for name, content in zip(SAVED_FILES, contents, strict=True):
                (place / name).write_bytes(content)
        except OSError as error:
            raise explain_os_error(error, place) from error

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
        force: bool = False,
        progress: Progress | bool | None = None,
    ) -> "Report":
        """Write and verify `.tflite` files and `.mlpackage`s, with labels, golden texts, a report and the float reference.

        Args:
            out: the folder to make.
            formats: "tflite", "coreml", "engine", or several (a list, or "all").
            recipes: how weights are stored: "int8", "int4", "float32".
            embed: let `.tflite` files also answer the embeddings of a text and of its words.
            data: a labelled file to measure what rounding the weights costs; the starter texts by default.
            android: an Android project to put the model and its test texts into as well.
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

        with watched(progress) as report:
            return export_model(
                self.model,
                out,
                formats=formats,
                recipes=recipes,
                embed=embed,
                data=data,
                android=android,
                force=force,
                progress=report,
            )

    @checked
    def plot_learning_curve(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Draw the accuracy on held-out texts against the number of training texts, without the network.

        A curve that still climbs says that more texts would help.

        Args:
            path: a PNG file to write.
            force: replace it if it exists.

        Raises:
            RetvecLiteError: for another suffix, a file that exists without `force`, or a classifier without n-grams.
            ModuleNotFoundError: when matplotlib is not installed.

        Example:
            >>> import retvec_lite as rl
            >>> rl.load("classifier").plot_learning_curve("learning.png")
        """
        points = self.training.get("learning_curve")
        if not points:
            raise RetvecLiteError("This classifier has no learning curve: it was trained without n-grams.")
        refuse_existing(path, force)
        score = "micro F1" if self.decision.multi_label else "accuracy"
        plot_learning_curve(points, path, f"{self.training['data']}: without the network", score)

    def __repr__(self) -> str:
        return f"<Classifier {self.model.head.name}, {len(self.labels)} labels>"

    def __str__(self) -> str:
        from retvec_lite.terminal import Table, draw, margin, printable

        facts = self.training
        ngrams = f" with {self.model.ngrams.buckets:,} buckets of n-grams" if self.model.ngrams else ""
        # Classifiers of earlier releases, and those that were not trained with `train`, tell less.
        folds, epochs = facts.get("folds", 0), facts.get("epochs")
        texts = f"{facts['training_texts']:,} training texts, " if "training_texts" in facts else ""
        cut = [
            f"{facts[name]:.1%} {what}"
            for name, what in (
                ("texts_cut_by_max_words", "of the texts were cut"),
                ("texts_in_windows", "are read in windows"),
            )
            if name in facts
        ]
        about_cut = f" ({', '.join(cut)})" if cut else ""
        about_epochs = f", {epochs} epochs" if epochs else ""
        if epochs and not folds and "best_epoch" in facts:
            about_epochs = f", best of {epochs} epochs: {facts['best_epoch']}"
        parts: list[str | Table] = [
            f"{self.model.head.name}{ngrams} on {printable(facts.get('data', 'unknown data'))}: {texts}{len(self.labels)} labels, "
            f"{self.config.max_words} word slots of {self.config.max_chars} code points"
            f"{about_cut}{about_epochs}."
        ]
        if "estimated_bytes" in facts:
            parts.append(describe_sizes(facts["estimated_bytes"]))
        if about := describe_meaning(facts.get("meaning", {})):
            parts.append(about)
        names = {"accuracy": "accuracy", "macro_f1": "macro F1", "calibration_error": "calibration error"}
        if self.decision.multi_label:
            names = {"micro_f1": "micro F1", **names, "accuracy": "all labels right"}
        names |= {"in_scope_unknown": "unknown", "unknown_recognized": "unknown recognized"}
        found = sorted(facts.get("validation", {}).items(), key=lambda item: float(item[0]))
        names = {key: name for key, name in names.items() if all(scores.get(key) is not None for _, scores in found)}
        score = next(iter(names))
        rows = [(f"{float(rate):.0%}", *(f"{scores[key]:.3f}" for key in names)) for rate, scores in found]
        way = f"cross-validated in {folds} folds" if folds else f"{facts.get('validation_texts', 0):,} texts"
        title = f"Validation ({way})"
        if found:
            parts.append(Table(title, ("mistyped words", *names.values()), rows, frozenset(names.values())))
        if self.decision.threshold is not None:
            parts.append(f"Texts are unknown where the probability of the best label is {self.decision.rule}.")
        if "accuracy_error" in facts and found:
            clean = facts["validation"]["0"][score]
            expected = f"{clean:.1%} ({margin(facts['accuracy_error'])})"
            is_less = folds and f"{clean:.1%}" != f"{1:.1%}"
            more = " or more, because each fold learned from a part of the texts only" if is_less else ""
            what = f"a {names[score]} of " if self.decision.multi_label else ""
            parts.append(f"Expect {what}{expected} on clean texts like these{more}.")
        if facts.get("warnings"):
            parts.append("Check your data:\n" + "\n".join(f"- {printable(warning)}" for warning in facts["warnings"]))
        if facts.get("learning_curve"):
            curve = [(f"{texts:,}", f"{accuracy:.3f}") for texts, accuracy in facts["learning_curve"]]
            numbers = ("training texts", names[score])
            parts.append(Table("Would more texts help? (without the network)", numbers, curve, frozenset(numbers)))
        if facts.get("confusions"):
            rows = [(expected, predicted, f"{texts:,}") for expected, predicted, texts in facts["confusions"]]
            columns = ("expected", "predicted", "texts")
            parts.append(Table("Confusions (no typos)", columns, rows, frozenset({"texts"})))
        return draw(*parts)

    def __getstate__(self) -> dict[str, Any]:
        # A compiled graph belongs to its process.
        return {**self.__dict__, "_predict": None}
