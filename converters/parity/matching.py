"""Find a classifier's weights in an exported file: what the file really computes with, under the names of the source.

`verify` runs the NumPy reference with these, which separates the cost of rounding the weights from computing wrongly. Only shapes and
values count: names do not survive the converters, and a file must not vouch for itself.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.converters.evaluator import Literal, Operation, Program
from retvec_lite.converters.evaluator.package import bits_of
from retvec_lite.converters.tflite.graph import BITS, Constant, constants, dtype_of, graph_of, operator_name, values_of
from retvec_lite.errors import RetvecLiteError
from retvec_lite.ngrams import lower_case_table
from retvec_lite.runtime.artifact import CLASSIFY

_BOUNDS: Final = ((32, 1e-6), (16, 1e-3), (8, 0.05), (6, 0.2), (0, 0.4))
"""Fewest bits of a value, and the largest root mean square of (found - reference) / reference. Rounding a normal distribution with a
maximum of four deviations to b bits gives about 4 / 2**(b - 1) / sqrt(12); unrelated weights differ by 1.4."""

_EXACT: Final = 32
"""Bits of a value that is not rounded."""

SMALLEST: Final = 2.0**-14
"""Smaller numbers have fewer digits in half precision: its steps stay 2**-24 below it. Training leaves such weights where nothing
depends on them, for example in the bias of attention keys."""

_GATES: Final = 4
_MOST_PARTS: Final = 8
"""A constant may hold this many weights (the gates of an LSTM, the projections of attention, in both directions), and a weight may be
kept as this many constants."""

_STORED: Final = ("val", "quantized_data", "data", "indices", "source_val")
"""Inputs of Core ML's const and constexpr operations that hold a number for each weight."""


@dataclass(frozen=True)
class Match:
    """What a file computes with in the place of a weight, in its shape, and the bits in which it is stored."""

    values: Floats
    bits: int


def magnitude(weights: Floats) -> float:
    """Return what a tensor's rounding errors are measured by: its largest weight, or `SMALLEST` if that is larger."""
    return max(float(np.abs(weights).max()), SMALLEST)


def match_weights(model: Any, reference: Mapping[str, Floats], signature: str = CLASSIFY) -> dict[str, Floats]:
    """Return what a .tflite computes with in the place of every reference weight, see `match_constants`.

    Args:
        model: the parsed file.
        reference: float32 weights by name, as trained.
        signature: whose graph to search.
    """
    graph = graph_of(model, signature)
    plain = constants(model, graph)
    found = [*_lstm_matrices(model, graph), *_ngram_tables(model, graph, plain), *plain]
    if "ngrams/table" in reference:
        places, differences = lower_case_table()
        _require(places, _gathered_integers(model, graph, "uint8"))
        _require(differences, [constant.values for constant in plain])
    return {name: match.values for name, match in match_constants(found, reference).items()}


def match_program(program: Program, reference: Mapping[str, Floats]) -> dict[str, Match]:
    """Return what a Core ML program computes with in the place of every reference weight, see `match_constants`."""
    found = program_constants(program)
    if "ngrams/table" in reference:
        places, differences = lower_case_table()
        _require(differences[places], [constant.values for constant in found])
    return match_constants(found, reference)


def match_constants(found: Sequence[Constant], reference: Mapping[str, Floats]) -> dict[str, Match]:
    """Return what a file computes with in the place of every reference weight.

    A weight may be transposed, have other axes of one, be part of a larger constant, or be stored gate by gate (LSTM) or row by row (a
    depthwise kernel becomes three vectors). A weight that is all zeros may have been left out, which computes the same.

    Args:
        found: all constants of the file.
        reference: float32 weights by name, as trained.

    Raises:
        RetvecLiteError: names every weight for which the file holds nothing that is close enough.
    """
    matches = {name: _match(name, weights, found) for name, weights in reference.items()}
    missing = [name for name, match in matches.items() if match is None]
    if missing:
        raise RetvecLiteError(f"The model does not hold the classifier's weights: none for {', '.join(missing)}.")
    return {name: match for name, match in matches.items() if match is not None}


def program_constants(program: Program) -> list[Constant]:
    """Return every float tensor that a Core ML program computes with.

    Where a product with a constant matrix is multiplied by a constant for each output (a palette of integers and its scales), the two
    are one matrix to the reference: it is returned besides both.
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
    return [*_scaled(program.operations, found), *_gathered(program.operations, found), *found.values()]


def _match(name: str, weights: Floats, found: Sequence[Constant]) -> Match | None:
    whole = _nearest(weights, found)
    if whole is None and "/lstm/" in name:
        # Core ML has the gates in another order.
        whole = _joined(np.split(weights, _GATES, axis=-1), found, -1, weights.shape)
    if whole is None and weights.ndim == 2 and len(weights) <= _MOST_PARTS:
        whole = _joined(list(weights), found, 0, weights.shape)
    if whole is None and not weights.any():
        whole = Match(weights.copy(), _EXACT)
    return whole


def _joined(parts: Sequence[Floats], found: Sequence[Constant], axis: int, shape: tuple[int, ...]) -> Match | None:
    """Return the matches of all parts as one, in `shape`; None when one is missing."""
    matches = [match for match in (_nearest(part, found) for part in parts) if match is not None]
    if len(matches) < len(parts):
        return None
    values = np.concatenate([match.values for match in matches], axis=axis).reshape(shape)
    return Match(values, min(match.bits for match in matches))


def _nearest(weights: Floats, found: Sequence[Constant]) -> Match | None:
    """Return the nearest part of a constant in the shape of `weights`; None when none is within its bound."""
    best, least = None, np.inf
    size = float(np.sqrt(np.mean(np.square(weights, dtype=np.float64))))
    for constant in found:
        bound = next(bound for bits, bound in _BOUNDS if constant.bits >= bits)
        bound *= size if constant.bits >= _EXACT else max(size, SMALLEST)
        for values in _views(constant.values, weights.shape):
            distance = float(np.sqrt(np.mean(np.square(values - weights, dtype=np.float64))))
            if distance < least and distance <= bound:
                best, least = Match(values, constant.bits), distance
    return best


def _views(values: Floats, shape: tuple[int, ...]) -> Iterator[Floats]:
    """Yield `values`, or equal parts of it along one axis, in every order of axes that makes `shape`."""
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
    """Return whether joining neighbouring axes of `given` makes `wanted`."""
    left = [size for size in given if size > 1]
    for size in wanted:
        joined = 1
        while joined < size and left:
            joined *= left.pop(0)
        if joined != size:
            return False
    return not left


def _lstm_matrices(model: Any, graph: Any) -> list[Constant]:
    """Return kernel, recurrent kernel and bias of fused LSTMs in Keras form: gates side by side, input, forget, cell, output.

    Inputs 1 to 4 of the operator are the gates' kernels `[units, inputs]`, 5 to 8 the recurrent ones, 12 to 15 the biases.
    The kernel is also returned without its last row, the state reset of `fused_lstm`.
    """
    named = [(operator_name(model, operator), operator) for operator in graph.operators]
    sources = {int(op.outputs[0]): int(op.inputs[0]) for name, op in named if name == "DEQUANTIZE"}
    found = []
    for kind, operator in named:
        if kind != "UNIDIRECTIONAL_SEQUENCE_LSTM" or len(operator.inputs) < 16:
            continue
        indices = [sources.get(index, index) for index in operator.inputs.tolist()]
        for name, places in (("kernel", range(1, 5)), ("recurrent_kernel", range(5, 9)), ("bias", range(12, 16))):
            gates = [graph.tensors[indices[place]] for place in places]
            joined = np.concatenate([values_of(model, gate).T for gate in gates], axis=-1)
            bits = BITS.get(dtype_of(gates[0]), 0)
            found.append(Constant(name, joined, bits))
            if name == "kernel":
                found.append(Constant(name, joined[:-1], bits))
    return found


def _ngram_tables(model: Any, graph: Any, plain: Sequence[Constant]) -> Iterator[Constant]:
    """Yield tables of n-grams, the squares beside them, and the codes of hashes where there are codebooks.

    A table is an int8 constant `[buckets, labels + 1]` that is gathered from; its last column are the squares. Its scales are one
    of the constants of `labels` numbers: values tell which. A table of low rank has none. Training leaves both on this grid, so they count as exact.
    """
    for codes in _gathered_integers(model, graph, "uint8"):
        yield Constant("codes", codes, _EXACT)
    for stored in _gathered_integers(model, graph, "int8"):
        if stored.ndim != 2:
            continue
        yield Constant("squares", stored[:, -1], _EXACT)
        yield Constant("table of low rank", stored[:, :-1], _EXACT)
        for scales in plain:
            if scales.values.size == stored.shape[1] - 1:
                yield Constant("table", stored[:, :-1] * scales.values.reshape(-1), scales.bits)


def _gathered_integers(model: Any, graph: Any, dtype: str) -> Iterator[Floats]:
    """Yield the integers of a type that a .tflite gathers from."""
    for operator in graph.operators:
        if operator_name(model, operator) == "GATHER":
            tensor = graph.tensors[operator.inputs[0]]
            if dtype_of(tensor) == dtype:
                yield values_of(model, tensor)


def _require(table: npt.NDArray[Any], found: Iterable[Floats]) -> None:
    """Raise RetvecLiteError when the file does not hold a part of the table of lower case: golden texts have few of its letters."""
    if not any(np.array_equal(values.reshape(-1), table) for values in found):
        raise RetvecLiteError("The model does not hold the table of lower case that n-grams need.")


def _gathered(operations: Sequence[Operation], found: Mapping[str, Constant]) -> Iterator[Constant]:
    """Yield the parts of tables of n-grams in a Core ML program, see `_ngram_tables`; the scales are in the values.

    What is stored in 8 bits is exact all the same: integers, and a table on their grid.
    """
    for operation in operations:
        if operation.kind != "gather":
            continue
        table = next((found[name] for name in operation.sources if name in found), None)
        if table is not None and table.values.ndim == 2:
            yield Constant("codes", table.values, _EXACT)
        if table is not None and table.values.ndim == 2 and table.values.shape[1] > 1:
            yield Constant("squares", table.values[:, -1], _EXACT)
            yield Constant("table", table.values[:, :-1], _EXACT)


def _scaled(operations: Sequence[Operation], found: Mapping[str, Constant]) -> Iterator[Constant]:
    """Yield matrices with the scales that their products are multiplied by, `[outputs, inputs]` or `[inputs, outputs]`."""
    producers = {name: operation for operation in operations for name, _ in operation.outputs}
    for operation in operations:
        if operation.kind != "mul":
            continue
        for product, scale in itertools.permutations(operation.sources, 2):
            source = producers.get(product)
            if source is None or source.kind not in ("matmul", "linear") or scale not in found:
                continue
            for name in source.sources:
                scales, outputs = found[scale].values.reshape(-1), source.outputs[0][1].shape[-1]
                if name not in found or found[name].values.ndim != 2 or len(scales) not in (1, outputs):
                    continue
                values, bits = found[name].values, found[name].bits
                for shape in ((-1, 1), (1, -1)):
                    # A square matrix may lie either way; what does not fit the reference is not taken.
                    if values.shape[shape.index(-1)] == outputs:
                        yield Constant(f"{name} * {scale}", (values * scales.reshape(shape)).astype(np.float32), bits)


def _literal_bits(operation: Operation) -> list[int]:
    """Return the bits of the numbers that an operation holds itself; a packed palette tells by its number of colours."""
    literals = {
        key: item.type
        for key, items in operation.inputs.items()
        for item in items
        if isinstance(item, Literal) and item.type.kind == "tensor" and item.type.dtype != "str"
    }
    if operation.kind == "constexpr_lut_to_dense" and "shape" in literals:
        return [literals["lut"].shape[0].bit_length() - 1]
    return [bits_of(kind.dtype) for key, kind in literals.items() if key in _STORED]
