"""Eight bytes a word: product codes (Jegou, Douze and Schmid 2011, https://doi.org/10.1109/TPAMI.2010.57), trained so that texts keep their neighbours.

Nearest codes keep words where they are. What a classifier reads is a sum of many words, so the codebooks are then trained on such sums:
the texts of a batch should be as similar to each other as they are with exact vectors.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from makers.meaning.corpus import Counts, Numbers
from makers.meaning.neighbors import TEMPERATURE, unit_rows
from makers.stage import Arrays
from retvec_lite.contract import Floats
from retvec_lite.meaning import SUBSPACES
from retvec_lite.model.meaning_file import Codes, balanced_order, codes_of, decoded, parts_of
from retvec_lite.ngrams import CODES, INTEGERS

TEXTS: Final = 256
"""Texts of a step, which should keep their neighbours among each other."""
RATE: Final = 0.005
"""Learning rate of the first step; it falls to 0."""

_FREQUENCY: Final = 0.4
"""Exponent of how often a word occurs, for how much its error counts: texts are made of frequent words."""
_TINY: Final = 1e-12


def balanced_axes(vectors: Floats, counts: Counts, subspaces: int = SUBSPACES) -> Floats:
    """Return the principal axes in the order of `product_codes.balanced_order`: float32 `[64, 64]`.

    Args:
        vectors: float32 `[words, 64]`.
        counts: how often each word occurs.
        subspaces: how many bytes a word has.
    """
    variances, axes = np.linalg.eigh((vectors * importance(counts)[:, None]).T @ vectors)
    found: Floats = axes[:, balanced_order(variances, subspaces)].astype(np.float32)
    return found


def importance(counts: Counts) -> Floats:
    """Return how much the error of each word counts, float32 `[words]`, 1 together."""
    powers = counts.astype(np.float64) ** _FREQUENCY
    found: Floats = (powers / powers.sum()).astype(np.float32)
    return found


class CodeTrainer:
    """Codebooks in training; a word's codes are always those nearest to its exact vector.

    Attributes:
        codebooks: float32 `[8, 256, 8]`.
        squares: of the gradients so far, for Adagrad; of the same shape.
    """

    def __init__(self, exact: Floats, codebooks: Floats) -> None:
        self._exact = exact
        self.codebooks, self.squares = codebooks.copy(), np.zeros_like(codebooks)

    def state(self) -> Arrays:
        """Return all that is trained."""
        return {"codebooks": self.codebooks, "squares": self.squares}

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""
        self.codebooks[:], self.squares[:] = state["codebooks"], state["squares"]

    def step(self, tokens: Numbers, bounds: npt.NDArray[np.int64], rate: float) -> float:
        """Take one step on texts like those of `neighbors.draw_halves`; return the loss."""
        used, places = np.unique(tokens, return_inverse=True)
        ones = np.ones(len(tokens), np.float32)
        texts = sparse.csr_matrix((ones, places.ravel(), bounds), shape=(len(bounds) - 1, len(used)))
        exact = self._exact[used]
        codes = codes_of(exact, self.codebooks)
        loss, slopes = kept_neighbors(texts @ exact, texts @ decoded(codes, self.codebooks))
        by_word = (texts.T @ slopes).astype(np.float32)
        by_row = np.stack([_sums(part, rows) for part, rows in zip(parts_of(by_word, SUBSPACES), codes.T, strict=True)])
        self.squares += np.square(by_row)
        self.codebooks -= np.float32(rate) * by_row / np.sqrt(self.squares + np.float32(_TINY))
        return loss


def _sums(slopes: Floats, codes: Codes) -> Floats:
    """Return the sum of the slopes of the words of each row: float32 `[256, 8]`."""
    rows = sparse.csr_matrix(
        (np.ones(len(codes), np.float32), codes, np.arange(len(codes) + 1)), shape=(len(codes), CODES)
    )
    found: Floats = rows.T @ slopes
    return found


def kept_neighbors(exact: Floats, coded: Floats) -> tuple[float, Floats]:
    """Return how far texts are from keeping their neighbours, and the gradient by the coded vectors.

    The Kullback-Leibler divergence of the softmax of cosines to all other texts of the batch, exact and coded.

    Args:
        exact: the texts' vectors, float32 `[texts, 64]`, of any length.
        coded: those by the words' codes.
    """
    texts, lengths = unit_rows(coded)
    targets = _chances(unit_rows(exact)[0])
    found = _chances(texts)
    loss = float(np.sum(targets * np.log(np.maximum(targets, _TINY) / np.maximum(found, _TINY)))) / len(texts)
    slopes = (found - targets) / np.float32(len(texts) * TEMPERATURE)
    gradient = (slopes + slopes.T) @ texts
    gradient -= texts * np.sum(texts * gradient, axis=1, keepdims=True)
    return loss, (gradient / lengths).astype(np.float32)


def _chances(texts: Floats) -> Floats:
    """Return the softmax of each text's cosines to the others; 0 for itself."""
    logits = texts @ texts.T / np.float32(TEMPERATURE)
    np.fill_diagonal(logits, -np.inf)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return found


def on_grid(codebooks: Floats) -> Floats:
    """Return codebooks as multiples of one scale, which 8-bit integers hold: every later quantizer finds the same grid."""
    from retvec_lite.model.grid import snap

    return snap(codebooks.reshape(-1, 1), INTEGERS).reshape(codebooks.shape)
