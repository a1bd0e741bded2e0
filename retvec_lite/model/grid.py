"""The integer grid of quantized files: rounding that passes gradients and the final snap, for training; the integers, for files.

Kernels are float32 [in, out]. Each of their channels has a grid of its own: its step is the scale, float32 [1, out], its largest
integer is called levels, 7 for 4 bits and 127 for 8.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats

FOUR_BITS: Final = 7
EIGHT_BITS: Final = 127
"""The levels of symmetric grids: -7..7 and -127..127."""

Tensor = Any  # tf.Tensor

_SMALLEST_SCALE: Final = 2.0**-20
"""Avoids division by zero for a channel of zeros."""

_CLIPPING: Final = np.linspace(1.0, 0.6, 41, dtype=np.float32)
"""Ends of the 4-bit range that are tried, as shares of a row's largest value; the one with the least squared error wins."""


def channel_scale(kernel: Tensor, levels: int) -> Tensor:
    """Return the scale of the symmetric grid that ends at the largest weight of each channel."""
    import tensorflow as tf

    return tf.maximum(tf.reduce_max(tf.abs(kernel), axis=0, keepdims=True) / levels, _SMALLEST_SCALE)


def fake_quantize(kernel: Tensor, levels: int = FOUR_BITS, scale: Tensor = None) -> Tensor:
    """Round a kernel to a symmetric grid, with the gradient of the identity.

    Without `scale`, this is the straight-through estimator (Bengio et al. 2013, arXiv:1308.3432), limited by the largest
    weight of each channel. With a trained `scale`, it is LSQ (Esser et al. 2020, arXiv:1902.08153): weights beyond the
    limit get no gradient, and the scale gets the gradient of the rounding error.
    """
    import tensorflow as tf

    if scale is None:
        scale = channel_scale(kernel, levels)
        nearest = tf.clip_by_value(tf.round(kernel / scale), -levels, levels) * scale
        return kernel + tf.stop_gradient(nearest - kernel)
    steps = tf.clip_by_value(kernel / scale, -levels, levels)
    return (steps + tf.stop_gradient(tf.round(steps) - steps)) * scale


def snap(kernel: Floats, levels: int = FOUR_BITS, scale: Floats | None = None) -> Floats:
    """Move a kernel onto its grid, so that every later quantizer finds the same grid again.

    The scale of a channel is rounded up to 8 significant binary digits (10 for 8-bit grids). Then all its multiples are
    exact in float32 (those of 4 bits also in float16), the largest weight of the channel is exactly `levels` scales, and
    dividing it by `levels` restores the scale. A given `scale` is at most max / levels, which is also the default.
    """
    step = np.abs(kernel).max(axis=0).astype(np.float64) / levels if scale is None else scale.astype(np.float64)
    step = np.maximum(step, _SMALLEST_SCALE)
    unit = 2.0 ** (np.floor(np.log2(step)) - max(7, levels.bit_length() + 2))
    step = np.ceil(step / unit) * unit
    integers = np.clip(np.rint(kernel / step), -levels, levels)
    snapped: Floats = (integers * step).astype(np.float32)
    return snapped


def to_grid(values: Floats, bits: int, axis: int | None) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return symmetric integers and scales for a matrix: values ~ integers * scales.

    Weights that already lie on a 4-bit grid (trained for it: -7..7 times one number per output) are recognized and kept exactly,
    in 8 bits as well. Otherwise 8 bits use the full range, and 4 bits the clipping with the least error.

    Args:
        values: float32 matrix.
        bits: 8 or 4.
        axis: one scale for each index of this axis; None: one for all.

    Returns:
        int8 array of the shape of `values`, and float32 scales `[values.shape[axis]]`, or `[1]`.
    """
    rows = values.reshape(1, -1) if axis is None else np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    largest = np.abs(rows).max(axis=1)
    seventh = np.where(largest > 0, largest / np.float32(7), np.float32(1)).astype(np.float32)
    # Multiplying training's step by seven and dividing by seven may move it by one unit in the last place.
    below, above = (np.nextafter(seventh, np.float32(end)) for end in (0, np.inf))
    candidates = [(seventh, 7), (below, 7), (above, 7)]
    if bits == 8:
        full = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
        candidates.append((full, 127))
    else:
        candidates += [(seventh * share, 7) for share in _CLIPPING[1:]]

    best = np.full(len(rows), np.inf, np.float32)
    integers, scales = np.zeros(rows.shape, np.int8), np.ones(len(rows), np.float32)
    for scale, limit in candidates:
        rounded = np.clip(np.rint(rows / scale[:, None]), -limit, limit).astype(np.float32)
        error = np.square(rounded * scale[:, None] - rows).sum(axis=1, dtype=np.float32)
        better = error < best
        best[better], scales[better] = error[better], scale[better]
        integers[better] = rounded[better].astype(np.int8)
    if axis is None:
        return integers.reshape(values.shape), scales
    moved = np.moveaxis(values, axis, 0).shape
    return np.ascontiguousarray(np.moveaxis(integers.reshape(moved), 0, axis)), scales
