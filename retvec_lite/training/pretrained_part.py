"""Fits a pre-trained head to few texts: only its last layer learns, by softmax regression, in seconds."""

from typing import Final

import numpy as np
import tensorflow as tf

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.labels import class_weights
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.head_graph import scan_lstm, text_features, word_features
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.examples import Rows
from retvec_lite.training.label_scheme import telling_names
from retvec_lite.training.linear_model import UNSEEN_BY_SOFTMAX, solve_together
from retvec_lite.training.linear_part import NAME_WEIGHT
from retvec_lite.training.network import PREDICTION_BATCH, distinct_words, embed_words, in_order
from retvec_lite.training.plan import Fit, Plan

_PENALTY: Final = 1.0
"""C of the softmax regression, on sentence vectors whose typical length is 1; chosen on validation texts."""
_STEPS: Final = 100
"""Steps of L-BFGS at most."""


class PretrainedPart:
    """Fits the last layer of a pre-trained head as often as asked: to folds of the texts, then to all of them.

    It reads the sentence vectors of the texts, of copies of them and of names of labels that mean what the texts do. Exported
    files hold the two layers, to the vector and from there to the labels, as one. Progress is told of "embedding words".

    Attributes:
        table: the vectors of all words, float16 `[distinct words, dimension]`.
    """

    def __init__(self, plan: Plan, progress: Progress = silent) -> None:
        data, pretrained = plan.data, plan.pretrained
        assert pretrained is not None
        self._data, self._pretrained, self._settings, self._embedding = data, pretrained, plan.settings, plan.embedding
        self.table = embed_words(data.words, plan.embedding, progress)
        self._fitted: dict[bytes, tuple[Floats, Floats]] = {}
        head, weights = pretrained.head, pretrained.weights

        def read(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
            words = tf.gather(word_features(tf.cast(table, tf.float32), head, weights), ids)
            return text_features(words, tf.cast(tf.not_equal(ids, 0), tf.float32), head, weights, scan_lstm)

        shapes = [tf.TensorSpec([None, self.table.shape[1]], tf.float16), tf.TensorSpec([None, None], tf.int32)]
        self._read = tf.function(read, input_signature=shapes, autograph=False)
        copies = [data.clean_ids, *data.examples.copies[: plan.settings.linear_copies]]
        vectors = [self._features(ids) @ pretrained.kernel + pretrained.bias for ids in (*copies, data.name_ids)]
        self._scale = np.float32(1.0 / max(float(np.linalg.norm(vectors[0], axis=1).mean()), 1e-6))
        *self._copies, self._names = (vector * self._scale for vector in vectors)

    def fit(self, rows: Rows) -> Fit:
        """Fit the layer to some of the texts; to the same ones once.

        Returns:
            A fit without epochs, with all weights of the classifier but those of n-grams.
        """
        key = rows.tobytes()
        if key not in self._fitted:
            self._fitted[key] = self._solve(rows)
        self._kernel, self._bias = self._fitted[key]
        last = {"head/logits/kernel": self._kernel, "head/logits/bias": self._bias}
        return Fit({**self._embedding, **self._pretrained.weights, **last})

    def logits(self, rate: float, rows: Rows) -> Floats:
        """Return the logits of some held-out texts under the weights fitted last, float32 `[texts, classes]`."""
        return self._features(self._data.held_out.ids[rate][rows]) @ self._kernel + self._bias

    def _solve(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return kernel and bias of the last layer for some rows."""
        from sklearn.linear_model import LogisticRegression

        data, classes = self._data, len(self._data.labels)
        own, of_names = data.examples.targets[rows], data.names.targets
        telling = np.flatnonzero(telling_names(_units(self._copies[0][rows]), own, _units(self._names), of_names))
        vectors = np.concatenate([*(copy[rows] for copy in self._copies), self._names[telling]])
        targets = np.concatenate([own] * len(self._copies) + [of_names[telling]])
        counts = np.ones(len(rows), np.float32) if data.examples.weights is None else data.examples.weights[rows]
        shares = np.concatenate([counts] * len(self._copies) + [np.full(len(telling), NAME_WEIGHT, np.float32)])
        shares = shares * class_weights(self._settings.class_weights, targets, data.labels)[targets]
        solver = LogisticRegression(C=_PENALTY, max_iter=_STEPS)
        kernel, bias = solve_together(solver, vectors, targets, classes, shares, UNSEEN_BY_SOFTMAX)
        inner = self._scale * kernel
        return (
            snap((self._pretrained.kernel @ inner).astype(np.float32), FOUR_BITS),
            (self._pretrained.bias @ inner + bias).astype(np.float32),
        )

    def _features(self, ids: Ints) -> Floats:
        """Return what the last layer of the head reads of texts, float32 `[texts, width]`."""
        found = np.zeros((len(ids), len(self._pretrained.kernel)), np.float32)
        for start, batch in zip(range(0, len(ids), PREDICTION_BATCH), in_order(ids, PREDICTION_BATCH), strict=True):
            size = len(ids) - start
            distinct, local = distinct_words(batch.ids[:size])
            found[batch.rows[:size]] = self._read(self.table[distinct], local).numpy()
        return found


def _units(vectors: Floats) -> Floats:
    """Return vectors of length 1, or 0."""
    found: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return found
