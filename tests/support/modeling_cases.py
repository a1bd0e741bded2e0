"""Small classifiers of random weights for tests of heads, files and graphs."""

import itertools

import numpy as np
import numpy.typing as npt
from meaning_cases import table
from standin import ngram_weights

from retvec_lite.contract import BITS, EncoderConfig
from retvec_lite.model.heads import CnnHead, HeadSpec, LinearHead, PoolHead
from retvec_lite.model.weight_files import Embedding, TrainedModel
from retvec_lite.ngrams import NgramConfig

SMALL_HEADS: tuple[HeadSpec, ...] = (
    PoolHead(hidden=24),
    CnnHead(hidden=18, filters=16, blocks=3),
    PoolHead(hidden=18, blocks=1, vector=8),
    PoolHead(hidden=16, blocks=2),
    LinearHead(),
)
DEFAULT_HEADS: tuple[HeadSpec, ...] = (LinearHead(), PoolHead(), PoolHead(blocks=1, vector=64), CnnHead())
LABELS = ("no", "yes", 'other, 🙂 "quoted"')


def random_embedding(word_length: int = 16, dimension: int = 20, seed: int = 0) -> Embedding:
    """An embedding of three random layers; outputs of a size that a head can tell apart."""
    rng = np.random.default_rng(seed)
    weights: dict[str, npt.NDArray[np.float32]] = {}
    sizes = (word_length * BITS, 28, 24, dimension)
    for layer, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        kernel = rng.normal(0.0, 1.5 / np.sqrt(rows), (rows, columns))
        weights[f"embedding/dense_{layer}/bias"] = rng.normal(0.0, 0.3, columns).astype(np.float32)
        weights[f"embedding/dense_{layer}/kernel"] = kernel.astype(np.float32)
    return Embedding("random", weights, {"note": "test weights 🙂", "steps": 0})


def random_head(
    head: HeadSpec, inputs: int, classes: int, max_words: int, seed: int = 1
) -> dict[str, npt.NDArray[np.float32]]:
    """Weights of a head with nothing at its neutral starting value, so that no part can be left out unnoticed."""
    rng = np.random.default_rng(seed)
    weights = head.initial_weights(rng, inputs, classes, max_words)
    return {name: (value + rng.normal(0.0, 0.1, value.shape)).astype(np.float32) for name, value in weights.items()}


def random_classifier(
    head: HeadSpec,
    *,
    raw: bool = False,
    ngrams: NgramConfig | None = None,
    meaning: bool = False,
    config: EncoderConfig | None = None,
    seed: int = 0,
) -> TrainedModel:
    """A whole classifier over small slots, with n-grams, and a table of meaning."""
    config = config or EncoderConfig(max_chars=48, max_words=9)
    embedding = None if raw else random_embedding(config.word_length, seed=seed)
    inputs = embedding.dimension if embedding else config.word_length * BITS
    weights = random_head(head, inputs, len(LABELS), config.max_words, seed + 1)
    if ngrams is not None:
        weights |= ngram_weights(ngrams, len(LABELS))
    sizes, table_weights = table(len(LABELS)) if meaning else (None, {})
    return TrainedModel(
        encoder=config,
        head=head,
        labels=LABELS,
        weights={**(embedding.weights if embedding else {}), **weights, **table_weights},
        embedding={"name": embedding.name, "card": embedding.card} if embedding else {"name": "raw", "card": {}},
        training={"data": "none", "accuracy": 0.25},
        ngrams=ngrams,
        meaning=sizes,
    )
