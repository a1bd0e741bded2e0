"""The network in training: what it reads, in batches; weights as variables; steps and prediction as graphs."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import Floats, Ints
from retvec_lite.model.grid import FOUR_BITS, fake_quantize, snap
from retvec_lite.model.heads import HeadSpec
from retvec_lite.model.network_graph import Dropout, text_logits, word_features
from retvec_lite.training.label_scheme import ONE_LABEL, LabelScheme
from retvec_lite.training.plan import FitSettings

_WINDOW: Final = 16
"""Batches are formed within this many batches' worth of shuffled texts, sorted by length."""


class WordBatch(NamedTuple):
    """Rows of the data set and their word ids, int32 `[batch, words]` up to the longest text's last word."""

    rows: npt.NDArray[np.int64]
    ids: Ints


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
        yield WordBatch(rows, _fitting(ids[rows]))


def in_order(ids: Ints, batch_size: int) -> Iterator[WordBatch]:
    """Yield every text once, sorted by length, for prediction."""
    order = np.argsort(used_words(ids), kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield WordBatch(rows, _fitting(ids[rows]))


def used_words(ids: Ints) -> npt.NDArray[np.int64]:
    """Return how many slots each text uses; they are always the first ones."""
    used: npt.NDArray[np.int64] = (ids != 0).sum(axis=1)
    return used


def distinct_words(ids: Ints) -> tuple[Ints, Ints]:
    """Return the ids of the words that texts use, the empty word 0 first, and the texts as places among them: what reads one word reads it once."""
    distinct, places = np.unique(np.append(ids, 0), return_inverse=True)
    return distinct, places[:-1].reshape(ids.shape).astype(np.int32)


def _fitting(ids: Ints) -> Ints:
    """Return the slots that the longest text uses."""
    return ids[:, : max(1, int(used_words(ids).max()))]


RateSchedule = Callable[[int], float]
"""The learning rate by step, counted from 0."""

PREDICTION_BATCH: Final = 256

_TEXTS_A_PART: Final = 32
"""Texts of a part of a batch: fewer are not worth the ops, and more parts than cores cost little. Parts do not depend on the cores,
because sums in another order round differently."""

_MEAN_DECAY: Final = 0.9
_SQUARE_DECAY: Final = 0.999
_ADAM_EPSILON: Final = 1e-7
"""AdamW's constants: those of Keras."""
_LARGEST_NORM: Final = 1.0
"""The gradients are scaled down to this norm together."""


class TrainableNetwork:
    """The weights of a head with their optimizer, on word vectors that stay as they are.

    TensorFlow runs the step op by op, and one graph serves every length: XLA would compile for four seconds for each length and gain
    nothing, because its matrix products are no faster and its other loops use one core. Such a graph computes in parts, of words and
    then of texts, which run side by side: single ops are too small to share among cores.

    Args:
        head: which head.
        weights: starting weights `head/...`.
        vectors: of the words `[distinct words, dimension]` by id.
        class_weights: float32 `[classes]`, mean 1 over the training texts.
        schedule: the learning rate by step.
        settings: dropout, label smoothing, weight decay, and the seed.
        scheme: one label a text, or several.

    Attributes:
        levels: largest integer of the grid that matrices are trained and kept on. A head keeps its accuracy on a 4-bit grid, so that
            all recipes are one function.
    """

    levels = FOUR_BITS

    def __init__(
        self,
        head: HeadSpec,
        weights: Mapping[str, Floats],
        vectors: npt.NDArray[Any],
        class_weights: Floats,
        schedule: RateSchedule,
        settings: FitSettings,
        scheme: LabelScheme = ONE_LABEL,
    ) -> None:
        self.scheme = scheme
        self._head = head
        self._words = vectors
        self._schedule = schedule
        self._settings = settings
        self._variables = {name: tf.Variable(value) for name, value in weights.items()}
        self._means = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
        self._squares = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
        self._class_weights = tf.Variable(class_weights)
        # Open sizes: one graph for batches of every length.
        table = tf.TensorSpec([None, vectors.shape[1]], vectors.dtype)
        predict = [table, tf.TensorSpec([None, None], tf.int32)]
        seed, number = tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.float32)
        weights_of = tf.TensorSpec([None], tf.float32)
        step = [*predict, tf.TensorSpec([None] * scheme.rank, tf.int32), weights_of, seed, number]
        self._step = tf.function(self._train_step, input_signature=step, autograph=False)
        self._predict = tf.function(self._logits, input_signature=predict, autograph=False)

    def reset(self, weights: Mapping[str, Floats], class_weights: Floats, schedule: RateSchedule) -> None:
        """Start over as a new network of the same shapes would, but without tracing again."""
        if weights.keys() != self._variables.keys():
            raise ValueError("A network can only be reset to weights of the same names.")
        self.load(weights)
        for variable in (*self._means.values(), *self._squares.values()):
            variable.assign(tf.zeros_like(variable))
        self._class_weights.assign(class_weights)
        self._schedule = schedule

    def train(self, batch: WordBatch, targets: Ints, count: int, weights: Floats) -> float:
        """Take one optimizer step and return its loss.

        `count` numbers the steps from 0; `weights` `[batch]` say how much each text counts.
        """
        table, local = self._local(batch.ids)
        seed = np.array([count, self._settings.seed % 2**20 * 1000], np.int32)  # dropout differs from step to step
        return float(self._step(table, local, targets, weights, seed, np.float32(self._schedule(count))))

    def logits(self, ids: Ints, classes: int, batch_size: int) -> Floats:
        """Return the logits, float32 `[texts, classes]`, in the order of `ids`."""
        found = np.zeros((len(ids), classes), np.float32)
        for batch in in_order(ids, batch_size):
            found[batch.rows] = self._predict(*self._local(batch.ids)).numpy()
        return found

    def weights(self) -> dict[str, Floats]:
        """Return the current weights by name, matrices on their grid: what training computes with."""
        arrays = {name: np.array(variable.numpy(), np.float32) for name, variable in self._variables.items()}
        return {name: snap(value, self.levels) if is_matrix(name) else value for name, value in arrays.items()}

    def load(self, weights: Mapping[str, Floats]) -> None:
        """Go back to earlier weights."""
        for name, value in weights.items():
            self._variables[name].assign(value)

    def _local(self, ids: Ints) -> tuple[npt.NDArray[Any], Ints]:
        """Return the rows of the word table that a batch needs, and its ids into them."""
        distinct, local = distinct_words(ids)
        return self._words[distinct], local

    def _vectors(self, table: tf.Tensor, weights: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return word vectors, float32 `[rows, dimension]`, of the rows of `_local`."""
        return tf.cast(table, tf.float32)

    def _tensors(self) -> dict[str, tf.Tensor]:
        """Return the weights as the exported file will have them; gradients skip the rounding."""
        tensors = {name: tf.convert_to_tensor(variable) for name, variable in self._variables.items()}
        return {
            name: fake_quantize(value, self.levels) if is_matrix(name) else value for name, value in tensors.items()
        }

    def _logits(self, table: tf.Tensor, ids: tf.Tensor, dropout: Dropout = tf.identity) -> tf.Tensor:
        weights = self._tensors()

        def read(rows: tf.Tensor) -> tf.Tensor:
            return word_features(dropout(self._vectors(rows, weights)), self._head, weights)

        def answer(texts: tf.Tensor) -> tf.Tensor:
            mask = tf.cast(tf.not_equal(texts, 0), tf.float32)
            return text_logits(tf.gather(features, texts), mask, self._head, weights, dropout)

        features = self._in_parts(read, table)
        return self._in_parts(answer, ids)

    def _in_parts(self, function: Callable[[tf.Tensor], tf.Tensor], rows: tf.Tensor) -> tf.Tensor:
        """Return what a function makes of rows, each by itself, part by part."""
        parts = max(1, self._settings.batch_size // _TEXTS_A_PART)
        ends = [tf.shape(rows)[0] * part // parts for part in range(parts + 1)]
        return tf.concat([function(rows[start:end]) for start, end in itertools.pairwise(ends)], axis=0)

    def _train_step(
        self,
        table: tf.Tensor,
        ids: tf.Tensor,
        targets: tf.Tensor,
        weights: tf.Tensor,
        seed: tf.Tensor,
        rate: tf.Tensor,
    ) -> tf.Tensor:
        calls = iter(range(1 << 16))

        def dropout(values: tf.Tensor) -> tf.Tensor:
            # A mask for each word of the batch wherever it stands, and one for each pooled text. The seed depends on the step
            # and on the place in the graph.
            keep = 1.0 - self._settings.dropout
            kept = tf.random.stateless_uniform(tf.shape(values), tf.stack([seed[0], seed[1] + next(calls)])) < keep
            return values * tf.where(kept, 1.0 / keep, 0.0)

        with tf.GradientTape() as tape:
            logits = self._logits(table, ids, dropout)
            losses = self.scheme.losses(logits, targets, self._class_weights, self._settings.label_smoothing)
            loss = tf.reduce_sum(losses * weights) / tf.cast(tf.shape(ids)[0], tf.float32)
        gradients = tape.gradient(loss, self._variables)
        clipped, _ = tf.clip_by_global_norm(list(gradients.values()), _LARGEST_NORM)
        for name, gradient in zip(gradients, clipped, strict=True):
            self._adam(name, gradient, rate, tf.cast(seed[0] + 1, tf.float32))
        return loss

    def _adam(self, name: str, gradient: tf.Tensor, rate: tf.Tensor, steps: tf.Tensor) -> None:
        """Update a weight by AdamW, in one op: Keras's optimizer takes a dozen for each weight."""
        variable = self._variables[name]
        variable.assign_sub(variable * (rate * self._settings.weight_decay))
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._means[name].handle,
            v=self._squares[name].handle,
            beta1_power=tf.pow(_MEAN_DECAY, steps),
            beta2_power=tf.pow(_SQUARE_DECAY, steps),
            lr=rate,
            beta1=_MEAN_DECAY,
            beta2=_SQUARE_DECAY,
            epsilon=_ADAM_EPSILON,
            grad=gradient,
        )


def is_matrix(name: str) -> bool:
    """Return whether the quantized recipes store a weight in 4 or 8 bits, one scale per output."""
    return name.endswith("/kernel")
