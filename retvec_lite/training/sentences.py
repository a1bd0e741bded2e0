"""Vectors of words, and what the pre-trained sentence network says of texts, in a training: each distinct word once, in NumPy alone.

TensorFlow takes seconds to load, and never lets go of a graph that it has compiled.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints, bits
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import HeadSpec, PoolHead, word_dimension
from retvec_lite.model.sentence_network import SentenceNetwork
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
    return np.tanh(dense(values, weights, "embedding/dense_2"))


def dense(values: Floats, weights: Weights, name: str) -> Floats:
    """Return `values @ kernel + bias`."""
    return values @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def gelu(values: Floats) -> Floats:
    """Apply exact GELU to 1e-6, see `reference_network.gelu`; Abramowitz and Stegun 1964, 26.2.17, takes a fifth of the time of SciPy's erf."""
    tail = np.array([1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153, 0], np.float32)
    found: Floats = np.empty_like(values)
    for start in range(0, len(values), 128):  # rows that stay in a core's cache
        own = values[start : start + 128]
        size = np.minimum(np.abs(own), np.float32(12))
        density = np.exp(size * size * np.float32(-0.5)) * np.float32(1 / np.sqrt(2 * np.pi))
        beyond = np.polyval(tail, 1 / (1 + np.float32(0.2316419) * size)) * density
        found[start : start + 128] = own * (np.float32(0.5) + np.copysign(np.float32(0.5) - beyond, own))
    return found


_TEXTS_AT_ONCE: Final = 512
_TIES: Final = 1e-3
"""How much the network's own order of directions counts, beside the mean variance of the texts: it decides where few texts do not."""


class SentenceReader:
    """Reads texts by a sentence network, and keeps the directions in which those of a training differ most.

    Args:
        network: its weights.
        head: that of the classifier, which says how many directions.
        words: all words by id, int32 `[distinct words, word_length]`; row 0 is the empty word.
        ids: word ids of the texts to learn from, int32 `[texts, max_words]`; None to keep the network's own directions.
        progress: told of "embedding words".

    Attributes:
        layer: `head/vector/{kernel,bias}`, from the pooled words of a text to its vector; the kernel lies on the 4-bit grid.
    """

    @classmethod
    def of(
        cls, network: SentenceNetwork | None, head: HeadSpec, words: Ints, ids: Ints, progress: Progress
    ) -> "SentenceReader | None":
        """Return the reader of a training for the directions in which its texts differ; None without a network."""
        return cls(network, head, words, ids, progress) if network and isinstance(head, PoolHead) else None

    def __init__(
        self, network: SentenceNetwork, head: PoolHead, words: Ints, ids: Ints | None, progress: Progress = silent
    ) -> None:
        self._network = network
        self._hidden = np.empty((len(words), network.head.hidden), np.float32)
        for start in range(0, len(words), WORDS_AT_ONCE):
            values = embedded(words[start : start + WORDS_AT_ONCE], network.weights)
            self._hidden[start : start + len(values)] = gelu(dense(values, network.weights, "head/word"))
            progress("embedding words", start + len(values), len(words))
        self.layer = {"head/vector/kernel": network.kernel, "head/vector/bias": network.bias}
        if ids is None:
            return
        said = self.vectors(ids)
        mean = said.mean(axis=0)
        products = ((said - mean).T @ (said - mean) / max(len(said), 1)).astype(np.float64)
        ties = _TIES * products.trace() / len(products) / np.arange(1, len(products) + 1)
        _, axes = np.linalg.eigh(products + np.diag(ties))
        basis = axes[:, : -head.vector - 1 : -1].astype(np.float32)
        self.layer = {
            "head/vector/kernel": snap(network.kernel @ basis, FOUR_BITS),
            "head/vector/bias": ((network.bias - mean) @ basis).astype(np.float32),
        }

    @property
    def weights(self) -> dict[str, Floats]:
        """The weights of a classifier's head but for the last layer, `head/...`."""
        return {**self._network.head_weights, **self.layer}

    def vectors(self, ids: Ints) -> Floats:
        """Return the vectors of texts, float32 `[texts, vector]`, by their word ids, int32 `[texts, max_words]` with zeros behind them.

        A text without words has zeros.
        """
        parts = [
            self._pooled(ids[start : start + _TEXTS_AT_ONCE]) for start in range(0, max(len(ids), 1), _TEXTS_AT_ONCE)
        ]
        found: Floats = np.concatenate(parts) @ self.layer["head/vector/kernel"] + self.layer["head/vector/bias"]
        found[~ids.any(axis=1)] = 0.0
        return found

    def _pooled(self, ids: Ints) -> Floats:
        """Return mean and maximum over the words of each text, float32 `[texts, 2 * hidden]`; zeros without words."""
        counts = np.count_nonzero(ids, axis=1)
        found = np.zeros((len(ids), 2 * self._network.head.hidden), np.float32)
        if not counts.any():
            return found
        hidden = self._hidden[ids[ids > 0]]
        ends = np.cumsum(counts[counts > 0])
        starts = ends - counts[counts > 0]
        before, behind = np.zeros_like(hidden), np.zeros_like(hidden)
        before[1:], behind[:-1] = hidden[:-1], hidden[1:]
        before[starts] = behind[ends - 1] = 0.0
        depthwise = self._network.weights["head/block_0/depthwise"]
        mixed = before * depthwise[0] + hidden * depthwise[1] + behind * depthwise[2]
        hidden = hidden + gelu(dense(mixed, self._network.weights, "head/block_0/pointwise"))
        means = np.add.reduceat(hidden, starts) / counts[counts > 0, None]
        found[counts > 0] = np.concatenate([means, np.maximum.reduceat(hidden, starts)], axis=1)
        return found
