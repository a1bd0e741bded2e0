"""Product codes of words: vectors turned into axes that share what they have to say among the bytes, and codebooks that 8-bit integers hold."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.model.grid import snap
from retvec_lite.model.meaning_file import Codes, balanced_order, codes_of, nearest_codebooks
from retvec_lite.ngrams import INTEGERS

_FREQUENCY: Final = 0.4
"""Exponent of how often a word occurs, for how much its error counts: texts are made of frequent words."""
_SEED: Final = 0


def importance(frequencies: npt.NDArray[Any]) -> Floats:
    """Return how much the error of each word counts, float32 `[words]`, 1 together.

    Args:
        frequencies: how often each word occurs, in any unit, above 0.
    """
    powers = frequencies.astype(np.float64) ** _FREQUENCY
    found: Floats = (powers / powers.sum()).astype(np.float32)
    return found


def balanced_axes(vectors: Floats, counts: Floats, size: int) -> Floats:
    """Return the principal axes in the order of `balanced_order`: float32 `[width, width]`.

    Args:
        vectors: float32 `[words, width]`.
        counts: how much each word counts, float32 `[words]`.
        size: bytes of a word.
    """
    variances, axes = np.linalg.eigh((vectors * counts[:, None]).T @ vectors)
    found: Floats = axes[:, balanced_order(variances, size)].astype(np.float32)
    return found


def coded(vectors: Floats, counts: Floats, size: int) -> tuple[Codes, Floats]:
    """Return the codes of k-means, uint8 `[words, size]`, and their codebooks, float32 `[size, 256, width / size]`; arguments as above.

    The codebooks are multiples of one scale, which 8-bit integers hold: every later quantizer finds the same grid.
    """
    books = nearest_codebooks(vectors, counts, size, _SEED)
    codebooks = snap(books.reshape(-1, 1), INTEGERS).reshape(books.shape)
    return codes_of(vectors, codebooks), codebooks
