"""Read and write .tflite files as objects of the TFLite schema: `ModelT`, `SubGraphT`, `TensorT`, `OperatorT`.

The schema is the generated module of ai-edge-litert, loaded without the runtime. Reading checks every index, so that the rest of
the code can follow them; writing gives the same bytes for the same edits. Queries about a graph are in `graph.py`.
"""

import functools
import importlib.util
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from retvec_lite.errors import RetvecLiteError, install
from retvec_lite.runtime.artifact import CLASSIFY

_MISSING: Final = (
    "Reading and writing .tflite files needs the schema in ai-edge-litert, which is not installed: "
    f"run {install('.[litert]')}."
)

try:
    import flatbuffers
except ModuleNotFoundError as error:
    raise RetvecLiteError(_MISSING) from error

_ALIGNMENT: Final = 16
"""The schema's `force_align` of buffers: kernels read weights with vector loads that rely on it."""


@functools.cache
def schema() -> ModuleType:
    """Return the generated TFLite schema of ai-edge-litert, without loading the runtime.

    Importing it as part of its package would load the LiteRT library into this process, where TensorFlow or tflite-runtime may be
    in use; two of them in one process break each other. The module itself needs only flatbuffers.
    """
    package = importlib.util.find_spec("ai_edge_litert")
    if package is None or not package.submodule_search_locations:
        raise RetvecLiteError(_MISSING)
    path = Path(package.submodule_search_locations[0]) / "schema_py_generated.py"
    spec = importlib.util.spec_from_file_location("_litert_schema", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def read_model(data: bytes) -> Any:
    """Parse a .tflite; a zip tail behind the flatbuffer is dropped.

    Returns:
        The schema's mutable `ModelT`. Names are `str` (None where a tensor has none), absent lists are empty, and every index
        points at something that exists; -1 stays the mark of an optional operand.

    Raises:
        RetvecLiteError: when it is not a TFLite model or is damaged.
    """
    if data[4:8] != b"TFL3":
        raise RetvecLiteError(f"Not a TFLite model: bytes 4 to 8 are {bytes(data[4:8])!r} instead of b'TFL3'.")
    generated = schema()
    try:
        model = generated.ModelT.InitFromObj(generated.Model.GetRootAs(data))
        _normalize(model)
    # All that the generated code and the checks below raise on random bytes; UnicodeDecodeError is a ValueError.
    except (struct.error, LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise RetvecLiteError(f"The TFLite model of {len(data)} bytes is damaged: export it again.") from error
    return model


def pack(model: Any) -> bytes:
    """Return the bytes of a `ModelT`, without the tensors, operator codes and buffers that nothing in it uses.

    What is equal is stored once: buffers, names, and the vectors of shapes, operands and scales. So graphs for several lengths
    share all their weights. The model is edited on the way.
    """
    for graph in model.subgraphs:
        signatures = [entry for entry in model.signatureDefs if model.subgraphs[entry.subgraphIndex] is graph]
        _drop_unused_tensors(graph, signatures)
    operators = [operator for graph in model.subgraphs for operator in graph.operators]
    codes = _renumbered({operator.opcodeIndex for operator in operators})
    model.operatorCodes = [model.operatorCodes[index] for index in codes]
    for operator in operators:
        operator.opcodeIndex = codes[operator.opcodeIndex]
    _share_buffers(model)
    for buffer in model.buffers:
        buffer.Pack = functools.partial(_pack_buffer, buffer)
    builder = _SharingBuilder(1 << 20)
    metadata, signatures = model.metadata, model.signatureDefs
    # An empty vector would take room that an absent one does not.
    model.metadata, model.signatureDefs = metadata or None, signatures or None
    builder.Finish(model.Pack(builder), b"TFL3")
    model.metadata, model.signatureDefs = metadata, signatures
    return bytes(builder.Output())


def add_buffer(model: Any, data: bytes) -> int:
    """Store `data`; return the buffer's index."""
    buffer = schema().BufferT()
    buffer.data = np.frombuffer(data, np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def find_tensor(graph: Any, name: str) -> int:
    """Return the index of a tensor by name; raise RetvecLiteError when there is none."""
    for index, tensor in enumerate(graph.tensors):
        if tensor.name == name:
            return index
    raise RetvecLiteError(f"The graph has no tensor named {name!r}.")


def find_signature(model: Any, name: str = CLASSIFY) -> Any:
    """Return the `SignatureDefT` of a name; raise RetvecLiteError when there is none."""
    for signature in model.signatureDefs:
        if signature.signatureKey == name:
            return signature
    raise RetvecLiteError(f"The model has no signature {name!r}.")


def promote_outputs(model: bytes, names: Sequence[str], signatures: Sequence[str] = (CLASSIFY,)) -> bytes:
    """Return a copy of a model that also outputs inner tensors, computed by the same operators and weights.

    Asking a runtime for an inner tensor is unreliable: memory is reused, and a delegate never fills it. As an output of the graph
    every runtime must deliver it. The named tensors become outputs of all the named signatures, under the same names.
    """
    edited = read_model(model)
    for signature in signatures:
        entry_point = find_signature(edited, signature)
        graph = edited.subgraphs[entry_point.subgraphIndex]
        outputs = graph.outputs.tolist()
        known = {entry.name for entry in entry_point.outputs}
        for name in names:
            index = find_tensor(graph, name)
            if index not in outputs:
                outputs.append(index)
            if name not in known:
                entry = schema().TensorMapT()
                entry.name, entry.tensorIndex = name, index
                entry_point.outputs.append(entry)
        graph.outputs = np.array(outputs, np.int32)
    return pack(edited)


def _normalize(model: Any) -> None:
    """Fill absent lists, decode names, and check every index of a model that was just parsed."""
    _fill(model, "operatorCodes", "subgraphs", "buffers", "metadata", "signatureDefs")
    for code in model.operatorCodes:
        _decode(code, "customCode")
    for graph in model.subgraphs:
        _fill(graph, "tensors", "operators")
        _decode(graph, "name")
        for tensor in graph.tensors:
            _decode(tensor, "name")
            _require(tensor.buffer, model.buffers)
        for operator in graph.operators:
            _require(operator.opcodeIndex, model.operatorCodes)
            for field in ("inputs", "outputs"):
                _indices(operator, field, graph.tensors, least=-1)
            if operator.intermediates is not None:
                _indices(operator, "intermediates", graph.tensors, least=-1)
        for field in ("inputs", "outputs"):
            _indices(graph, field, graph.tensors)
    for signature in model.signatureDefs:
        _fill(signature, "inputs", "outputs")
        _decode(signature, "signatureKey")
        _require(signature.subgraphIndex, model.subgraphs)
        for entry in (*signature.inputs, *signature.outputs):
            _decode(entry, "name")
            _require(entry.tensorIndex, model.subgraphs[signature.subgraphIndex].tensors)
    for entry in model.metadata:
        _decode(entry, "name")
        _require(entry.buffer, model.buffers)


def _fill(owner: Any, *fields: str) -> None:
    for field in fields:
        if getattr(owner, field) is None:
            setattr(owner, field, [])


def _decode(owner: Any, field: str) -> None:
    name = getattr(owner, field)
    if name is not None:
        setattr(owner, field, name.decode())


def _require(index: int, items: Sequence[Any]) -> None:
    if not 0 <= index < len(items):
        raise IndexError(index)


def _indices(owner: Any, field: str, items: Sequence[Any], least: int = 0) -> None:
    """Check a vector of indices; an absent one becomes empty."""
    found = getattr(owner, field)
    values = np.zeros(0, np.int32) if found is None else np.asarray(found)
    if ((values < least) | (values >= len(items))).any():
        raise IndexError(field)
    setattr(owner, field, values)


class _SharingBuilder(flatbuffers.Builder):  # type: ignore[misc]  # flatbuffers is not typed
    """A builder that stores equal strings and vectors of numbers once; readers follow offsets and cannot tell."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._places: dict[tuple[str, bytes], int] = {}

    def CreateString(self, s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> int:
        key = ("text", s if isinstance(s, bytes) else s.encode(encoding, errors))
        if key not in self._places:
            self._places[key] = int(super().CreateString(s, encoding, errors))
        return self._places[key]

    def CreateNumpyVector(self, x: Any) -> int:
        key = (x.dtype.str, x.tobytes())
        if key not in self._places:
            self._places[key] = int(super().CreateNumpyVector(x))
        return self._places[key]


def _share_buffers(model: Any) -> None:
    """Keep each content once, in the order of first use; tensors that store nothing point at buffer 0, as the schema wants."""
    holders = [tensor for graph in model.subgraphs for tensor in graph.tensors] + model.metadata
    kept = [schema().BufferT()]
    places: dict[bytes, int] = {b"": 0}
    for holder in holders:
        data = model.buffers[holder.buffer].data
        content = b"" if data is None else bytes(data)
        if content not in places:
            places[content] = len(kept)
            kept.append(model.buffers[holder.buffer])
        holder.buffer = places[content]
    model.buffers = kept


def _drop_unused_tensors(graph: Any, signatures: Sequence[Any]) -> None:
    entries = [entry for signature in signatures for entry in (*signature.inputs, *signature.outputs)]
    lists = [(graph, "inputs"), (graph, "outputs")]
    for operator in graph.operators:
        lists += [(operator, "inputs"), (operator, "outputs")]
        if operator.intermediates is not None:
            lists.append((operator, "intermediates"))
    used = {int(index) for owner, field in lists for index in getattr(owner, field)} - {-1}
    kept = _renumbered(used | {entry.tensorIndex for entry in entries})
    for owner, field in lists:
        setattr(owner, field, np.array([kept.get(int(index), -1) for index in getattr(owner, field)], np.int32))
    for entry in entries:
        entry.tensorIndex = kept[entry.tensorIndex]
    graph.tensors = [graph.tensors[index] for index in kept]


def _renumbered(indices: set[int]) -> dict[int, int]:
    """Return old index -> new index, in the old order."""
    return {old: new for new, old in enumerate(sorted(indices))}


def _pack_buffer(buffer: Any, builder: flatbuffers.Builder) -> int:
    """Do what `BufferT.Pack` does, with the schema's alignment, which the generated code leaves out."""
    generated = schema()
    data = b"" if buffer.data is None else bytes(buffer.data)
    vector = None
    if data:
        builder.StartVector(1, len(data), _ALIGNMENT)
        builder.head -= len(data)
        builder.Bytes[builder.head : builder.head + len(data)] = data
        vector = builder.EndVector()
    generated.BufferStart(builder)
    if vector is not None:
        generated.BufferAddData(builder, vector)
    position: int = generated.BufferEnd(builder)
    return position
