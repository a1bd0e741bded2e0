"""The grid that quantized files store, for training: rounding that gradients pass, and the final snap onto it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from keras import ops

FOUR_BITS: Final = 7
EIGHT_BITS: Final = 127
"""The largest integers of symmetric grids: -7..7 and -127..127."""

Tensor = Any  # a tensor of whichever Keras backend is in use
FloatMatrix = npt.NDArray[np.float32]


def fake_quantize(kernel: Tensor, levels: int = FOUR_BITS) -> Tensor:
    """The nearest kernel on a symmetric grid per output channel: float32 [in, out] -> float32 [in, out].

    The grid's integers are -levels..levels: 7 for 4 bits, 127 for 8.
    """
    scale = ops.maximum(ops.max(ops.abs(kernel), axis=0, keepdims=True) / levels, 1e-12)
    return ops.clip(ops.round(kernel / scale), -levels, levels) * scale


def snap(kernel: FloatMatrix, levels: int = FOUR_BITS) -> FloatMatrix:
    """Put a kernel on its grid such that every later quantizer finds the same grid again.

    The scale of a channel (max / levels) is rounded up to 8 significant binary digits, 10 for 8-bit grids. Then all multiples are exact in
    float32 (those of 4 bits in float16 too), the channel's largest weight is exactly `levels` scales, and dividing it by
    `levels` gives back the scale.

    Args:
        kernel: float32 [in, out].
        levels: the grid's largest integer, 7 for 4 bits, 127 for 8.

    Returns:
        float32 [in, out].
    """
    scale = np.abs(kernel).max(axis=0).astype(np.float64) / levels
    scale = np.maximum(scale, 2.0**-20)  # a channel of zeros stays zero
    unit = 2.0 ** (np.floor(np.log2(scale)) - max(7, levels.bit_length() + 2))
    scale = np.ceil(scale / unit) * unit
    integers = np.clip(np.rint(kernel / scale), -levels, levels)
    snapped: FloatMatrix = (integers * scale).astype(np.float32)
    return snapped
