"""Small pieces of graphs that the encoder and the normal form share. All become TFLite builtins."""

import tensorflow as tf


def to_int(values: tf.Tensor) -> tf.Tensor:
    """Return values as int32."""
    return tf.cast(values, tf.int32)


def to_float(values: tf.Tensor) -> tf.Tensor:
    """Return values as float32."""
    return tf.cast(values, tf.float32)


def later(values: tf.Tensor, distance: int) -> tf.Tensor:
    """Shift values `distance` places towards the end and fill with zeros."""
    return tf.pad(values, [[0, 0], [distance, 0]])[:, : values.shape[1]]


def earlier(values: tf.Tensor, distance: int) -> tf.Tensor:
    """Shift values `distance` places towards the start and fill with zeros."""
    return tf.pad(values, [[0, 0], [0, distance]])[:, distance:]


def gather_in_rows(values: tf.Tensor, indices: tf.Tensor, size: int) -> tf.Tensor:
    """Compute `values[row, indices[row, ...]]` for `values` `[batch, size]` as one flat gather."""
    rows = _rows(_batch(values), size, indices.shape.rank)
    return tf.gather(tf.reshape(values, [-1]), indices if rows is None else indices + rows)


def scatter_in_rows(indices: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Add `values` to zeros at `indices` of each row; all are `[batch, size]`."""
    batch, size = _batch(indices), indices.shape[1]
    rows = _rows(batch, size, 2)
    flat = tf.reshape(indices if rows is None else indices + rows, [-1, 1])
    scattered = tf.scatter_nd(flat, tf.reshape(values, [-1]), [batch * size])
    return tf.reshape(scattered, [-1, size])


def _rows(batch: tf.Tensor | int, size: int, rank: int) -> tf.Tensor | None:
    """Return where each row of `[batch, size]` starts when flattened; None for a single text, which needs no offset."""
    if isinstance(batch, int) and batch == 1:
        return None
    return tf.reshape(tf.range(batch, dtype=tf.int32) * size, [-1] + [1] * (rank - 1))


def _batch(tensor: tf.Tensor) -> tf.Tensor | int:
    static = tensor.shape[0]
    return tf.shape(tensor)[0] if static is None else int(static)
