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
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.model.grid import to_grid
from retvec_lite.runtime.interpreters import silent_standard_error

IOS: Final = 16
"""The oldest iOS of the packages; macOS 13 belongs to it."""

_SMALLEST_SCALE: Final = np.finfo(np.float16).tiny
"""Scales are stored as float16; smaller ones would lose digits."""

_ON_GRID: Final = 1e-6
"""Largest squared error, relative to the weights', of weights on a grid. Rounding the scales to float16 costs less than 6e-8."""

_MOST_OFF: Final = {recipe.bits: recipe.unclipped_bound for recipe in RECIPES.values()}
"""Bits -> how far `verify` lets an unclipped weight be off. A palette may exceed it, because it spends few levels on rare values; a
grid does not."""

_KNOT: Final = 8
"""Values per knot of the estimated density."""

_ROUNDS: Final = 500
"""Most rounds of k-means. On the released weights it converged after 32 to 96."""


def load_coremltools() -> Any:
    """Import coremltools, without its warnings about versions of other packages that it was not tested with."""
    with silent_standard_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import coremltools

        logging.getLogger("coremltools").setLevel(logging.ERROR)
    return coremltools


@dataclass(frozen=True)
class Grid:
    """A matrix as symmetric integers and scales: `integers` int8 `[outputs, inputs]`; `scales` float32 `[outputs, 1]`."""

    integers: npt.NDArray[np.int8]
    scales: Floats


@dataclass(frozen=True)
class Palette:
    """A matrix as indices into a list: `indices` uint8 `[outputs, inputs]`; `levels` float32, 16 or 256 of them, ascending."""

    indices: npt.NDArray[np.uint8]
    levels: Floats


def compressed(values: Floats, bits: int) -> Grid | Palette:
    """Return the form of a matrix, float32 `[outputs, inputs]`, that loses least in 8 or 4 bits; scales and levels are float16 numbers."""
    integers, scales = to_grid(values, bits, 0)
    # A scale of training's own grid is a float16 number already. Others are rounded, and the integers follow.
    rounded = np.maximum(scales, _SMALLEST_SCALE).astype(np.float16).astype(np.float32)
    moved = rounded != scales
    limit = 127 if bits == 8 else 7
    integers[moved] = np.clip(np.rint(values[moved] / rounded[moved, None]), -limit, limit).astype(np.int8)
    grid = Grid(integers, rounded[:, None])
    lost = _square(grid.scales * grid.integers - values)
    if lost <= _ON_GRID * _square(values):
        return grid
    palette = _palette(values, 2**bits)
    off = palette.levels[palette.indices] - values
    is_near = np.abs(off).max() <= _MOST_OFF[bits] * np.abs(values).max()
    return palette if is_near and _square(off) < lost else grid


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
