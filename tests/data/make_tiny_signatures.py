"""Writes tiny_signatures.tflite, the smallest file with both signatures: run `python tests/data/make_tiny_signatures.py`.

`classify` is that of tiny.tflite (see make_tiny.py): the softmax of (digits, ASCII capitals, 0.5) counted in 32 code points.
`embed` takes the first 16 and the second 16 code points for two words of eight and counts digits and capitals in each; a text's
embedding is the sum, scaled to length 1.
"""

from pathlib import Path
from typing import Any

import tensorflow as tf

from retvec_lite.converters.tflite.convert import Entry, to_tflite


def counts(points: tf.Tensor) -> tf.Tensor:
    """Digits and capitals in the last axis, float32 [..., 2]."""
    first, last = tf.constant([48, 65]), tf.constant([57, 90])
    points = points[..., tf.newaxis]
    return tf.cast(tf.logical_and(points >= first, points <= last), tf.float32)


def classify(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
    """The signature `classify`: probabilities float32 [1, 3], and what they are computed from."""
    bits = counts(codepoints)
    logits = tf.pad(tf.reduce_sum(bits, axis=1), [[0, 0], [0, 1]], constant_values=0.5)
    return {"bits": bits, "words": codepoints[:, tf.newaxis], "probabilities": tf.nn.softmax(logits)}


def embed(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
    """The signature `embed`."""
    words = tf.pad(tf.reshape(codepoints, [1, 2, 16]), [[0, 0], [0, 6], [0, 0]])
    bits = counts(words)
    embeddings = tf.reduce_sum(bits, axis=2)
    text = tf.math.l2_normalize(tf.reduce_sum(embeddings, axis=1), axis=1)
    return {"bits": bits, "words": words, "embeddings": embeddings, "text": text}


def traced(function: Any) -> Any:
    """The function for one text of 32 code points."""
    return tf.function(function, input_signature=[tf.TensorSpec([1, 32], tf.int32, name="codepoints")])


if __name__ == "__main__":
    entries = [Entry(traced(classify)), Entry(traced(embed), "embed", ("words", "embeddings", "text"))]
    Path(__file__).with_name("tiny_signatures.tflite").write_bytes(to_tflite(entries))
