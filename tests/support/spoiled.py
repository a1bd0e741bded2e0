"""Exports spoiled in one way each: `verify` must find every one."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from retvec_lite.converters.tflite import add_buffer, pack, read_model, schema
from retvec_lite.converters.tflite.graph import flatbuffer_size
from retvec_lite.model.character_table import PAGE
from retvec_lite.ngrams import LOWER_CASE_END

FILE = "classifier-int8.tflite"
Spoil = Callable[[Path], None]


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


def claim(**changes: Any) -> Spoil:
    """Other metadata."""
    return lambda dist: repacked(dist / FILE, model_of(dist / FILE), **changes)


def flip_a_weight_byte(dist: Path) -> None:
    path = dist / FILE
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x80
    path.write_bytes(bytes(data))


def truncate(dist: Path) -> None:
    path = dist / FILE
    path.write_bytes(path.read_bytes()[:-400])


def empty(dist: Path) -> None:
    (dist / FILE).write_bytes(b"")


def change_weights(dist: Path) -> None:
    """One sign bit of one int8 weight, and the checksum adjusted: the file is consistent, but not this classifier."""
    path = dist / FILE
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
    path = dist / FILE
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


def change_weights_of_the_embedding(dist: Path) -> None:
    """A weight that `classify` does not use: the other signature got a matrix of its own."""
    path = dist / FILE
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


def change_the_character_table(dist: Path) -> None:
    """The encoder takes another character for a separator."""
    path = dist / FILE
    edited = read_model(model_of(path))
    graph = edited.subgraphs[0]
    tables = [
        edited.buffers[tensor.buffer].data for tensor in graph.tensors if tensor.type == schema().TensorType.UINT8
    ]
    tables = [table for table in tables if table is not None and len(table) != LOWER_CASE_END + 1]
    numbers, _, blocks, rows = sorted(tables, key=len)
    # Of the first block with code points, the row of "t", see `encoder_graph`.
    row = blocks[128 * int(numbers[1]) + ord("t") // PAGE]
    changed = np.array(rows, np.uint8)
    changed[PAGE * int(row) + ord("t") % PAGE] = 0
    next(buffer for buffer in edited.buffers if buffer.data is rows).data = changed
    repacked(path, pack(edited))


def change_a_byte(kind: str, shape: list[int], place: int) -> Spoil:
    """One step of the constant of a type and a shape."""

    def spoil(dist: Path) -> None:
        path = dist / FILE
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

    return spoil


def change_the_bits(dist: Path) -> None:
    """One power of two among the constants of the encoder is another one."""
    path = dist / FILE
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
