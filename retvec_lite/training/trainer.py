"""Training: from labelled texts to a trained model of a network, of n-grams, or of both.

Few texts are cross-validated: every text is predicted by a model that has not seen it, what the parts count is learned from
these predictions, and the model that is kept learns from all texts. With many texts, a tenth of them is enough to decide; the
linear part, which is quickly fitted again, then learns from that tenth as well.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.data.class_weights import ClassWeights
from retvec_lite.data.dataset import Dataset, check_trainable, split
from retvec_lite.data.scores import Evaluation
from retvec_lite.data.warnings import data_warnings
from retvec_lite.decision import letters_and_digits
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HEADS, HeadSpec, LinearHead
from retvec_lite.model.predict import predictor
from retvec_lite.model.weight_files import Embedding, TrainedModel
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.checkpoint import Checkpoint, origin
from retvec_lite.training.examples import TrainingData, prepare
from retvec_lite.training.folds import Folds, choose_folds
from retvec_lite.training.parts import Parts
from retvec_lite.training.rejection import REJECT_AT, check_rejection
from retvec_lite.training.report import judge
from retvec_lite.training.settings import FitSettings, recommended
from retvec_lite.training.sizes import choose_buckets, choose_head
from retvec_lite.version import __version__

_SURE: Final = 0.5
"""Probability from which a label that was predicted counts as right."""

_INTEGERS: Final = {
    "max_words": (1, 4096),
    "epochs": (1, None),
    "character_filters": (0, 1024),
    "ngram_kb": (0, 100_000),
    "seed": (0, 2**31 - 1),
}
"""Least and largest value of the arguments that are integers."""


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model and its validation scores at each share of mistyped words."""

    model: TrainedModel
    validation: Mapping[float, Evaluation]


def train(
    training: Dataset,
    validation: Dataset | float | None = None,
    *,
    head: str = "auto",
    embedding: Embedding | None = None,
    fine_tune_embedding: bool = False,
    max_words: int | None = None,
    epochs: int | None = None,
    typo_rate: float | None = None,
    character_filters: int | None = None,
    ngram_kb: int | None = None,
    class_weights: ClassWeights | None = None,
    unlabelled: Sequence[str] = (),
    reject_at: float = REJECT_AT,
    unknown_label: str | None = None,
    seed: int = 0,
    settings: FitSettings | None = None,
    checkpoint: Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Trained:
    """Train a classifier.

    Settings that are None follow the number of texts that are trained on, see `recommended`.

    Args:
        training: labelled texts.
        validation: labelled texts of the same labels, or the share of `training` to set aside; None cross-validates few texts
            and sets a tenth of many aside.
        head: `linear`, `pool`, `cnn`, `rnn` or `bert`; `auto`: see `choose_head`.
        embedding: pre-trained word embedding; None for RETVec-raw.
        fine_tune_embedding: train the embedding as well, and character features beside it.
        max_words: word slots; None takes the 99th percentile of the training texts.
        epochs: passes over the training texts at most.
        typo_rate: mean share of mistyped words in an augmented text; 0 turns augmentation off.
        character_filters: number of character features beside a fine-tuned embedding.
        ngram_kb: kilobytes of the table of n-grams; None fills an int8 file up to 1 MB; 0 leaves n-grams out.
        class_weights: how much the texts of each label count, see `choose_class_weights`.
        unlabelled: texts without labels to learn from as well, see `label_texts`. Validation scores are those of the classifier
            that labels them.
        reject_at: share of the right answers that the threshold for texts that belong to no label keeps.
        unknown_label: the label of the texts in `training` that belong to no other.
        seed: of everything random.
        settings: all settings at once, for experiments; replaces `recommended`, `epochs`, `typo_rate`,
            `character_filters`, `class_weights` and `seed`.
        checkpoint: a file to keep a long training in; one that is there goes on where it was. None keeps nothing.
        force: begin again where the file belongs to another training.
        progress: receives (what is going on, done, total).

    Raises:
        RetvecLiteError: for an argument out of range, data that cannot be trained on, labels in validation that training
            lacks, a checkpoint of another training without `force`, or a loss that is no longer finite.
    """
    chosen = {
        "epochs": epochs,
        "typo_rate": typo_rate,
        "character_filters": character_filters,
        "class_weights": class_weights,
        "seed": seed,
    }
    _check(head, embedding, fine_tune_embedding, {"max_words": max_words, "ngram_kb": ngram_kb, **chosen})
    check_trainable(training)
    check_rejection(training, reject_at, unknown_label)
    if training.multi_label and unlabelled:
        raise RetvecLiteError("unlabelled needs data with one label a text: leave it out with multi_label.")
    kept = Checkpoint(
        checkpoint,
        origin(
            training,
            validation,
            embedding,
            unlabelled,
            {
                "head": head,
                "fine_tune_embedding": fine_tune_embedding,
                "max_words": max_words,
                "ngram_kb": ngram_kb,
                **chosen,
                "settings": settings and dataclasses.asdict(settings),
            },
        ),
        force,
    )
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    multi_label, fixed = training.multi_label, settings

    def settings_for(texts: Dataset) -> FitSettings:
        return fixed or recommended(len(texts), fine_tune=fine_tune_embedding, multi_label=multi_label, **given)

    warnings = data_warnings(training, validation if isinstance(validation, Dataset) else None)
    training, validation, folds, with_held_out = _divide(training, validation, fixed.seed if fixed else seed)
    settings = settings_for(training)
    data = prepare(
        training,
        validation,
        **settings.typos,
        word_length=embedding.word_length if embedding else EncoderConfig.word_length,
        max_words=max_words,
        progress=progress,
    )
    weights = embedding.weights if embedding else {}
    spec, buckets = _choose_parts(head, data, weights, settings, ngram_kb)
    options: dict[str, Any] = {
        "fine_tune": fine_tune_embedding,
        "progress": progress,
        "with_held_out": with_held_out and settings.refit,
        "checkpoint": kept,
    }
    parts = Parts(data, spec, weights, buckets, settings=settings, **options)
    judged = judge(parts.learn(folds), validation.labels, data, folds, reject_at, unknown_label)
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": training.path.name,
        "training_texts": len(training),
        "validation_texts": len(validation),
        "warnings": warnings,
        "folds": folds.count if folds else 0,
        "multi_label": multi_label,
        "texts_cut_by_max_words": data.share_cut,
        "fine_tuned_embedding": fine_tune_embedding,
        "settings": dataclasses.asdict(settings),
        "reject_at": reject_at,
        **parts.facts(folds),
        **judged.facts(),
    }
    about = {"name": embedding.name, "card": embedding.card} if embedding else {"name": "raw", "card": {}}
    model = TrainedModel(data.config, spec, data.labels, parts.weights(), about, facts, parts.ngrams, judged.decision)
    if unlabelled:
        more = label_texts(model, unlabelled, training)
        facts["unlabelled_texts"] = len(more) - len(training)
        settings = settings_for(more)
        data = prepare(more, validation, **settings.typos, config=data.config, progress=progress)
        again = Parts(data, spec, weights, buckets, settings=settings, **options)
        again.learn_as(parts, folds)
        decision = dataclasses.replace(
            judged.decision, characters=letters_and_digits(more.texts, data.config.contract_version)
        )
        model = dataclasses.replace(model, weights=again.weights(), decision=decision)
    return Trained(model, judged.scores)


class _Divided(NamedTuple):
    """What to learn from and what decides; the folds where both are the same texts.

    `with_held_out`: texts that were set aside here, and not by the user, are learned from in the end.
    """

    training: Dataset
    validation: Dataset
    folds: Folds | None
    with_held_out: bool


def _divide(training: Dataset, validation: Dataset | float | None, seed: int) -> _Divided:
    """Divide the texts, see `train`.

    Raises:
        RetvecLiteError: for a label of the validation texts that does not occur in the training texts.
    """
    if isinstance(validation, Dataset):
        missing = sorted(set(validation.classes) - set(training.classes))
        if missing:
            raise RetvecLiteError(
                f"The label {missing[0]!r} of {validation.path} does not occur in {training.path}. "
                "Add texts of it there, or remove it from the validation texts."
            )
        return _Divided(training, validation, None, with_held_out=False)
    if validation is None and (folds := choose_folds(training, seed)):
        return _Divided(training, training, folds, with_held_out=False)
    return _Divided(*split(training, 0.1 if validation is None else validation, seed), None, with_held_out=True)


def _choose_parts(
    head: str, data: TrainingData, weights: Mapping[str, Floats], settings: FitSettings, ngram_kb: int | None
) -> tuple[HeadSpec, int]:
    """Return the head and the number of buckets of n-grams beside it; arguments as for `choose_head`.

    Raises:
        RetvecLiteError: for the head linear without room for n-grams.
    """
    spec = HEADS[choose_head(data, weights, settings, ngram_kb) if head == "auto" else head]()
    buckets = choose_buckets(spec, weights, len(data.labels), data.config, settings, ngram_kb)
    if isinstance(spec, LinearHead) and not buckets:
        raise RetvecLiteError(
            "The head linear needs n-grams, and there is no room for 128 buckets of them: choose a larger ngram_kb or another head."
        )
    return spec, buckets


def label_texts(model: TrainedModel, texts: Sequence[str], training: Dataset) -> Dataset:
    """Return the training texts, and those texts whose label the model is sure of: self-training.

    Yarowsky 1995, https://aclanthology.org/P95-1026.
    """
    probabilities = predictor(model)(texts)
    sure = np.flatnonzero(probabilities.max(axis=1) >= _SURE)
    labels = (model.labels[place] for place in probabilities[sure].argmax(axis=1))
    return Dataset((*training.texts, *(texts[row] for row in sure)), (*training.labels, *labels), training.path)


def _check(head: str, embedding: Embedding | None, fine_tune: bool, given: Mapping[str, Any]) -> None:
    """Refuse arguments that are out of range or do not go together, before any work is done."""
    if head not in ("auto", *HEADS):
        raise RetvecLiteError(f"Unknown head {head!r}: choose from auto, {', '.join(HEADS)}.")
    if head == LinearHead.name and fine_tune:
        raise RetvecLiteError("fine_tune_embedding needs a network: the head linear reads the embedding as it is.")
    if fine_tune and embedding is None:
        raise RetvecLiteError("fine_tune_embedding needs an embedding: 'raw' has no weights to train.")
    for name, (least, largest) in _INTEGERS.items():
        value = given[name]
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (is_integer and least <= value <= (value if largest is None else largest)):
            limits = f"of at least {least}" if largest is None else f"from {least} to {largest}"
            raise RetvecLiteError(f"{name} must be an integer {limits}, not {value!r}.")
    rate = given["typo_rate"]
    if rate is not None and not (isinstance(rate, (int, float)) and 0.0 <= rate <= 1.0):
        raise RetvecLiteError(f"typo_rate must be a share from 0 to 1, not {rate!r}.")
    if given["character_filters"] is not None and not fine_tune:
        raise RetvecLiteError(
            "character_filters needs fine_tune_embedding: a frozen embedding has no character features."
        )
