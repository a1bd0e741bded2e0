"""What fits into a file below 1 MB: which head, how many buckets of n-grams, and whether codebooks take their place."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from retvec_lite.contract import BITS, EncoderConfig, Floats
from retvec_lite.model.heads import CnnHead, HeadSpec, PoolHead, character_shapes
from retvec_lite.ngrams import CODES, MOST_BUCKETS, MOST_CODEBOOKS, PRIME
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.linear import KINDS
from retvec_lite.training.settings import FEW, FitSettings

_LARGEST_FILE: Final = 950_000
"""Bytes that an int8 file may take: less than 1 MB, so that the int4 file of the head cnn with 150 labels is below 600 kB."""

_AROUND: Final = 130_000
"""Bytes of a file that are neither weights of the network nor n-grams: graphs, tables of the encoder, metadata, labels."""

_FEWEST_BUCKETS: Final = 128

_CROWDED: Final = PRIME // 2
"""Distinct n-grams from which codebooks can pay: a code for each hash takes 65 kB, however few hashes occur."""

_WORTH_A_NETWORK: Final = 2
"""Codebooks beside the head `cnn` that make it better than `pool` with more of them."""


def choose_head(
    data: TrainingData, embedding: Mapping[str, Floats], settings: FitSettings, ngram_kb: int | None
) -> str:
    """Return the head that suits the texts: `pool` for few, `cnn` for many.

    Many languages with many labels are better off with `pool` as well: the bytes that it saves are worth more as codebooks
    (docs/benchmarks.md).

    Args:
        data: the texts.
        embedding: see `choose_buckets`.
        settings: see `choose_buckets`.
        ngram_kb: see `choose_buckets`.
    """
    if data.task.multi_label:
        return CnnHead.name
    if len(data.clean) <= FEW:
        return PoolHead.name
    classes = len(data.labels)
    buckets = choose_buckets(CnnHead(), embedding, classes, data.config, settings, ngram_kb)
    # Where the size of the table is given, a smaller head leaves it no more room. Counting n-grams takes time.
    if ngram_kb is not None or codebooks_in(buckets, classes) >= _WORTH_A_NETWORK:
        return CnnHead.name
    distinct = len(np.unique(data.clean_hashes(KINDS[0]).indices))
    return PoolHead.name if is_crowded(distinct, buckets) else CnnHead.name


def choose_codebooks(distinct: int, buckets: int, classes: int) -> int:
    """Return how many codebooks to use in place of `buckets` rows; 0 for none.

    They pay where the texts have many n-grams, in many languages for example, and the table has room for few rows. Otherwise, most
    n-grams have a row of their own anyway, or at least the frequent ones do (docs/benchmarks.md).

    Args:
        distinct: how many different n-grams the training texts have.
        buckets: how many rows there is room for.
        classes: number of labels.
    """
    return codebooks_in(buckets, classes) if is_crowded(distinct, buckets) else 0


def is_crowded(distinct: int, buckets: int) -> bool:
    """Return whether the texts have many n-grams, and rows for less than half of them; arguments as for `choose_codebooks`."""
    return distinct >= _CROWDED and buckets <= distinct // 2


def codebooks_in(buckets: int, classes: int) -> int:
    """Return how many codebooks take the bytes of so many hashed rows."""
    return min(buckets * (classes + 1) // (PRIME + CODES * (classes + 1)), MOST_CODEBOOKS)


def choose_buckets(
    head: HeadSpec,
    embedding: Mapping[str, Floats],
    classes: int,
    encoder: EncoderConfig,
    settings: FitSettings,
    ngram_kb: int | None,
) -> int:
    """Return how many buckets of n-grams there is room for; 0 for none.

    Args:
        head: the network beside them.
        embedding: its `embedding/...` weights.
        classes: number of labels.
        encoder: the parameters of the contract.
        settings: for the number of character features.
        ngram_kb: kilobytes (1,000 bytes) of the table; None fills an int8 file up to 1 MB.
    """
    if ngram_kb is None:
        inputs = embedding["embedding/dense_2/kernel"].shape[1] if embedding else encoder.word_length * BITS
        shapes = head.shapes(inputs + settings.character_filters, classes, encoder.max_words)
        shapes |= character_shapes(settings.character_filters)
        shapes |= {name: value.shape for name, value in embedding.items()}
        # A byte for each weight of a matrix; vectors and positions are float32.
        network = sum(
            int(np.prod(shape)) * (1 if len(shape) > 1 and name != "head/positions" else 4)
            for name, shape in shapes.items()
        )
        room = _LARGEST_FILE - _AROUND - network
    else:
        room = ngram_kb * 1000
    buckets = min(room // (classes + 1), MOST_BUCKETS)
    return buckets if buckets >= _FEWEST_BUCKETS else 0
