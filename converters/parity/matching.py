"""Finding a classifier's weights in an exported file: what the file really computes with, under the names of the source.

`verify` runs the NumPy reference with these, so that rounding the weights and computing wrongly are told apart.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.tflite.reading import (
    DEQUANTIZE,
    UNIDIRECTIONAL_SEQUENCE_LSTM,
    Constant,
    Graph,
    Model,
    constant_tensors,
    graph_of,
)
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import CLASSIFY

_Match = TypeVar("_Match")

_BOUNDS: Final[Mapping[str, float]] = {"float32": 1e-6, "float16": 1e-3, "int8": 0.05, "int4": 0.4}
"""Largest root mean square of (found - reference) / reference by how the file stores the numbers. Rounding to b bits of a
normal distribution whose maximum is four deviations gives about 4 / 2**(b - 1) / sqrt(12); unrelated weights differ by 1.4."""


SMALLEST: Final = 2.0**-14
"""Smaller numbers have fewer digits in half precision: its steps stay 2**-24 from there on. Training leaves such weights where
nothing depends on them, as on the bias of the keys in attention."""


def match_weights(model: Model, reference: Mapping[str, Floats], signature: str = CLASSIFY) -> dict[str, Floats]:
    """For every reference weight, what the file computes with in its place.

    A weight is looked for as it is, transposed, with other dimensions of one, as the gates of a fused LSTM, or row by row
    (a depthwise kernel becomes three vectors). A weight of zeros alone may have been left out: adding nothing is what the
    file does then.

    Args:
        model: the parsed file.
        reference: float32 weights by name, as trained.
        signature: whose graph to search.

    Returns:
        The same names and shapes with the file's dequantized values.

    Raises:
        RetvecLiteError: names every weight for which the file holds nothing that is near enough.
    """
    graph = graph_of(model, signature)
    constants = [*_lstm_matrices(model, graph), *constant_tensors(model, graph)]
    return match_all(reference, lambda _, weights: _match(weights, constants))


def match_all(reference: Mapping[str, Floats], match: Callable[[str, Floats], _Match | None]) -> dict[str, _Match]:
    """What `match` finds for each weight's name and values; raises RetvecLiteError that names all it finds nothing for."""
    found = {name: match(name, weights) for name, weights in reference.items()}
    missing = [name for name, matched in found.items() if matched is None]
    if missing:
        raise RetvecLiteError(
            f"Expected the model to hold the classifier's weights, received none for {', '.join(missing)}."
        )
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
    """The nearest constant of the right shape, in the shape of `weights`; None when none is within its bound."""
    best, least = None, np.inf
    size = float(np.sqrt(np.mean(np.square(weights, dtype=np.float64))))
    for constant in constants:
        for values in _views(constant.values, weights.shape):
            distance = float(np.sqrt(np.mean(np.square(values - weights, dtype=np.float64))))
            rounded = max(size, SMALLEST) if constant.dtype == "float16" else size
            if distance < least and distance <= _BOUNDS[constant.dtype] * rounded:
                best, least = values, distance
    return best


def _views(values: Floats, shape: tuple[int, ...]) -> Iterator[Floats]:
    """`values` in `shape`, straight and transposed, where only dimensions of one differ."""
    wanted = [size for size in shape if size > 1]
    given = [size for size in values.shape if size > 1]
    if given == wanted:
        yield values.reshape(shape)
    if len(given) == 2 and given[::-1] == wanted:
        yield values.reshape(given).T.reshape(shape)


def _lstm_matrices(model: Model, graph: Graph) -> list[Constant]:
    """Kernel, recurrent kernel and bias of fused LSTMs in Keras form: gates side by side, input, forget, cell, output.

    Inputs 1 to 4 of the operator are the gates' kernels `[units, inputs]`, 5 to 8 the recurrent ones, 12 to 15 the biases.
    The kernel is also offered without its last row, the state reset of `modeling/fused_lstm.py`.
    """
    sources = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.code == DEQUANTIZE}
    found = []
    for operator in graph.operators:
        if operator.code != UNIDIRECTIONAL_SEQUENCE_LSTM:
            continue
        for name, places in (("kernel", range(1, 5)), ("recurrent_kernel", range(5, 9)), ("bias", range(12, 16))):
            gates = [graph.tensors[sources.get(operator.inputs[place], operator.inputs[place])] for place in places]
            joined = np.concatenate([model.values(gate).T for gate in gates], axis=-1)
            scales = np.concatenate([gate.scales for gate in gates])
            found.append(Constant(name, joined, gates[0].dtype, scales))
            if name == "kernel":
                found.append(Constant(name, joined[:-1], gates[0].dtype, scales))
    return found
