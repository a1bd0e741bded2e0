"""Queries about a parsed .tflite: its operators, tensors, constants, signatures and sizes.

Graphs, tensors and operators are the schema's objects, as `model.read_model` gives them.
"""

import functools
import io
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.format import PARTS
from retvec_lite.converters.parity.oracle import Constant
from retvec_lite.converters.tflite import find_signature, find_tensor, pack, read_model, schema
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import EMBED, Signature

# fmt: off
ALLOWED: Final[Mapping[str, int]] = {
    "ABS": 5, "ADD": 5, "BATCH_MATMUL": 4, "BROADCAST_TO": 3, "CAST": 5, "CONCATENATION": 4, "CONV_2D": 6, "CUMSUM": 1,
    "DEPTHWISE_CONV_2D": 6, "DEQUANTIZE": 5, "DIV": 2, "EQUAL": 4, "EXP": 2, "EXPAND_DIMS": 1, "FLOOR": 1,
    "FLOOR_DIV": 3, "FLOOR_MOD": 2, "FULLY_CONNECTED": 9, "GATHER": 6, "GATHER_ND": 4, "GELU": 2, "GREATER": 2,
    "GREATER_EQUAL": 3, "L2_NORMALIZATION": 2, "LESS": 3, "LESS_EQUAL": 2, "LOGICAL_AND": 1, "LOGICAL_NOT": 1,
    "LOGICAL_OR": 1, "LOGISTIC": 3, "MAXIMUM": 4, "MAX_POOL_2D": 3, "MEAN": 3, "MINIMUM": 4, "MUL": 7, "NEG": 1,
    "NOT_EQUAL": 3, "PACK": 4, "PAD": 4, "PADV2": 4, "REDUCE_ANY": 1, "REDUCE_MAX": 3, "REDUCE_MIN": 3, "RELU": 3,
    "RESHAPE": 1, "REVERSE_V2": 3, "RSQRT": 2, "SCATTER_ND": 1, "SELECT": 4, "SELECT_V2": 2, "SLICE": 6, "SOFTMAX": 3,
    "SPLIT": 4, "SQRT": 1, "SQUARE": 1, "SQUARED_DIFFERENCE": 2, "SQUEEZE": 2, "STRIDED_SLICE": 8, "SUB": 5, "SUM": 2,
    "TANH": 3, "TILE": 3, "TRANSPOSE": 6, "UNPACK": 4, "ZEROS_LIKE": 1,
}
# fmt: on
"""The allow-list: builtin operators of exported graphs -> newest version that tflite-runtime 2.14.0 computes correctly.

A runtime refuses a file with a newer version than it knows, so this list is what makes a file run on the oldest runtime that it
promises. The versions come from that runtime's own registry; a test asks it again. FULLY_CONNECTED ends at 9, not at the
registered 10, and the convolutions at 6, not 7: the newest version is an int4 kernel that no recipe uses. Left out on purpose:
custom and Flex operators, variables and hash tables (a frozen graph has none), control flow, random numbers, strings.
"""

ALLOWED_INT4: Final[Mapping[str, int]] = {**ALLOWED, "FULLY_CONNECTED": 12, "DEQUANTIZE": 6}
"""What files of 4-bit weights may use as well: only current LiteRT computes these correctly."""

NETWORK_INPUT: Final = "bits"
"""The inner tensor that the network computes from."""

BITS: Final[Mapping[str, int]] = {"float32": 32, "int8": 8, "int4": 4}
"""Types of the network's weights -> bits per value."""


def operator_name(model: Any, operator: Any) -> str:
    """Return the schema's name of an operator; `CUSTOM:<name>` for a custom one."""
    code = model.operatorCodes[operator.opcodeIndex]
    if code.customCode:
        return f"CUSTOM:{code.customCode}"
    # Old files have the first field only, which ends at 127.
    number = max(code.deprecatedBuiltinCode, code.builtinCode)
    return _names("BuiltinOperator").get(number, f"BUILTIN_{number}")


def operators(model: Any) -> list[tuple[str, int, int]]:
    """Return every kind of operator in a file as (name, version, count), sorted by name."""
    counts: dict[tuple[str, int], int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            kind = operator_name(model, operator), int(model.operatorCodes[operator.opcodeIndex].version)
            counts[kind] = counts.get(kind, 0) + 1
    return [(name, version, count) for (name, version), count in sorted(counts.items())]


def check_operators(model: Any, bits: int = 32) -> None:
    """Raise RetvecLiteError for operators that are not allowed in a file of weights with so many bits."""
    allowed = ALLOWED_INT4 if bits == 4 else ALLOWED
    refused = [
        f"{name} version {version} ({count}x)"
        for name, version, count in operators(model)
        if version > allowed.get(name, 0)
    ]
    if refused:
        raise RetvecLiteError(
            f"The graph uses operators that the oldest supported runtime does not know: {', '.join(refused)}."
        )


def behind(graph: Any, start: int) -> frozenset[int]:
    """Return the positions of the operators whose result depends on tensor `start`."""
    reached, found = {start}, set()
    for position, operator in enumerate(graph.operators):
        if not reached.isdisjoint(operator.inputs.tolist()):
            found.add(position)
            reached.update(operator.outputs.tolist())
    return frozenset(found)


def before(graph: Any, end: int) -> frozenset[int]:
    """Return the positions of the operators that tensor `end` depends on."""
    needed, found = {end}, set()
    for position in range(len(graph.operators) - 1, -1, -1):
        operator = graph.operators[position]
        if not needed.isdisjoint(operator.outputs.tolist()):
            found.add(position)
            needed.update(operator.inputs.tolist())
    return frozenset(found)


def outputs_alone(model: bytes, names: Collection[str], signatures: Sequence[str]) -> bytes:
    """Return a copy of a model whose signatures have some of their outputs alone, without the operators that those do not need."""
    edited = read_model(model)
    for name in signatures:
        signature = find_signature(edited, name)
        graph = edited.subgraphs[signature.subgraphIndex]
        signature.outputs = [entry for entry in signature.outputs if entry.name in names]
        graph.outputs = np.array([entry.tensorIndex for entry in signature.outputs], np.int32)
        needed = frozenset[int]().union(*(before(graph, index) for index in graph.outputs.tolist()))
        graph.operators = [operator for position, operator in enumerate(graph.operators) if position in needed]
    return pack(edited)


def dtype_of(tensor: Any) -> str:
    """Return the schema's name of a tensor's type in lower case, such as "float32" or "int4"."""
    return _names("TensorType").get(tensor.type, f"type_{tensor.type}").lower()


def shape_of(tensor: Any) -> tuple[int, ...]:
    """Return a tensor's shape."""
    return () if tensor.shape is None else tuple(map(int, tensor.shape))


def data_of(model: Any, tensor: Any) -> bytes:
    """Return the stored bytes of a tensor; none for one that is computed."""
    return bytes(model.buffers[tensor.buffer].data) if is_stored(model, tensor) else b""


def is_stored(model: Any, tensor: Any) -> bool:
    """Return whether the file stores the tensor's values."""
    data = model.buffers[tensor.buffer].data
    return data is not None and len(data) > 0


def scales_of(tensor: Any) -> Floats:
    """Return the scales of a quantized tensor, float32 `[1]` or one per index of its quantized axis; none for others."""
    scales: Floats = _quantization(tensor, "scale", np.float32)
    return scales


def values_of(model: Any, tensor: Any) -> Floats:
    """Return a stored tensor's values, dequantized to float32 in its shape.

    The formula is the schema's: (stored - zero point) * scale, with one scale for all or one per index of one axis.

    Raises:
        RetvecLiteError: when the stored bytes do not fit the shape.
    """
    try:
        return _values(tensor, data_of(model, tensor))
    except (ValueError, TypeError, IndexError) as error:
        raise RetvecLiteError(f"The model is damaged: tensor {tensor.name!r} does not fit its shape.") from error


def constants(model: Any, graph: Any) -> list[Constant]:
    """Return every stored float or quantized tensor of a graph, in the order of first use."""
    return [
        Constant(tensor.name or "", values_of(model, tensor), BITS[dtype_of(tensor)])
        for tensor, _ in _stored(model, graph)
        if dtype_of(tensor) == "float32" or (dtype_of(tensor) in BITS and scales_of(tensor).size)
    ]


def _values(tensor: Any, data: bytes) -> Floats:
    shape, dtype = shape_of(tensor), dtype_of(tensor)
    if dtype == "int4":
        # Two to a byte, the low half first.
        pairs = np.frombuffer(data, np.int8)
        halves = np.stack([np.left_shift(pairs, 4) >> 4, pairs >> 4], axis=-1)
        stored: Any = halves.reshape(-1)[: int(np.prod(shape, dtype=np.int64))]
    else:
        stored = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
    floats: Floats = stored.reshape(shape).astype(np.float32)
    scales = scales_of(tensor)
    if scales.size == 0:
        return floats
    along = [1] * len(shape)
    if scales.size > 1:
        along[tensor.quantization.quantizedDimension] = scales.size
    offset = _quantization(tensor, "zeroPoint", np.int64).astype(np.float32).reshape(along)
    dequantized: Floats = (floats - offset) * scales.reshape(along)
    return dequantized


def _quantization(tensor: Any, field: str, dtype: type[np.generic]) -> Any:
    found = None if tensor.quantization is None else getattr(tensor.quantization, field)
    return np.zeros(0, dtype) if found is None else np.asarray(found, dtype)


@functools.cache
def _names(kind: str) -> Mapping[int, str]:
    """Return value -> name of an enum of the schema."""
    return {value: name for name, value in vars(getattr(schema(), kind)).items() if isinstance(value, int)}


def _stored(model: Any, graph: Any) -> Iterator[tuple[Any, int]]:
    """Yield the stored tensors of a graph, each with the position of the operator that computes with it, past its DEQUANTIZE."""
    consumer: dict[int, int] = {}
    for position in range(len(graph.operators) - 1, -1, -1):
        operator = graph.operators[position]
        target = position
        if operator_name(model, operator) == "DEQUANTIZE":
            target = consumer.get(int(operator.outputs[0]), position)
        for index in operator.inputs.tolist():
            consumer[index] = target
    seen: set[int] = set()
    for operator in graph.operators:
        for index in operator.inputs.tolist():
            if index >= 0 and index not in seen and is_stored(model, graph.tensors[index]):
                seen.add(index)
                yield graph.tensors[index], consumer[index]


def signatures_of(model: Any) -> list[Signature]:
    """Return the signatures of a file as its graphs have them: `classify` first.

    A graph with neither `words` nor `bits` (head `ngrams`) counts as one with one slot.
    """
    found = []
    for entry in model.signatureDefs:
        graph = model.subgraphs[entry.subgraphIndex]
        max_chars = shape_of(graph.tensors[graph.inputs[0]])[-1]
        max_words = shape_of(graph.tensors[find_tensor(graph, "words")])[1] if has_network(graph) else 1
        dimension, of_words = None, None
        if entry.signatureKey == EMBED:
            dimension, of_words = (
                shape_of(graph.tensors[find_tensor(graph, name)])[-1] for name in ("text", "embeddings")
            )
        other = None if of_words == dimension else of_words
        found.append(Signature(entry.signatureKey, max_chars, max_words, dimension, other))
    return sorted(found, key=lambda signature: signature.name)


def has_network(graph: Any) -> bool:
    """Return whether a graph cuts words and has a network; with the head `ngrams` it does neither."""
    return any(tensor.name in ("words", NETWORK_INPUT) for tensor in graph.tensors)


def sizes(data: bytes, model: Any) -> dict[str, int]:
    """Return the bytes of a file by part; the zip belongs to the metadata.

    Constants that several graphs share count once. The tensors `bits` and `embedding`, which the exporter names, separate the
    parts; a RETVec-raw graph has no `embedding`, and one without both `words` and `bits` consists of n-grams.
    """
    parts = dict.fromkeys(PARTS, 0)
    seen = {0}
    for graph in model.subgraphs:
        network = behind(graph, find_tensor(graph, NETWORK_INPUT)) if has_network(graph) else None
        names = {tensor.name for tensor in graph.tensors}
        embedding = before(graph, find_tensor(graph, "embedding")) if "embedding" in names else frozenset()
        meaning, projected = frozenset[int](), frozenset[int]()
        if "meaning" in names:
            meaning = before(graph, find_tensor(graph, "meaning"))
            projected = behind(graph, find_tensor(graph, "meaning")) - (network or frozenset())
        for tensor, position in _stored(model, graph):
            if tensor.buffer in seen:
                continue
            seen.add(tensor.buffer)
            part = "encoder" if network is not None else "ngrams"
            if network is not None and position in network:
                part = "embedding" if position in embedding else "head"
            # The only matrices of plain bytes are the tables of n-grams and of meaning, see `model/{ngram,meaning}_graph.py`.
            if dtype_of(tensor) in ("int8", "uint8") and not scales_of(tensor).size and len(tensor.shape) == 2:
                part = "meaning" if position in meaning else "ngrams"
            if position in projected:
                part = "meaning"
            zero_points = _quantization(tensor, "zeroPoint", np.int64)
            parts[part] += len(data_of(model, tensor)) + scales_of(tensor).nbytes + zero_points.nbytes
    parts["metadata"] = sum(len(data_of(model, entry)) for entry in model.metadata)
    parts["metadata"] += len(data) - flatbuffer_size(data)
    parts["graph"] = len(data) - sum(parts.values())
    return parts


def flatbuffer_size(data: bytes) -> int:
    """Return how many bytes come before the zip tail; all of them when there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return min(info.header_offset for info in archive.infolist())
    except (zipfile.BadZipFile, ValueError):
        return len(data)
