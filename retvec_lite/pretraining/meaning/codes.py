"""Sixteen bytes a word: product codes of the vectors that a pre-training has found.

Files of classifiers have eight bytes a word, which each training chooses anew: those that fit its texts.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.model.product_codes import Codes, balanced_order, codes_of, nearest_codebooks
from retvec_lite.ngrams import INTEGERS

BYTES: Final = 16
"""Of a word: next to nothing is lost. With 8, whatever the texts of a training, a linear SVM of ten news texts a label lost .010 (validation texts)."""
BYTES_OF_OTHERS: Final = 8
"""The same in a language that joins the space of another one: the package has many of them."""

_FREQUENCY: Final = 0.4
"""Exponent of how often a word occurs, for how much its error counts: texts are made of frequent words."""


_Often = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def coded(vectors: Floats, counts: _Often, subspaces: int, seed: int) -> tuple[Codes, Floats]:
    """Return codes and codebooks: uint8 `[words, subspaces]`, and float32 `[subspaces, 256, 64 / subspaces]` as multiples of one scale.

    Args:
        vectors: float32 `[words, 64]`.
        counts: how often each word occurs, or its share.
        subspaces: how many bytes a word has.
        seed: of the first centres.
    """
    codebooks = on_grid(nearest_codebooks(vectors, _importance(counts), subspaces, seed))
    return codes_of(vectors, codebooks), codebooks


def principal_axes(vectors: Floats, counts: _Often, subspaces: int) -> Floats:
    """Return the principal axes in the order of subspaces that have about as much to say: float32 `[64, 64]`; arguments as of `coded`."""
    variances, axes = np.linalg.eigh((vectors * _importance(counts)[:, None]).T @ vectors)
    found: Floats = axes[:, balanced_order(variances, subspaces)].astype(np.float32)
    return found


def _importance(counts: _Often) -> Floats:
    powers = counts.astype(np.float64) ** _FREQUENCY
    found: Floats = (powers / powers.sum()).astype(np.float32)
    return found


def on_grid(codebooks: Floats) -> Floats:
    """Return codebooks as multiples of one scale, which 8-bit integers hold: every later quantizer finds the same grid."""
    from retvec_lite.model.grid import snap

    return snap(codebooks.reshape(-1, 1), INTEGERS).reshape(codebooks.shape)
