"""Reading a .tflite without a runtime: tensors, operators, weights, and what takes how many bytes.

A small reader of FlatBuffers (https://flatbuffers.dev/internals/) with the field numbers of the TFLite schema, version 3
(https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs). It needs NumPy alone,
so `retvec-lite info` works beside any runtime, or none; editing, which must know every table, is in `editing.py`.
"""

import io
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError

DEQUANTIZE: Final = 6
UNIDIRECTIONAL_SEQUENCE_LSTM: Final = 44

DTYPES: Final = (
    "float32",
    "float16",
    "int32",
    "uint8",
    "int64",
    "string",
    "bool",
    "int16",
    "complex64",
    "int8",
    "float64",
    "complex128",
    "uint64",
    "resource",
    "variant",
    "uint32",
    "uint16",
    "int4",
    "bfloat16",
    "int2",
    "uint4",
)
"""Names of the schema's `TensorType`, by value."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph: `axis` is the dimension that `scales` run along; `buffer` 0 means computed, not stored."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    buffer: int
    scales: Floats
    zero_points: npt.NDArray[np.int64]
    axis: int
    is_variable: bool


@dataclass(frozen=True)
class Operator:
    """A node: builtin code (32 = custom, then `custom` is its name), version, tensor indices (-1 = optional, absent)."""

    code: int
    version: int
    custom: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """One subgraph; operators stand in execution order."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def index(self, name: str) -> int:
        """The index of the tensor called `name`; raises RetvecLiteError when there is none."""
        for index, tensor in enumerate(self.tensors):
            if tensor.name == name:
                return index
        raise RetvecLiteError(f"Expected a tensor named {name!r} in the graph, received a graph without one.")

    def behind(self, start: int) -> frozenset[int]:
        """Positions of the operators whose result depends on tensor `start`."""
        reached, found = {start}, set()
        for position, operator in enumerate(self.operators):
            if not reached.isdisjoint(operator.inputs):
                found.add(position)
                reached.update(operator.outputs)
        return frozenset(found)

    def before(self, end: int) -> frozenset[int]:
        """Positions of the operators that tensor `end` depends on."""
        needed, found = {end}, set()
        for position in range(len(self.operators) - 1, -1, -1):
            operator = self.operators[position]
            if not needed.isdisjoint(operator.outputs):
                found.add(position)
                needed.update(operator.inputs)
        return frozenset(found)


@dataclass(frozen=True)
class Signature:
    """A named entry point: input and output names -> tensor indices of graph `graph`."""

    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    graph: int


@dataclass(frozen=True)
class Model:
    """A parsed file. `buffers` are views into it; `metadata` are the schema's named extra buffers."""

    graphs: tuple[Graph, ...]
    buffers: tuple[memoryview, ...]
    signatures: tuple[Signature, ...]
    metadata: dict[str, memoryview]

    def is_constant(self, tensor: Tensor) -> bool:
        """Whether the file stores the tensor's values."""
        return len(self.buffers[tensor.buffer]) > 0

    def values(self, tensor: Tensor) -> Floats:
        """A stored float tensor's values, dequantized to float32 `[*tensor.shape]`.

        The formula is the schema's: (stored - zero point) * scale, with one scale for all or one along `axis`.

        Raises:
            RetvecLiteError: when the stored bytes are not what the shape asks for.
        """
        try:
            return self._values(tensor)
        except (ValueError, TypeError) as error:
            raise RetvecLiteError(
                f"Expected tensor {tensor.name!r} to hold its shape, received a damaged model."
            ) from error

    def _values(self, tensor: Tensor) -> Floats:
        data = self.buffers[tensor.buffer]
        count = int(np.prod(tensor.shape, dtype=np.int64))
        if tensor.dtype == "int4":
            # Two to a byte, the low half first.
            pairs = np.frombuffer(data, np.int8)
            halves = np.stack([np.left_shift(pairs, 4) >> 4, pairs >> 4], axis=-1)
            stored = halves.reshape(-1)[:count]
        else:
            stored = np.frombuffer(data, np.dtype(tensor.dtype).newbyteorder("<"))
        floats: Floats = stored.reshape(tensor.shape).astype(np.float32)
        if tensor.scales.size == 0:
            return floats
        along = [1] * len(tensor.shape)
        if tensor.scales.size > 1:
            along[tensor.axis] = tensor.scales.size
        offset = tensor.zero_points.astype(np.float32).reshape(along)
        dequantized: Floats = (floats - offset) * tensor.scales.reshape(along)
        return dequantized


def read_model(data: bytes) -> Model:
    """Parse a .tflite; a zip tail behind the flatbuffer is left alone.

    Raises:
        RetvecLiteError: when it is no TFLite model or is damaged.
    """
    if data[4:8] != b"TFL3":
        raise RetvecLiteError(f"Expected a TFLite model (bytes 4 to 8 are TFL3), received {bytes(data[4:8])!r}.")
    try:
        return _read(data)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
        raise RetvecLiteError(f"Expected a whole TFLite model, received a damaged one of {len(data)} bytes.") from error


class Table:
    """One FlatBuffers table: fields are looked up by number, absent ones give their default."""

    def __init__(self, data: memoryview, position: int) -> None:
        """`position` is where the table starts in `data`."""
        self._data = data
        self._position = position
        self._fields = position - self._unpack("<i", position)
        self._size = self._unpack("<H", self._fields)

    @classmethod
    def root(cls, data: bytes | memoryview) -> "Table":
        """The root table of a flatbuffer."""
        view = memoryview(data)
        return cls(view, struct.unpack_from("<I", view, 0)[0])

    def number(self, field: int, kind: str, default: int = 0) -> int:
        """An integer; `kind` is its struct format."""
        at = self._at(field)
        return default if at is None else self._unpack("<" + kind, at)

    def text(self, field: int) -> str:
        """A string, empty when absent."""
        return bytes(self.array(field, "u1")).decode()

    def table(self, field: int) -> "Table | None":
        """A table, None when absent."""
        at = self._at(field)
        return None if at is None else Table(self._data, at + self._unpack("<I", at))

    def tables(self, field: int) -> list["Table"]:
        """A vector of tables, empty when absent."""
        start, count = self._vector(field)
        return [Table(self._data, at + self._unpack("<I", at)) for at in range(start, start + 4 * count, 4)]

    def texts(self, field: int) -> list[str]:
        """A vector of strings, empty when absent."""
        start, count = self._vector(field)
        found = []
        for at in range(start, start + 4 * count, 4):
            where = at + self._unpack("<I", at)
            length = self._unpack("<I", where)
            found.append(bytes(self._data[where + 4 : where + 4 + length]).decode())
        return found

    def array(self, field: int, dtype: str) -> npt.NDArray[Any]:
        """A vector of numbers, empty when absent."""
        start, count = self._vector(field)
        return np.frombuffer(self._data, np.dtype(dtype).newbyteorder("<"), count, start)

    def bytes(self, field: int) -> memoryview:
        """A vector of bytes as a view."""
        start, count = self._vector(field)
        if start + count > len(self._data):
            raise IndexError("vector ends behind the file")
        return self._data[start : start + count]

    def _at(self, field: int) -> int | None:
        slot = 4 + 2 * field
        offset = self._unpack("<H", self._fields + slot) if slot < self._size else 0
        return self._position + offset if offset else None

    def _vector(self, field: int) -> tuple[int, int]:
        at = self._at(field)
        if at is None:
            return 0, 0
        start = at + self._unpack("<I", at)
        return start + 4, self._unpack("<I", start)

    def _unpack(self, kind: str, at: int) -> int:
        if at < 0:
            raise IndexError("offset before the file")
        value: int = struct.unpack_from(kind, self._data, at)[0]
        return value


def _read(data: bytes) -> Model:
    root = Table.root(data)
    codes = [
        (max(code.number(0, "b"), code.number(3, "i")), code.number(2, "i", 1), code.text(1)) for code in root.tables(1)
    ]
    buffers = tuple(buffer.bytes(0) for buffer in root.tables(4))
    graphs = tuple(
        Graph(
            tensors=tuple(_tensor(tensor) for tensor in graph.tables(0)),
            operators=tuple(
                Operator(*codes[operator.number(0, "I")], _ints(operator, 1), _ints(operator, 2))
                for operator in graph.tables(3)
            ),
            inputs=_ints(graph, 1),
            outputs=_ints(graph, 2),
        )
        for graph in root.tables(2)
    )
    signatures = tuple(
        Signature(signature.text(2), _names(signature, 0), _names(signature, 1), signature.number(4, "I"))
        for signature in root.tables(7)
    )
    for graph in graphs:
        indices = {index for op in graph.operators for index in (*op.inputs, *op.outputs)}
        if not indices | {*graph.inputs, *graph.outputs} <= {-1, *range(len(graph.tensors))}:
            raise IndexError("a tensor that is not there")
        if not {tensor.buffer for tensor in graph.tensors} <= {*range(len(buffers))}:
            raise IndexError("a buffer that is not there")
    metadata = {entry.text(0): buffers[entry.number(1, "I")] for entry in root.tables(6)}
    return Model(graphs, buffers, signatures, metadata)


def _tensor(table: Table) -> Tensor:
    quantization = table.table(4)
    scales, zero_points, axis = np.zeros(0, np.float32), np.zeros(0, np.int64), 0
    if quantization is not None:
        scales = quantization.array(2, "f4")
        zero_points = quantization.array(3, "i8")
        axis = quantization.number(6, "i")
    return Tensor(
        table.text(3),
        _ints(table, 0),
        DTYPES[table.number(1, "b")],
        table.number(2, "I"),
        scales,
        zero_points,
        axis,
        bool(table.number(5, "b")),
    )


def _ints(table: Table, field: int) -> tuple[int, ...]:
    return tuple(table.array(field, "i4").tolist())


def _names(signature: Table, field: int) -> dict[str, int]:
    return {entry.text(0): entry.number(1, "I") for entry in signature.tables(field)}


@dataclass(frozen=True)
class Constant:
    """A stored float tensor, dequantized: what the graph computes with, and how the file keeps it."""

    name: str
    values: Floats
    dtype: str
    scales: Floats


def graph_of(model: Model, signature: str) -> Graph:
    """The graph of a signature, the first one for a file without signatures; raises RetvecLiteError when it has others."""
    if not model.signatures:
        return model.graphs[0]
    for found in model.signatures:
        if found.name == signature:
            return model.graphs[found.graph]
    raise RetvecLiteError(f"Expected a model with the signature {signature!r}, received one without it.")


def constant_tensors(model: Model, graph: Graph | None = None) -> list[Constant]:
    """Every stored float or quantized tensor of a graph (the first one by default), in the order of its first use."""
    return [
        Constant(tensor.name, model.values(tensor), tensor.dtype, tensor.scales)
        for tensor, _ in _constants(model, graph or model.graphs[0])
        if tensor.dtype in ("float32", "float16") or tensor.scales.size
    ]


def sizes(data: bytes) -> dict[str, int]:
    """Bytes of a file by part: `encoder`, `embedding` and `head` constants, `metadata` with the zip tail, `graph` (the rest).

    Constants that several graphs share count once; character features are part of the head, which alone reads them. The border between encoder, embedding and head are the tensors `bits` and `embedding`, which the exporter names; a
    RETVec-raw graph has no `embedding`.

    Raises:
        RetvecLiteError: for a file that is no TFLite model, or has no tensor `bits`.
    """
    model = read_model(data)
    parts = dict.fromkeys(("encoder", "embedding", "head", "graph", "metadata"), 0)
    seen = {0}
    for graph in model.graphs:
        network = graph.behind(graph.index("bits"))
        names = {tensor.name for tensor in graph.tensors}
        embedding = network & graph.before(graph.index("embedding")) if "embedding" in names else frozenset()
        for tensor, position in _constants(model, graph):
            if tensor.buffer not in seen:
                part = "embedding" if position in embedding else "head" if position in network else "encoder"
                parts[part] += len(model.buffers[tensor.buffer]) + tensor.scales.nbytes + tensor.zero_points.nbytes
                seen.add(tensor.buffer)
    parts["metadata"] = sum(len(buffer) for buffer in model.metadata.values()) + len(data) - flatbuffer_size(data)
    parts["graph"] = len(data) - sum(parts.values())
    return parts


def flatbuffer_size(data: bytes) -> int:
    """How many bytes come before the zip tail; all of them when there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return min(info.header_offset for info in archive.infolist())
    except (zipfile.BadZipFile, ValueError):
        return len(data)


def _constants(model: Model, graph: Graph) -> Iterator[tuple[Tensor, int]]:
    """Stored tensors of a graph, each with the operator that computes with it, past its DEQUANTIZE."""
    consumer: dict[int, int] = {}
    for position in range(len(graph.operators) - 1, -1, -1):
        operator = graph.operators[position]
        target = position
        if operator.code == DEQUANTIZE:
            target = consumer.get(operator.outputs[0], position)
        for index in operator.inputs:
            consumer[index] = target
    seen: set[int] = set()
    for operator in graph.operators:
        for index in operator.inputs:
            if index >= 0 and index not in seen and model.is_constant(graph.tensors[index]):
                seen.add(index)
                yield graph.tensors[index], consumer[index]
