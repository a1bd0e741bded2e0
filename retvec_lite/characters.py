"""Character features: what the head of a classifier may read of each word beside its embedding. Names and sizes; NumPy only.

A convolution over the word's characters and the maximum of each filter over their places, through tanh (Kim et al. 2016,
"Character-aware neural language models", https://arxiv.org/abs/1508.06615, section 2.2). The embedding tells what a word looks
like as a whole; these tell what it contains, wherever in it, as n-grams would. `modeling/classifier.py` computes them
in TensorFlow, `reference.py` in NumPy, `converters/coreml_heads.py` in Core ML.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.config import BITS
from retvec_lite.errors import RetvecLiteError
from retvec_lite.heads import Shapes

WINDOW: Final = 3
"""Neighbouring characters that a new classifier's filters see at once."""

_KERNEL: Final = "characters/kernel"


def character_shapes(filters: int, window: int = WINDOW) -> Shapes:
    """Weight names and shapes of so many filters; nothing for none."""
    return {_KERNEL: (window * BITS, filters), "characters/bias": (filters,)} if filters else {}


def filters_in(weights: Mapping[str, npt.NDArray[np.float32]]) -> int:
    """How many features a classifier's weights give, 0 for none."""
    return weights[_KERNEL].shape[1] if _KERNEL in weights else 0


def shapes_in(weights: Mapping[str, npt.NDArray[np.float32]], file: Path) -> Shapes:
    """What `character_shapes` says of the filters that `weights` hold.

    Raises:
        RetvecLiteError: when the windows of `characters/kernel` are not an odd number of whole characters.
    """
    if _KERNEL not in weights:
        return {}
    shape = weights[_KERNEL].shape
    if len(shape) != 2 or shape[0] % (2 * BITS) != BITS or not shape[1]:
        raise RetvecLiteError(
            f"Expected {file}: {_KERNEL} of {BITS} rows for each of an odd number of characters, received shape {list(shape)}."
        )
    return character_shapes(shape[1], shape[0] // BITS)
