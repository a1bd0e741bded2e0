"""From labelled texts to a trained model and its validation scores."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset, check_trainable, split
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HEADS
from retvec_lite.model.weight_files import Embedding, TrainedModel, load_default_embedding, load_embedding
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.examples import prepare
from retvec_lite.training.fit import FitSettings, fit, recommended
from retvec_lite.version import __version__

_INTEGERS: Final = {"max_words": (1, 4096), "epochs": (1, None), "character_filters": (0, 1024), "seed": (0, 2**31 - 1)}
"""Least and largest value of the arguments that are integers."""


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model and its validation scores at each share of mistyped words."""

    model: TrainedModel
    validation: Mapping[float, Evaluation]


def choose_embedding(embedding: str | os.PathLike[str] | Embedding) -> Embedding | None:
    """Return the word embedding that a name, a file or an object means.

    Args:
        embedding: `default` (the one in the package), `raw` (None: bits only), an embedding file, or an `Embedding`.

    Raises:
        RetvecLiteError: for a file that is missing or no embedding.
    """
    if isinstance(embedding, Embedding):
        return embedding
    if embedding == "raw":
        return None
    return load_default_embedding() if embedding == "default" else load_embedding(Path(embedding))


def train(
    training: Dataset,
    validation: Dataset | float,
    *,
    head: str = "pool",
    embedding: Embedding | None = None,
    fine_tune_embedding: bool = False,
    max_words: int | None = None,
    epochs: int | None = None,
    typo_rate: float | None = None,
    character_filters: int | None = None,
    seed: int = 0,
    settings: FitSettings | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train a classifier.

    Settings that are None follow the number of texts that are trained on, see `recommended`.

    Args:
        training: labelled texts.
        validation: labelled texts of the same labels, or the share of `training` to set aside.
        head: `pool`, `cnn`, `rnn` or `bert`.
        embedding: pre-trained word embedding; None for RETVec-raw.
        fine_tune_embedding: train the embedding as well, and character features beside it.
        max_words: word slots; None takes the 99th percentile of the training texts.
        epochs: passes over the training texts at most.
        typo_rate: mean share of mistyped words in an augmented text; 0 turns augmentation off.
        character_filters: number of character features beside a fine-tuned embedding.
        seed: of everything random.
        settings: all settings at once, for experiments; replaces `recommended`, `epochs`, `typo_rate`,
            `character_filters` and `seed`.
        progress: receives (what is going on, done, total).

    Raises:
        RetvecLiteError: for an argument out of range, data that cannot be trained on, labels in validation that training
            lacks, or a loss that is no longer finite.
    """
    chosen = {"epochs": epochs, "typo_rate": typo_rate, "character_filters": character_filters, "seed": seed}
    _check(head, embedding, fine_tune_embedding, {"max_words": max_words, **chosen})
    check_trainable(training)
    if isinstance(validation, Dataset):
        missing = sorted(set(validation.labels) - set(training.labels))
        if missing:
            raise RetvecLiteError(
                f"The label {missing[0]!r} of {validation.path} does not occur in {training.path}. "
                "Add texts of it there, or remove it from the validation texts."
            )
    else:
        training, validation = split(training, validation, settings.seed if settings else seed)
    if settings is None:
        given = {name: value for name, value in chosen.items() if value is not None}
        settings = recommended(len(training), fine_tune=fine_tune_embedding, **given)
    data = prepare(
        training,
        validation,
        copies=settings.copies,
        typo_rate=settings.typo_rate,
        seed=settings.seed,
        word_length=embedding.word_length if embedding else EncoderConfig.word_length,
        max_words=max_words,
        progress=progress,
    )
    spec = HEADS[head]()
    weights = embedding.weights if embedding else {}
    result = fit(data, spec, weights, fine_tune=fine_tune_embedding, settings=settings, progress=progress)
    scores = {rate: score(validation.labels, logits, data.labels) for rate, logits in result.validation_logits.items()}
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": training.path.name,
        "training_texts": len(training),
        "validation_texts": len(validation),
        "texts_cut_by_max_words": data.share_cut,
        "fine_tuned_embedding": fine_tune_embedding,
        "settings": dataclasses.asdict(settings),
        "epochs": len(result.history),
        "best_epoch": result.best_epoch,
        "validation": {
            f"{rate:g}": {"accuracy": found.accuracy, "macro_f1": found.macro_f1} for rate, found in scores.items()
        },
    }
    about = {"name": embedding.name, "card": embedding.card} if embedding else {"name": "raw", "card": {}}
    return Trained(TrainedModel(data.config, spec, data.labels, result.weights, about, facts), scores)


def _check(head: str, embedding: Embedding | None, fine_tune: bool, given: Mapping[str, Any]) -> None:
    """Refuse arguments that are out of range or do not go together, before any work is done."""
    if head not in HEADS:
        raise RetvecLiteError(f"Unknown head {head!r}: choose from {', '.join(HEADS)}.")
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
