"""Write a model with 26 labels to the file named by the argument: the softmax of the counts of a, b, ..., z in a text.

It has more labels than the page shows at once, and predictable answers.
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
