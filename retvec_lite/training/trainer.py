"""From labelled texts to a trained classifier: choose the sizes, fit, measure on validation."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from retvec_lite import __version__
from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset, check_trainable, split
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HEADS
from retvec_lite.model.weight_files import Embedding, TrainedModel, load_default_embedding, load_embedding
from retvec_lite.training.epochs import Report
from retvec_lite.training.fit import fit
from retvec_lite.training.settings import FitSettings, recommended
from retvec_lite.training.texts import count_words, encode_texts, fitting_config


@dataclasses.dataclass(frozen=True)
class Trained:
    """A classifier and what it scores on validation at each share of mistyped words."""

    classifier: TrainedModel
    validation: Mapping[float, Evaluation]


def choose_embedding(name: str) -> Embedding | None:
    """`default` (the one in the package), `raw` (None: bits only) or a file in our own format."""
    if name == "raw":
        return None
    return load_default_embedding() if name == "default" else load_embedding(name)


def train(
    training: Dataset,
    validation: Dataset | float,
    *,
    head: str = "pool",
    embedding: Embedding | None,
    fine_tune: bool = False,
    max_words: int | None = None,
    settings: FitSettings | None = None,
    report: Report = lambda what, done, total: None,
) -> Trained:
    """Train a classifier.

    Args:
        training: labelled texts.
        validation: labelled texts of the same labels, or the share of `training` to set aside.
        head: one of `retvec_lite.heads.HEADS`.
        embedding: pre-trained word embedding, None for RETVec-raw.
        fine_tune: train the embedding as well, and `settings.character_filters` beside it.
        max_words: word slots; None takes the 99th percentile of the training texts.
        settings: None takes what `recommended` says for this much data.
        report: receives progress.

    Raises:
        RetvecLiteError: for data that cannot be trained on, labels in validation that training lacks, or character filters without
            fine-tuning.
    """
    check_trainable(training)
    if isinstance(validation, Dataset):
        missing = sorted(set(validation.labels) - set(training.labels))
        if missing:
            raise RetvecLiteError(
                f"Expected the labels of {validation.path} to occur in {training.path}, received {missing[0]!r} there only."
            )
    else:
        training, validation = split(training, validation, settings.seed if settings else 0)
    if fine_tune and embedding is None:
        raise RetvecLiteError("Expected an embedding to fine-tune, received 'raw', which has no weights.")
    if settings and settings.character_filters and not fine_tune:
        raise RetvecLiteError(
            f"Expected character filters with a fine-tuned embedding only, received {settings.character_filters} without fine-tuning."
        )
    if head not in HEADS:
        raise RetvecLiteError(f"Expected the head to be one of {', '.join(HEADS)}, received {head!r}.")
    settings = settings or recommended(len(training), fine_tune=fine_tune)
    labels = training.classes
    word_length = embedding.word_length if embedding else EncoderConfig().word_length
    config = fitting_config(training.texts, EncoderConfig(word_length=word_length), max_words)
    spec = HEADS[head]()
    result = fit(
        training,
        validation,
        labels,
        config,
        spec,
        embedding.weights if embedding else {},
        fine_tune=fine_tune,
        settings=settings,
        report=report,
    )
    scores = {rate: score(validation.labels, logits, labels) for rate, logits in result.validation_logits.items()}
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": training.path.name,
        "training_texts": len(training),
        "validation_texts": len(validation),
        "texts_cut_by_max_words": _share_cut(training, config),
        "fine_tuned_embedding": fine_tune,
        "settings": dataclasses.asdict(settings),
        "epochs": len(result.history),
        "best_epoch": result.best_epoch,
        "validation": {
            f"{rate:g}": {"accuracy": found.accuracy, "macro_f1": found.macro_f1} for rate, found in scores.items()
        },
    }
    about = {"name": embedding.name, "card": embedding.card} if embedding else {"name": "raw", "card": {}}
    return Trained(TrainedModel(config, spec, labels, result.weights, about, facts), scores)


def _share_cut(training: Dataset, config: EncoderConfig) -> float:
    """Share of the training texts with words beyond `max_words` or `max_chars`."""
    fitting = (encode_texts(training.texts, config).ids != 0).sum(axis=1)
    return float(np.mean(fitting < count_words(training.texts, config)))
