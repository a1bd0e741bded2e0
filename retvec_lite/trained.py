"""What a trained classifier has beyond its answers: how it was trained, its folder, exports of it, and its learning curve.

Importing this module is cheap: the exporter is loaded by `export`.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from retvec_lite.arguments import checked, takes
from retvec_lite.data.dataset import READING, ReadingOptions, read_dataset
from retvec_lite.data.kept import TEXTS_NAME, VECTORS_NAME
from retvec_lite.data.plots import plot_learning_curve
from retvec_lite.data.rates import Rate, lean
from retvec_lite.data.scores import Evaluation
from retvec_lite.data.suspects import Check, HeldOut
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, atomic_write, explain_os_error, refuse_existing
from retvec_lite.model.rejecting import check_asked, read_threshold, with_threshold, with_unknown_label
from retvec_lite.model.report import CARD_NAME, REPORT_NAME, model_card, report_json, report_of
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFIER_FILE, Artifact
from retvec_lite.terminal import Progress, watched

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from retvec_lite.classifier import Classifier
    from retvec_lite.converters.export_report import Report

PAGE_NAME: Final = "report.html"

SAVED_FILES: Final = (CLASSIFIER_FILE, REPORT_NAME, CARD_NAME, PAGE_NAME)
"""What `Trained.save` writes; the page right after a training only."""

OWNED_FILES: Final = (*SAVED_FILES, TEXTS_NAME, VECTORS_NAME)
"""All that `force` may replace."""


class Trained:
    """The part of a `Classifier` that only a trained one has; for an exported file, each says what to load instead."""

    _source: TrainedModel | Artifact
    validation: dict[float, Evaluation]
    held_out: HeldOut | None

    @property
    def model(self) -> TrainedModel:
        """The weights of a trained one. Raises RetvecLiteError for an exported file."""
        if isinstance(self._source, Artifact):
            raise RetvecLiteError(
                f"{self._source.path} is an exported file, which cannot be saved or exported and knows nothing of its training. Load the "
                "trained folder for that, or the reference.safetensors beside the file."
            )
        return self._source

    @property
    def training(self) -> Mapping[str, Any]:
        """How it was trained: data, settings, epochs, accuracy on validation texts. Raises RetvecLiteError for an exported file."""
        return self.model.training

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
        """Write the files of `save` into a folder that exists, the same bytes for equal classifiers; raises RetvecLiteError when that fails."""
        report = report_of(self.model, {f"{rate:g}": found.to_dict() for rate, found in self.validation.items()})
        contents = [self.model.to_bytes(), report_json(report), model_card(report)]
        if self.held_out:
            contents.append(self._page(self.held_out))
        try:
            for name, content in zip(SAVED_FILES, contents, strict=False):
                (place / name).write_bytes(content)
        except OSError as error:
            raise explain_os_error(error, place) from error

    @checked
    @takes(read_dataset, *READING)
    def with_threshold(
        self,
        threshold: float | None = None,
        *,
        keep: float | None = None,
        false_alarms: float | None = None,
        data: Any = None,
        labels: Sequence[Any] | None = None,
        unknown_label: str | None = None,
        progress: Progress | bool | None = None,
        **reading: "Unpack[ReadingOptions]",
    ) -> "Classifier":
        """Return a classifier like this one with another threshold of rejection, without training again.

        Pass one of `threshold`, `keep` and `false_alarms`. Without data, shares are those of the held-out texts of the training, clean and
        with a few typos, as for `reject_at` of `train`; with data, those of its texts as they are, in the table that `evaluate` prints.
        Of the thresholds in the table, the one next to a share keeps at least as many right answers, or gives at most as many false alarms.

        Args:
            threshold: the threshold itself, as in the tables of `evaluate`.
            keep: share of the right answers to keep, every label counting the same.
            false_alarms: share of the texts of no label that may be answered. In a filter of spam these are the harmless texts: pass their
                label as `unknown_label`, and nothing but spam is an answer.
            data: labelled texts to choose by, as `evaluate` takes them.
            labels: the right label of each text.
            unknown_label: the label in the data of the texts of no label; that of the training is known. One of the classifier's own is
                never an answer from then on, as with `unknown_label` of `train`.
            progress: a callback (what, done, total), or True for a bar on standard error.
            reading: how files and tables are read: `text_column`, `label_column`, `delimiter`, `skip_bad_rows` and `multi_label`, see
                `read_dataset`.

        Raises:
            RetvecLiteError: for an exported file, a classifier that may give several labels, a share out of range, data without what it
                is to be chosen by, or where no threshold is right.

        Example:
            >>> import retvec_lite as rl
            >>> classifier = rl.load("classifier")
            >>> careful = classifier.with_threshold(keep=0.9)
            >>> careful.decision.threshold >= classifier.decision.threshold
            True
        """
        whole, model = cast("Classifier", self), self.model
        if model.multi_label:
            raise RetvecLiteError(
                "with_threshold and reject_at are for classifiers that give a text one label: where a text may have several, each label "
                "has a threshold that the training chose."
            )
        asked = {"threshold": threshold, "keep": keep, "false_alarms": false_alarms}
        check_asked(asked)
        has_data = data is not None
        if not has_data and (labels is not None or unknown_label not in (None, *model.labels)):
            raise RetvecLiteError("labels and unknown_label are for texts to choose by: pass those as data.")
        if unknown_label in model.labels and unknown_label != model.decision.unknown_label:
            whole = whole.like(with_unknown_label(model, str(unknown_label), not has_data and threshold is None))
        if has_data:
            evaluation = whole.evaluate(
                data, labels, unknown_label=unknown_label, typos=(), progress=progress, **reading
            )
            rates: Sequence[Rate] = evaluation.rejection.rates if evaluation.rejection else ()
        else:
            rates = [Rate(*row) for row in whole.training.get("rates", ())]
        if threshold is None:
            threshold = read_threshold(rates, keep, false_alarms, has_data=has_data)
            if keep is not None and not has_data:
                answers = self.training.get("right_answers", math.inf)
                threshold = lean(threshold, keep, answers, self.model.decision, len(self.model.labels))
        return whole.like(with_threshold(whole.model, float(threshold), None if has_data else keep))

    @checked
    def write_report(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write what the training found out as one HTML page: verdict, confusions, calibration, learning curve, typos, doubtful texts.

        Works right after a training alone, because the page quotes texts, which no classifier keeps. `train` with `out`, and `save` then,
        write it as `report.html`.

        Args:
            path: the file to write.
            force: replace it if it exists.

        Raises:
            RetvecLiteError: for a classifier that was loaded, or a file that exists or cannot be written.

        Example:
            >>> import retvec_lite as rl
            >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
            >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, head="linear")
            >>> classifier.write_report("report.html")
        """
        if self.held_out is None:
            raise RetvecLiteError(
                "A loaded classifier has no texts to report on: train it again with --out (in Python: out), which writes report.html."
            )
        refuse_existing(path, force)
        atomic_write(path, self._page(self.held_out))

    def _page(self, held_out: HeldOut) -> bytes:
        from retvec_lite.report_page.page import training_page

        return training_page(self.model, self.validation, held_out)

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

    def check(self) -> Check:
        """Return what is doubtful in the texts that the training held out: of up to 3,000 texts all, of more a tenth.

        Raises:
            RetvecLiteError: for a classifier that was loaded.

        Example:
            >>> import retvec_lite as rl
            >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"]
            >>> rl.train(texts, ["alarm", "alarm", "delivery", "delivery"], epochs=2).check().texts
            4
        """
        if self.held_out is None:
            raise RetvecLiteError(
                "A classifier that was loaded does not have the texts of its training: check them with `retvec-lite check DATA` "
                "(in Python: retvec_lite.check(data))."
            )
        return self.held_out.check

    @checked
    def plot_learning_curve(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Draw the accuracy on held-out texts against the number of training texts, without the network if one was trained.

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
        score = "micro F1" if self.model.multi_label else "accuracy"
        title = f"{self.training['data']}{_without_network(self.training)}"
        plot_learning_curve(points, path, title, score, self.training.get("largest_label"))


def _without_network(facts: Mapping[str, Any]) -> str:
    """Return what a title adds to a learning curve: whether the classifier has a part that its curve leaves out."""
    return " (without the network)" if facts.get("epochs") else ""
