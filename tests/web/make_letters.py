"""Writes a model of 26 labels into the file named by the argument: the softmax of how often a, b, ..., z stand in a text.

More labels than the page shows at once, and answers that a test can foresee.
"""

import sys
import tempfile
from pathlib import Path

import tensorflow as tf

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MAX_CHARS = 32


class Letters(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((1, MAX_CHARS), tf.int32, "codepoints")])
    def __call__(self, codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        found = tf.equal(codepoints[:, :, None], tf.constant([*map(ord, LETTERS)])[None, None])
        return {"probabilities": tf.nn.softmax(tf.reduce_sum(tf.cast(found, tf.float32), axis=1))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as saved:
        model = Letters()
        tf.saved_model.save(model, saved, {"classify": model.__call__})
        Path(sys.argv[1]).write_bytes(tf.lite.TFLiteConverter.from_saved_model(saved).convert())
