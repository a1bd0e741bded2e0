"""The functions that start things: `train` and `load`.

Importing this module is cheap: TensorFlow is loaded by the calls that need it.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from retvec_lite.classifier import SAVED_FILES, Classifier
from retvec_lite.data.class_weights import ClassWeights, choose_class_weights
from retvec_lite.data.dataset import Dataset, as_dataset, check_single, check_trainable
from retvec_lite.data.texts import as_texts, read_texts
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import KEPT, atomic_directory, refuse_existing, require_room
from retvec_lite.model.heads import HEADS
from retvec_lite.model.weight_files import Embedding, choose_embedding, load_trained_model
from retvec_lite.runtime.artifact import is_prebuilt
from retvec_lite.runtime.text_classifier import TextClassifier
from retvec_lite.terminal import Progress, watched

_ROOM: Final = 8_000_000
"""Bytes of the largest classifier with its report."""

ValidationData = Dataset | tuple[Sequence[str], Sequence[Any]] | str | os.PathLike[str]


def train(
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    text_column: str = "text",
    label_column: str = "label",
    multi_label: bool | None = None,
    validation: float | ValidationData | Literal["auto"] = "auto",
    head: str = "auto",
    embedding: str | os.PathLike[str] | Embedding = "default",
    fine_tune_embedding: bool = False,
    character_filters: int | None = None,
    ngram_kb: int | None = None,
    max_words: int | Literal["auto"] = "auto",
    epochs: int | None = None,
    typo_rate: float | None = None,
    class_weights: ClassWeights | os.PathLike[str] | None = None,
    unlabelled: Sequence[str] | str | os.PathLike[str] | None = None,
    reject_at: float = 0.99,
    unknown_label: str | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
) -> Classifier:
    """Train a classifier on labelled texts.

    Texts are mistyped on purpose while training, and training stops when accuracy on validation texts, clean and mistyped,
    stops improving.

    Args:
        data: texts (list, NumPy array, pandas Series) with `labels`; or a CSV, TSV or JSON Lines file, a `Dataset`, or
            "starter" for the built-in data, each without `labels`.
        labels: a label for each text.
        text_column: column of the texts in a file.
        label_column: column of the labels in a file.
        multi_label: True: a text may have several labels (a list, or in files separated by `|`), or none. Each label then has a
            probability and a threshold of its own. False: it has one. None is False, but refuses labels that hold a `|`.
        validation: the share of the texts to set aside, or labelled texts: a file, a `Dataset`, or (texts, labels). "auto"
            cross-validates up to 3,000 texts and sets a tenth of more aside.
        head: "auto" (chosen by the data), "linear" (fitted in seconds), "pool" (small and fast), "cnn", "rnn" or "bert" (these see word order).
        embedding: "default" (the built-in one), "raw" (bits alone), a file, or an `Embedding`.
        fine_tune_embedding: also train the word embedding, with character features beside it: more accurate, 2 to 5 times
            slower.
        character_filters: how many character features `fine_tune_embedding` adds; None for 128.
        ngram_kb: kilobytes for n-grams; None fills an int8 file up to 1 MB; 0 leaves them out.
        max_words: word slots; "auto" takes the 99th percentile of the texts.
        epochs: most passes over the data; None chooses by its size.
        typo_rate: mean share of mistyped words in augmented texts; None for 0.4, 0 for none.
        class_weights: how much the texts of each label count: "sqrt" (the root of the inverse frequency), "balanced" (the inverse:
            every label counts the same), "none", label -> weight, or a file of weights (CSV with label,weight, or a JSON
            object). Only their ratios matter. None for "sqrt", and "none" with several labels a text.
        unlabelled: texts without labels to learn from as well: a sequence of strings, or a file as for `read_texts`. The
            classifier labels them, and learns from those it is sure of.
        reject_at: a text whose best label is less probable than a threshold gets none. The threshold keeps this share of the
            right answers to texts that were not trained on, clean and mistyped; a smaller share rejects more texts.
        unknown_label: the label of the texts in `data` that belong to no other. It is never an answer.
        seed: of everything random.
        out: a folder to save the classifier to; it is checked before the training begins. A long training keeps a checkpoint
            beside it: after a kill, the same call goes on where it was. Of several machines (`TF_CONFIG`), the first one
            writes both.
        force: replace an earlier classifier in `out`, and a checkpoint of other data or options.
        progress: a callback (what, done, total), or True for bars on standard error.

    Raises:
        RetvecLiteError: for data that cannot be trained on, an option out of range, or a checkpoint of other data or options.
        ModuleNotFoundError: when TensorFlow is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, epochs=2)
        >>> classifier.labels
        ('alarm', 'delivery')
    """
    slots = _slots(max_words)
    if head not in ("auto", *HEADS):
        raise RetvecLiteError(f"Unknown head {head!r}: choose from auto, {', '.join(HEADS)}.")
    if out is not None:
        refuse_existing(out, force)
    dataset = as_dataset(
        data, labels, text_column=text_column, label_column=label_column, multi_label=bool(multi_label)
    )
    if multi_label is None and not dataset.multi_label:
        check_single(dataset.labels, dataset.path)
    check_trainable(dataset)
    weights = None if class_weights is None else choose_class_weights(class_weights, dataset.classes)
    held_out = _validation(validation, text_column, label_column, dataset.multi_label)
    chosen = choose_embedding(embedding)
    more = _unlabelled(unlabelled, text_column)
    if out is not None:
        require_room(out, _ROOM)

    from retvec_lite.model import load_tensorflow
    from retvec_lite.model.cluster import join_cluster

    cluster = join_cluster()
    load_tensorflow()
    from retvec_lite.training.checkpoint import NAME as CHECKPOINT
    from retvec_lite.training.trainer import train as fit_model

    def run(checkpoint: Path | None = None) -> Classifier:
        with watched(progress) as report:
            trained = fit_model(
                dataset,
                held_out,
                head=head,
                embedding=chosen,
                fine_tune_embedding=fine_tune_embedding,
                character_filters=character_filters,
                ngram_kb=ngram_kb,
                max_words=slots,
                epochs=epochs,
                typo_rate=typo_rate,
                class_weights=weights,
                unlabelled=more,
                reject_at=reject_at,
                unknown_label=unknown_label,
                seed=seed,
                checkpoint=checkpoint,
                force=force,
                progress=report,
            )
        return Classifier(trained.model, trained.validation)

    if out is None or not (cluster is None or cluster.is_chief):
        return run()
    # Opened before the training: a place that cannot be written must not cost a result.
    with atomic_directory(out, force=force, owned=SAVED_FILES) as place:
        classifier = run(place.with_name(KEPT) / CHECKPOINT)
        classifier.write(place)
    return classifier


def load(
    path: str | os.PathLike[str],
    *,
    num_threads: int = 1,
    runtime: str | None = None,
    workers: int | None = None,
    isolated: bool = False,
) -> TextClassifier | Classifier:
    """Load an exported `.tflite`, the folder of a trained classifier, or the language detector in the package.

    Args:
        path: a `.tflite` file, which needs NumPy and a LiteRT runtime only; a folder that `Classifier.save` or
            `retvec-lite train` wrote; or "language" for the detector in the package.
        num_threads: threads of one call of a `.tflite`.
        runtime: "ai-edge-litert" or "tflite-runtime" for a `.tflite`; by default the one that is installed.
        workers: texts of a `.tflite` that are answered at a time; by default one a core.
        isolated: run a `.tflite` in a worker process, so that a file that crashes the runtime is an error. For files from
            others.

    Returns:
        A `TextClassifier` for a file, a `Classifier` for a folder. Both predict and evaluate.

    Raises:
        RetvecLiteError: for something else at `path`, or a runtime that is missing.

    Example:
        >>> import retvec_lite as rl
        >>> rl.load("classifier-int8.tflite").predict("your code is 482913", top=1)[0].label
        'one_time_code'
        >>> rl.load("language").predict("guten Morgen", top=1)[0].label
        'de'
    """
    if is_prebuilt(path) or not os.path.isdir(path):
        return TextClassifier.load(path, num_threads, runtime, workers, isolated)
    return Classifier(load_trained_model(path))


def _slots(max_words: object) -> int | None:
    if max_words == "auto":
        return None
    if isinstance(max_words, bool) or not isinstance(max_words, int) or not 1 <= max_words <= 4096:
        raise RetvecLiteError(f"max_words is 'auto' or an integer from 1 to 4096, not {max_words!r}.")
    return max_words


def _unlabelled(texts: object, text_column: str) -> list[str]:
    """Return the distinct unlabelled texts; none for None."""
    if texts is None:
        return []
    found = read_texts(texts, text_column) if isinstance(texts, (str, os.PathLike)) else as_texts(texts)
    return list(dict.fromkeys(text for text in found if text.strip()))


def _validation(validation: object, text_column: str, label_column: str, multi_label: bool) -> Dataset | float | None:
    if isinstance(validation, str) and validation == "auto":
        return None
    if isinstance(validation, (int, float)):
        if not 0.0 < validation < 1.0:
            raise RetvecLiteError(f"validation is a file or a share between 0 and 1, not {validation:g}.")
        return float(validation)
    data, labels = validation if isinstance(validation, tuple) else (validation, None)
    return as_dataset(
        data, labels, text_column=text_column, label_column=label_column, split="test", multi_label=multi_label
    )
