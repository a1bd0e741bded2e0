"""The network in training: batches of word ids, the weights as variables, one step and prediction as graphs."""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import Floats, Ints
from retvec_lite.model.cluster import join_cluster
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.grid import fake_quantize, snap
from retvec_lite.model.heads import HeadSpec, RnnHead
from retvec_lite.model.network_graph import embed_bits, head_logits, no_dropout, scan_lstm, word_vectors
from retvec_lite.training.tasks import ONE_LABEL, Task

RateSchedule = Callable[[int], float]
"""The learning rate by step, counted from 0."""

_WINDOW: Final = 16
"""Batches are formed within this many batches' worth of shuffled texts, sorted by length."""
_WORDS_STEP: Final = 512
"""Distinct words of a batch are padded to a multiple of this, so that XLA compiles few shapes."""
_MEAN_DECAY: Final = 0.9
_SQUARE_DECAY: Final = 0.999
_ADAM_EPSILON: Final = 1e-7
"""AdamW's constants: those of Keras."""
_LARGEST_NORM: Final = 1.0
"""The gradients of one learning rate are scaled down to this norm together."""


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

    On a frozen embedding, TensorFlow runs the step op by op, and one graph serves every length: XLA would compile for four
    seconds for each length and gain nothing, because its matrix products are no faster and its other loops use one core.
    A fine-tuned embedding and an LSTM are many small ops on the same numbers; XLA fuses them and is worth its compilation.

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
        task: one label a text, or several.
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
        task: Task = ONE_LABEL,
    ) -> None:
        self._head = head
        self.task = task
        self._label_smoothing = label_smoothing
        self._dropout = dropout
        self._weight_decay = weight_decay
        self._levels = levels
        self._variables = {name: tf.Variable(value) for name, value in weights.items()}
        self._means = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
        self._squares = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
        self._class_weights = tf.Variable(class_weights)
        # Adam ignores a gradient's scale, so the embedding's smaller rate is one of the step, and its norm its own.
        fast = [name for name in self._variables if not name.startswith("embedding/")]
        slow = [name for name in self._variables if name.startswith("embedding/")]
        self._rates = [(names, share) for names, share in ((fast, 1.0), (slow, embedding_rate)) if names]
        self._compiled = frozen is None or isinstance(head, RnnHead)
        self._cluster = join_cluster()
        self._begin(frozen, words, schedule, seed)
        step, predict, options = None, None, {"jit_compile": self._compiled, "autograph": False}
        if frozen is not None and not self._compiled:
            # Open sizes: one graph for batches of every length.
            predict = [
                tf.TensorSpec([None, None, frozen.shape[1]], frozen.dtype),
                tf.TensorSpec([None, None], tf.int32),
            ]
            seed_and_rate = [tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.float32), tf.TensorSpec([3], tf.int32)]
            step = [*predict, tf.TensorSpec([None] * task.rank, tf.int32), *seed_and_rate]
        together = {} if self._cluster is None else {"jit_compile": False}  # XLA knows no messages to others
        # XLA's random numbers are others: where one machine has its step compiled, several draw as it does.
        self._uniform: Callable[..., tf.Tensor] = tf.random.stateless_uniform
        if self._cluster is not None and self._compiled:
            self._uniform = tf.function(self._uniform, jit_compile=True, autograph=False)
        self._step = tf.function(self._train_step, input_signature=step, **(options | together))
        self._predict = tf.function(self._logits, input_signature=predict, **options)

    def reset(
        self,
        weights: Mapping[str, Floats],
        frozen: npt.NDArray[np.float16] | None,
        words: Ints,
        class_weights: Floats,
        schedule: RateSchedule,
        *,
        seed: int,
    ) -> None:
        """Start over, for example on another fold, as a new network would, but without tracing or compiling again.

        Args:
            weights: starting weights, of the same names and shapes.
            frozen: word vectors by id, of the same dimension; None if and only if they were None before.
            words: by id, of the same `word_length`.
            class_weights: of as many classes.
            schedule: the learning rate by step.
            seed: of dropout.

        Raises:
            ValueError: when names, shapes or `frozen` do not fit.
        """
        if weights.keys() != self._variables.keys() or (frozen is None) != (self._frozen is None):
            raise ValueError("A network can only be reset to weights of the same names, frozen or not as before.")
        self.load(weights)
        for variable in (*self._means.values(), *self._squares.values()):
            variable.assign(tf.zeros_like(variable))
        self._class_weights.assign(class_weights)
        self._begin(frozen, words, schedule, seed)

    def _begin(self, frozen: npt.NDArray[np.float16] | None, words: Ints, schedule: RateSchedule, seed: int) -> None:
        self._frozen = frozen
        self._words = words
        self._schedule = schedule
        self._seed = seed % 2**20

    def train(self, batch: TextBatch, targets: Ints, count: int) -> float:
        """Take one optimizer step and return its loss. `count` numbers the steps from 0.

        On several machines, each computes its own rows, and the step is the same as that of one machine with all rows.
        """
        rows = len(batch.rows)
        place, ids = (rows, 0, rows), self._fitting(batch.ids)
        if self._cluster is not None:
            first, end = (rows * (self._cluster.index + side) // self._cluster.count for side in (0, 1))
            place, ids, targets = (rows, first, end), ids[first:end], targets[first:end]
        table, local = self._local(ids)
        seed = np.array([count, self._seed * 1000], np.int32)
        with contextlib.nullcontext() if self._cluster is None else self._cluster.watched():
            rate = np.float32(self._schedule(count))
            # Where each length has a graph, each place has one, too.
            return float(
                self._step(table, local, targets, seed, rate, place if self._compiled else np.array(place, np.int32))
            )

    def follow_chief(self, score: float) -> float:
        """Take the weights of the chief, and return its validation score: machines of different kinds round differently."""
        if self._cluster is None:
            return score
        arrays = {name: variable.numpy() for name, variable in self._variables.items()}
        found = self._cluster.of_chief([np.array([score], np.float32), *arrays.values()])
        self.load(dict(zip(arrays, found[1:], strict=True)))
        return float(found[0][0])

    def logits(self, ids: Ints, classes: int, batch_size: int) -> Floats:
        """Return the logits, float32 `[texts, classes]`, in the order of `ids`."""
        found = np.zeros((len(ids), classes), np.float32)
        for start, batch in zip(range(0, len(ids), batch_size), in_order(ids, batch_size), strict=True):
            # XLA wants full batches; otherwise, the rows that only fill one up would be wasted time.
            size = batch_size if self._compiled else len(ids) - start
            table, local = self._local(self._fitting(batch.ids[:size]))
            found[batch.rows[:size]] = self._predict(table, local).numpy()
        return found

    def weights(self) -> dict[str, Floats]:
        """Return the current weights by name, matrices on their grid: what training computes with."""
        arrays = {name: np.array(variable.numpy(), np.float32) for name, variable in self._variables.items()}
        return {name: snap(value, self._levels) if is_matrix(name) else value for name, value in arrays.items()}

    def state(self) -> dict[str, Floats]:
        """Return all that changes from step to step, by name: the weights as they are trained, and what AdamW keeps of each."""
        return {name: variable.numpy() for name, variable in self._changing().items()}

    def restore(self, state: Mapping[str, Floats]) -> None:
        """Go back to an earlier `state`."""
        for name, variable in self._changing().items():
            variable.assign(state[name])

    def _changing(self) -> dict[str, tf.Variable]:
        kinds = {"weight": self._variables, "mean": self._means, "square": self._squares}
        return {f"{kind}/{name}": variable for kind, each in kinds.items() for name, variable in each.items()}

    def load(self, weights: Mapping[str, Floats]) -> None:
        """Go back to earlier weights."""
        for name, value in weights.items():
            self._variables[name].assign(value)

    def _fitting(self, ids: Ints) -> Ints:
        """Return the slots that the longest text uses, or all where each length would be compiled."""
        return ids if self._compiled else ids[:, : max(1, int(used_words(ids).max()))]

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

    def _train_step(
        self,
        table: tf.Tensor,
        ids: tf.Tensor,
        targets: tf.Tensor,
        seed: tf.Tensor,
        rate: tf.Tensor,
        place: tf.Tensor | tuple[int, int, int],
    ) -> tf.Tensor:
        # `place`: rows of the whole batch, and of those this machine's first and one past its last.
        calls = iter(range(1 << 16))

        def dropout(values: tf.Tensor) -> tf.Tensor:
            # One mask for all words of a text (spatial dropout, Tompson et al. 2015): it regularizes as well here, and
            # random numbers for every element would cost more than the matrix products. The seed depends on the step and
            # on the place in the graph.
            keep = 1.0 - self._dropout
            rows = tf.shape(values)[0] if self._cluster is None else place[0]
            shape = [rows, *(1 for _ in values.shape[1:-1]), values.shape[-1]]
            kept = self._uniform(shape, tf.stack([seed[0], seed[1] + next(calls)])) < keep
            kept = kept if self._cluster is None else kept[place[1] : place[2]]
            return values * tf.where(kept, 1.0 / keep, 0.0)

        with tf.GradientTape() as tape:
            embeddings, mask = self._embeddings(table, ids)
            logits = head_logits(embeddings, mask, self._head, self._tensors(), scan_lstm, dropout)
            losses = self.task.losses(logits, targets, self._class_weights, self._label_smoothing)
            if self._cluster is None:
                loss = tf.reduce_mean(losses)
            else:
                loss = tf.reduce_sum(losses) / tf.cast(place[0], tf.float32)
        gradients = tape.gradient(loss, self._variables)
        if self._cluster is not None:
            loss, *total = self._cluster.add([loss, *gradients.values()])
            gradients = dict(zip(gradients, total, strict=True))
        for names, share in self._rates:
            clipped, _ = tf.clip_by_global_norm([gradients[name] for name in names], _LARGEST_NORM)
            for name, gradient in zip(names, clipped, strict=True):
                self._adam(name, gradient, rate * share, tf.cast(seed[0] + 1, tf.float32))
        return loss

    def _adam(self, name: str, gradient: tf.Tensor, rate: tf.Tensor, steps: tf.Tensor) -> None:
        """Update a weight by AdamW, in one op: Keras's optimizer takes a dozen for each weight."""
        variable = self._variables[name]
        variable.assign_sub(variable * (rate * self._weight_decay))
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
    return name.endswith(("/kernel", "/recurrent_kernel"))


def cosine_schedule(peak: float, steps: int, warmup: int) -> RateSchedule:
    """Return a linear warm-up to `peak`, then half a cosine down to 2 % of it (Loshchilov and Hutter 2017)."""

    def rate(step: int) -> float:
        if step < warmup:
            return peak * step / warmup
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return peak * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * done)))

    return rate
