"""Training of the pre-trained head: sentences in, mistyped or not, the vectors of a sentence encoder out."""

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from makers.stage import Arrays, Stage
from makers.teacher import BATCH, ROUNDS, Lesson, Lessons, distance, rate_at
from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.data.typos import mistype
from retvec_lite.model.grid import fake_quantize
from retvec_lite.model.head_graph import Dropout, scan_lstm, text_logits, word_features
from retvec_lite.model.heads import CnnHead
from retvec_lite.model.pretrained_head import PretrainedHead, on_grid
from retvec_lite.model.weight_files import load_default_embedding
from retvec_lite.training.network import WordEmbedder, distinct_words, is_matrix, used_words
from retvec_lite.training.reading import TextReader

HEAD: Final = CnnHead(hidden=256, filters=128, blocks=2)
"""131,000 parameters beside the last layer. The usual sizes are four times as many, and know more, but leave n-grams too little room."""

LANGUAGE: Final = "en"
_CHECKPOINT: Final = 10
"""Visits between two checkpoints."""
_SEED: Final = 1
_ALIKE: Final = 4096
"""Sentences, drawn at random, that batches of sentences of like length are cut from."""
_RATE: Final = 2.5e-3
_WARM_UP: Final = 500
_DROPOUT: Final = 0.05
"""On word vectors and pooled features. A head trained without it had weights twice as large: rounding the last layer of a classifier to 4 bits
cost .08 on validation texts (CLINC150, ten a label) instead of .02."""
_MOST_MISTYPED: Final = 0.8
"""Share of mistyped words of the sentences that are mistyped, at most; every second sentence is."""
_MAX_WORDS, _MAX_CHARS = 48, 320
_LOGITS: Final = "head/logits/kernel"

Batch = tuple[npt.NDArray[np.float16], Ints, Floats]
"""Word vectors `[distinct words, dimension]`, rows of them `[sentences, words]`, and what to learn `[sentences, 384]`."""


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
            self._optimizer.learning_rate.assign(rate_at(self.steps, self._steps_planned, _RATE, _WARM_UP))
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

    def state(self) -> Arrays:
        """Return all that is trained, and the optimizer's variables."""
        state = {f"optimizer/{place}": value.numpy() for place, value in enumerate(self._optimizer.variables)}
        return {**self.weights(), **state, "steps": np.asarray(self.steps)}

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""
        for name, variable in self._variables.items():
            variable.assign(state[name])
        for place, value in enumerate(self._optimizer.variables):
            value.assign(state[f"optimizer/{place}"])
        self.steps = int(state["steps"])

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
            loss = distance(found, wanted)
        variables = list(self._variables.values())
        self._optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss


def _local(ids: Ints, table: npt.NDArray[np.float16]) -> tuple[npt.NDArray[np.float16], Ints]:
    """Return the rows of a table that a batch needs, and its ids into them."""
    distinct, local = distinct_words(ids[:, : max(1, int(used_words(ids).max()))])
    return table[distinct], local


def learn_head(lessons: Lessons, checkpoint: Path) -> PretrainedHead:
    """Train the head, or go on training it.

    Args:
        lessons: sentences, and what the encoder says of them.
        checkpoint: a file to go on from, or to begin.
    """
    embedding = load_default_embedding()
    trainer = HeadTrainer(dict(embedding.weights), lessons.width, lessons.steps)
    digest = embedding.digest
    settings = {"sentences": len(lessons.sentences), "steps": lessons.steps, "embedding": digest}
    for number in Stage(checkpoint, settings).steps(trainer, lessons.visits, _CHECKPOINT):
        loss = trainer.visit(lessons.visit(number), number)
        print(f"visit {number + 1} of {lessons.visits}: loss {loss:.4f}", flush=True)
    clean, half = (trainer.cosine(lessons.held_out, rate) for rate in (0.0, 0.5))
    weights = trainer.weights()
    kernel, bias = weights.pop(_LOGITS), weights.pop("head/logits/bias")
    card = {
        "teacher": "all-MiniLM-L6-v2 (Apache-2.0), https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        "texts": f"{len(lessons.sentences):,} open English sentences, {ROUNDS} times, every second time mistyped",
        "measured": f"cosine to the vectors of 2,000 unseen sentences {clean:.3f}, half of their words mistyped {half:.3f}",
        "license": "Apache-2.0",
    }
    return PretrainedHead(HEAD, on_grid(weights), kernel, bias, LANGUAGE, digest, card)
