"""The network in plain NumPy: bits -> word embedding -> head -> probabilities. Every artifact is compared with it."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import EncoderConfig, Floats, Ints, bits, codepoint_rows, words
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import MeaningConfig, meaning_logits
from retvec_lite.model.heads import VECTOR, CnnHead, HeadSpec, LinearHead, NgramHead, PoolHead
from retvec_lite.ngrams import NgramConfig, ngram_logits

if TYPE_CHECKING:
    from retvec_lite.model.weight_files import TrainedModel

Weights = Mapping[str, Floats]
Mask = npt.NDArray[np.bool_]

_QUIET: Final[contextlib.ContextDecorator] = np.errstate(over="ignore", invalid="ignore")
"""What overflows is refused where probabilities are made of it, see `shares`."""


@_QUIET
def embed(word_bits: Floats, weights: Weights) -> Floats:
    """Compute the word embedding (RETVec, arXiv:2302.09207, embedding model): dense GELU, dense GELU, dense tanh.

    Args:
        word_bits: float32 `[words, word_length * 21]`.
        weights: `embedding/dense_{0,1,2}/{kernel,bias}`; without them, the embedding is the bits themselves (RETVec-raw).

    Returns:
        float32 `[words, dimension]`.
    """
    if "embedding/dense_0/kernel" not in weights:
        return word_bits
    hidden = gelu(dense(word_bits, weights, "embedding/dense_0"))
    hidden = gelu(dense(hidden, weights, "embedding/dense_1"))
    return np.tanh(dense(hidden, weights, "embedding/dense_2"))


def dense(inputs: Floats, weights: Weights, name: str) -> Floats:
    """Compute `inputs @ kernel + bias` in float64, so that rounding in the reference stays far below the bound of 1e-5."""
    product = inputs.astype(np.float64) @ weights[f"{name}/kernel"].astype(np.float64)
    return (product + weights[f"{name}/bias"]).astype(np.float32)


def gelu(inputs: Floats) -> Floats:
    """Apply exact GELU, x * (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415)."""
    erf = np.frompyfunc(math.erf, 1, 1)(inputs.astype(np.float64) / math.sqrt(2.0)).astype(np.float64)
    activated: Floats = (0.5 * inputs * (1.0 + erf)).astype(np.float32)
    return activated


def probabilities(
    slots: Ints, head: HeadSpec, weights: Weights, linear: Floats | None = None, multi_label: bool = False
) -> Floats:
    """Compute the label probabilities of one text.

    Args:
        slots: int32 `[max_words, word_length]`, from `contract.words`.
        head: the head and its sizes.
        weights: the weights of the classifier: `embedding/...` and `head/...`.
        linear: `linear_logits` of the text; None for a classifier that only reads words.
        multi_label: see `shares`.

    Returns:
        float32 `[classes]`.
    """
    vectors = embed(bits(slots), weights)
    logits = head_logits(vectors, slots[:, 0] != 0, head, weights)
    if linear is not None:
        logits = logits + linear
    return shares(logits, multi_label)


def linear_logits(
    values: Ints, encoder: EncoderConfig, ngrams: NgramConfig | None, meaning: MeaningConfig | None, weights: Weights
) -> Floats | None:
    """Compute what n-grams and the meaning of words say about the labels of one text, float32 `[classes]`; None without both.

    Args:
        values: code points, any int32 values, shape `[max_chars]`.
        encoder: the parameters of the contract.
        ngrams: which n-grams; None for a classifier without them.
        meaning: the sizes of the table of meaning; None for a classifier without one.
        weights: `ngrams/...` and `meaning/...`.
    """
    said = None if ngrams is None else ngram_logits(values, encoder, ngrams, weights)
    if meaning is None:
        return said
    meant = meaning_logits(values, encoder, meaning, weights)
    return meant if said is None else said + meant


def shares(logits: Floats, multi_label: bool) -> Floats:
    """Turn logits `[..., classes]` into probabilities: their softmax, or with several labels a text the sigmoid of each.

    Raises:
        RetvecLiteError: for logits that are not finite, which weights of finite but huge numbers give.
    """
    exact = logits.astype(np.float64)
    if not np.isfinite(exact).all():
        raise RetvecLiteError("The weights of the classifier are too large to compute with. Train it again.")
    if multi_label:
        small = np.exp(-np.abs(exact))  # never overflows
        found: Floats = (np.where(exact < 0, small, 1.0) / (1.0 + small)).astype(np.float32)
        return found
    powers = np.exp(exact - exact.max(axis=-1, keepdims=True))
    softmax: Floats = (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)
    return softmax


@_QUIET
def head_logits(embeddings: Floats, mask: Mask, head: HeadSpec, weights: Weights) -> Floats:
    """Compute the logits, float32 `[classes]`, from word vectors `[words, dimension]` and the mask of used slots `[words]`."""
    if isinstance(head, NgramHead):
        return np.zeros_like(weights["ngrams/bias"])
    logits: Floats = dense(_text_features(embeddings, mask, head, weights)[None], weights, "head/logits")[0]
    return logits


@_QUIET
def sentence_vector(embeddings: Floats, mask: Mask, head: HeadSpec, weights: Weights) -> Floats:
    """Compute the vector that a head with one makes of a text, float32 `[vector]`; arguments as for `head_logits`."""
    return _text_features(embeddings, mask, head, weights)


def _text_features(embeddings: Floats, mask: Mask, head: HeadSpec, weights: Weights) -> Floats:
    """Compute what the last layer of a head reads, float32 `[width]`."""
    present = (embeddings * mask[:, None]).astype(np.float32)
    match head:
        case LinearHead():
            mean: Floats = (present.sum(axis=0, dtype=np.float64) / max(int(mask.sum()), 1)).astype(np.float32)
            return mean
        case PoolHead():
            words_read = _in_use("head/word", present, mask, weights)
            hidden, mask = _convolved(words_read, mask, head.blocks, weights)
        case CnnHead():
            regions = gelu(dense(_word(present, weights) * mask[:, None], weights, "head/region"))
            hidden, mask = _convolved(regions, mask, head.blocks, weights)
        case _:
            raise TypeError(f"Unknown head: {head!r}.")
    pooled = _mean_and_max(hidden, mask)
    if f"{VECTOR}/kernel" not in weights:
        return pooled
    vector: Floats = dense(pooled[None], weights, VECTOR)[0] * mask.any()
    return vector


def _word(values: Floats, weights: Weights) -> Floats:
    """Apply the layer that reads each word by itself: float32 `[words, hidden]`."""
    return gelu(dense(values, weights, "head/word"))


def _in_use(name: str, values: Floats, mask: Mask, weights: Weights) -> Floats:
    """Apply a dense layer with GELU to the words in use, and leave zeros for the others: float32 `[words, width]`."""
    used = gelu(dense(values[mask], weights, name))
    found = np.zeros((len(values), used.shape[1]), np.float32)
    found[mask] = used
    return found


def _mean_and_max(values: Floats, mask: Mask) -> Floats:
    """Pool the words in use: float32 `[2 * width]`, zeros for a text without words."""
    if not mask.any():
        return np.zeros(2 * values.shape[1], np.float32)
    used = values[mask]
    pooled: Floats = np.concatenate([used.mean(axis=0, dtype=np.float64), used.max(axis=0)]).astype(np.float32)
    return pooled


def _neighbours(values: Floats) -> Floats:
    """Return the word before each word, itself and the one behind it: float32 `[3, words, width]`, zeros beyond the ends."""
    padded = np.pad(values, ((1, 1), (0, 0)))
    return np.stack([padded[start : start + len(values)] for start in range(3)])


def _convolved(values: Floats, mask: Mask, blocks: int, weights: Weights) -> tuple[Floats, Mask]:
    """Apply residual separable convolutions, with a halving between two."""
    hidden = values * mask[:, None]
    for block in range(blocks):
        name = f"head/block_{block}"
        mixed = np.einsum("kwc,kc->wc", _neighbours(hidden), weights[f"{name}/depthwise"]).astype(np.float32)
        hidden = hidden + _in_use(f"{name}/pointwise", mixed, mask, weights)
        if block + 1 < blocks:
            hidden, mask = _halve(hidden, mask)
    return hidden.astype(np.float32), mask


def _halve(values: Floats, mask: Mask) -> tuple[Floats, Mask]:
    """Take the maximum of each pair of neighbouring words in use; an odd last word forms a pair alone."""
    odd = len(values) % 2
    values = np.pad(np.where(mask[:, None], values, -np.inf), ((0, odd), (0, 0)), constant_values=-np.inf)
    used = np.pad(mask, (0, odd)).reshape(-1, 2).any(axis=1)
    highest = values.reshape(len(used), 2, -1).max(axis=1)
    return np.where(used[:, None], highest, 0.0).astype(np.float32), used


class Reference:
    """The reference as an engine, for trained classifiers that no other runs: slow, a text at a time, and without embeddings."""

    def __init__(self, model: "TrainedModel") -> None:
        """Take a trained classifier."""
        self._model = model

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Return the probabilities of texts that were read (`windows.read_text`), float32 `[texts, classes]`."""
        model, config = self._model, self._model.encoder
        found = []
        for row in codepoint_rows(texts, config.max_chars):
            linear = linear_logits(row, config, model.ngrams, model.meaning, model.weights)
            found.append(probabilities(words(row, config), model.head, model.weights, linear, model.multi_label))
        return np.stack(found)
