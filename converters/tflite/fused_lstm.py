"""An LSTM of given weights that the TFLite converter turns into one UNIDIRECTIONAL_SEQUENCE_LSTM.

The converter replaces a function that carries the attributes below by the fused op and drops its body
(TensorFlow, `prepare_composite_functions_tf.cc`: attribute `tf.api_implements` that starts with `lstm_`; arguments
inputs, h, c, kernel, recurrent kernel, bias; five results, of which only the second, the sequence, may be used). It does
so for a SavedModel only: in a bare concrete function the call is inlined first and becomes a WHILE loop.

The fused op keeps its state in variable tensors, which TFLite carries over from one call to the next: the second text
would be read with the memory of the first. Nothing in the file can reset them, so the graph does: one extra step in
front of the sequence, seen through one extra input that is zero everywhere else, closes the input and the forget gate.
"""

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

_CLOSED = 100.0
"""sigmoid(-100) is 3.7e-44: what is left of a state, which is itself below the number of steps."""


def _steps(
    inputs: tf.Tensor, h: tf.Tensor, c: tf.Tensor, kernel: tf.Tensor, recurrent: tf.Tensor, bias: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Plain LSTM (Keras gate order input, forget, cell, output): what TensorFlow itself runs."""
    steps = inputs.shape[1]
    projected = tf.matmul(inputs, kernel) + bias

    def step(
        t: tf.Tensor, h: tf.Tensor, c: tf.Tensor, out: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.TensorArray]:
        i, f, g, o = tf.split(projected[:, t] + tf.matmul(h, recurrent), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, out.write(t, h)

    out = tf.TensorArray(tf.float32, size=steps, element_shape=h.shape)
    _, h, c, out = tf.while_loop(lambda t, *_: t < steps, step, (0, h, c, out))
    return h, tf.transpose(out.stack(), [1, 0, 2]), h, c, tf.constant(0.0)


_fusable = tf.function(
    _steps,
    autograph=False,
    experimental_attributes={"api_implements": "lstm_retvec_lite", "time_major": False, "go_backwards": False},
)


def fused_lstm(
    inputs: tf.Tensor, kernel: NDArray[np.float32], recurrent: NDArray[np.float32], bias: NDArray[np.float32]
) -> tf.Tensor:
    """All outputs of an LSTM that starts from zeros at every call, as one fused TFLite op.

    Args:
        inputs: float32 [1, steps, features], static shape.
        kernel: float32 [features, 4 * units], gates in Keras order: input, forget, cell, output.
        recurrent: float32 [units, 4 * units].
        bias: float32 [4 * units].

    Returns:
        float32 [1, steps, units].
    """
    batch, steps, _ = inputs.shape
    units = recurrent.shape[0]
    # The extra kernel row is no larger than the largest weight of its column, so that it never widens an int8 or int4
    # scale, and lies on the same grid; the size that closes the gates is in the input, which is float32 in every recipe.
    largest = np.abs(kernel).max(axis=0)
    largest = np.maximum(largest, np.float32(1e-3) * largest.max())
    row = np.where(np.arange(4 * units) < 2 * units, -largest, np.float32(0)).astype(np.float32)
    against = np.abs(recurrent).sum(axis=0) + np.abs(bias)
    signal = np.zeros((batch, steps + 1, 1), np.float32)
    signal[:, 0] = (_CLOSED + against.max()) / largest[: 2 * units].min()

    extended = tf.concat([tf.pad(inputs, [[0, 0], [1, 0], [0, 0]]), tf.constant(signal)], axis=2)
    zeros = tf.zeros((batch, units))
    outputs = _fusable(
        extended, zeros, zeros, tf.constant(np.vstack([kernel, row])), tf.constant(recurrent), tf.constant(bias)
    )[1]
    return outputs[:, 1:]
