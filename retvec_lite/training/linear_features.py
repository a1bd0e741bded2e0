"""What the linear part reads of texts: how often each n-gram occurs, what the words mean together, and a vector of each text."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.ngrams import FACTOR, PRIME, NgramConfig, fold
from retvec_lite.normal_form import UNKNOWN_LETTER
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.reading import Places, Ragged, TextReader

Kind = tuple[int, int]
"""The shortest and the longest n-grams that are read."""

USUAL_KIND: Final[Kind] = (1, 4)
_OF_SYLLABLES: Final[Kind] = (1, 2)
_FIRST_SYLLABLE: Final = 0x3040
"""From here on, nearly all letters are those of Chinese, Japanese and Korean: one says as much as two or three of an alphabet."""
_TEXTS: Final = 2_000
"""Texts, most, that tell which letters are usual, spread over all."""

Matrix = Any  # scipy.sparse.csr_matrix, float32


def usual_kind(texts: Sequence[str]) -> Kind:
    """Return the n-grams that suit texts: up to two letters where most are of Chinese, Japanese or Korean, else up to four.

    Longer ones of syllables are rare, and so many that they share their buckets (docs/benchmarks.md).

    Example:
        >>> usual_kind(["設定在哪裡", "TV 的聲音太大"]), usual_kind(["where are the settings"])
        ((1, 2), (1, 4))
    """
    letters = [letter for text in texts[:: -(-len(texts) // _TEXTS) or 1] for letter in text if letter.isalpha()]
    syllables = sum(ord(letter) >= _FIRST_SYLLABLE for letter in letters)
    return _OF_SYLLABLES if 2 * syllables > len(letters) else USUAL_KIND


@dataclasses.dataclass(frozen=True)
class NgramCounts:
    """How often each bucket of n-grams occurs in each text: the product of two matrices, since no n-gram reaches beyond a run.

    That takes less memory, and makes sums over texts faster.

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


@dataclasses.dataclass(frozen=True)
class Features:
    """What the linear part reads of texts.

    Attributes:
        counts: how often each bucket occurs in each.
        vectors: what the sentence network says of each, or its mean word vector, float32 `[texts, dimension]`; None where neither is read.
        meaning: what the words of each mean together, float32 `[texts, 64]`, of length 1 or 0; None where that is not read.
    """

    counts: NgramCounts
    vectors: Floats | None = None
    meaning: Floats | None = None

    def __getitem__(self, rows: Any) -> "Features":
        return Features(
            self.counts[rows],
            None if self.vectors is None else self.vectors[rows],
            None if self.meaning is None else self.meaning[rows],
        )

    def joined(self, others: Sequence["Features"]) -> "Features":
        """Return the texts of these features, then those of others."""
        vectors = None if self.vectors is None else np.concatenate([self.vectors, *(other.vectors for other in others)])
        meaning = None if self.meaning is None else np.concatenate([self.meaning, *(other.meaning for other in others)])
        return Features(self.counts.joined([other.counts for other in others]), vectors, meaning)


def count_hashes(data: TrainingData, groups: Sequence[Sequence[str]], kind: Kind) -> list[NgramCounts]:
    """Return how often each of the 65,521 hashes of n-grams occurs in texts of a training, for each group."""
    shortest, longest = kind
    ngrams = NgramConfig(buckets=PRIME, longest=longest, shortest=shortest, plain_letters=True)
    return count_ngrams(data.reader, groups, ngrams)


def count_ngrams(reader: TextReader, groups: Sequence[Sequence[str]], ngrams: NgramConfig) -> list[NgramCounts]:
    """Return how often each bucket occurs in each text that was read, for each group; all share their n-grams."""
    found = [reader.runs_of(group) for group in groups]
    distinct, columns = np.unique(np.concatenate([each.items for each in found]), return_inverse=True)
    shared = _ngrams_in(reader.runs[distinct], ngrams)
    ends = np.cumsum([len(each.items) for each in found])
    parts = np.split(columns.astype(np.int32), ends[:-1])
    return [
        NgramCounts(_counts(part, each.counts, len(distinct)), shared) for part, each in zip(parts, found, strict=True)
    ]


def _counts(columns: Ints, counts: Places, width: int) -> Matrix:
    """Return rows with ones in columns, where each row has so many: float32 CSR `[rows, width]`."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(counts), width))


def _ngrams_in(runs: Ragged, config: NgramConfig) -> Matrix:
    """Return how often each bucket occurs in runs, float32 CSR `[runs, buckets]`: `retvec_lite.ngrams` for all runs at once."""
    # Each run with a mark, 0, on both sides. From each place on, `left` characters and marks follow, to the next unknown letter.
    marked = Ragged(np.zeros(len(runs.items) + 2 * len(runs.counts), np.int32), runs.counts + 2)
    is_mark = np.zeros(len(marked.items), bool)
    is_mark[marked.starts] = is_mark[marked.starts + runs.counts + 1] = True
    marked.items[~is_mark] = fold(runs.items, config.plain_letters)
    left, rows = np.repeat(marked.counts, marked.counts) - marked.slots, marked.rows.astype(np.int32)
    unknown = np.flatnonzero(marked.items == UNKNOWN_LETTER)
    behind = np.append(unknown, len(left) + config.longest)
    left = np.minimum(left, behind[np.searchsorted(unknown, np.arange(len(left)))] - np.arange(len(left)))
    starts, hashes = np.arange(len(left), dtype=np.int32), np.ones(len(left), np.int32)
    found = []
    for length in range(1, config.longest + 1):
        fits = left[starts] >= length
        starts, hashes = starts[fits], hashes[fits]
        hashes = (hashes * FACTOR + marked.items[starts + (length - 1)]) % PRIME
        # A mark alone is no n-gram; longer windows of a run have a character.
        is_ngram = slice(None) if length > 1 else ~is_mark[starts]
        if length >= config.shortest:
            found.append((rows[starts[is_ngram]], hashes[is_ngram] % config.buckets))
    places = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    return sparse.csr_matrix((np.ones(len(places[0]), np.float32), places), shape=(len(runs.counts), config.buckets))


def fold_counts(counts: Sequence[NgramCounts], buckets: int) -> list[NgramCounts]:
    """Return counts in fewer buckets: what `count_ngrams` finds for so many. All share their n-grams."""
    hashes = counts[0].ngrams
    columns = np.arange(hashes.shape[1])
    ones = np.ones(len(columns), np.float32)
    ngrams = hashes @ sparse.csr_matrix((ones, (columns, columns % buckets)), shape=(len(columns), buckets))
    return [NgramCounts(each.runs, ngrams) for each in counts]


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
