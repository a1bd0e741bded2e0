"""Training a classifier: typo-augmented copies of the texts, early stopping on validation, the best weights back."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS, EncoderConfig
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS
from retvec_lite.model.heads import HeadSpec, character_shapes, initial
from retvec_lite.training.copies import augmented_copies
from retvec_lite.training.epochs import PREDICTION_BATCH, Examples, HeldOut, Report, run_epochs, schedule_for
from retvec_lite.training.network import Network, class_weights
from retvec_lite.training.settings import FitSettings
from retvec_lite.training.texts import EncodedTexts, embed_words, encode_texts

VALIDATION_RATES: Final = (0.0, 0.2, 0.5)
"""Shares of mistyped words that early stopping and the final table look at."""


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
        fine_tune: train the embedding as well, and `settings.character_filters` beside it.
        settings: see `FitSettings`.
        report: receives progress.

    Returns:
        The weights of the epoch with the best mean validation accuracy over `VALIDATION_RATES`. Equal seeds on one machine
        give equal weights.
    """
    index = {label: place for place, label in enumerate(labels)}
    copies = augmented_copies(training.texts, settings)
    mistyped = [mistype_many(validation.texts, rate, settings.seed + 1) for rate in VALIDATION_RATES]
    encoded = _encode([*copies, *mistyped], config, report)
    rows = len(training)
    examples = Examples(
        [encoded.ids[place * rows : (place + 1) * rows] for place in range(len(copies))],
        np.array([index[label] for label in training.labels], np.int32),
        len(labels),
    )
    held_out = HeldOut(
        dict(zip(VALIDATION_RATES, np.split(encoded.ids[len(copies) * rows :], len(mistyped)), strict=True)),
        np.array([index[label] for label in validation.labels], np.int32),
    )

    rng = np.random.default_rng(settings.seed)
    inputs = embedding["embedding/dense_2/kernel"].shape[1] if embedding else config.word_length * BITS
    filters = settings.character_filters if fine_tune else 0
    characters = {name: initial(name, shape, rng) for name, shape in character_shapes(filters).items()}
    weights = characters | head.initial_weights(rng, inputs + filters, len(labels), config.max_words)
    network = Network(
        head,
        {**embedding, **weights} if fine_tune else weights,
        None if fine_tune else _embed(encoded, embedding, report),
        encoded.words,
        class_weights(examples.targets, len(labels)),
        schedule_for(rows, settings),
        label_smoothing=settings.label_smoothing,
        dropout=settings.dropout,
        embedding_rate=settings.embedding_rate,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        # A head on a frozen embedding keeps its accuracy on a 4-bit grid, so that all recipes are one function; when
        # everything trains, 8 bits did a little better, and float32 and int8 are one (docs/benchmarks.md).
        levels=EIGHT_BITS if fine_tune else FOUR_BITS,
    )

    best = run_epochs(network, examples, held_out, settings, rng, report)
    network.load(best.weights)
    logits = {rate: network.logits(ids, examples.classes, PREDICTION_BATCH) for rate, ids in held_out.ids.items()}
    return FitResult({**embedding, **best.weights}, logits, best.history, best.epoch)


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
