"""What the linear part reads of texts: how often each n-gram occurs, what the words mean together, and mean word vectors."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.ngrams import PRIME, NgramConfig
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.ngram_counts import NgramCounts

Kind = tuple[int, int]
"""The shortest and the longest n-grams that are read."""


@dataclasses.dataclass(frozen=True)
class Features:
    """What the linear part reads of texts.

    Attributes:
        counts: how often each bucket occurs in each.
        means: the mean word vector of each, float32 `[texts, dimension]`; None where they are not read.
        meaning: what the words of each mean together, float32 `[texts, 64]`, of length 1 or 0; None where that is not read.
    """

    counts: NgramCounts
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
        return Features(self.counts.joined([other.counts for other in others]), means, meaning)

    def without_meaning(self) -> "Features":
        """Return the features but for what words mean."""
        return dataclasses.replace(self, meaning=None)


def count_hashes(data: TrainingData, groups: Sequence[Sequence[str]], kind: Kind) -> list[NgramCounts]:
    """Return how often each of the 65,521 hashes of n-grams occurs in texts of a training, for each group."""
    shortest, longest = kind
    ngrams = NgramConfig(buckets=PRIME, longest=longest, shortest=shortest, plain_letters=True)
    return data.encoder.count_ngrams(groups, data.config.max_chars, ngrams)


def count_distinct(hashes: NgramCounts) -> int:
    """Return how many different hashes occur."""
    return int(np.count_nonzero(hashes.totals()))


def mean_vectors(ids: Ints, vectors: Any) -> Floats:
    """Return the mean word vector of each text, float32 `[texts, dimension]`; zeros for a text without words (ids 0)."""
    texts, slots = ids.shape
    distinct, columns = np.unique(ids, return_inverse=True)
    used = sparse.csr_matrix(
        (np.ones(ids.size, np.float32), columns.reshape(-1), np.arange(texts + 1) * slots), shape=(texts, len(distinct))
    )
    counts = np.maximum((ids != 0).sum(axis=1, keepdims=True), 1)
    means: Floats = ((used @ vectors[distinct].astype(np.float32)) / counts).astype(np.float32)
    return means
