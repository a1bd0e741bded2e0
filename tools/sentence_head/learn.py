"""Training of the pre-trained head: sentences in, mistyped or not, the vectors of a sentence encoder out."""

import dataclasses
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.data.typos import mistype
from retvec_lite.model.grid import fake_quantize
from retvec_lite.model.head_graph import Dropout, scan_lstm, text_logits, word_features
from retvec_lite.model.heads import CnnHead
from retvec_lite.pretraining.checkpoints import read_arrays, require_same, write_arrays
from retvec_lite.training.network import is_matrix
from retvec_lite.training.network_inputs import WordEmbedder, distinct_words, used_words
from retvec_lite.training.reading import TextReader
from tools.sentence_head.vectors import PART, read_part

HELD_OUT: Final = 2_000
"""Sentences of the first part that are never learned from."""

HEAD: Final = CnnHead(hidden=256, filters=128, blocks=2)
"""131,000 parameters beside the last layer. The usual sizes are four times as many, and know more, but leave n-grams too little room."""

_SEED: Final = 1
BATCH: Final = 256
"""Sentences of a step."""
_ALIKE: Final = 4096
"""Sentences, drawn at random, that batches of sentences of like length are cut from."""
_RATE: Final = 2.5e-3
_WARM_UP: Final = 500
_DROPOUT: Final = 0.05
"""On word vectors and pooled features. A head trained without it had weights twice as large: rounding the last layer of a classifier to 4 bits
cost .08 on validation texts (CLINC150, ten a label) instead of .02."""
_MOST_MISTYPED: Final = 0.8
"""Share of mistyped words of the sentences that are mistyped, at most; every second sentence is."""
_LIKENESS_WEIGHT: Final = 3.0
"""How much the cosines between the sentences of a batch count, beside those to the encoder's vectors."""
_MAX_WORDS, _MAX_CHARS = 48, 320
_LOGITS: Final = "head/logits/kernel"

Batch = tuple[npt.NDArray[np.float16], Ints, Floats]
"""Word vectors `[distinct words, dimension]`, rows of them `[sentences, words]`, and what to learn `[sentences, 384]`."""


@dataclasses.dataclass(frozen=True)
class Lesson:
    """Sentences and their vectors, of length 1 around the mean of the first part."""

    sentences: Sequence[str]
    vectors: Floats


class Sentences:
    """The sentences and the folder of their vectors; `visit` after `visit` goes over all parts, in a new order each time."""

    def __init__(self, sentences: Sequence[str], folder: Path) -> None:
        self._sentences, self._folder = sentences, folder
        self._parts = -(-len(sentences) // PART)
        self._mean = read_part(folder, 0).mean(axis=0)

    @property
    def held_out(self) -> Lesson:
        """The sentences that are never learned from."""
        return self._lesson(0, slice(0, HELD_OUT))

    def visit(self, number: int) -> Lesson:
        """Return what visit `number`, from 0 on, learns from."""
        round_, place = divmod(number, self._parts)
        part = int(np.random.default_rng([_SEED, round_]).permutation(self._parts)[place])
        return self._lesson(part, slice(HELD_OUT if part == 0 else 0, None))

    def _lesson(self, part: int, rows: slice) -> Lesson:
        vectors = read_part(self._folder, part) - self._mean
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        sentences = self._sentences[part * PART : (part + 1) * PART]
        return Lesson(sentences[rows], vectors[rows])


class HeadTrainer:
    """A head `cnn` on a frozen word embedding, its last layer as wide as the vectors, and its optimizer.

    The kernels are trained on their 4-bit grid, as those of classifiers are.
    """

    def __init__(self, embedding: dict[str, Floats], dimension: int, steps: int) -> None:
        self._embedder, self._steps_planned = WordEmbedder(embedding, EncoderConfig.word_length), steps
        inputs = embedding["embedding/dense_2/kernel"].shape[1]
        weights = HEAD.initial_weights(np.random.default_rng(0), inputs, dimension, _MAX_WORDS)
        self._variables = {name: tf.Variable(value) for name, value in weights.items()}
        self._optimizer = tf.keras.optimizers.Adam(_RATE, clipnorm=1.0)
        self._optimizer.build(list(self._variables.values()))
        self.steps = 0
        table, ids = tf.TensorSpec([None, inputs], tf.float16), tf.TensorSpec([None, None], tf.int32)
        wanted, step = tf.TensorSpec([None, dimension]), tf.TensorSpec([], tf.int32)
        self._step = tf.function(self._learn, input_signature=[table, ids, wanted, step], autograph=False)
        self._predict = tf.function(self._vectors, input_signature=[table, ids], autograph=False)

    def visit(self, lesson: Lesson, number: int) -> float:
        """Learn from each sentence of a lesson once; return the mean loss."""
        rng, order = random.Random(_SEED * 10_000 + number), np.random.default_rng([_SEED, 1, number])
        mistyped = [mistype(text, _MOST_MISTYPED * rng.random(), rng) for text in lesson.sentences]
        losses = []
        for batch in self._batches([lesson.sentences, mistyped], lesson.vectors, order):
            self._optimizer.learning_rate.assign(self._rate())
            losses.append(float(self._step(*batch, np.int32(self.steps))))
            self.steps += 1
        return float(np.mean(losses))

    def cosine(self, lesson: Lesson, typo_rate: float) -> float:
        """Return the mean cosine of what the head says of sentences to what it should say."""
        rng = random.Random(_SEED)
        texts = [mistype(text, typo_rate, rng) if typo_rate else text for text in lesson.sentences]
        ids, table = self._encode([texts])
        found = np.concatenate(
            [self._predict(*_local(part, table)).numpy() for part in np.array_split(ids[0], len(texts) // BATCH)]
        )
        return float((found * lesson.vectors).sum(axis=1).mean())

    def weights(self) -> dict[str, Floats]:
        """Return the weights by name."""
        return {name: variable.numpy() for name, variable in self._variables.items()}

    def save(self, path: Path, visits: int) -> None:
        """Write a checkpoint after so many visits."""
        state = {f"optimizer/{place}": value.numpy() for place, value in enumerate(self._optimizer.variables)}
        done = {"visits": np.asarray(visits), "steps": np.asarray(self.steps)}
        write_arrays(path, {"steps": self._steps_planned}, {**self.weights(), **state, **done})

    def restore(self, path: Path) -> int:
        """Go back to a checkpoint of a run of as many steps; return its visits."""
        before, arrays = read_arrays(path)
        require_same(path.parent, before, {"steps": self._steps_planned})
        for name, variable in self._variables.items():
            variable.assign(arrays[name])
        for place, value in enumerate(self._optimizer.variables):
            value.assign(arrays[f"optimizer/{place}"])
        self.steps = int(arrays["steps"])
        return int(arrays["visits"])

    def _rate(self) -> float:
        """Return the learning rate of the next step: a warm-up, then half a cosine."""
        done = min(1.0, self.steps / self._steps_planned)
        return _RATE * min(1.0, self.steps / _WARM_UP) * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * done)))

    def _encode(self, groups: Sequence[Sequence[str]]) -> tuple[Sequence[Ints], npt.NDArray[np.float16]]:
        """Return the word ids of each group, and the vectors of all words."""
        config = EncoderConfig(max_words=_MAX_WORDS, max_chars=_MAX_CHARS)
        reader = TextReader((text for group in groups for text in group), config)
        return [reader.word_ids(group) for group in groups], self._embedder.vectors(reader.words)

    def _batches(self, groups: Sequence[Sequence[str]], vectors: Floats, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of sentences of like length, all of a batch from one group."""
        ids, table = self._encode(groups)
        rows = rng.permutation(len(vectors))
        lengths = used_words(ids[0])[rows]
        alike = [
            rows[start : start + _ALIKE][np.argsort(lengths[start : start + _ALIKE], kind="stable")]
            for start in range(0, len(rows), _ALIKE)
        ]
        ordered = np.concatenate(alike)
        batches = [ordered[start : start + BATCH] for start in range(0, len(rows) - BATCH + 1, BATCH)]
        rng.shuffle(batches)
        for batch in batches:
            yield *_local(ids[int(rng.integers(len(ids)))][batch], table), vectors[batch]

    def _vectors(self, table: tf.Tensor, ids: tf.Tensor, dropout: Dropout = tf.identity) -> tf.Tensor:
        """Return the vectors of sentences, of length 1."""
        tensors = {name: tf.convert_to_tensor(variable) for name, variable in self._variables.items()}
        weights = {
            name: fake_quantize(value) if is_matrix(name) and name != _LOGITS else value
            for name, value in tensors.items()
        }
        words = tf.gather(word_features(dropout(tf.cast(table, tf.float32)), HEAD, weights), ids)
        found = text_logits(words, tf.cast(tf.not_equal(ids, 0), tf.float32), HEAD, weights, scan_lstm, dropout)
        return tf.math.l2_normalize(found, axis=1)

    def _learn(self, table: tf.Tensor, ids: tf.Tensor, wanted: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        places = itertools.count()

        def dropout(values: tf.Tensor) -> tf.Tensor:
            # The mask depends on the step and on the place in the graph: a run that goes on draws the same ones.
            return tf.nn.experimental.stateless_dropout(values, _DROPOUT, tf.stack([step, next(places)]))

        with tf.GradientTape() as tape:
            found = self._vectors(table, ids, dropout)
            away = 1.0 - tf.reduce_mean(tf.reduce_sum(found * wanted, axis=1))
            likeness = tf.matmul(found, found, transpose_b=True) - tf.matmul(wanted, wanted, transpose_b=True)
            loss = away + _LIKENESS_WEIGHT * tf.reduce_mean(tf.square(likeness))
        variables = list(self._variables.values())
        self._optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss


def _local(ids: Ints, table: npt.NDArray[np.float16]) -> tuple[npt.NDArray[np.float16], Ints]:
    """Return the rows of a table that a batch needs, and its ids into them."""
    distinct, local = distinct_words(ids[:, : max(1, int(used_words(ids).max()))])
    return table[distinct], local
