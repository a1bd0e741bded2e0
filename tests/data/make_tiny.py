"""Writes tiny.tflite, the smallest model that keeps the contract's interface: run `python tests/data/make_tiny.py`.

Input `codepoints` int32 [1, 32], output `probabilities` float32 [1, 3], the softmax of (digits, ASCII capitals, 0.5)
counted in the text: simple enough for a test to know every answer. The tensor `bits`, which the exporter names too, tells
the encoder from the head. Built with TensorFlow once and kept, so that the tests of the light path need no TensorFlow. It
has neither metadata nor a zip tail: the tests append their own.
"""

from pathlib import Path

import tensorflow as tf


class Tiny(tf.Module):
    """Counts digits and capitals."""

    @tf.function(input_signature=[tf.TensorSpec([1, 32], tf.int32, "codepoints")])
    def classify(self, codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        """Probabilities float32 [1, 3] of code points int32 [1, 32]."""
        points = codepoints[:, tf.newaxis, :]
        first, last = tf.constant([[[48], [65]]]), tf.constant([[[57], [90]]])
        bits = tf.cast(tf.logical_and(points >= first, points <= last), tf.float32, name="bits")
        counts = tf.reduce_sum(bits, axis=2)
        logits = tf.pad(counts, [[0, 0], [0, 1]], constant_values=0.5)
        return {"probabilities": tf.nn.softmax(logits)}


if __name__ == "__main__":
    module = Tiny()
    folder = Path(__file__).parent
    saved = folder / "saved"
    tf.saved_model.save(module, str(saved), signatures={"classify": module.classify})
    (folder / "tiny.tflite").write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert())
    tf.io.gfile.rmtree(str(saved))
