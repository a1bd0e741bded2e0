"""How often n-grams occur in texts, kept as how often runs of characters do, which takes less memory."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from retvec_lite.contract import Floats

Matrix = Any  # scipy.sparse.csr_matrix, float32


@dataclasses.dataclass(frozen=True)
class NgramCounts:
    """How often each bucket of n-grams occurs in each text: the product of two matrices, since no n-gram reaches beyond a run.

    Attributes:
        runs: how often each run of characters occurs in each text, float32 CSR `[texts, runs]`.
        ngrams: how often each bucket occurs in each run, float32 CSR `[runs, buckets]`; texts that are joined share it.
    """

    runs: Matrix
    ngrams: Matrix

    def __len__(self) -> int:
        return int(self.runs.shape[0])

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return int(self.ngrams.shape[1])

    def __getitem__(self, rows: Any) -> "NgramCounts":
        return NgramCounts(self.runs[rows], self.ngrams)

    def joined(self, others: Sequence["NgramCounts"]) -> "NgramCounts":
        """Return the texts of these counts, then those of others, which share their n-grams."""
        return NgramCounts(sparse.vstack([self.runs, *(other.runs for other in others)], format="csr"), self.ngrams)

    def totals(self) -> Floats:
        """Return how often each bucket occurs in all texts together, float32 `[buckets]`."""
        of_runs = np.bincount(self.runs.indices, self.runs.data, self.runs.shape[1])
        found: Floats = (of_runs @ self.ngrams).astype(np.float32)
        return found

    def matrix(self) -> Matrix:
        """Return the counts themselves, float32 CSR `[texts, buckets]`: for many texts, gigabytes."""
        found = self.runs @ self.ngrams
        found.sort_indices()
        return found


def fold(counts: Sequence[NgramCounts], buckets: int) -> list[NgramCounts]:
    """Return counts in fewer buckets: what `TextEncoder.count_ngrams` finds for so many. All share their n-grams."""
    hashes = counts[0].ngrams
    columns = np.arange(hashes.shape[1])
    ones = np.ones(len(columns), np.float32)
    ngrams = hashes @ sparse.csr_matrix((ones, (columns, columns % buckets)), shape=(len(columns), buckets))
    return [NgramCounts(each.runs, ngrams) for each in counts]
