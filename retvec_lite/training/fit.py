"""Training a classifier: typo-augmented copies of the texts, early stopping on validation, the best weights back."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.config import BITS, EncoderConfig
from retvec_lite.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.heads import HeadSpec
from retvec_lite.training.batches import epoch
from retvec_lite.training.copies import augmented_copies
from retvec_lite.training.grid import EIGHT_BITS, FOUR_BITS
from retvec_lite.training.network import Network, class_weights, cosine_schedule
from retvec_lite.training.settings import FitSettings
from retvec_lite.training.texts import EncodedTexts, Ids, embed_words, encode_texts
from retvec_lite.typos import mistype_many

VALIDATION_RATES: Final = (0.0, 0.2, 0.5)
"""Shares of mistyped words that early stopping and the final table look at."""

Report = Callable[[str, int, int], None]
"""Called with (what is going on, done, of how many)."""


@dataclasses.dataclass(frozen=True)
class FitResult:
    """What `fit` found.

    Attributes:
        weights: all of the classifier's weights.
        validation_logits: float32 `[texts, classes]` at each of `VALIDATION_RATES`.
        history: one entry per epoch: loss, validation accuracies, their mean.
        best_epoch: which epoch, counted from 1, the weights are of.
    """

    weights: Mapping[str, npt.NDArray[np.float32]]
    validation_logits: Mapping[float, npt.NDArray[np.float32]]
    history: Sequence[Mapping[str, Any]]
    best_epoch: int


def fit(
    training: Dataset,
    validation: Dataset,
    labels: Sequence[str],
    config: EncoderConfig,
    head: HeadSpec,
    embedding: Mapping[str, npt.NDArray[np.float32]],
    *,
    fine_tune: bool,
    settings: FitSettings,
    report: Report = lambda what, done, total: None,
) -> FitResult:
    """Train `head` on `training`.

    Args:
        training: labelled texts to learn from; their labels are in `labels`.
        validation: labelled texts for early stopping, of the same labels.
        labels: class names in the order of the outputs.
        config: the contract's parameters.
        head: which head, with its sizes.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        fine_tune: train the embedding as well.
        settings: see `FitSettings`.
        report: receives progress.

    Returns:
        The weights of the epoch with the best mean validation accuracy over `VALIDATION_RATES`. Equal seeds on one machine
        give equal weights.
    """
    index = {label: place for place, label in enumerate(labels)}
    targets = np.array([index[label] for label in training.labels], np.int32)
    truth = np.array([index[label] for label in validation.labels], np.int32)
    copies = augmented_copies(training.texts, settings)
    held_out = [mistype_many(validation.texts, rate, settings.seed + 1) for rate in VALIDATION_RATES]
    encoded = _encode([*copies, *held_out], config, report)
    rows = len(training)
    copy_ids = [encoded.ids[place * rows : (place + 1) * rows] for place in range(len(copies))]
    held_ids = np.split(encoded.ids[len(copies) * rows :], len(held_out))

    rng = np.random.default_rng(settings.seed)
    inputs = embedding["embedding/dense_2/kernel"].shape[1] if embedding else config.word_length * BITS
    weights = head.initial_weights(rng, inputs, len(labels), config.max_words)
    if fine_tune:
        weights = {**embedding, **weights}
    vectors = None if fine_tune else _embed(encoded, embedding, report)
    batch_size = min(settings.batch_size, max(1, rows // 4))
    steps_per_epoch = max(1, rows // batch_size)
    steps = settings.epochs * steps_per_epoch
    # A head on a frozen embedding keeps its accuracy on a 4-bit grid, so that all recipes are one function; when everything
    # trains, 8 bits did a little better, and float32 and int8 are one (docs/benchmarks.md).
    network = Network(
        head,
        weights,
        vectors,
        encoded.words,
        class_weights(targets, len(labels)),
        cosine_schedule(settings.learning_rate, steps, min(steps // 20, 500)),
        label_smoothing=settings.label_smoothing,
        dropout=settings.dropout,
        embedding_rate=settings.embedding_rate,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        levels=EIGHT_BITS if fine_tune else FOUR_BITS,
    )

    best_score, best_weights, best_epoch = -math.inf, network.weights(), 0
    history: list[dict[str, Any]] = []
    count = 0
    for number in range(settings.epochs):
        losses = []
        for batch in epoch(copy_ids[number % len(copies)], batch_size, rng):
            losses.append(network.train(batch, targets[batch.rows], count))
            count += 1
            report("training", min(count, steps), steps)
        if not np.isfinite(losses).all():
            raise RetvecLiteError(
                f"Expected training to converge, received a loss of {losses[-1]} in epoch {number + 1}: "
                "the data or the embedding holds something extreme."
            )
        logits = _held_out_logits(network, held_ids, len(labels))
        accuracies = {rate: float((found.argmax(axis=1) == truth).mean()) for rate, found in logits.items()}
        score = float(np.mean(list(accuracies.values())))
        history.append({"epoch": number + 1, "loss": float(np.mean(losses)), "accuracy": accuracies, "score": score})
        if score > best_score:
            best_score, best_weights, best_epoch = score, network.weights(), number
        elif number - best_epoch >= settings.patience:
            break
    network.load(best_weights)
    final_logits = _held_out_logits(network, held_ids, len(labels))
    return FitResult({**embedding, **best_weights}, final_logits, history, best_epoch + 1)


def _held_out_logits(network: Network, held_ids: Sequence[Ids], classes: int) -> dict[float, npt.NDArray[np.float32]]:
    """Validation logits at each of `VALIDATION_RATES`."""
    return {rate: network.logits(ids, classes, 256) for rate, ids in zip(VALIDATION_RATES, held_ids, strict=True)}


def _encode(groups: Sequence[Sequence[str]], config: EncoderConfig, report: Report) -> EncodedTexts:
    texts = [text for group in groups for text in group]
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report("encoding texts", done, len(texts))

    return encode_texts(texts, config, advance)


def _embed(
    encoded: EncodedTexts, embedding: Mapping[str, npt.NDArray[np.float32]], report: Report
) -> npt.NDArray[np.float16]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report("embedding words", done, len(encoded.words))

    return embed_words(encoded.words, embedding, advance)
