"""The oracle: the contract (code points -> words -> bits -> embedding) once more, in plain Python and NumPy.

It is written to be read and checked against section 1 of the design, not to be fast, and shares no code with the graph:
what both compute alike from the same text is what `verify` calls parity.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from retvec_lite.config import (
    BITS,
    INVISIBLE,
    MAX_CODE_POINT,
    REPLACEMENT,
    SEPARATORS,
    UNSPACED,
    EncoderConfig,
    Piece,
)

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]
Weights = Mapping[str, FloatArray]

_SEPARATORS = frozenset((0, *SEPARATORS))
_INVISIBLE = frozenset(INVISIBLE)


def codepoints(text: str, max_chars: int) -> IntArray:
    """What an app feeds the model: `text`'s code points, cut or zero-padded, int32 `[max_chars]`."""
    padded = np.zeros(max_chars, np.int32)
    values = [ord(char) for char in text[:max_chars]]
    padded[: len(values)] = values
    return padded


def words(values: Sequence[int] | IntArray, config: EncoderConfig) -> IntArray:
    """Contract rules 1 to 5: the word slots of one text.

    Args:
        values: code points, any int32 values, shape `[config.max_chars]`.
        config: the contract's parameters.

    Returns:
        int32 `[max_words, word_length]`, zero-padded; a slot is empty exactly when its first code point is 0.
    """
    slots = np.zeros((config.max_words, config.word_length), np.int32)
    for index, piece in enumerate(_pieces([int(value) for value in values], config)[: config.max_words]):
        slots[index, : len(piece)] = piece
    return slots


def count_pieces(values: Sequence[int], config: EncoderConfig) -> int:
    """How many word slots a text asks for, before `max_words` cuts it."""
    return len(_pieces(list(values), config))


def bits(slots: IntArray) -> FloatArray:
    """Contract rule 6: every code point as its 21 binary digits, most significant first.

    Args:
        slots: int32 `[words, word_length]`, Unicode scalar values.

    Returns:
        float32 `[words, word_length * 21]` of zeros and ones.
    """
    digits = (slots[:, :, None].astype(np.int64) >> np.arange(BITS - 1, -1, -1)) & 1
    return digits.reshape(len(slots), -1).astype(np.float32)


def embed(word_bits: FloatArray, weights: Weights) -> FloatArray:
    """The word embedding of section 1.2 (RETVec, NeurIPS 2023, section 3.2): dense GELU, dense GELU, dense tanh.

    Args:
        word_bits: float32 `[words, word_length * 21]`.
        weights: `embedding/dense_{0,1,2}/{kernel,bias}`; without them the embedding is RETVec-raw, the bits themselves.

    Returns:
        float32 `[words, dimension]`.
    """
    if "embedding/dense_0/kernel" not in weights:
        return word_bits
    hidden = gelu(dense(word_bits, weights, "embedding/dense_0"))
    hidden = gelu(dense(hidden, weights, "embedding/dense_1"))
    return np.tanh(dense(hidden, weights, "embedding/dense_2"))


def word_vectors(word_bits: FloatArray, embedding: FloatArray, weights: Weights) -> FloatArray:
    """What the head reads of each word: the embedding, and character features where a classifier has them.

    A feature is the largest response of a filter to any window of neighbouring characters, through tanh (Kim et al. 2016,
    https://arxiv.org/abs/1508.06615, section 2.2). Beyond the ends of the slot are zeros.

    Args:
        word_bits: float32 `[words, word_length * 21]`.
        embedding: float32 `[words, dimension]`, what `embed` gave for them.
        weights: `characters/kernel` `[window * 21, filters]` and `characters/bias`; without them there are no such features.

    Returns:
        float32 `[words, dimension + filters]`.
    """
    if "characters/kernel" not in weights:
        return embedding
    width = weights["characters/kernel"].shape[0]
    beyond = width // BITS // 2 * BITS
    padded = np.pad(word_bits, ((0, 0), (beyond, beyond)))
    responses = [
        dense(padded[:, start : start + width], weights, "characters") for start in range(0, word_bits.shape[1], BITS)
    ]
    return np.concatenate([embedding, np.tanh(np.max(responses, axis=0))], axis=1)


def dense(inputs: FloatArray, weights: Weights, name: str) -> FloatArray:
    """`inputs @ kernel + bias`, computed in float64 so that the oracle's own rounding does not blur a bound of 1e-5."""
    product = inputs.astype(np.float64) @ weights[f"{name}/kernel"].astype(np.float64)
    return (product + weights[f"{name}/bias"]).astype(np.float32)


def gelu(inputs: FloatArray) -> FloatArray:
    """Exact GELU, x * (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415)."""
    erf = np.frompyfunc(math.erf, 1, 1)(inputs.astype(np.float64) / math.sqrt(2.0)).astype(np.float64)
    activated: FloatArray = (0.5 * inputs * (1.0 + erf)).astype(np.float32)
    return activated


def _pieces(values: list[int], config: EncoderConfig) -> list[list[int]]:
    """Every piece of a text, in order: sanitize, drop, cut into runs of one script, cut runs into pieces."""
    pieces: list[list[int]] = []
    run: list[int] = []
    run_script: str | None = None
    for value in values:
        char = _sanitize(value)
        if config.drop_invisible and char in _INVISIBLE:
            continue
        script = _script(char, config)
        if script != run_script:
            pieces.extend(_cut(run, run_script, config))
            run, run_script = [], script
        run.append(char)
    pieces.extend(_cut(run, run_script, config))
    return pieces


def _sanitize(value: int) -> int:
    is_scalar = 0 <= value <= MAX_CODE_POINT and not 0xD800 <= value <= 0xDFFF
    return value if is_scalar else REPLACEMENT


def _script(char: int, config: EncoderConfig) -> str | None:
    """Which cutting rule a character falls under; None for a separator."""
    if char in _SEPARATORS:
        return None
    for script, ranges in UNSPACED.items():
        if getattr(config, script) and any(first <= char <= last for first, last in ranges):
            return script
    return "spaced"


def _cut(run: list[int], script: str | None, config: EncoderConfig) -> list[list[int]]:
    if script is None:
        return []
    if script == "spaced" and config.overflow == "truncate":
        return [run[: config.word_length]]
    whole = Piece(config.word_length, config.word_length)
    length, step = whole if script == "spaced" else getattr(config, script)
    overlap = length - step
    starts = [start for start in range(0, len(run), step) if start == 0 or start + overlap < len(run)]
    return [run[start : start + length] for start in starts]
