"""Quantize the network of a float32 .tflite, and leave the encoder as it is.

Post-training tools quantize whatever they recognize, including the encoder's code-point arithmetic, and their dynamic recipes
write operator versions that old runtimes load and compute wrongly. So this module edits the finished float32 file: it replaces
the matrices behind the tensor `bits` and sets the operator versions that the schema's own tool assigns
(https://github.com/tensorflow/tensorflow/blob/master/tensorflow/lite/tools/versioning/op_version.cc). A runtime that cannot
compute them then refuses the file instead of guessing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.converters.tflite import add_buffer, find_tensor, pack, read_model, schema
from retvec_lite.converters.tflite.graph import NETWORK_INPUT, behind, check_operators, has_network, operator_name
from retvec_lite.model.grid import to_grid

_WEIGHTS: Final[Mapping[str, tuple[range, int]]] = {
    "FULLY_CONNECTED": (range(1, 2), 0),
    "CONV_2D": (range(1, 2), 0),
    "DEPTHWISE_CONV_2D": (range(1, 2), 3),
}
"""Operator -> which inputs are matrices, and which of their axes is that of the outputs (one scale for each)."""

_EIGHT_BIT: Final = "FULLY_CONNECTED"
"""The operator that rounds its inputs to 8 bits in files of 4: its kernel multiplies integers, with one scale for each output."""

_EIGHT_BIT_VERSION: Final = 12
"""The version of that kernel. The schema's tool gives int4 weights no version of their own; this one keeps them away from older runtimes."""


@dataclass(frozen=True)
class _Stored:
    """A quantized matrix as the file stores it; `kind` is the schema's name of its type."""

    kind: str
    data: bytes
    scales: Floats
    axis: int


def quantize(model: bytes, recipe: str) -> bytes:
    """Return a float32 model under another recipe.

    The model is what `to_tflite` returned. Matrices beside the network, such as the projections of n-grams and of meaning, get at least
    8 bits and stay with float32 arithmetic; those of whole numbers belong to the contract and stay as they are. The same input gives
    the same bytes.

    Raises:
        RetvecLiteError: for an unknown recipe, a network without a tensor `bits`, or an operator that is not allowed.
    """
    chosen = find_recipe(recipe)
    if chosen.bits == 32:
        return model
    edited = read_model(model)
    matrices: _Matrices = {}
    for graph in edited.subgraphs:
        network = behind(graph, find_tensor(graph, NETWORK_INPUT)) if has_network(graph) else frozenset()
        _GraphQuantizer(edited, graph, chosen.bits, matrices).rewrite(network)
    quantized = pack(edited)
    check_operators(edited, chosen.bits)
    return quantized


_Key = tuple[int, tuple[int, ...], int]
_Matrices = dict[_Key, _Stored]
"""Matrices that the graphs of one model share, rounded once, by buffer, shape and bits. Equal contents share a buffer, whatever their shapes."""


class _GraphQuantizer:
    """Edits one graph; a matrix that several operators share is stored once."""

    def __init__(self, model: Any, graph: Any, bits: int, matrices: _Matrices) -> None:
        self._model = model
        self._graph = graph
        self._bits = bits
        self._matrices = matrices
        self._stored: dict[_Key, int] = {}
        self._floats: dict[_Key, int] = {}

    def rewrite(self, network: frozenset[int]) -> None:
        """Replace the matrices of all operators; those of the network are at the positions `network`."""
        ordered = []
        for position, operator in enumerate(self._graph.operators):
            ordered += self._rewrite(operator, position in network)
            ordered.append(operator)
        self._graph.operators = ordered

    def _rewrite(self, operator: Any, of_network: bool) -> list[Any]:
        """Quantize the constants of one operator; return the DEQUANTIZE operators to put in front of it."""
        name = operator_name(self._model, operator)
        # Other constants, such as learned positions, stay float32: the XNNPACK of tflite-runtime 2.14 adds wrongly what it unpacked
        # from fewer bits (probabilities off by 8e-3 in 24 slots of 128, correct without XNNPACK).
        if name not in _WEIGHTS:
            return []
        places, axis = _WEIGHTS[name]
        inputs = np.array(operator.inputs)
        added: list[Any] = []
        for place in places:
            index = inputs[place]
            values = self._constant(index)
            if values is None or not (of_network or (values != np.rint(values)).any()):
                continue
            # XNNPACK does not take an odd number of 4-bit inputs and leaves them to a kernel that is several times slower.
            is_odd = name == _EIGHT_BIT and values.shape[-1] % 2
            bits = 8 if is_odd or not of_network else self._bits
            key = (int(self._graph.tensors[index].buffer), values.shape, bits)
            if key not in self._matrices:
                self._matrices[key] = _rounded(values, bits, axis)
            if self._bits == 4 and of_network and name == _EIGHT_BIT:
                inputs[place] = self._store(index, key)
                operator.opcodeIndex = self._operator_code(name, _EIGHT_BIT_VERSION)
            else:
                inputs[place] = self._dequantized(index, key, added)
        operator.inputs = inputs
        return added

    def _constant(self, index: int) -> Floats | None:
        """Return a stored float32 tensor's values; None for any other tensor."""
        if index < 0:
            return None
        tensor = self._graph.tensors[index]
        data = self._model.buffers[tensor.buffer].data
        if tensor.type != schema().TensorType.FLOAT32 or data is None or len(data) == 0:
            return None
        return np.frombuffer(bytes(data), "<f4").reshape(tensor.shape)

    def _store(self, index: int, key: _Key) -> int:
        """Return the index of the constant that replaces tensor `index`; make it when there is none yet."""
        if key not in self._stored:
            stored = self._matrices[key]
            self._stored[key] = self._add_tensor(self._graph.tensors[index], "", stored.kind)
            made = self._graph.tensors[-1]
            made.buffer = add_buffer(self._model, stored.data)
            made.quantization = schema().QuantizationParametersT()
            made.quantization.scale = stored.scales
            made.quantization.zeroPoint = np.zeros(stored.scales.size, np.int64)
            made.quantization.quantizedDimension = stored.axis
        return self._stored[key]

    def _add_tensor(self, like: Any, suffix: str, kind: str) -> int:
        """Add a tensor in the shape of another; return its index."""
        made = schema().TensorT()
        made.name, made.shape, made.hasRank = f"{like.name or ''}{suffix}", like.shape, like.hasRank
        made.type = getattr(schema().TensorType, kind)
        self._graph.tensors.append(made)
        return len(self._graph.tensors) - 1

    def _dequantized(self, index: int, key: _Key, added: list[Any]) -> int:
        """Return the index of the stored tensor's float32 values; a new DEQUANTIZE operator is put into `added`."""
        source = self._store(index, key)
        if key not in self._floats:
            generated = schema()
            self._floats[key] = self._add_tensor(self._graph.tensors[index], "/float32", "FLOAT32")
            stored = self._matrices[key]
            version = 6 if stored.kind == "INT4" else 5 if stored.scales.size > 1 else 2
            operator = generated.OperatorT()
            operator.opcodeIndex = self._operator_code("DEQUANTIZE", version)
            operator.inputs = np.array([source], np.int32)
            operator.outputs = np.array([self._floats[key]], np.int32)
            operator.builtinOptionsType = generated.BuiltinOptions.DequantizeOptions
            operator.builtinOptions = generated.DequantizeOptionsT()
            added.append(operator)
        return self._floats[key]

    def _operator_code(self, name: str, version: int) -> int:
        """Return the index of an operator code; add it when the model has none."""
        code = getattr(schema().BuiltinOperator, name)
        for index, known in enumerate(self._model.operatorCodes):
            if known.builtinCode == code and known.version == version:
                return index
        made = schema().OperatorCodeT()
        made.builtinCode, made.version = code, version
        made.deprecatedBuiltinCode = min(code, 127)
        self._model.operatorCodes.append(made)
        return len(self._model.operatorCodes) - 1


def _rounded(values: Floats, bits: int, axis: int) -> _Stored:
    integers, scales = to_grid(values, bits, axis)
    if bits == 8:
        return _Stored("INT8", integers.tobytes(), scales, axis)
    return _Stored("INT4", pack_nibbles(integers.view(np.uint8)).tobytes(), scales, axis)


def pack_nibbles(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Pack the low halves of bytes, two a byte, the first in the low half; zeros fill the last one."""
    flat = values.reshape(-1) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.uint8))
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8)
