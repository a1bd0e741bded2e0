"""What networks read: batches of word ids, each cut to its longest text, and the vectors of words under a frozen embedding."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

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

_WINDOW: Final = 16
"""Batches are formed within this many batches' worth of shuffled texts, sorted by length."""


class WordBatch(NamedTuple):
    """Rows of the data set and their word ids, int32 `[batch, words]` with `words` one of `lengths(max_words)`."""

    rows: npt.NDArray[np.int64]
    ids: Ints


def lengths(max_words: int) -> tuple[int, ...]:
    """Return the lengths that batches are cut to: few, because XLA compiles a step for each."""
    return tuple(sorted({max(1, round(max_words * share)) for share in (0.25, 0.5, 0.75, 1.0)}))


def epoch(ids: Ints, batch_size: int, rng: np.random.Generator) -> Iterator[WordBatch]:
    """Yield texts in random order, none twice, in batches of similar length, cut to what their texts need.

    Padding is the most expensive part of short texts. The few texts that fill no batch wait for the next epoch.
    """
    used = used_words(ids)
    order = rng.permutation(len(ids))
    window = batch_size * _WINDOW
    groups = [order[start : start + window] for start in range(0, len(order), window)]
    batches: list[npt.NDArray[np.int64]] = []
    for group in groups:
        group = group[np.argsort(used[group], kind="stable")]
        count = len(group) // batch_size
        skipped = rng.integers(0, len(group) - count * batch_size + 1)
        batches += np.split(group[skipped : skipped + count * batch_size], count) if count else []
    for index in rng.permutation(len(batches)):
        rows = batches[index]
        yield WordBatch(rows, _cut(ids[rows], int(used[rows].max())))


def in_order(ids: Ints, batch_size: int) -> Iterator[WordBatch]:
    """Yield every text once, sorted by length, for prediction; the last batch is filled up with repeated rows."""
    used = used_words(ids)
    order = np.argsort(used, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        rows = np.concatenate([rows, np.repeat(rows[-1:], batch_size - len(rows))])
        yield WordBatch(rows, _cut(ids[rows], int(used[rows].max())))


def used_words(ids: Ints) -> npt.NDArray[np.int64]:
    """Return how many slots each text uses; they are always the first ones."""
    used: npt.NDArray[np.int64] = (ids != 0).sum(axis=1)
    return used


def distinct_words(ids: Ints) -> tuple[Ints, Ints]:
    """Return the ids of the words that texts use, the empty word 0 first, and the texts as places among them: what reads one word reads it once."""
    distinct, places = np.unique(np.append(ids, 0), return_inverse=True)
    return distinct, places[:-1].reshape(ids.shape).astype(np.int32)


def _cut(ids: Ints, needed: int) -> Ints:
    return ids[:, : next(length for length in lengths(ids.shape[1]) if length >= needed)]


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
