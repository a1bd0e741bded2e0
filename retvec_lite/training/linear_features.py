"""What the linear part reads of texts: how often each n-gram occurs, what the words mean together, and mean word vectors."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from scipy import sparse

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.model.encoder_graph import sanitize
from retvec_lite.model.ngram_graph import find_ngrams
from retvec_lite.ngrams import PRIME, NgramConfig
from retvec_lite.training.batches import alike
from retvec_lite.training.examples import TrainingData

Matrix = Any  # scipy.sparse.csr_matrix, float32

Kind = tuple[int, int]
"""The shortest and the longest n-grams that are read."""


@dataclasses.dataclass(frozen=True)
class Features:
    """What the linear part reads of texts.

    Attributes:
        counts: how often each bucket occurs in each, float32 CSR `[texts, buckets]`.
        means: the mean word vector of each, float32 `[texts, dimension]`; None where they are not read.
        meaning: what the words of each mean together, float32 `[texts, 64]`, of length 1 or 0; None where that is not read.
    """

    counts: Matrix
    means: Floats | None = None
    meaning: Floats | None = None

    def __getitem__(self, rows: Any) -> "Features":
        return Features(
            self.counts[rows],
            None if self.means is None else self.means[rows],
            None if self.meaning is None else self.meaning[rows],
        )

    def joined(self, others: Sequence["Features"]) -> "Features":
        """Return the texts of these features, then those of others."""
        means = None if self.means is None else np.concatenate([self.means, *(other.means for other in others)])
        meaning = None if self.meaning is None else np.concatenate([self.meaning, *(other.meaning for other in others)])
        return Features(sparse.vstack([self.counts, *(other.counts for other in others)], format="csr"), means, meaning)

    def without_meaning(self) -> "Features":
        """Return the features but for what words mean."""
        return dataclasses.replace(self, meaning=None)


def count_ngrams(texts: Sequence[str], encoder: EncoderConfig, config: NgramConfig) -> Matrix:
    """Return how often each bucket occurs in each text, float32 CSR `[texts, buckets]`, by the graph that is exported."""
    order, parts = [], [sparse.csr_matrix((0, config.buckets), dtype=np.float32)]
    for batch in alike(texts, encoder):
        buckets, present = (found.numpy() for found in _graph(batch.encoder, config)(batch.codes))
        is_there = present > 0
        ends = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
        columns = buckets[is_there].astype(np.int32)
        ones = np.ones(len(columns), np.float32)
        parts.append(sparse.csr_matrix((ones, columns, ends), shape=(len(buckets), config.buckets)))
        parts[-1].sum_duplicates()
        order.append(batch.rows)
    found = sparse.vstack(parts, format="csr")
    return found[np.argsort(np.concatenate(order))] if order else found


def clean_hashes(data: TrainingData, kind: Kind) -> Matrix:
    """Return what `count_hashes` finds in the training texts as they are; the last kind is kept."""
    if kind not in data.hashes:
        data.hashes.clear()
        data.hashes[kind] = count_hashes(data.clean, data.config, kind)
    return data.hashes[kind]


def count_hashes(texts: Sequence[str], encoder: EncoderConfig, kind: Kind) -> Matrix:
    """Return how often each n-gram's hash occurs in each text, float32 CSR `[texts, 65521]`."""
    return count_ngrams(
        texts, encoder, NgramConfig(buckets=PRIME, longest=kind[1], shortest=kind[0], plain_letters=True)
    )


def fold(hashes: Matrix, buckets: int) -> Matrix:
    """Return how often each bucket occurs, from counts of hashes, CSR `[texts, 65521]`: as `count_ngrams` for so many buckets."""
    columns = np.arange(PRIME)
    ones = np.ones(PRIME, np.float32)
    return hashes @ sparse.csr_matrix((ones, (columns, columns % buckets)), shape=(PRIME, buckets))


def mean_vectors(ids: Ints, vectors: Any) -> Floats:
    """Return the mean word vector of each text, float32 `[texts, dimension]`; zeros for a text without words (ids 0)."""
    texts, slots = ids.shape
    shape = (texts, len(vectors))
    used = sparse.csr_matrix(
        (np.ones(ids.size, np.float32), ids.reshape(-1), np.arange(texts + 1) * slots), shape=shape
    )
    counts = np.maximum((ids != 0).sum(axis=1, keepdims=True), 1)
    means: Floats = ((used @ vectors.astype(np.float32)) / counts).astype(np.float32)
    return means


@functools.cache
def _graph(encoder: EncoderConfig, config: NgramConfig) -> Callable[[Ints], Any]:
    graph: Callable[[Ints], Any] = tf.function(
        lambda rows: find_ngrams(sanitize(rows, encoder), config),
        input_signature=[tf.TensorSpec([None, encoder.max_chars], tf.int32)],
        autograph=False,
    )
    return graph
