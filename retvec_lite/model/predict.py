"""Predict with a trained model in TensorFlow: what every exported file is compared with."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import tensorflow as tf

from retvec_lite.contract import Floats
from retvec_lite.model.network_graph import classify, scan_lstm
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.interpreters import codepoint_rows

_BATCH: Final = 64
"""Texts in one call of the network."""


def predictor(model: TrainedModel) -> Callable[[Sequence[str]], Floats]:
    """Return a function of texts that computes the probability of each label, float32 `[texts, labels]`."""
    weights = {name: tf.constant(value) for name, value in model.weights.items()}
    graph = tf.function(
        lambda rows: classify(rows, model, weights, scan_lstm).probabilities,
        input_signature=[tf.TensorSpec([None, model.encoder.max_chars], tf.int32)],
        autograph=False,
    )

    def predict(texts: Sequence[str]) -> Floats:
        parts = [
            graph(codepoint_rows(texts[start : start + _BATCH], model.encoder.max_chars)).numpy()
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(model.labels)), np.float32)

    return predict
