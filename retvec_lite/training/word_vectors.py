"""The vectors of the words of a training, under a frozen word embedding."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import Ints
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.head_graph import Tensors
from retvec_lite.model.heads import word_dimension
from retvec_lite.model.network_graph import embed_bits
from retvec_lite.terminal import Progress, silent

_WORDS_AT_ONCE: Final = 8192


class WordEmbedder:
    """A word embedding as a graph that is compiled once.

    Args:
        weights: `embedding/...`; none for RETVec-raw.
        word_length: code points of a word.
    """

    def __init__(self, weights: Tensors, word_length: int) -> None:
        self._dimension = word_dimension(weights, word_length)
        self._embed = tf.function(
            lambda chunk: tf.cast(embed_bits(word_bits(chunk[None]), weights)[0], tf.float16),
            input_signature=[tf.TensorSpec([_WORDS_AT_ONCE, word_length], tf.int32)],
            jit_compile=True,
            autograph=False,
        )

    def vectors(self, words: Ints, progress: Progress = silent) -> npt.NDArray[np.float16]:
        """Return word vectors, float16 `[distinct words, dimension]`; row 0, the empty word, is zeros as in unused slots.

        Float16 holds a tanh output to 2.4e-4, less than what dropout and typos do to a training text, at half the memory.
        Progress is told of "embedding words".
        """

        def some(start: int) -> npt.NDArray[np.float16]:
            chunk = words[start : start + _WORDS_AT_ONCE]
            padded = np.pad(chunk, ((0, _WORDS_AT_ONCE - len(chunk)), (0, 0)))
            found: npt.NDArray[np.float16] = self._embed(padded).numpy()
            return found[: len(chunk)]

        table = np.empty((len(words), self._dimension), np.float16)
        starts = range(0, len(words), _WORDS_AT_ONCE)
        # TensorFlow leaves the interpreter to other threads, and one small graph does not fill the cores.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for start, found in zip(starts, pool.map(some, starts), strict=True):
                table[start : start + len(found)] = found
                progress("embedding words", start + len(found), len(words))
        table[0] = 0.0
        return table


def embed_words(words: Ints, weights: Tensors, progress: Progress = silent) -> npt.NDArray[np.float16]:
    """Return `WordEmbedder.vectors` of words, int32 `[distinct words, word_length]`."""
    return WordEmbedder(weights, words.shape[1]).vectors(words, progress)
