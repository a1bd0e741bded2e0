"""What pre-trained networks say of the words and sentences of a training: NumPy alone, each distinct word once."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from scipy.special import erf

from retvec_lite.contract import Floats, Ints, bits
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.sentence_network import SentenceNetwork
from retvec_lite.terminal import Progress, silent

_WORDS_AT_ONCE: Final = 4096
_TEXTS_AT_ONCE: Final = 512
"""How many are computed together: matrices of so many rows fill the cores, and not the memory."""


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

    def __init__(
        self, network: SentenceNetwork, head: PoolHead, words: Ints, ids: Ints | None, progress: Progress = silent
    ) -> None:
        self._network = network
        self._hidden = _gelu(self._dense(word_vectors(words, network.weights, progress), "head/word"))
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
        hidden = hidden + _gelu(self._dense(mixed, "head/block_0/pointwise"))
        means = np.add.reduceat(hidden, starts) / counts[counts > 0, None]
        found[counts > 0] = np.concatenate([means, np.maximum.reduceat(hidden, starts)], axis=1)
        return found

    def _dense(self, values: Floats, name: str) -> Floats:
        return _dense(values, self._network.weights, name)


def word_vectors(words: Ints, weights: Mapping[str, Floats], progress: Progress = silent) -> Floats:
    """Return the vectors of words, int32 `[words, word_length]`, by an embedding: float32 `[words, dimension]`; their bits without one.

    Row 0, the empty word, is zeros as in unused slots. Progress is told of "embedding words".
    """
    found = []
    for start in range(0, len(words), _WORDS_AT_ONCE):
        values = bits(words[start : start + _WORDS_AT_ONCE])
        if weights:
            values = _gelu(_dense(values, weights, "embedding/dense_0"))
            values = _gelu(_dense(values, weights, "embedding/dense_1"))
            values = np.tanh(_dense(values, weights, "embedding/dense_2"))
        found.append(values)
        progress("embedding words", start + len(values), len(words))
    vectors: Floats = np.concatenate(found)
    vectors[0] = 0.0
    return vectors


def _dense(values: Floats, weights: Mapping[str, Floats], name: str) -> Floats:
    found: Floats = values @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]
    return found


def _gelu(values: Floats) -> Floats:
    """Apply exact GELU, see `reference_network.gelu`."""
    found: Floats = values * (0.5 * (1.0 + erf(values * np.float32(np.sqrt(0.5)))))
    return found
