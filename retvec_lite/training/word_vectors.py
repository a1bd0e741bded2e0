"""Word vectors in a training, in NumPy alone: TensorFlow takes seconds to load, and never lets go of a graph that it has compiled."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from retvec_lite.contract import Floats, Ints, bits
from retvec_lite.model.heads import word_dimension
from retvec_lite.terminal import Progress, silent

WORDS_AT_ONCE: Final = 4096
"""How many are computed together: matrices of so many rows fill the cores, and not the memory."""

Weights = Mapping[str, Floats]


def embed_words(words: Ints, weights: Weights, progress: Progress = silent) -> npt.NDArray[np.float16]:
    """Return word vectors, float16 `[distinct words, dimension]`; row 0, the empty word, is zeros as in unused slots.

    Float16 holds a tanh output to 2.4e-4, less than what dropout and typos do to a training text, at half the memory.

    Args:
        words: all words by id, int32 `[distinct words, word_length]`.
        weights: `embedding/...`; none for RETVec-raw.
        progress: told of "embedding words".
    """
    table = np.empty((len(words), word_dimension(weights, words.shape[1])), np.float16)
    for start in range(0, len(words), WORDS_AT_ONCE):
        found = embedded(words[start : start + WORDS_AT_ONCE], weights)
        table[start : start + len(found)] = found
        progress("embedding words", start + len(found), len(words))
    table[0] = 0.0
    return table


def embedded(words: Ints, weights: Weights) -> Floats:
    """Return the vectors of some words, float32 `[words, dimension]`; see `reference_network.embed`."""
    values = bits(words)
    if "embedding/dense_0/kernel" not in weights:
        return values
    values = gelu(dense(values, weights, "embedding/dense_0"))
    values = gelu(dense(values, weights, "embedding/dense_1"))
    found: Floats = np.tanh(dense(values, weights, "embedding/dense_2"))
    return found


def dense(values: Floats, weights: Weights, name: str) -> Floats:
    """Return `values @ kernel + bias`."""
    found: Floats = values @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]
    return found


def gelu(values: Floats) -> Floats:
    """Apply exact GELU, see `reference_network.gelu`."""
    found: Floats = values * (0.5 * (1.0 + erf(values * np.float32(np.sqrt(0.5)))))
    return found
