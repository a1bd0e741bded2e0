"""A training step of several workers, each with its own rows: the same as one step with all rows."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.cluster import Cluster
from retvec_lite.pretraining.batches import WordBatch
from retvec_lite.pretraining.model import WordModel, multi_similarity_loss


class ClusterStep:
    """Trains a model together with the other workers.

    The loss compares every word with those of all workers. So workers gather all vectors, B x 256 numbers, compute the loss of the
    whole batch, derive it by their own vectors alone, and add up the gradients.

    Raises:
        RetvecLiteError: for another backend than TensorFlow.
    """

    def __init__(self, model: WordModel, cluster: Cluster) -> None:
        if keras.backend.backend() != "tensorflow":
            raise RetvecLiteError(
                f"Training on several machines needs KERAS_BACKEND=tensorflow, not {keras.backend.backend()}."
            )
        self._model, self._cluster = model, cluster
        # Collective operations cannot be compiled, what is between them can.
        self._forward = tf.function(self._vectors, jit_compile=True, autograph=False)
        self._loss = tf.function(multi_similarity_loss, jit_compile=True, autograph=False)
        self._step = tf.function(self._train, autograph=False)

    def __call__(self, batch: WordBatch) -> float:
        """Take a step with this worker's rows, and return the loss of the whole batch.

        Raises:
            RetvecLiteError: when another worker is gone.
        """
        with self._cluster.watched():
            return float(self._step(batch.codepoints, batch.keep, batch.words.view(np.int64)))

    def _vectors(self, codepoints: Any, keep: Any) -> Any:
        return self._model({"codepoints": codepoints, "keep": keep}, training=True)

    def _train(self, codepoints: Any, keep: Any, words: Any) -> Any:
        words = self._in_order([*tf.split(self._cluster.gather(words), self._cluster.count)])
        variables = self._model.trainable_variables
        with tf.GradientTape() as tape:
            own = self._forward(codepoints, keep)
            parts = tf.split(tf.stop_gradient(self._cluster.gather(own)), self._cluster.count)
            parts[self._cluster.index] = own
            loss = self._loss(words, self._in_order(parts))
        self._model.optimizer.apply(self._cluster.add(tape.gradient(loss, variables)), variables)
        return loss

    @staticmethod
    def _in_order(parts: list[Any]) -> Any:
        """Return the rows of all workers as one batch: words first, then their variants."""
        halves = [tf.split(part, 2) for part in parts]
        return tf.concat([half[side] for side in (0, 1) for half in halves], 0)
