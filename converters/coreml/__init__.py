"""From weights to an .mlpackage: how a package stores weights and rounds them, and how coremltools is imported.

`build`, `encoder` and `network` import coremltools: call `load_coremltools` before importing them, to keep its warnings away.

Weights that training has put on a grid (multiples -7..7 of one number per output) are kept exactly by every integer recipe, so
that float32, int8 and int4 compute the same function. Other weights get a palette found by k-means, which loses least unless
some weight ends up far off. Squared error relative to the weights', on the three matrices of the released RETVec v1 embedding:

| bits | symmetric, a scale per output | asymmetric, a scale per output | palette of the matrix (the best possible) |
|---|---|---|---|
| 8 | 2.7e-4 to 6.4e-4 | 1.5e-4 to 2.6e-4 | 8.2e-5 to 1.0e-4 (6.7e-5 to 8.5e-5) |
| 4 | 4.9e-2 to 5.5e-2 | 3.7e-2 to 3.9e-2 | 2.5e-2 to 2.9e-2 (2.5e-2 to 2.9e-2) |

With 4 bits, and for one of the three with 8, the palette leaves single weights further off than `verify` allows: they get the
symmetric form.
"""

import logging
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.converters.recipes import DEFAULT_IOS, IOS_VERSIONS, RECIPES, Recipe, find_recipe
from retvec_lite.converters.tflite.quantize import to_grid
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.interpreters import silent_standard_error

FOUR_BITS_SINCE: Final = 18
"""The first iOS that knows 4-bit integers with one scale for each output, or for each block of a row."""

_SMALLEST_SCALE: Final = np.finfo(np.float16).tiny
"""Scales are stored as float16; smaller ones would lose digits."""

_ON_GRID: Final = 1e-6
"""Largest squared error, relative to the weights', of weights on a grid. Rounding the scales to float16 costs less than 6e-8."""

_MOST_OFF: Final = {recipe.bits: recipe.coreml.unclipped_bound for recipe in RECIPES.values() if recipe.coreml}
"""Bits -> how far `verify` lets an unclipped weight be off. A palette may exceed it, because it spends few levels on rare values; a
grid does not."""

_KNOT: Final = 8
"""Values per knot of the estimated density."""

_ROUNDS: Final = 500
"""Most rounds of k-means. On the released weights it converged after 32 to 96."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """How one package stores its matrices.

    The recipe has a Core ML form; `ios` is the oldest version; with int4, `block` weights of a row share a scale (None: all).
    """

    recipe: Recipe
    ios: int
    block: int | None = None

    @property
    def for_ios18(self) -> bool:
        """Whether the package may use the operators of iOS 18."""
        return self.ios >= FOUR_BITS_SINCE

    @property
    def computes(self) -> type[np.floating[Any]]:
        """The data type of the network's arithmetic. The encoder, the softmax and an LSTM always use float32."""
        assert self.recipe.coreml is not None
        return np.float32 if self.recipe.coreml.computes == "float32" else np.float16


def find_storage(recipe: str, ios: int = DEFAULT_IOS, block: int | None = None) -> Storage:
    """Return how a recipe is stored for an iOS version, see `Storage`; macOS 13, 14 and 15 belong to iOS 16, 17 and 18.

    Raises:
        RetvecLiteError: for a recipe without a Core ML form, an unsupported iOS, or a block where there can be none.
    """
    found = find_recipe(recipe)
    if found.coreml is None:
        known = ", ".join(name for name, item in RECIPES.items() if item.coreml is not None)
        raise RetvecLiteError(f"There is no recipe {recipe!r} for Core ML. Choose from {known}.")
    if ios not in IOS_VERSIONS:
        raise RetvecLiteError(f"iOS {ios} is not supported. Choose from {', '.join(map(str, IOS_VERSIONS))}.")
    if block is not None and (found.bits != 4 or ios < FOUR_BITS_SINCE):
        raise RetvecLiteError(
            f"Blocks of weights need the recipe int4 and iOS {FOUR_BITS_SINCE} or newer, not {recipe} and iOS {ios}."
        )
    return Storage(recipe=found, ios=ios, block=block)


def load_coremltools() -> Any:
    """Import coremltools, without its warnings about versions of other packages that it was not tested with."""
    with silent_standard_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import coremltools

        logging.getLogger("coremltools").setLevel(logging.ERROR)
    return coremltools


@dataclass(frozen=True)
class Grid:
    """A matrix as symmetric integers and scales: `integers` int8 `[outputs, inputs]`; `scales` float32 `[outputs, blocks]`."""

    integers: npt.NDArray[np.int8]
    scales: Floats


@dataclass(frozen=True)
class Palette:
    """A matrix as indices into a list: `indices` uint8 `[outputs, inputs]`; `levels` float32, 16 or 256 of them, ascending."""

    indices: npt.NDArray[np.uint8]
    levels: Floats


def compressed(values: Floats, bits: int, name: str, block: int | None = None) -> Grid | Palette:
    """Return the form of a matrix, float32 `[outputs, inputs]`, that loses least in 8 or 4 bits.

    Its scales and levels are float16 numbers. A block (see `Storage`) makes a grid.

    Raises:
        RetvecLiteError: when the block does not divide the rows of the matrix called `name`.
    """
    inputs = values.shape[1]
    if block is not None and (block < 1 or inputs % block):
        raise RetvecLiteError(
            f"A block of {block} does not divide the {inputs} inputs of {name}. Choose another block, or none."
        )
    grid = _grid(values, bits, block or inputs)
    lost = _square(np.repeat(grid.scales, block or inputs, axis=1) * grid.integers - values)
    if block is not None or lost <= _ON_GRID * _square(values):
        return grid
    palette = _palette(values, 2**bits)
    off = palette.levels[palette.indices] - values
    is_near = np.abs(off).max() <= _MOST_OFF[bits] * np.abs(values).max()
    return palette if is_near and _square(off) < lost else grid


def _grid(values: Floats, bits: int, block: int) -> Grid:
    rows = values.reshape(-1, block)
    found, scales = to_grid(rows, bits, 0)
    # A scale of training's own grid is a float16 number already. Others are rounded, and the integers follow.
    rounded = np.maximum(scales, _SMALLEST_SCALE).astype(np.float16).astype(np.float32)
    moved = rounded != scales
    limit = 127 if bits == 8 else 7
    found[moved] = np.clip(np.rint(rows[moved] / rounded[moved, None]), -limit, limit).astype(np.int8)
    return Grid(found.reshape(values.shape), rounded.reshape(len(values), -1))


def _palette(values: Floats, size: int) -> Palette:
    """Find a palette by one-dimensional k-means (Lloyd 1982, https://doi.org/10.1109/TIT.1982.1056489) on sorted values.

    Our own, because the bytes must be the same on every machine: scikit-learn's sums depend on the number of threads, and the
    exact solver that coremltools bundles is private (`coremltools._deps.kmeans1d`) and 200 times slower. It starts from levels as dense as the cube root of the values'
    density, which are best for many levels (Panter and Dite, Proc. IRE 39, 1951); other starts
    leave heavy tails with too few.
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
