"""The network's weights as constants of a Core ML program, in the form that the recipe stores and the target can read."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types

from retvec_lite.contract import Floats
from retvec_lite.converters.coreml.storage import FOUR_BITS_SINCE, Grid, Palette, Storage, compressed, packed_nibbles

Var = Any  # a value of a MIL program

_NIBBLES: Final = np.arange(-8, 8)


class WeightStore:
    """Makes constants of weights. The values of the program that hold them are called like them, see `called`."""

    def __init__(self, weights: Mapping[str, Floats], storage: Storage) -> None:
        """Prepare.

        Args:
            weights: named and shaped as in `HeadSpec.shapes`, with or without an embedding and character features.
            storage: how matrices are stored.
        """
        self._weights = weights
        self._storage = storage
        self._type = np.dtype(storage.computes).type

    def vector(self, name: str) -> Var:
        """A bias, gain or table of positions, in its own shape and the precision that the network computes in."""
        return mb.const(val=self._weights[name].astype(self._type), name=called(name))

    def rows(self, name: str) -> list[Var]:
        """The rows of a small table, each a constant of its own, in the precision that the network computes in."""
        rows = enumerate(self._weights[name].astype(self._type))
        return [mb.const(val=row, name=f"{called(name)}_{place}") for place, row in rows]

    def matrix(self, name: str) -> Var:
        """A kernel `[outputs, inputs]` (the other way round than `HeadSpec.shapes` has it) in the network's precision.

        Raises:
            RetvecLiteError: when a block does not divide its rows.
        """
        return self._matrix(name, np.ascontiguousarray(self._weights[name].T), self._type)

    def gates(self, name: str) -> Var:
        """A weight of a LSTM in float32: a kernel `[4 * units, inputs]` or a bias, cell gate last.

        Ours are along the last axis in the order input, forget, cell, output; Core ML wants input, forget, output, cell.
        """
        entry, forget, cell, output = np.split(self._weights[name], 4, axis=-1)
        turned = np.ascontiguousarray(np.concatenate([entry, forget, output, cell], axis=-1).T)
        if turned.ndim == 1:
            return mb.const(val=turned, name=called(name))
        return self._matrix(name, turned, np.float32)

    def _matrix(self, name: str, values: Floats, kind: type[np.floating[Any]]) -> Var:
        """A matrix in the form of the recipe, whose values arrive in the program as `kind`."""
        weights, is_new = self._storage.weights, self._storage.target >= FOUR_BITS_SINCE
        if weights in ("float32", "float16"):
            if weights == "float16" and kind is np.float32:
                return mb.constexpr_cast(source_val=values.astype(np.float16), output_dtype="fp32", name=called(name))
            return mb.const(val=values.astype(kind), name=called(name))
        # What feeds a LSTM must be a single operator, and before iOS 18 there is none for a grid in four bits.
        bits = 8 if weights == "int8" or (kind is not self._type and not is_new) else 4
        match compressed(values, bits, name, self._storage.block):
            case Palette() as palette:
                return _palette(palette.indices, palette.levels.astype(kind), bits, is_new, called(name))
            case Grid() as grid if is_new:
                kind_of_integer = np.int8 if bits == 8 else types.nptype_from_builtin(types.int4)
                integers = grid.integers.astype(kind_of_integer)
                return mb.constexpr_blockwise_shift_scale(
                    data=integers, scale=grid.scales.astype(kind), name=called(name)
                )
            case Grid() as grid if bits == 8:
                return mb.constexpr_affine_dequantize(
                    quantized_data=grid.integers,
                    zero_point=np.zeros(len(values), np.int8),
                    scale=grid.scales[:, 0].astype(kind),
                    axis=np.int32(0),
                    name=called(name),
                )
            case Grid() as grid:
                # A palette for the whole matrix is all that there is: it holds the integers, and their scales follow.
                indices = (grid.integers + _NIBBLES[-1] + 1).astype(np.uint8)
                found = _palette(indices, _NIBBLES.astype(kind), bits, is_new, f"{called(name)}_integers")
                return mb.mul(x=found, y=grid.scales.astype(kind), name=called(name))


def called(weight: str) -> str:
    """What a weight is called in a program: `head_word_kernel` for `head/word/kernel`."""
    return weight.replace("/", "_")


def _palette(indices: npt.NDArray[np.uint8], levels: npt.NDArray[Any], bits: int, is_new: bool, name: str) -> Var:
    """A matrix out of a list of numbers; iOS 18 has the operator in another form."""
    if is_new:
        kind = types.nptype_from_builtin(types.uint4 if bits == 4 else types.uint8)
        return mb.constexpr_lut_to_dense(indices=indices.astype(kind), lut=levels.reshape(1, 1, -1, 1), name=name)
    packed = indices.reshape(-1) if bits == 8 else packed_nibbles(indices)
    return mb.constexpr_lut_to_dense(indices=packed, lut=levels, shape=np.array(indices.shape, np.uint32), name=name)
