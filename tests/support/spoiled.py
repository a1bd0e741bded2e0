"""Exports spoiled in one way each: `verify` must find every one."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from retvec_lite.converters.tflite import add_buffer, find_tensor, pack, read_model, schema
from retvec_lite.converters.tflite.graph import flatbuffer_size
from retvec_lite.ngrams import LOWER_CASE_END
from retvec_lite.runtime.artifact import read_artifact


def repacked(path: Path, model: bytes, **changes: Any) -> None:
    """Write an artifact anew with another flatbuffer or other metadata, its checksum and zip in order."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(files["retvec_lite.json"]) | {"model_sha256": hashlib.sha256(model).hexdigest()} | changes
    files["retvec_lite.json"] = json.dumps(metadata).encode()
    if "labels" in changes:
        files["labels.txt"] = "".join(f"{label}\n" for label in changes["labels"]).encode()
    tail = io.BytesIO(model)
    tail.seek(0, io.SEEK_END)
    with zipfile.ZipFile(tail, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    path.write_bytes(tail.getvalue())


def model_of(path: Path) -> bytes:
    data = path.read_bytes()
    return data[: flatbuffer_size(data)]


def flip_a_weight_byte(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x80
    path.write_bytes(bytes(data))


def truncate(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    path.write_bytes(path.read_bytes()[:-400])


def empty(dist: Path) -> None:
    (dist / "classifier-int8.tflite").write_bytes(b"")


def name_wrong_tensor(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), tensors={"words": "bits", "bits": "bits", "embedding": "embedding"})


def name_no_tensors(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), tensors=None)


def swap_labels_inside(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), labels=["two", "one", "three", "four", "five"])


def claim_an_unknown_recipe(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), recipe="int2")


def claim_another_head(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), head="bert")


def change_weights(dist: Path) -> None:
    """One sign bit of one int8 weight, and the checksum adjusted: the file is consistent, but not this classifier."""
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    largest = max(
        (buffer for buffer in edited.buffers if buffer.data is not None and len(buffer.data)),
        key=lambda buffer: len(buffer.data),
    )
    data = np.array(largest.data, np.uint8)
    data[7] ^= 0x80
    largest.data = data
    repacked(path, pack(edited))


def change_scales(dist: Path) -> None:
    """A scale of one output channel grows by half."""
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    tensor = next(
        tensor
        for tensor in edited.subgraphs[0].tensors
        if tensor.quantization is not None
        and tensor.quantization.scale is not None
        and len(tensor.quantization.scale) > 1
    )
    scales = np.array(tensor.quantization.scale, np.float32)
    scales[3] *= 1.5
    tensor.quantization.scale = scales
    repacked(path, pack(edited))


def change_weights_of_the_short_signature(dist: Path) -> None:
    """A weight that `classify` does not use: the other signature got a matrix of its own."""
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    graph = edited.subgraphs[1]
    tensor = max(
        (tensor for tensor in graph.tensors if edited.buffers[tensor.buffer].data is not None),
        key=lambda tensor: len(edited.buffers[tensor.buffer].data),
    )
    data = np.array(edited.buffers[tensor.buffer].data, np.uint8)
    data[7] += 1
    tensor.buffer = add_buffer(edited, data.tobytes())
    repacked(path, pack(edited))


def list_another_size(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    signatures = [signature.to_dict() for signature in read_artifact(path).signatures]
    signatures[0]["max_words"] -= 1
    repacked(path, model_of(path), signatures=signatures)


def list_one_signature_less(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), signatures=[s.to_dict() for s in read_artifact(path).signatures[1:]])


def change_what_the_short_signature_counts(dist: Path) -> None:
    """`slots` says one too many, so that texts which fit are computed twice: slow, and not as it should be."""
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    graph = edited.subgraphs[1]
    slots = find_tensor(graph, "slots")
    operator = next(operator for operator in graph.operators if slots in operator.outputs)
    counted = graph.tensors[operator.inputs[0]]
    made = schema().TensorT()
    made.name, made.shape, made.type = "more", np.array([1], np.int32), graph.tensors[slots].type
    made.buffer = 0
    graph.tensors.append(made)
    one = schema().TensorT()
    one.name, one.shape, one.type = "one", np.array([1], np.int32), counted.type
    one.buffer = add_buffer(edited, np.ones(1, np.int32).tobytes())
    graph.tensors.append(one)
    code = schema().OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema().BuiltinOperator.ADD
    code.version = 1
    edited.operatorCodes.append(code)
    added = schema().OperatorT()
    added.opcodeIndex = len(edited.operatorCodes) - 1
    operator.outputs = np.array([len(graph.tensors) - 2], np.int32)
    added.inputs = np.array([len(graph.tensors) - 2, len(graph.tensors) - 1], np.int32)
    added.outputs = np.array([slots], np.int32)
    added.builtinOptionsType = schema().BuiltinOptions.AddOptions
    added.builtinOptions = schema().AddOptionsT()
    graph.operators.insert(graph.operators.index(operator) + 1, added)
    repacked(path, pack(edited))


def change_the_character_table(dist: Path) -> None:
    """The encoder takes another character for a separator."""
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    graph = edited.subgraphs[0]
    tables = [
        edited.buffers[tensor.buffer].data for tensor in graph.tensors if tensor.type == schema().TensorType.UINT8
    ]
    tables = [table for table in tables if table is not None and len(table) != LOWER_CASE_END + 1]
    pages, classes = sorted(tables, key=lambda table: len(table) % 256 == 0)
    changed = np.array(classes, np.uint8)
    changed[256 * int(pages[1]) + ord("t")] = 0
    next(buffer for buffer in edited.buffers if buffer.data is classes).data = changed
    repacked(path, pack(edited))


def change_the_ngram_table(dist: Path) -> None:
    """One weight of an n-gram is one step larger."""
    _change_a_byte(dist, "INT8", [300, 6], 6 * 150 + 2)


def change_the_ngram_squares(dist: Path) -> None:
    """One n-gram counts a little more in the length of a text."""
    _change_a_byte(dist, "INT8", [300, 6], 6 * 150 + 5)


def change_the_lower_case(dist: Path) -> None:
    """One Armenian letter, which no golden text has, is not folded."""
    _change_a_byte(dist, "UINT8", [LOWER_CASE_END + 1], 0x0540)


def _change_a_byte(dist: Path, kind: str, shape: list[int], place: int) -> None:
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    wanted = getattr(schema().TensorType, kind)
    buffers = {
        tensor.buffer
        for tensor in edited.subgraphs[0].tensors
        if tensor.type == wanted and list(tensor.shape) == shape and edited.buffers[tensor.buffer].data is not None
    }
    (number,) = buffers
    data = np.array(edited.buffers[number].data, np.uint8)
    data[place] ^= 1
    edited.buffers[number].data = data
    repacked(path, pack(edited))


def claim_other_ngrams(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), ngrams={"buckets": 300, "longest": 3, "shortest": 1})


def claim_another_decision(dist: Path) -> None:
    path = dist / "classifier-int8.tflite"
    decision = {"threshold": 0.5, "unknown_label": "two", "unknown_power": 0.5, "characters": "ab"}
    repacked(path, model_of(path), decision=decision)


def change_the_bits(dist: Path) -> None:
    """One power of two among the constants of the encoder is another one."""
    path = dist / "classifier-int8.tflite"
    edited = read_model(model_of(path))
    graph = edited.subgraphs[0]
    powers = next(
        edited.buffers[tensor.buffer]
        for tensor in graph.tensors
        if list(tensor.shape) == [21] and edited.buffers[tensor.buffer].data is not None
    )
    values = np.frombuffer(bytes(powers.data), np.float32).copy()
    values[3] *= 2
    powers.data = values.view(np.uint8)
    repacked(path, pack(edited))
