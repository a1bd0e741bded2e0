"""Rewriting a .tflite: through the object form of its schema, back into bytes that are the same for the same edits."""

import functools
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import flatbuffers
import numpy as np

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import CLASSIFY

_ALIGNMENT: Final = 16
"""The schema's `force_align` of buffers. Kernels read weights with vector loads that count on it."""


@functools.cache
def schema() -> ModuleType:
    """The generated TFLite schema of ai-edge-litert, without the runtime.

    Importing it as part of its package would load the LiteRT library into this process, where TensorFlow may be running
    or tflite-runtime may be wanted; they break each other (DESIGN.md, section 2). The module itself needs flatbuffers only.

    Raises:
        RetvecLiteError: when ai-edge-litert is not installed.
    """
    package = importlib.util.find_spec("ai_edge_litert")
    if package is None or not package.submodule_search_locations:
        raise RetvecLiteError(
            "Expected ai-edge-litert, whose schema is needed to write .tflite files, but it is not installed: "
            "run `pip install retvec-lite[export]`."
        )
    path = Path(package.submodule_search_locations[0]) / "schema_py_generated.py"
    spec = importlib.util.spec_from_file_location("retvec_lite.converters._tflite_schema", path)
    if spec is None or spec.loader is None:
        raise RetvecLiteError(f"Expected the TFLite schema at {path}, received nothing that can be imported.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def unpack(model: bytes) -> Any:
    """A model as the schema's mutable `ModelT`; a zip tail is dropped."""
    generated = schema()
    return generated.ModelT.InitFromObj(generated.Model.GetRootAs(model))


def pack(model: Any) -> bytes:
    """The bytes of a `ModelT`, without the tensors, operator codes and buffers that nothing in it uses any more.

    What is the same is stored once: buffers, names, and the vectors of shapes, operands and scales. Graphs of several lengths
    then share all their weights.
    """
    for graph in model.subgraphs:
        signatures = [s for s in model.signatureDefs or [] if model.subgraphs[s.subgraphIndex] is graph]
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
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class _SharingBuilder(flatbuffers.Builder):  # type: ignore[misc]  # flatbuffers is not typed
    """A builder that gives equal strings and vectors of numbers one place; readers follow offsets and cannot tell."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._places: dict[tuple[str, bytes], int] = {}

    def CreateString(self, s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> int:
        """See `flatbuffers.Builder`."""
        key = ("text", s if isinstance(s, bytes) else s.encode(encoding, errors))
        if key not in self._places:
            self._places[key] = int(super().CreateString(s, encoding, errors))
        return self._places[key]

    def CreateNumpyVector(self, x: Any) -> int:
        """See `flatbuffers.Builder`."""
        key = (x.dtype.str, x.tobytes())
        if key not in self._places:
            self._places[key] = int(super().CreateNumpyVector(x))
        return self._places[key]


def _share_buffers(model: Any) -> None:
    """Keep each content once, in the order of first use; tensors that store nothing point at buffer 0, as the schema wants."""
    holders = [tensor for graph in model.subgraphs for tensor in graph.tensors] + list(model.metadata or [])
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
    """Old index -> new index, in the old order."""
    return {old: new for new, old in enumerate(sorted(indices))}


def _pack_buffer(buffer: Any, builder: flatbuffers.Builder) -> int:
    """`BufferT.Pack` with the schema's alignment, which the generated code forgets."""
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


def add_buffer(model: Any, data: bytes) -> int:
    """Store `data`; returns the buffer's index."""
    buffer = schema().BufferT()
    buffer.data = np.frombuffer(data, np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def name_of(tensor: Any) -> str:
    """The name of a `TensorT`; most have none."""
    return _text(tensor.name)


def find_tensor(graph: Any, name: str) -> int:
    """The index of a tensor by name; raises RetvecLiteError when there is none."""
    for index, tensor in enumerate(graph.tensors):
        if name_of(tensor) == name:
            return index
    raise RetvecLiteError(f"Expected a tensor named {name!r} in the graph, received a graph without one.")


def promote_outputs(model: bytes, names: Sequence[str], signature: str = CLASSIFY) -> bytes:
    """A copy of a model that also answers intermediate tensors, computed by the very same operators and weights.

    Asking a runtime for an intermediate tensor is unreliable: memory is reused, and a delegate never fills it. As an
    output of the graph every runtime must deliver it.

    Args:
        model: a .tflite; its zip tail is not copied.
        names: tensor names; each becomes an output of the signature's graph and, under its own name, of the signature.
        signature: which one.

    Raises:
        RetvecLiteError: when there is no such tensor, or no such signature.
    """
    generated = schema()
    edited = unpack(model)
    entry_point = find_signature(edited, signature)
    graph = edited.subgraphs[entry_point.subgraphIndex]
    outputs = [int(index) for index in graph.outputs]
    known = {_text(entry.name) for entry in entry_point.outputs}
    for name in names:
        index = find_tensor(graph, name)
        if index not in outputs:
            outputs.append(index)
        if name not in known:
            entry = generated.TensorMapT()
            entry.name, entry.tensorIndex = name, index
            entry_point.outputs.append(entry)
    graph.outputs = np.array(outputs, np.int32)
    return pack(edited)


def find_signature(model: Any, name: str = CLASSIFY) -> Any:
    """The `SignatureDefT` of a name; raises RetvecLiteError when there is none."""
    for signature in model.signatureDefs or []:
        if name_of_signature(signature) == name:
            return signature
    raise RetvecLiteError(f"Expected a model with the signature {name!r}, received one without it.")


def name_of_signature(signature: Any) -> str:
    """The name of a `SignatureDefT`."""
    return _text(signature.signatureKey)


def _text(name: bytes | str | None) -> str:
    """What was read is bytes, what was set may be text."""
    return name.decode() if isinstance(name, bytes) else name or ""
