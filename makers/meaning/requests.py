"""What English words mean in requests: what a sentence encoder says of open sentences, shared out among their words."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import tensorflow as tf
from scipy import sparse

from makers.meaning.biases import describe_biases
from makers.meaning.codes import balanced_axes, importance, on_grid
from makers.meaning.valence import with_valence
from makers.meaning.words import meaning_words_of
from makers.teacher import BATCH, HELD_OUT, Lessons, distance, rate_at
from retvec_lite.contract import Floats, Ints
from retvec_lite.meaning import DIMENSION
from retvec_lite.model.meaning_file import WORD_BYTES, MeaningFile, codes_of, nearest_codebooks
from retvec_lite.version import __version__

LANGUAGE: Final = "en"
_MOST_WORDS: Final = 60
"""Words of a sentence that are read."""
_RATE: Final = 0.004
_WARM_UP: Final = 200
_FORGOTTEN: Final = 0.1
"""Share of the words that a step does not see: a word has to say something by itself."""
_SHARE_OF_START: Final = 0.5
"""Length of what neighbours say of a text, beside what the encoder says: it knows news better (ten texts a label of AG News, SVM: .807 instead
of .801). Where both count alike, intents lose."""
BYTES: Final = WORD_BYTES[-1]
"""Of a word."""
_SENTENCES_OF_AXES: Final = 40_000
"""Sentences that choose which 64 of 128 numbers are kept."""


def learn(lessons: Lessons, start: MeaningFile, valence: Mapping[str, float]) -> MeaningFile:
    """Return the words of `start` with what they mean in requests.

    Args:
        lessons: sentences, and what the encoder says of them.
        start: what words mean to begin with.
        valence: how good some words are, -1 to 1.
    """
    numbers = word_numbers(lessons.sentences, start.words)
    counts = np.bincount(numbers.reshape(-1), minlength=len(start.words) + 1)[1:] + 1
    learned, cosine = distil(numbers, lessons, start.vectors)
    exact = main_directions(learned, start.vectors, numbers)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    exact = with_valence(exact / np.maximum(lengths, 1e-9), start.words, valence) * lengths
    exact = (exact / lengths.mean()).astype(np.float32)
    exact = exact @ balanced_axes(exact, counts, BYTES)
    codebooks = on_grid(nearest_codebooks(exact, importance(counts), BYTES, seed=0))
    bare = MeaningFile(start.words, codes_of(exact, codebooks), codebooks, LANGUAGE, {})
    method = (
        f"the vectors that all-MiniLM-L6-v2 (Apache-2.0) gives {len(numbers):,} open sentences, shared out among their words (cosine of "
        f"{cosine:.3f} to those of {HELD_OUT:,} unseen sentences); beside them, counting half, what neighbours in text say: "
        f"{start.card.get('method', 'not stated')}; {DIMENSION} main directions of both, product codes of {BYTES} bytes"
    )
    card = {name: text for name, text in start.card.items() if name != "settings"} | {
        "biases": describe_biases(bare.words, bare.vectors, LANGUAGE),
        "created_by": f"retvec-lite {__version__}, makers.meaning",
        "method": method,
    }
    return dataclasses.replace(bare, card=card)


def word_numbers(sentences: Sequence[str], words: Sequence[str]) -> Ints:
    """Return the numbers of the words of each sentence, from 1 on; 0 for unknown ones and behind the last: int32 `[sentences, 60]`."""
    places = {word: place + 1 for place, word in enumerate(words)}
    found = np.zeros((len(sentences), _MOST_WORDS), np.int32)
    for row, sentence in zip(found, sentences, strict=True):
        numbers = [places.get(word, 0) for word in meaning_words_of(sentence)][:_MOST_WORDS]
        row[: len(numbers)] = numbers
    return found


class WordTrainer:
    """Vectors of words whose sums are as similar as the encoder says that sentences are.

    Args:
        start: what words mean to begin with, float32 `[words, 64]`.
        dimension: of the encoder's vectors.
        steps: how many there will be.
    """

    def __init__(self, start: Floats, dimension: int, steps: int) -> None:
        rng = np.random.default_rng(0)
        table = np.concatenate([np.zeros((1, DIMENSION)), start / np.linalg.norm(start, axis=1).mean()])
        self._table = tf.Variable(table.astype(np.float32))
        self._kernel = tf.Variable(0.05 * rng.normal(size=(DIMENSION, dimension)).astype(np.float32))
        self._optimizer = tf.keras.optimizers.Adam(_RATE)
        self._optimizer.build([self._table, self._kernel])
        shapes = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, dimension]), tf.TensorSpec([2], tf.int32)]
        self._step = tf.function(self._learn, input_signature=shapes, autograph=False)
        self._done, self._steps = 0, steps

    def step(self, ids: Ints, wanted: Floats) -> float:
        """Learn from some sentences once; return the loss."""
        self._optimizer.learning_rate.assign(rate_at(self._done, self._steps, _RATE, _WARM_UP))
        used = max(1, int(np.flatnonzero(ids.any(axis=0)).max(initial=0)) + 1)
        self._done += 1
        return float(self._step(ids[:, :used], wanted, np.array([0, self._done], np.int32)))

    def cosine(self, ids: Ints, wanted: Floats) -> float:
        """Return the mean cosine of sentences to the encoder's vectors, of length 1."""
        return float((self._answer(ids, (ids != 0).astype(np.float32)).numpy() * wanted).sum(axis=1).mean())

    def vectors(self) -> Floats:
        """Return the vectors of words, float32 `[words, 64]`, stretched as the kernel stretches them: cosines of sums are those of its answers."""
        kernel = self._kernel.numpy()
        squares, axes = np.linalg.eigh(kernel @ kernel.T)
        found: Floats = self._table.numpy()[1:] @ (axes * np.sqrt(np.maximum(squares, 0.0)))
        return found

    def _answer(self, ids: tf.Tensor, seen: tf.Tensor) -> tf.Tensor:
        words = tf.reduce_sum(tf.gather(self._table, ids) * seen[:, :, None], axis=1)
        return tf.math.l2_normalize(tf.matmul(tf.math.l2_normalize(words, axis=1), self._kernel), axis=1)

    def _learn(self, ids: tf.Tensor, wanted: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            known = tf.cast(tf.not_equal(ids, 0), tf.float32)
            found = self._answer(ids, tf.nn.experimental.stateless_dropout(known, _FORGOTTEN, seed))
            loss = distance(found, wanted)
        variables = [self._table, self._kernel]
        slopes = [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, variables)]
        self._optimizer.apply_gradients(zip(slopes, variables, strict=True))
        return loss


def distil(numbers: Ints, lessons: Lessons, start: Floats) -> tuple[Floats, float]:
    """Return `WordTrainer.vectors` of all sentences, and the mean cosine of those that were not learned from.

    Args:
        numbers: see `word_numbers`.
        lessons: the sentences, and what the encoder says of them.
        start: see `WordTrainer`.
    """
    trainer, rng = WordTrainer(start, lessons.width, lessons.steps), np.random.default_rng(0)
    for number in range(lessons.visits):
        lesson = lessons.visit(number)
        ids, rows = numbers[lesson.places], rng.permutation(len(lesson.places))
        batches = np.split(rows, range(BATCH, len(rows), BATCH))
        losses = [trainer.step(ids[some], lesson.vectors[some]) for some in batches]
        print(f"visit {number + 1} of {lessons.visits}: loss {np.mean(losses):.4f}", flush=True)
    held_out = lessons.held_out
    return trainer.vectors(), trainer.cosine(numbers[held_out.places], held_out.vectors)


def main_directions(learned: Floats, start: Floats, numbers: Ints) -> Floats:
    """Return the 64 main directions of both kinds of vectors, as texts vary in them: float32 `[words, 64]`."""
    some = numbers[:_SENTENCES_OF_AXES]
    rows, _ = used = np.nonzero(some)
    shape = (len(some), len(learned))
    texts = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, some[used] - 1)), shape)
    parts = [vectors / np.sqrt(np.square(texts @ vectors).sum(axis=1).mean()) for vectors in (learned, start)]
    both = np.concatenate([parts[0], _SHARE_OF_START * parts[1]], axis=1)
    found = texts @ both
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    _, axes = np.linalg.eigh(np.cov(found, rowvar=False))
    kept: Floats = (both @ axes[:, : -DIMENSION - 1 : -1]).astype(np.float32)
    return kept
