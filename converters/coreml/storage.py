"""How Core ML packages store the network's weights: which recipes there are for which system, and the numbers they keep.

Weights that training has put on a grid (a multiple of -7..7 of one number per output) are kept exactly by every integer
recipe, so that float32, int8 and int4 are the same function. All others get a palette found by k-means, which loses least, as
long as no weight is far off: on the three matrices of the released RETVec v1 embedding, squared error relative to the weights' (November 2026),

| bits | symmetric, a scale per output | asymmetric, a scale per output | palette of the matrix (the best possible) |
|---|---|---|---|
| 8 | 2.7e-4 to 6.4e-4 | 1.5e-4 to 2.6e-4 | 8.2e-5 to 1.0e-4 (6.7e-5 to 8.5e-5) |
| 4 | 4.9e-2 to 5.5e-2 | 3.7e-2 to 3.9e-2 | 2.5e-2 to 2.9e-2 (2.5e-2 to 2.9e-2) |

In four bits, and for one of the three in eight, that palette leaves single weights further off than `verify` allows: they
get the symmetric form.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.converters.tflite.quantize import to_grid
from retvec_lite.errors import RetvecLiteError

TARGETS: Final = (16, 17, 18)
"""Oldest iOS versions that a package can be made for; macOS 13, 14 and 15 belong to them."""

DEFAULT_TARGET: Final = 16

FOUR_BITS_SINCE: Final = 18
"""The first iOS that knows 4-bit integers with a scale for each output, or for each block of a row."""

_SMALLEST_SCALE: Final = np.finfo(np.float16).tiny
"""Scales are stored in float16, where smaller ones would lose digits."""

_ON_GRID: Final = 1e-6
"""Squared error relative to the weights', up to which they count as lying on a grid: rounding its scales to float16 costs
less than 6e-8, and no palette would bring much."""

_MOST_OFF: Final = {8: 0.01, 4: 0.15}
"""How far `verify` lets a weight be off that was not clipped, as a share of the matrix's largest. A palette, which spares rare
values, may be off by more; a grid is not."""

_KNOT: Final = 8
"""Values per knot of the estimated density."""

_ROUNDS: Final = 500
"""Most rounds of k-means; it stood still after 32 to 96 of them on the released weights."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """How one package stores its matrices.

    Attributes:
        recipe: the recipe's name, as for TFLite.
        weights: what a matrix is stored as.
        target: the oldest iOS version.
        block: how many weights of a row share a scale, for int4; None: the whole row.
    """

    recipe: str
    weights: Literal["float32", "float16", "int8", "int4"]
    target: int
    block: int | None = None

    @property
    def computes(self) -> type[np.floating[Any]]:
        """The data type in which the network computes; the encoder, the softmax and a LSTM always use float32."""
        return np.float32 if self.weights == "float32" else np.float16


DESCRIPTIONS: Final[Mapping[str, str]] = {
    "float32": "weights as trained, float32 arithmetic",
    "float16": "half-precision weights and arithmetic",
    "int8": "8-bit weights, half-precision arithmetic",
    "int4": "4-bit weights, half-precision arithmetic",
}


def find_storage(recipe: str, target: int = DEFAULT_TARGET, block: int | None = None) -> Storage:
    """How a recipe is stored for a target.

    Args:
        recipe: a name out of `RECIPES`.
        target: the oldest iOS version.
        block: see `Storage`.

    Raises:
        RetvecLiteError: for a recipe that Core ML has no counterpart of, an unsupported target, a block where there can be none.
    """
    if recipe not in DESCRIPTIONS:
        raise RetvecLiteError(f"Expected a recipe for Core ML out of {', '.join(DESCRIPTIONS)}, received {recipe!r}.")
    if target not in TARGETS:
        raise RetvecLiteError(
            f"Expected the oldest iOS to be one of {', '.join(map(str, TARGETS))}, received {target}."
        )
    if block is not None and (recipe != "int4" or target < FOUR_BITS_SINCE):
        raise RetvecLiteError(
            f"Expected blocks of weights only with the recipe int4 for iOS {FOUR_BITS_SINCE} or newer, received {recipe} for iOS {target}."
        )
    weights: Literal["float32", "float16", "int8", "int4"]
    match recipe:
        case "float32" | "float16" | "int8" | "int4":
            weights = recipe
    return Storage(recipe=recipe, weights=weights, target=target, block=block)


@dataclass(frozen=True)
class Grid:
    """A matrix as symmetric integers and scales: `integers` int8 `[outputs, inputs]`; `scales` float32 `[outputs, blocks]`."""

    integers: npt.NDArray[np.int8]
    scales: Floats


@dataclass(frozen=True)
class Palette:
    """A matrix as places in a list: `indices` uint8 `[outputs, inputs]`; `levels` float32, 16 or 256 of them, ascending."""

    indices: npt.NDArray[np.uint8]
    levels: Floats


def compressed(values: Floats, bits: int, name: str, block: int | None = None) -> Grid | Palette:
    """The form of a matrix that loses least; scales and levels are float16 numbers.

    Args:
        values: float32 `[outputs, inputs]`.
        bits: 8 or 4.
        name: the matrix's name, for the error.
        block: how many weights of a row share a scale; then it is always a grid. None: the whole row.

    Raises:
        RetvecLiteError: when the block does not divide the rows.
    """
    inputs = values.shape[1]
    if block is not None and (block < 1 or inputs % block):
        raise RetvecLiteError(
            f"Expected a block that divides the {inputs} inputs of {name}, received {block}: choose another or none."
        )
    grid = _grid(values, bits, block or inputs)
    lost = _square(np.repeat(grid.scales, block or inputs, axis=1) * grid.integers - values)
    if block is not None or lost <= _ON_GRID * _square(values):
        return grid
    palette = _palette(values, 2**bits)
    off = palette.levels[palette.indices] - values
    is_near = np.abs(off).max() <= _MOST_OFF[bits] * np.abs(values).max()
    return palette if is_near and _square(off) < lost else grid


def packed_nibbles(indices: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Numbers below 16, two a byte, the first one in the low half."""
    flat = indices.reshape(-1)
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8)


def _grid(values: Floats, bits: int, block: int) -> Grid:
    rows = values.reshape(-1, block)
    found, scales = to_grid(rows, bits, 0)
    # A scale of training's own grid is a float16 number already. Another one is rounded, and the integers follow it.
    rounded = np.maximum(scales, _SMALLEST_SCALE).astype(np.float16).astype(np.float32)
    moved = rounded != scales
    limit = 127 if bits == 8 else 7
    found[moved] = np.clip(np.rint(rows[moved] / rounded[moved, None]), -limit, limit).astype(np.int8)
    return Grid(found.reshape(values.shape), rounded.reshape(len(values), -1))


def _palette(values: Floats, size: int) -> Palette:
    """One-dimensional k-means (Lloyd 1982, https://doi.org/10.1109/TIT.1982.1056489) on sorted values, always the same.

    It starts from the levels that are best for many of them, as dense as the cube root of the values' density (Panter and Dite
    1951), which brings it near the optimum: other starts leave heavy tails with too few levels.
    """
    ordered = np.sort(values.reshape(-1).astype(np.float64))
    totals = np.concatenate([[0.0], np.cumsum(ordered)])
    knots = np.unique(np.append(ordered[::_KNOT], ordered[-1]))
    share = np.concatenate([[0.0], np.cumsum(np.diff(knots) ** (2 / 3))])
    levels = np.interp((np.arange(size) + 0.5) / size * share[-1], share, knots)
    for _ in range(_ROUNDS):
        borders = np.searchsorted(ordered, (levels[1:] + levels[:-1]) / 2)
        borders = np.concatenate([[0], borders, [len(ordered)]])
        counts = np.diff(borders)
        moved = np.where(counts > 0, np.diff(totals[borders]) / np.maximum(counts, 1), levels)
        if np.array_equal(moved, levels):
            break
        levels = moved
    stored = levels.astype(np.float16).astype(np.float32)
    indices = np.searchsorted((stored[1:] + stored[:-1]) / 2, values).astype(np.uint8)
    return Palette(indices, stored)


def _square(values: Floats) -> float:
    return float(np.square(values, dtype=np.float64).sum())
