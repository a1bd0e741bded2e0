"""The grid that quantized files store, for training: rounding that gradients pass, and the final snap onto it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from keras import ops

from retvec_lite.contract import Floats

FOUR_BITS: Final = 7
EIGHT_BITS: Final = 127
"""The largest integers of symmetric grids: -7..7 and -127..127."""

Tensor = Any  # a tensor of whichever Keras backend is in use

_SMALLEST_SCALE: Final = 2.0**-20  # a channel of zeros stays zero


def channel_scale(kernel: Tensor, levels: int, *, per_tensor: bool = False) -> Tensor:
    """The step of a symmetric grid that the largest weight just fits: float32 [1, out], or [1, 1] per tensor."""
    largest = ops.max(ops.abs(kernel), axis=None if per_tensor else 0, keepdims=True)
    return ops.maximum(largest / levels, _SMALLEST_SCALE)


def fake_quantize(kernel: Tensor, levels: int = FOUR_BITS, scale: Tensor = None) -> Tensor:
    """The nearest kernel on a symmetric grid: float32 [in, out] -> float32 [in, out], gradients as of the identity.

    The straight-through estimator (Bengio et al. 2013, arXiv:1308.3432) with the largest weight of a channel as its
    limit; with a `scale` of its own, which may be trained, the one of LSQ (Esser et al. 2020, arXiv:1902.08153): weights
    beyond the limit get no gradient, and the scale gets the rounding error's.

    Args:
        kernel: float32 [in, out].
        levels: the grid's largest integer, 7 for 4 bits, 127 for 8.
        scale: float32 [1, out] or [1, 1], the grid's step; None for `channel_scale`.
    """
    if scale is None:
        scale = channel_scale(kernel, levels)
        nearest = ops.clip(ops.round(kernel / scale), -levels, levels) * scale
        return kernel + ops.stop_gradient(nearest - kernel)
    steps = ops.clip(kernel / scale, -levels, levels)
    return (steps + ops.stop_gradient(ops.round(steps) - steps)) * scale


def snap(kernel: Floats, levels: int = FOUR_BITS, scale: Floats | None = None) -> Floats:
    """Put a kernel on its grid such that every later quantizer finds the same grid again.

    The scale of a channel is rounded up to 8 significant binary digits, 10 for 8-bit grids. Then all multiples are exact in
    float32 (those of 4 bits in float16 too), the channel's largest weight is exactly `levels` scales, and dividing it by
    `levels` gives back the scale.

    Args:
        kernel: float32 [in, out].
        levels: the grid's largest integer, 7 for 4 bits, 127 for 8.
        scale: float32 [1, out] or [1, 1], the grid's step, at most max / levels; None for max / levels of each channel.

    Returns:
        float32 [in, out].
    """
    step = np.abs(kernel).max(axis=0).astype(np.float64) / levels if scale is None else scale.astype(np.float64)
    step = np.maximum(step, _SMALLEST_SCALE)
    unit = 2.0 ** (np.floor(np.log2(step)) - max(7, levels.bit_length() + 2))
    step = np.ceil(step / unit) * unit
    integers = np.clip(np.rint(kernel / step), -levels, levels)
    snapped: Floats = (integers * step).astype(np.float32)
    return snapped
