"""Writes tiny_signatures.tflite, the smallest file with every kind of signature: run `python tests/data/make_tiny_signatures.py`.

`classify` is that of tiny.tflite (see make_tiny.py): the softmax of (digits, ASCII capitals, 0.5) counted in 32 code points.
`classify_2` takes 8 and says 1.5 instead of 0.5, so that a test can tell who answered; its `slots` are the spaces and one.
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


def classify(codepoints: tf.Tensor, other: float) -> dict[str, tf.Tensor]:
    """Probabilities float32 [1, 3] and what they are computed from."""
    bits = counts(codepoints)
    logits = tf.pad(tf.reduce_sum(bits, axis=1), [[0, 0], [0, 1]], constant_values=other)
    return {"bits": bits, "words": codepoints[:, tf.newaxis], "probabilities": tf.nn.softmax(logits)}


def full(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
    """The signature `classify`."""
    return classify(codepoints, 0.5)


def short(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
    """The signature `classify_2`."""
    spaces = tf.cast(tf.equal(codepoints, 32), tf.int32)
    return {**classify(codepoints, 1.5), "slots": 1 + tf.reduce_sum(spaces, axis=1)}


def embed(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
    """The signature `embed`."""
    words = tf.pad(tf.reshape(codepoints, [1, 2, 16]), [[0, 0], [0, 6], [0, 0]])
    bits = counts(words)
    embeddings = tf.reduce_sum(bits, axis=2)
    text = tf.math.l2_normalize(tf.reduce_sum(embeddings, axis=1), axis=1)
    return {"bits": bits, "words": words, "embeddings": embeddings, "text": text}


def traced(function: Any, max_chars: int) -> Any:
    """The function for one text of `max_chars` code points."""
    return tf.function(function, input_signature=[tf.TensorSpec([1, max_chars], tf.int32, name="codepoints")])


if __name__ == "__main__":
    entries = [
        Entry(traced(full, 32)),
        Entry(traced(short, 8), "classify_2", ("probabilities", "slots")),
        Entry(traced(embed, 32), "embed", ("words", "embeddings", "text")),
    ]
    Path(__file__).with_name("tiny_signatures.tflite").write_bytes(to_tflite(entries))
