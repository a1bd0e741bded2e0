"""Find a classifier's weights in a Core ML program: what it really computes with, under the names of the source.

`verify` runs the NumPy reference with these, which separates the cost of rounding the weights from computing wrongly. Only shapes
and values count: every constant is tried in every arrangement that gives the wanted shape.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.evaluator import Literal, Operation, Program
from retvec_lite.converters.evaluator.package import bits_of
from retvec_lite.converters.parity.matching import MATCH_BOUNDS, SMALLEST, match_all

_EXACT: Final = 32
_GATES: Final = 4
_MOST_PARTS: Final = 8
"""Most weights that one constant may hold, for example the gates of an LSTM."""

_STORED: Final = ("val", "quantized_data", "data", "indices", "source_val")
"""Inputs of const and constexpr ops that hold one number a weight."""


@dataclass(frozen=True)
class Constant:
    """A float tensor that depends on no input, and the bits in which each value is stored."""

    name: str
    values: Floats
    bits: int


@dataclass(frozen=True)
class Match:
    """What a program computes with in the place of a weight, in its shape, and the bits of each stored value."""

    values: Floats
    bits: int


def program_constants(program: Program) -> list[Constant]:
    """Return every float tensor that a program computes with.

    Where a product with a constant matrix is multiplied by a constant for each output (a palette of integers and its scales), the
    two are one matrix to the reference, which is returned too.
    """
    found: dict[str, Constant] = {}
    bits: dict[str, int] = {}
    for operation in program.operations:
        if not all(source in bits for source in operation.sources):
            continue
        least = min([bits[source] for source in operation.sources] + _literal_bits(operation), default=64)
        for name, kind in operation.outputs:
            is_float = kind.kind == "tensor" and kind.dtype in ("fp16", "fp32")
            bits[name] = min(least, bits_of(kind.dtype)) if is_float else least
            if is_float and kind.shape:
                found[name] = Constant(name, program.constant(name).astype(np.float32), bits[name])
    return [*_scaled(program.operations, found), *found.values()]


def _scaled(operations: Sequence[Operation], constants: Mapping[str, Constant]) -> Iterator[Constant]:
    """Yield matrices times the scales of their products, `[outputs, inputs]` or `[inputs, outputs]`."""
    producers = {name: operation for operation in operations for name, _ in operation.outputs}
    for operation in operations:
        if operation.kind != "mul":
            continue
        for product, scale in itertools.permutations(operation.sources, 2):
            source = producers.get(product)
            if source is None or source.kind not in ("matmul", "linear") or scale not in constants:
                continue
            for name in source.sources:
                scales, outputs = constants[scale].values.reshape(-1), source.outputs[0][1].shape[-1]
                if name not in constants or constants[name].values.ndim != 2 or len(scales) not in (1, outputs):
                    continue
                values, bits = constants[name].values, constants[name].bits
                for shape in ((-1, 1), (1, -1)):
                    # A square matrix may lie either way; the match decides.
                    if values.shape[shape.index(-1)] == outputs:
                        yield Constant(f"{name} * {scale}", (values * scales.reshape(shape)).astype(np.float32), bits)


def _literal_bits(operation: Operation) -> list[int]:
    """Return the bits of the values stored in an op itself; a packed palette shows them by its number of levels."""
    literals = {
        key: item.type
        for key, items in operation.inputs.items()
        for item in items
        if isinstance(item, Literal) and item.type.kind == "tensor" and item.type.dtype != "str"
    }
    if operation.kind == "constexpr_lut_to_dense" and "shape" in literals:
        return [literals["lut"].shape[0].bit_length() - 1]
    return [bits_of(kind.dtype) for key, kind in literals.items() if key in _STORED]


def match_constants(constants: Sequence[Constant], reference: Mapping[str, Floats]) -> dict[str, Match]:
    """Return what a program computes with in the place of every reference weight.

    A weight may be transposed, have other axes of one, be part of a larger constant, or be stored gate by gate (LSTM) or row by
    row. A weight that is all zeros may have been left out, which computes the same.

    Args:
        constants: all constants of the program.
        reference: float32 weights by name, as trained.

    Returns:
        Name -> match.

    Raises:
        RetvecLiteError: names every weight for which the program holds nothing that is close enough.
    """
    return match_all(reference, lambda name, weights: _match(name, weights, constants))


def _match(name: str, weights: Floats, constants: Sequence[Constant]) -> Match | None:
    whole = _nearest(weights, constants)
    if whole is None and "/lstm/" in name:
        # Core ML has the gates in another order.
        whole = _joined(np.split(weights, _GATES, axis=-1), constants, -1, weights.shape)
    if whole is None and weights.ndim == 2 and len(weights) <= _MOST_PARTS:
        whole = _joined(list(weights), constants, 0, weights.shape)
    if whole is None and not weights.any():
        whole = Match(weights.copy(), 32)
    return whole


def _joined(parts: Sequence[Floats], constants: Sequence[Constant], axis: int, shape: tuple[int, ...]) -> Match | None:
    """Return the matches of all parts as one, in `shape`; None when one is missing."""
    matches = [match for match in (_nearest(part, constants) for part in parts) if match is not None]
    if len(matches) < len(parts):
        return None
    values = np.concatenate([match.values for match in matches], axis=axis).reshape(shape)
    return Match(values, min(match.bits for match in matches))


def _nearest(weights: Floats, constants: Sequence[Constant]) -> Match | None:
    """Return the nearest part of a constant in the shape of `weights`; None when none is within its bound."""
    best, least = None, np.inf
    size = float(np.sqrt(np.mean(np.square(weights, dtype=np.float64))))
    for constant in constants:
        bound = next(bound for bits, bound in MATCH_BOUNDS if constant.bits >= bits)
        bound *= size if constant.bits >= _EXACT else max(size, SMALLEST)
        for values in _views(constant.values, weights.shape):
            distance = float(np.sqrt(np.mean(np.square(values - weights, dtype=np.float64))))
            if distance < least and distance <= bound:
                best, least = Match(values, constant.bits), distance
    return best


def _views(values: Floats, shape: tuple[int, ...]) -> Iterator[Floats]:
    """Yield `values`, or equal parts of it along one axis, in every order of axes that gives `shape`."""
    wanted = int(np.prod(shape))
    if not wanted or values.size % wanted:
        return
    given = values.reshape([size for size in values.shape if size > 1])
    parts = values.size // wanted
    if parts > _MOST_PARTS:
        return
    pieces = [given] if parts == 1 else []
    for axis, size in enumerate(given.shape if parts > 1 else ()):
        if size % parts == 0:
            pieces += np.split(given, parts, axis=axis)
    sizes = [size for size in shape if size > 1]
    for piece in pieces:
        for order in itertools.permutations(range(piece.ndim)):
            turned = piece.transpose(order)
            if _merges(turned.shape, sizes):
                yield turned.reshape(shape)


def _merges(given: tuple[int, ...], wanted: list[int]) -> bool:
    """Return whether joining neighbouring axes of `given` gives `wanted`."""
    left = [size for size in given if size > 1]
    for size in wanted:
        joined = 1
        while joined < size and left:
            joined *= left.pop(0)
        if joined != size:
            return False
    return not left
