"""The functions around a training: `train`, `check` before it, and what it found out.

Importing this module is cheap: TensorFlow is loaded by the calls that need it.
"""

import contextlib
import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from retvec_lite.arguments import checked, takes
from retvec_lite.data import plots
from retvec_lite.data.dataset import READING, Dataset, ReadingOptions, read_dataset
from retvec_lite.data.descriptions import is_described
from retvec_lite.data.kept import TEXTS_NAME, VECTORS_NAME
from retvec_lite.data.sources import refuse_input
from retvec_lite.data.suspects import Check
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import (
    atomic_directory,
    atomic_write,
    refuse_existing,
    refuse_existing_folder,
    require_room,
    require_writable,
)
from retvec_lite.loading import load
from retvec_lite.model.file_sizes import USUAL_KB
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.weight_files import Embedding, TrainedModel, load_trained_model
from retvec_lite.terminal import Progress, watched
from retvec_lite.trained import OWNED_FILES, SAVED_FILES, TrainedClassifier
from retvec_lite.training.request import REJECT_AT, Request, is_made_from, read_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

ValidationData = Dataset | tuple[Sequence[str], Sequence[Any]] | str | os.PathLike[str] | Any
"""What `as_dataset` takes, tables of any library included."""

_ROOM: Final = 8_000_000
"""Bytes of the largest classifier with its report."""
_ROOM_A_CHARACTER: Final = {"texts": 2, "vectors": 60, "nothing": 0}
"""Bytes, about, that what is kept takes for each character of the texts."""


@checked
@takes(read_dataset, *READING)
def train(
    data: Any = None,
    labels: Sequence[Any] | Mapping[Any, str | Sequence[str] | None] | str | os.PathLike[str] | None = None,
    *,
    sample_weight: Sequence[float] | None = None,
    validation: float | ValidationData | Literal["auto"] = "auto",
    unlabelled: Any = None,
    teacher: Literal["auto", "itself"] | Any = "auto",
    head: Literal["auto", "linear", "pool", "cnn", "rnn", "bert"] = "auto",
    embedding: Literal["default", "raw"] | str | os.PathLike[str] | Embedding = "default",
    ngram_kb: int | None = None,
    meaning: Literal["auto", "none"] | str | os.PathLike[str] | MeaningFile = "auto",
    languages: Sequence[str | os.PathLike[str] | MeaningFile] | None = None,
    max_kb: int = USUAL_KB,
    epochs: int | None = None,
    typo_rate: float | None = None,
    class_weights: Literal["sqrt", "balanced", "none"] | str | os.PathLike[str] | Mapping[Any, float] | None = None,
    reject_at: float = REJECT_AT,
    unknown_label: str | None = None,
    seed: int = 0,
    start_from: str | os.PathLike[str] | TrainedClassifier | None = None,
    keep: Literal["texts", "vectors", "nothing"] = "texts",
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
    **reading: "Unpack[ReadingOptions]",
) -> TrainedClassifier:
    """Train a classifier on labelled texts, on names and descriptions of labels, or on both.

    Texts are mistyped on purpose while training, and training stops when accuracy on validation texts, clean and mistyped,
    stops improving.

    Args:
        data: texts (list, NumPy array, pandas Series) with `labels`; or each without `labels`: a CSV, TSV, JSON or Parquet file, a
            folder of them, a pattern such as "data/*.csv", or a list of `pathlib.Path`; a DataFrame of pandas or Polars, or another table; a list of records or of pairs (text, label); a `Dataset`; or "starter" for the
            built-in data.
        labels: a label for each text; or what labels mean, with data that have their own labels or without data: a mapping from labels to
            descriptions (a string, a list of them, or None for the name alone), or a file with the columns label and description.
            Booleans and numbers become strings, as JSON writes them (1 and 1.0: "1", True: "true").
        sample_weight: how much each text counts; only the ratios matter, and 0 leaves a text out.
        validation: labelled file (in Python also other data, or texts and labels), or the share of the data to set aside (default:
            cross-validate up to 3,000 texts, a tenth of more).
        unlabelled: texts of the same kind without labels, such as an inbox, which few labelled texts learn from as well: a .txt (one text a
            line), CSV, TSV, JSON or Parquet file; in Python also a list or a table (default: none).
        teacher: who labels them (default: the encoder of the extra `teacher` where it is installed, else the classifier itself): itself; an
            encoder in a folder, or on a hub (hf://user/model), with model.onnx and tokenizer.json; in Python also an object with `encode` or
            `embed`, several of them, or a classifier with `predict_proba` and `classes_`.
        head: linear (fitted in seconds), pool (small and fast), cnn, rnn or bert (these see word order) (default: chosen by the data).
        embedding: word embedding: a file, or raw for bits alone (default: the built-in one).
        ngram_kb: kilobytes for n-grams (default: as many as int8 files of max_kb have room for; 0: none).
        meaning: what words mean: a file of `python -m makers.meaning`, or none (default: the built-in one if a fifth of the texts are
            in its language); it is read beside n-grams.
        languages: other languages that the classifier shall know besides that of the texts, such as de,es,fr (in Python a list), by what
            words mean.
        max_kb: most kilobytes (1,000 bytes) of a file with integer weights, in every format, which head and n-grams are chosen to fit,
            from 100 to 100,000.
        epochs: most passes over the data (default: chosen by the size of the data).
        typo_rate: mean share of mistyped words in mistyped texts (default: 0.4; 0: no text is mistyped or disguised).
        class_weights: how much the texts of each label count: sqrt (by the root of the inverse frequency), balanced (by the inverse:
            every label counts the same), none, or weights by label, of which only the ratios matter: a mapping or a
            .json file (default: sqrt; none with several labels a text).
        reject_at: share of the right answers to keep when texts that belong to no label are rejected; a smaller share rejects more.
        unknown_label: label in the data of the texts that belong to no other label: never an answer.
        seed: seed of everything random.
        start_from: trained folder that learns from these texts as well, in seconds, as `TrainedClassifier.learn` does; all it chose stays, so no
            other option but `out` and `force` goes with it.
        keep: what the classifier keeps to go on learning: the texts, vectors (what its linear part reads of them, which is no
            encryption), or nothing. Exported files have none of it.
        out: folder for the trained classifier, checked before the training begins. One that this release made from the same texts, labels
            and options is left as it is, and loaded.
        force: replace an earlier classifier in that folder.
        progress: a callback (what, done, total), or True for bars on standard error; where that is no terminal, as in a
            notebook, a line now and then. A sentence to tell comes as (sentence, 0, 0).
        reading: how files and tables are read: `text_column`, `label_column`, `delimiter`, `skip_bad_rows`, `multi_label` and `labels_from`, see `read_dataset`.

    Raises:
        RetvecLiteError: for data that cannot be trained on, or an option out of range.
        ModuleNotFoundError: when a package of the extra `train` is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, epochs=2)
        >>> classifier.labels
        ('alarm', 'delivery')
        >>> classifier = rl.train(labels={"refund": "wants money back", "delivery": ["where is my parcel", "it came late"]})
        >>> classifier.predict("please return what I paid", top=1)[0].label
        'refund'
    """
    given = locals()
    if start_from is not None:
        return _go_on(given)
    if keep == "vectors" and ngram_kb == 0:
        raise RetvecLiteError(
            "The vectors are of n-grams: leave --ngram-kb 0 (ngram_kb) out, or keep texts or nothing."
        )
    earlier = _saved(out, keep)
    if out is not None and earlier is None:
        refuse_existing_folder(out, force)
    request = read_request(given)
    if keep == "vectors" and request.training.descriptions:
        raise RetvecLiteError("Descriptions of labels (labels) are kept as texts: leave --keep vectors (keep) out.")
    if out is not None:
        if earlier and is_made_from(earlier, request):
            with watched(progress) as report:
                report(f"Nothing changed: {os.fspath(out)} was made from these data and options.", 0, 0)
            return TrainedClassifier(earlier, kept=Path(out))
        refuse_existing_folder(out, force)
        require_room(out, _ROOM + _ROOM_A_CHARACTER[keep] * sum(map(len, request.training.texts)))

    with watched(progress) as report:
        if out is None:
            return _fitted(request, keep, report)
        # Opened before the training: a place that cannot be written must not cost a result.
        with atomic_directory(out, force=force, owned=OWNED_FILES) as place:
            classifier = _fitted(request, keep, report)
            classifier._write(place)
        return classifier


def _fitted(request: Request, keep: str, progress: Progress) -> TrainedClassifier:
    """Return a classifier that keeps what it was asked to."""
    from retvec_lite.training.train import fit_classifier

    model, validation, held_out = fit_classifier(request, progress=progress)
    kept: Any = request.training if keep == "texts" else None
    if keep == "vectors" and model.ngrams:  # without them, nothing can be learned from vectors
        from retvec_lite.training.learning import read_vectors

        kept = read_vectors(model, request.training)
    return TrainedClassifier(model, validation, held_out, kept=kept)


def _go_on(given: Mapping[str, Any]) -> TrainedClassifier:
    """Return what `TrainedClassifier.learn` makes of the arguments of `train`.

    Raises:
        RetvecLiteError: for an option that cannot change, and as `TrainedClassifier.learn`.
    """
    if given["data"] is None or is_described(given["labels"]):
        raise RetvecLiteError(
            "A classifier goes on learning from labelled texts (data): to change what labels mean (labels), train anew, without start_from."
        )
    taken = ("data", "labels", "start_from", "out", "force", "progress")
    for name, parameter in inspect.signature(train).parameters.items():
        is_own = name in given and name not in taken
        if is_own and repr(given[name]) != repr(parameter.default):  # an array is equal to nothing
            raise RetvecLiteError(
                f"{name} cannot change when a classifier goes on learning: leave it out, or train anew on all texts, without start_from."
            )
    source = given["start_from"]
    classifier = source if isinstance(source, TrainedClassifier) else load(source)
    if not isinstance(classifier, TrainedClassifier):
        raise RetvecLiteError(
            f"{os.fspath(source)} is an exported file, which cannot go on learning: name the trained folder (start_from)."
        )
    place = {name: given[name] for name in ("out", "force", "progress")}
    return classifier.learn(given["data"], given["labels"], **place, **given["reading"])


def _saved(folder: str | os.PathLike[str] | None, keep: str) -> TrainedModel | None:
    """Return the classifier in a folder with all that a training writes; None where there is none, or a damaged one."""
    kept = {name for name in (TEXTS_NAME, VECTORS_NAME) if folder is not None and (Path(folder) / name).is_file()}
    wanted = {"texts": {TEXTS_NAME}, "vectors": {VECTORS_NAME}, "nothing": set[str]()}[keep]
    if folder is None or kept != wanted or not all((Path(folder) / name).is_file() for name in SAVED_FILES):
        return None
    with contextlib.suppress(RetvecLiteError):
        return load_trained_model(folder)
    return None


@checked
@takes(read_dataset, *READING)
def check(
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    seed: int = 0,
    progress: Progress | bool | None = None,
    **reading: "Unpack[ReadingOptions]",
) -> Check:
    """Find what is doubtful in labelled texts: wrong labels, copies, texts of no label, and labels that are one.

    Each text is answered by a classifier that has not seen it, nor a copy of it: up to 3,000 texts as `train` does, more by n-grams alone.

    Args:
        data: labelled texts, as `train` takes them.
        labels: a label for each text.
        output: CSV file to write the doubtful texts to, most suspicious first: row (counted from 0, without the header), label, suggestion,
            score and text; or an .html file: the worst of each kind as a page with filters.
        force: replace that file if it exists.
        seed: of the folds, and of everything else that is random.
        progress: a callback (what, done, total), or True for bars on standard error.
        reading: how files and tables are read: `text_column`, `label_column`, `delimiter`, `skip_bad_rows` and `multi_label`, see `read_dataset`.

    Returns:
        What was found. `print(check)` shows the worst of each kind.

    Raises:
        RetvecLiteError: for data that cannot be trained on, or a file that exists without `force` or cannot be written.
        ModuleNotFoundError: when a package of the extra `train` is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["Wake me at six!", "wake me at 6", "alarm at noon", "where is my parcel", "where is my parcel?", "track my order"]
        >>> found = rl.check(texts, ["alarm", "alarm", "alarm", "delivery", "alarm", "delivery"])
        >>> [group.labels for group in found.contradictions]
        [('alarm', 'delivery')]
    """
    if output is not None:
        if not os.fspath(output).lower().endswith((".csv", ".html")):
            raise RetvecLiteError(f"What is doubtful is written as .csv or .html, not as {os.fspath(output)}.")
        require_writable(output, force)
        refuse_input(output, data)
    usual = {name: parameter.default for name, parameter in inspect.signature(train).parameters.items()}
    request = read_request({**usual, "data": data, "labels": labels, "seed": seed, "reading": reading})
    from retvec_lite.training.train import answer_all

    with watched(progress) as report:
        found = answer_all(request, report).check
    if output is None:
        return found
    if os.fspath(output).lower().endswith(".html"):
        from retvec_lite.report_page.page import check_page

        refuse_existing(output, force)
        atomic_write(output, check_page(found))
    else:
        found.to_csv(output, force=force)
    return found


@checked
def write_report(classifier: TrainedClassifier, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write what a training found out as one HTML page: verdict, confusions, calibration, learning curve, typos, doubtful texts.

    Works right after a training alone, because the page quotes texts, which no classifier keeps. `train` with `out`, and `save` then,
    write it as `report.html`.

    Args:
        classifier: what `train` returned.
        path: the file to write.
        force: replace it if it exists.

    Raises:
        RetvecLiteError: for a classifier that was loaded, or a file that exists or cannot be written.

    Example:
        >>> import retvec_lite as rl
        >>> from retvec_lite.api import write_report
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, head="linear")
        >>> write_report(classifier, "report.html")
    """
    if classifier.held_out is None:
        raise RetvecLiteError(
            "A loaded classifier has no texts to report on: train it again with --out (in Python: out), which writes report.html."
        )
    from retvec_lite.report_page.page import training_page

    refuse_existing(path, force)
    atomic_write(path, training_page(classifier.model, classifier.validation, classifier.held_out))


@checked
def plot_learning_curve(classifier: TrainedClassifier, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Draw the accuracy on held-out texts against the number of training texts, without the network if one was trained.

    A curve that still climbs says that more texts would help.

    Args:
        classifier: a trained one.
        path: a PNG file to write.
        force: replace it if it exists.

    Raises:
        RetvecLiteError: for another suffix, a file that exists without `force`, or a classifier without n-grams.
        ModuleNotFoundError: when matplotlib is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> from retvec_lite.api import plot_learning_curve
        >>> plot_learning_curve(rl.load("classifier"), "learning.png")
    """
    facts = classifier.training
    if not facts.get("learning_curve"):
        raise RetvecLiteError("This classifier has no learning curve: it was trained without n-grams.")
    refuse_existing(path, force)
    score = "micro F1" if classifier.decision.multi_label else "accuracy"
    title = f"{facts['data']}{' (without the network)' if facts.get('epochs') else ''}"
    plots.plot_learning_curve(facts["learning_curve"], path, title, score, facts.get("largest_label"))
