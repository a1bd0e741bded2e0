"""Find a classifier's weights in an exported file: what the file really computes with, under the names of the source.

`verify` runs the NumPy reference with these, which separates the cost of rounding the weights from computing wrongly. Only shapes and
values count: names do not survive the converter, and a file must not vouch for itself.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.tflite.graph import (
    BITS,
    Constant,
    constants,
    dtype_of,
    graph_of,
    operator_name,
    scales_of,
    values_of,
)
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import CLASSIFY

_Match = TypeVar("_Match")

MATCH_BOUNDS: Final = ((32, 1e-6), (16, 1e-3), (8, 0.05), (6, 0.2), (0, 0.4))
"""Fewest bits of a value, and the largest root mean square of (found - reference) / reference. Rounding a normal distribution with a
maximum of four deviations to b bits gives about 4 / 2**(b - 1) / sqrt(12); unrelated weights differ by 1.4."""

SMALLEST: Final = 2.0**-14
"""Smaller numbers have fewer digits in half precision: its steps stay 2**-24 below it. Training leaves such weights where nothing
depends on them, for example in the bias of attention keys."""


def magnitude(weights: Floats) -> float:
    """Return what a tensor's rounding errors are measured by: its largest weight, or `SMALLEST` if that is larger."""
    return max(float(np.abs(weights).max()), SMALLEST)


def match_weights(model: Any, reference: Mapping[str, Floats], signature: str = CLASSIFY) -> dict[str, Floats]:
    """Return what a .tflite computes with in the place of every reference weight.

    A weight may be stored as it is, transposed, with other dimensions of one, as the gates of a fused LSTM, or row by row (a
    depthwise kernel becomes three vectors). A weight that is all zeros may have been left out, which computes the same.

    Args:
        model: the parsed file.
        reference: float32 weights by name, as trained.
        signature: whose graph to search.

    Returns:
        The same names and shapes with the file's dequantized values.

    Raises:
        RetvecLiteError: names every weight for which the file holds nothing that is close enough.
    """
    graph = graph_of(model, signature)
    found = [*_lstm_matrices(model, graph), *constants(model, graph)]
    return match_all(reference, lambda _, weights: _match(weights, found))


def match_all(reference: Mapping[str, Floats], match: Callable[[str, Floats], _Match | None]) -> dict[str, _Match]:
    """Return what `match` finds for each weight's name and values; raise RetvecLiteError with all names it finds nothing for."""
    found = {name: match(name, weights) for name, weights in reference.items()}
    missing = [name for name, matched in found.items() if matched is None]
    if missing:
        raise RetvecLiteError(f"The model does not hold the classifier's weights: none for {', '.join(missing)}.")
    return {name: matched for name, matched in found.items() if matched is not None}


def _match(weights: Floats, constants: list[Constant]) -> Floats | None:
    whole = _nearest(weights, constants)
    if whole is not None:
        return whole
    if weights.ndim == 2:
        rows = [_nearest(row, constants) for row in weights]
        if all(row is not None for row in rows):
            return np.stack([row for row in rows if row is not None])
    return None if weights.any() else weights.copy()


def _nearest(weights: Floats, constants: list[Constant]) -> Floats | None:
    """Return the nearest constant of the right shape, in the shape of `weights`; None when none is within its bound."""
    best, least = None, np.inf
    size = float(np.sqrt(np.mean(np.square(weights, dtype=np.float64))))
    for constant in constants:
        bound = next(bound for bits, bound in MATCH_BOUNDS if constant.bits >= bits)
        bound *= size if constant.bits >= 32 else max(size, SMALLEST)
        for values in _views(constant.values, weights.shape):
            distance = float(np.sqrt(np.mean(np.square(values - weights, dtype=np.float64))))
            if distance < least and distance <= bound:
                best, least = values, distance
    return best


def _views(values: Floats, shape: tuple[int, ...]) -> Iterator[Floats]:
    """Yield `values` in `shape`, straight and transposed, where only dimensions of one differ."""
    wanted = [size for size in shape if size > 1]
    given = [size for size in values.shape if size > 1]
    if given == wanted:
        yield values.reshape(shape)
    if len(given) == 2 and given[::-1] == wanted:
        yield values.reshape(given).T.reshape(shape)


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
            scales = np.concatenate([scales_of(gate) for gate in gates])
            bits = BITS.get(dtype_of(gates[0]), 0)
            found.append(Constant(name, joined, bits, scales))
            if name == "kernel":
                found.append(Constant(name, joined[:-1], bits, scales))
    return found
