"""Eight bytes a word, chosen for the texts of a training: the directions in which these texts differ are kept best.

News differ in few directions, and coded for these, words lose next to nothing. Labels would say still better which directions count,
but held-out texts would then be read by codes that know their labels (docs/meaning.md).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from retvec_lite.contract import Floats
from retvec_lite.meaning import SUBSPACES
from retvec_lite.model.product_codes import Codes, balanced_order, codes_of, nearest_codebooks

_EVEN: Final = 0.3
"""How much every direction counts beside the variance of the texts in it, whose mean is 1."""


def text_meanings(words: npt.NDArray[np.integer[Any]], vectors: Floats) -> Floats:
    """Return the sum of the vectors of each text's words, of length 1 or 0: float32 `[texts, 64]`.

    Args:
        words: rows of `vectors`, integers `[texts, slots]`.
        vectors: float32 `[words, 64]`; zeros for words without a meaning.
    """
    texts, slots = words.shape
    ends = np.arange(texts + 1) * slots
    counts = sparse.csr_matrix((np.ones(words.size, np.float32), words.reshape(-1), ends), (texts, len(vectors)))
    found: Floats = counts @ vectors
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-9))
    return found


def fitting_codes(vectors: Floats, importance: Floats, texts: Floats, seed: int) -> tuple[Codes, Floats]:
    """Return codes uint8 `[words, 8]` and codebooks float32 `[8, 256, 8]`, in a space turned against that of `vectors`.

    Cosines between texts are about the same there, numbers are not.

    Args:
        vectors: float32 `[words, 64]`.
        importance: how much each word counts, float32 `[words]`.
        texts: what the texts mean, float32 `[texts, 64]`; those without a known word, zeros, do not count.
        seed: of the first centres.
    """
    known = texts[texts.any(axis=1)].astype(np.float64)
    away = known - known.sum(axis=0) / max(len(known), 1)
    squares, axes = np.linalg.eigh(away.T @ away)
    weights = np.sqrt(np.maximum(squares, 0.0) / max(squares.mean(), 1e-12) + _EVEN).astype(np.float32)
    turned = (vectors @ axes.astype(np.float32)) * weights
    order = balanced_order((np.square(turned) * importance[:, None]).mean(axis=0), SUBSPACES)
    turned = np.ascontiguousarray(turned[:, order])
    codebooks = nearest_codebooks(turned, importance, SUBSPACES, seed)
    return codes_of(turned, codebooks), codebooks / weights[order].reshape(SUBSPACES, 1, -1)
