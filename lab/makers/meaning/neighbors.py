"""The direct objective: texts that stand side by side have like vectors, since a text's vector is what a classifier will read.

Halves of a stretch of text find each other among the halves of others, by InfoNCE (van den Oord et al. 2018, arXiv:1807.03748),
trained by Adagrad (Duchi et al. 2011) on the vectors of the words alone.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from makers.meaning.corpus import Numbers
from makers.stage import Arrays
from retvec_lite.contract import Floats

PAIRS: Final = 512
"""Stretches of a step: each half has one that belongs to it, and 511 that do not."""
LONGEST: Final = 40
SHORTEST: Final = 8
"""Words of a stretch."""
TEMPERATURE: Final = 0.07
RATE: Final = 0.02

RARE: Final = 1e-3
"""A word of this share of all words has half the weight of a rare one (Arora et al. 2017, https://openreview.net/forum?id=SyK00v5xx)."""

_TINY: Final = 1e-12


def weights_of(shares: npt.NDArray[np.float64]) -> Floats:
    """Return how much each word counts in a text's vector, by its share of all words: float32, 0 to 1."""
    return (RARE / (RARE + shares)).astype(np.float32)


def starting_vectors(vectors: Floats) -> Floats:
    """Return vectors without what all of them share, of length 1: float32 `[words, 128]`.

    The mean carries frequency, not meaning (Mu and Viswanath 2018, arXiv:1702.01417).
    """
    return unit_rows(vectors - vectors.mean(axis=0))[0]


def unit_rows(vectors: Floats) -> tuple[Floats, Floats]:
    """Return rows of length 1, those of zeros as they are, and the lengths: float32 `[rows, width]` and `[rows, 1]`."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(_TINY))
    return (vectors / lengths).astype(np.float32), lengths


def draw_halves(stream: Numbers, seed: int, step: int, pairs: int = PAIRS) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Draw stretches and cut each in the middle.

    Args:
        stream: the numbers of words in the order of the texts.
        seed: with `step`, decides which.
        step: number of the step.
        pairs: how many stretches.

    Returns:
        The words of all first halves, then of all second halves; and where each half starts, int64 `[2 * pairs + 1]`.
    """
    rng = np.random.default_rng((seed, step))
    lengths = rng.integers(SHORTEST // 2, LONGEST // 2 + 1, pairs)
    starts = rng.integers(0, len(stream) - LONGEST, pairs)
    firsts = np.concatenate([starts, starts + lengths])
    sizes = np.concatenate([lengths, lengths])
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(bounds[-1]) + np.repeat(firsts - bounds[:-1], sizes)
    return stream[places], bounds


class Neighbors:
    """Word vectors in training by the direct objective.

    Attributes:
        vectors: float32 `[words, 128]`.
        squares: of the gradients so far, for Adagrad; float32 `[words, 128]`.
    """

    def __init__(self, vectors: Floats, weights: Floats) -> None:
        self.vectors, self.squares = vectors.copy(), np.zeros_like(vectors)
        self._weights = weights

    def state(self) -> Arrays:
        """Return all that is trained."""
        return {"vectors": self.vectors, "squares": self.squares}

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""
        self.vectors[:], self.squares[:] = state["vectors"], state["squares"]

    def step(self, tokens: Numbers, bounds: npt.NDArray[np.int64]) -> float:
        """Take one step on the halves of `draw_halves`; return the loss."""
        used, places = np.unique(tokens, return_inverse=True)
        texts = sparse.csr_matrix(
            (self._weights[tokens], places.ravel(), bounds), shape=(len(bounds) - 1, len(used)), dtype=np.float32
        )
        loss, sums = info_nce(texts @ self.vectors[used])
        slopes = texts.T @ sums
        squares = self.squares[used] + np.square(slopes)
        self.squares[used] = squares
        self.vectors[used] -= np.float32(RATE) * slopes / np.sqrt(squares + np.float32(_TINY))
        return loss


def info_nce(sums: Floats) -> tuple[float, Floats]:
    """Return the loss of texts' vectors, the second half of which belong to the first in order, and its gradient.

    Args:
        sums: float32 `[2 * pairs, 128]`, of any length.
    """
    texts, lengths = unit_rows(sums)
    pairs = len(texts) // 2
    left, right = texts[:pairs], texts[pairs:]
    logits = left @ right.T / np.float32(TEMPERATURE)
    # Each half chooses among the others' halves: rows choose columns, and columns rows.
    by_rows, by_columns = _softmax(logits, axis=1), _softmax(logits, axis=0)
    right_ones = np.arange(pairs)
    chances = by_rows[right_ones, right_ones] * by_columns[right_ones, right_ones]
    loss = -float(np.log(np.maximum(chances, _TINY)).mean()) / 2
    slopes = (by_rows + by_columns) / np.float32(2 * pairs * TEMPERATURE)
    slopes[right_ones, right_ones] -= np.float32(1 / (pairs * TEMPERATURE))
    gradient = np.concatenate([slopes @ right, slopes.T @ left])
    # A length changes no cosine.
    gradient -= texts * np.sum(texts * gradient, axis=1, keepdims=True)
    return loss, (gradient / lengths).astype(np.float32)


def _softmax(logits: Floats, axis: int) -> Floats:
    powers = np.exp(logits - logits.max(axis=axis, keepdims=True))
    found: Floats = powers / powers.sum(axis=axis, keepdims=True)
    return found
