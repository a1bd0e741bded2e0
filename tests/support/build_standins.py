"""Convert stand-in classifiers: `build_standins.py FOLDER NAME...`. Run by the fixtures, since TensorFlow must have its own process."""

import sys
from pathlib import Path

import numpy as np
import standin
import tensorflow as tf
from exported import EMBED, WIDTH

from retvec_lite.converters.tflite.convert import Entry, to_tflite
from retvec_lite.converters.tflite.format import convert
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.network_graph import classify


def head_function(head: str) -> tf.types.experimental.PolymorphicFunction:
    spec = standin.classifier(head)

    def stages(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        answers = classify(codepoints, spec, spec.weights)._asdict()
        found = {name: stage for name, stage in answers.items() if stage is not None}
        if head == "raw":
            del found["embedding"]
        return found

    return traced(stages, spec.encoder.max_chars)


def conv_function() -> tf.types.experimental.PolymorphicFunction:
    weights = standin.conv_weights()

    def stages(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        chars = tf.cast(codepoints, tf.float32)[..., None]
        # Not chars / 2**k: TensorFlow divides by way of a rounded reciprocal, and bits come out wrong.
        powers = np.exp2(-np.arange(20, -1, -1, dtype=np.float32))
        digits = tf.floor(chars * powers) - 2.0 * tf.floor(chars * (powers / 2))
        hidden = tf.nn.relu(tf.matmul(tf.reshape(digits, [-1, 21]), weights.dense))
        hidden = tf.reshape(hidden, [1, standin.CONV_CHARS, standin.CONV_WIDTH]) + weights.positions
        hidden = tf.nn.relu(tf.nn.conv2d(hidden[:, :, None], weights.conv[:, None], 1, "SAME"))
        hidden = tf.nn.depthwise_conv2d(hidden, weights.depthwise[:, None, :, None], [1, 1, 1, 1], "SAME")
        logits = tf.matmul(tf.reduce_max(hidden, axis=[1, 2]), weights.logits)
        return {"bits": digits, "probabilities": tf.nn.softmax(logits)}

    return traced(stages, standin.CONV_CHARS)


def traced(stages: object, max_chars: int) -> tf.types.experimental.PolymorphicFunction:
    return tf.function(stages, input_signature=[tf.TensorSpec([1, max_chars], tf.int32, "codepoints")], autograph=False)


def refusals() -> list[str]:
    """The sentences with which functions are refused."""

    def unconnected(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"bits": tf.cast(codepoints, tf.float32), "probabilities": tf.cast(codepoints + 1, tf.float32)}

    def forbidden(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        bits = tf.cast(codepoints, tf.float32)
        return {"bits": bits, "probabilities": tf.sin(bits)}

    sentences = []
    for function in (unconnected, forbidden):
        try:
            to_tflite([Entry(traced(function, 8))])
        except RetvecLiteError as error:
            sentences.append(str(error))
        else:
            sentences.append("accepted")
    return sentences


def main() -> None:
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        if name == "refusals":
            (folder / "refusals.txt").write_text("\n".join(refusals()), encoding="utf-8")
            continue
        if name.endswith("-export"):
            head = name.removesuffix("-export")
            spec = standin.classifier(f"{head}-snapped", standin.LONG, WIDTH)
            (folder / f"{name}.tflite").write_bytes(convert(spec, embed=head in EMBED))
            continue
        function = conv_function() if name == "conv" else head_function(name)
        (folder / f"{name}.tflite").write_bytes(to_tflite([Entry(function)]))


if __name__ == "__main__":
    main()
