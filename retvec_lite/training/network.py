"""The network in training: batches of word ids, the weights as variables, a compiled step and compiled prediction."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorflow import keras

from retvec_lite.contract import Floats, Ints
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.grid import fake_quantize, snap
from retvec_lite.model.heads import HeadSpec
from retvec_lite.model.network_graph import embed_bits, head_logits, no_dropout, scan_lstm, word_vectors

RateSchedule = Callable[[float], keras.optimizers.schedules.LearningRateSchedule]
"""The learning rate by step, for a share of the peak."""

_WINDOW: Final = 16
"""Batches are formed within this many batches' worth of shuffled texts, sorted by length."""
_WORDS_STEP: Final = 512
"""Distinct words of a batch are padded to a multiple of this, so that XLA compiles few shapes."""


class TextBatch(NamedTuple):
    """Rows of the data set and their word ids, int32 `[batch, words]` with `words` one of `lengths(max_words)`."""

    rows: npt.NDArray[np.int64]
    ids: Ints


def lengths(max_words: int) -> tuple[int, ...]:
    """Return the lengths that batches are cut to: few, because XLA compiles a step for each."""
    return tuple(sorted({max(1, round(max_words * share)) for share in (0.25, 0.5, 0.75, 1.0)}))


def epoch(ids: Ints, batch_size: int, rng: np.random.Generator) -> Iterator[TextBatch]:
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
        yield TextBatch(rows, _cut(ids[rows], int(used[rows].max())))


def in_order(ids: Ints, batch_size: int) -> Iterator[TextBatch]:
    """Yield every text once, sorted by length, for prediction; the last batch is filled up with repeated rows."""
    used = used_words(ids)
    order = np.argsort(used, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        rows = np.concatenate([rows, np.repeat(rows[-1:], batch_size - len(rows))])
        yield TextBatch(rows, _cut(ids[rows], int(used[rows].max())))


def used_words(ids: Ints) -> npt.NDArray[np.int64]:
    """Return how many slots each text uses; they are always the first ones."""
    used: npt.NDArray[np.int64] = (ids != 0).sum(axis=1)
    return used


def _cut(ids: Ints, needed: int) -> Ints:
    return ids[:, : next(length for length in lengths(ids.shape[1]) if length >= needed)]


class TrainableNetwork:
    """Head (and, when fine-tuned, embedding) weights with their optimizer.

    Args:
        head: which head.
        weights: starting weights `head/...`, and `embedding/...` and `characters/...` when they are trained as well.
        frozen: word vectors `[distinct words, dimension]` by id, or None when `words` are embedded in every step.
        words: int32 `[distinct words, word_length]` by id.
        class_weights: float32 `[classes]`, mean 1 over the training texts.
        schedule: the learning rate by step.
        label_smoothing: share of the target spread over all labels (Szegedy et al. 2016).
        dropout: rate on the head's input and on the pooled text.
        embedding_rate: learning rate of the embedding as a share of the head's.
        weight_decay: of AdamW (Loshchilov and Hutter 2019).
        seed: of dropout.
        levels: largest integer of the grid that matrices are trained and kept on, 7 for 4 bits, 127 for 8.
    """

    def __init__(
        self,
        head: HeadSpec,
        weights: Mapping[str, Floats],
        frozen: npt.NDArray[np.float16] | None,
        words: Ints,
        class_weights: Floats,
        schedule: RateSchedule,
        *,
        label_smoothing: float,
        dropout: float,
        embedding_rate: float,
        weight_decay: float,
        seed: int,
        levels: int,
    ) -> None:
        self._head = head
        self._frozen = frozen
        self._words = words
        self._class_weights = tf.constant(class_weights)
        self._label_smoothing = label_smoothing
        self._dropout = dropout
        self._seed = seed % 2**20
        self._levels = levels
        self._variables = {name: keras.Variable(value, name=name.replace("/", "_")) for name, value in weights.items()}
        # Adam ignores a gradient's scale, so the embedding's smaller rate takes an optimizer of its own.
        self._optimizers = []
        fast = [name for name in self._variables if not name.startswith("embedding/")]
        slow = [name for name in self._variables if name.startswith("embedding/")]
        for names, share in ((fast, 1.0), (slow, embedding_rate)):
            if names:
                optimizer = keras.optimizers.AdamW(schedule(share), weight_decay=weight_decay, global_clipnorm=1.0)
                optimizer.build([self._variables[name] for name in names])
                self._optimizers.append((optimizer, names))
        self._step = tf.function(self._train_step, jit_compile=True, autograph=False)
        self._predict = tf.function(self._logits, jit_compile=True, autograph=False)

    def train(self, batch: TextBatch, labels: npt.NDArray[np.int32], count: int) -> float:
        """Take one optimizer step and return its loss. `count` numbers the steps, for dropout."""
        table, local = self._local(batch.ids)
        return float(self._step(table, local, labels, np.int32(count)))

    def logits(self, ids: Ints, classes: int, batch_size: int) -> Floats:
        """Return the logits, float32 `[texts, classes]`, in the order of `ids`."""
        found = np.zeros((len(ids), classes), np.float32)
        for batch in in_order(ids, batch_size):
            table, local = self._local(batch.ids)
            found[batch.rows] = self._predict(table, local).numpy()
        return found

    def weights(self) -> dict[str, Floats]:
        """Return the current weights by name, matrices on their grid: what training computes with."""
        arrays = {name: np.array(variable.numpy(), np.float32) for name, variable in self._variables.items()}
        return {name: snap(value, self._levels) if is_matrix(name) else value for name, value in arrays.items()}

    def load(self, weights: Mapping[str, Floats]) -> None:
        """Go back to earlier weights."""
        for name, value in weights.items():
            self._variables[name].assign(value)

    def _local(self, ids: Ints) -> tuple[npt.NDArray[Any], Ints]:
        """Return the rows of the word table that a batch needs, and its ids into them: each word is embedded once."""
        if self._frozen is not None:
            return self._frozen[ids], ids
        distinct, local = np.unique(ids, return_inverse=True)
        rows = -(-len(distinct) // _WORDS_STEP) * _WORDS_STEP
        words = np.zeros((rows, self._words.shape[1]), np.int32)
        words[: len(distinct)] = self._words[distinct]
        return words, local.reshape(ids.shape).astype(np.int32)

    def _embeddings(self, table: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        if self._frozen is not None:
            mask = tf.cast(tf.not_equal(ids, 0), tf.float32)
            return tf.cast(table, tf.float32), mask
        mask = tf.cast(tf.gather(table[:, 0] != 0, ids), tf.float32)
        bits, weights = word_bits(table[None])[0], self._tensors()
        return tf.gather(word_vectors(bits, embed_bits(bits, weights), weights), ids), mask

    def _tensors(self) -> dict[str, tf.Tensor]:
        """Return the weights as the exported file will have them; gradients skip the rounding."""
        tensors = {name: tf.convert_to_tensor(variable) for name, variable in self._variables.items()}
        return {
            name: fake_quantize(value, self._levels) if is_matrix(name) else value for name, value in tensors.items()
        }

    def _logits(self, table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        embeddings, mask = self._embeddings(table, ids)
        return head_logits(embeddings, mask, self._head, self._tensors(), scan_lstm, no_dropout)

    def _train_step(self, table: tf.Tensor, ids: tf.Tensor, labels: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        calls = iter(range(1 << 16))

        def dropout(values: tf.Tensor) -> tf.Tensor:
            # One mask for all words of a text (spatial dropout, Tompson et al. 2015): it regularizes as well here, and
            # random numbers for every element would cost more than the matrix products. The seed depends on the step and
            # on the place in the graph.
            keep = 1.0 - self._dropout
            shape = [1 if 0 < axis < values.shape.rank - 1 else size for axis, size in enumerate(values.shape)]
            seed = tf.stack([count, self._seed * 1000 + next(calls)])
            kept = tf.random.stateless_uniform(shape, seed) < keep
            return tf.where(kept, values / keep, 0.0)

        with tf.GradientTape() as tape:
            embeddings, mask = self._embeddings(table, ids)
            logits = head_logits(embeddings, mask, self._head, self._tensors(), scan_lstm, dropout)
            classes = logits.shape[-1]
            targets = tf.one_hot(labels, classes)
            targets = targets * (1.0 - self._label_smoothing) + self._label_smoothing / classes
            losses = tf.nn.softmax_cross_entropy_with_logits(targets, logits)
            loss = tf.reduce_mean(losses * tf.gather(self._class_weights, labels))
        gradients = tape.gradient(loss, {name: variable.value for name, variable in self._variables.items()})
        for optimizer, names in self._optimizers:
            optimizer.apply_gradients([(gradients[name], self._variables[name]) for name in names])
        return loss


def is_matrix(name: str) -> bool:
    """Return whether the quantized recipes store a weight in 4 or 8 bits, one scale per output."""
    return name.endswith(("/kernel", "/recurrent_kernel"))


def class_weights(labels: npt.NDArray[np.int32], classes: int) -> Floats:
    """Return weights that soften imbalance: the square root of the inverse frequency, mean 1 over the texts.

    The full inverse would let a class of three examples dominate one of three thousand; the root is the usual compromise.
    """
    counts = np.bincount(labels, minlength=classes)
    weights = 1.0 / np.sqrt(np.maximum(counts, 1))
    scaled: Floats = (weights / weights[labels].mean()).astype(np.float32)
    return scaled


def cosine_schedule(peak: float, steps: int, warmup: int) -> RateSchedule:
    """Return a linear warm-up to `peak`, then half a cosine down to 2 % of it (Loshchilov and Hutter 2017)."""

    def scaled(share: float) -> keras.optimizers.schedules.LearningRateSchedule:
        return keras.optimizers.schedules.CosineDecay(
            0.0, max(1, steps - warmup), alpha=0.02, warmup_target=peak * share, warmup_steps=warmup
        )

    return scaled
