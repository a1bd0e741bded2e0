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

_EVEN: Final = 0.3
"""How much the directions in which words differ count beside those in which texts do."""
_LEAST: Final = 1e-6
"""Share of the mean direction that each one counts at least: no word says anything in the others."""


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

    Of more than 64 directions, those are kept that say most. Cosines between texts are about the same there, numbers are not.

    Args:
        vectors: float32 `[words, width]`, of 64 numbers or more.
        importance: how much each word counts, float32 `[words]`.
        texts: what the texts mean, float32 `[texts, width]`; those without a known word, zeros, do not count.
        seed: of the first centres.
    """
    known = texts[texts.any(axis=1)].astype(np.float64)
    away = known - known.sum(axis=0) / max(len(known), 1)
    squares, axes = np.linalg.eigh(_shares(away.T @ away) + _EVEN * _shares((vectors.T * importance) @ vectors))
    squares, axes = squares[-DIMENSION:], axes[:, -DIMENSION:].astype(np.float32)
    weights = np.sqrt(np.maximum(squares / squares.mean(), _LEAST)).astype(np.float32)
    turned = (vectors @ axes) * weights
    order = balanced_order((np.square(turned) * importance[:, None]).mean(axis=0), SUBSPACES)
    turned = np.ascontiguousarray(turned[:, order])
    codebooks = nearest_codebooks(turned, importance, SUBSPACES, seed)
    return codes_of(turned, codebooks), codebooks / weights[order].reshape(SUBSPACES, 1, -1)


def _shares(products: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """Return a matrix of products whose trace is 1, or 0."""
    found: npt.NDArray[np.float64] = products / max(float(np.trace(products)), 1e-12)
    return found
