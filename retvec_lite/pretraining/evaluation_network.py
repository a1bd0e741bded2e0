"""The embedding in float32 NumPy, fast enough for millions of words, and its kernels rounded as exported files store them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from retvec_lite.contract import BITS, Floats, Ints
from retvec_lite.model.weight_files import LAYERS, Embedding
from retvec_lite.runtime.interpreters import silent_standard_error

PRECISIONS: Final[Mapping[str, int]] = {"int8": 127, "int4": 7}
"""What kernels are rounded to besides float32, and the largest integer of that grid."""

# Rows embedded at once: their hidden layers (a megabyte each) stay in the processor's cache.
_ROWS: Final = 1024

# Abramowitz and Stegun, Handbook of Mathematical Functions, formula 7.1.26: |error| <= 1.5e-7, what float32 resolves.
_ERF_P: Final = 0.3275911
_ERF_A: Final = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def embed(embedding: Embedding, words: Ints) -> Floats:
    """Embed words (design, section 1.2) and scale each vector to length 1, so that a dot product is a cosine.

    Args:
        embedding: its own word length may differ from that of `words`, which are padded or cut off.
        words: int32 [N, L] code points, zero-padded.

    Returns:
        float32 [N, dimension].
    """
    weights = [
        (embedding.weights[f"embedding/{layer}/kernel"], embedding.weights[f"embedding/{layer}/bias"])
        for layer in LAYERS
    ]
    vectors = np.empty((len(words), embedding.dimension), np.float32)
    for start in range(0, len(words), _ROWS):
        hidden = _bits(words[start : start + _ROWS], embedding.word_length)
        for kernel, bias in weights[:-1]:
            hidden = _gelu(hidden @ kernel + bias)
        kernel, bias = weights[-1]
        found = np.tanh(hidden @ kernel + bias)
        vectors[start : start + _ROWS] = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return vectors


def quantized(embedding: Embedding, levels: int) -> Embedding:
    """The embedding with each kernel on a symmetric integer grid per output, as an exported file stores it.

    A kernel that lies on its 4-bit grid already (trained for it) stays as it is at either width: the exporter recognizes
    it too, and stores the same numbers in 4 or in 8 bits (`converters/quantize.py`, `to_grid`).

    Args:
        embedding: float32 weights.
        levels: the largest integer: 127 for 8 bits, 7 for 4.
    """
    with silent_standard_error():  # loads Keras
        from retvec_lite.model.grid import FOUR_BITS, snap

    weights = dict(embedding.weights)
    for layer in LAYERS:
        name = f"embedding/{layer}/kernel"
        four_bits = snap(weights[name], FOUR_BITS)
        if not np.array_equal(four_bits, weights[name]):
            weights[name] = four_bits if levels == FOUR_BITS else snap(weights[name], levels)
    return Embedding(embedding.name, weights, embedding.card)


def same_function(one: Embedding, other: Embedding) -> bool:
    """Whether two embeddings have the same weights, bit for bit."""
    return all(np.array_equal(one.weights[name], other.weights[name]) for name in one.weights)


def _bits(words: Ints, word_length: int) -> Floats:
    """Code points as 21 binary digits each, most significant first: float32 [N, word_length * 21]."""
    fitted = words[:, :word_length]
    fitted = np.pad(fitted, ((0, 0), (0, word_length - fitted.shape[1])))
    shifts = np.arange(BITS - 1, -1, -1, dtype=np.int32)
    digits: Floats = ((fitted[:, :, None] >> shifts) & 1).astype(np.float32)
    return digits.reshape(len(words), word_length * BITS)


def _gelu(inputs: Floats) -> Floats:
    """Exact GELU, x * (1 + erf(x / sqrt 2)) / 2, to float32 precision; NumPy has no erf, and `math.erf` is 20 times slower."""
    size = np.abs(inputs) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(_ERF_P) * size)
    polynomial = np.zeros_like(t)
    for coefficient in reversed(_ERF_A):
        polynomial = (polynomial + np.float32(coefficient)) * t
    # 1 - erf(|x| / sqrt 2); a negative input has that much of itself left, a positive one loses it.
    missing = polynomial * np.exp(-size * size)
    activated: Floats = inputs * np.where(inputs < 0, missing, 2 - missing) * np.float32(0.5)
    return activated
