"""Eight bytes a word, chosen for the texts of a training: the directions in which these texts differ are kept best.

News differ in few directions, and coded for these, words lose next to nothing. Labels would say still better which directions count,
but held-out texts would then be read by codes that know their labels (docs/meaning.md).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from retvec_lite.contract import Floats
from retvec_lite.meaning import DIMENSION, SUBSPACES
from retvec_lite.model.product_codes import Codes, balanced_order, codes_of, nearest_codebooks

_OF_WORDS: Final = 0.3
"""How much the directions of the words' vectors count beside those in which the texts differ."""
_USUAL: Final = 0.5
"""Length of vectors of the usual table beside those of requests, chosen on validation texts; 0.7 is better for news alone."""
_TYPICAL: Final = 2_000
"""First words of a table: their mean length is taken as that of its vectors."""
_LEAST: Final = 1e-6
"""Least variance of a direction, as a share of the mean one: codebooks are divided by its root."""


def side_by_side(usual: Floats, requests: Floats) -> Floats:
    """Return what words mean by two tables at once, float32 `[words, 128]`: the numbers of both, at lengths that go together.

    Args:
        usual: vectors of the usual table, float32 `[words, 64]`.
        requests: vectors of the same words in the table of requests, float32 `[words, 64]`.
    """
    return np.concatenate([_at_length(usual, _USUAL), _at_length(requests, 1.0)], axis=1)


def _at_length(vectors: Floats, length: float) -> Floats:
    mean = float(np.linalg.norm(vectors[:_TYPICAL], axis=1).mean())
    found: Floats = vectors * np.float32(length / max(mean, 1e-9))
    return found


def text_meanings(words: npt.NDArray[np.integer[Any]], vectors: Floats) -> Floats:
    """Return the sum of the vectors of each text's words, of length 1 or 0: float32 `[texts, width]`.

    Args:
        words: rows of `vectors`, integers `[texts, slots]`.
        vectors: float32 `[words, width]`; zeros for words without a meaning.
    """
    texts, slots = words.shape
    ends = np.arange(texts + 1) * slots
    counts = sparse.csr_matrix((np.ones(words.size, np.float32), words.reshape(-1), ends), (texts, len(vectors)))
    found: Floats = counts @ vectors
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-9))
    return found


def fitting_codes(vectors: Floats, importance: Floats, texts: Floats, seed: int) -> tuple[Codes, Floats]:
    """Return codes uint8 `[words, 8]` and codebooks float32 `[8, 256, 8]`, in a space turned against that of `vectors`.

    Of more than 64 directions, the 64 that say most are kept. Cosines between texts are about the same there, single numbers are not.

    Args:
        vectors: float32 `[words, width]`, of 64 numbers or more.
        importance: how much each word counts, float32 `[words]`.
        texts: what the texts mean, float32 `[texts, width]`; those without a known word, zeros, do not count.
        seed: of the first centres.
    """
    known = texts[texts.any(axis=1)].astype(np.float64)
    away = known - known.sum(axis=0) / max(len(known), 1)
    of_words = (vectors.T.astype(np.float64) * importance) @ vectors
    squares, axes = np.linalg.eigh(_of_trace_one(away.T @ away) + _OF_WORDS * _of_trace_one(of_words))
    squares, axes = squares[-DIMENSION:], axes[:, -DIMENSION:].astype(np.float32)
    weights = np.sqrt(np.maximum(squares / max(squares.mean(), 1e-12), _LEAST)).astype(np.float32)
    turned = (vectors @ axes) * weights
    order = balanced_order((np.square(turned) * importance[:, None]).mean(axis=0), SUBSPACES)
    turned = np.ascontiguousarray(turned[:, order])
    codebooks = nearest_codebooks(turned, importance, SUBSPACES, seed)
    return codes_of(turned, codebooks), codebooks / weights[order].reshape(SUBSPACES, 1, -1)


def _of_trace_one(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scale a matrix of products to a trace of 1; zeros stay zeros."""
    return products / max(float(np.trace(products)), 1e-12)
