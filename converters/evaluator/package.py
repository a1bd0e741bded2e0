"""Reading a saved Core ML package: its manifest, its model description and its weight file, all checked byte by byte.

Of coremltools only the generated protobuf classes are used, so that what this module reads owes nothing to the code that
wrote it. The weight file is Core ML's "MIL blob storage", version 2 (the format is described by `StorageFormat.hpp` of
https://github.com/apple/coremltools): a header, then for each array 64 bytes about it and, aligned, its data.
"""

import functools
import importlib.util
import json
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError

Array = npt.NDArray[Any]

MODEL_PATH: Final = "@model_path/"
"""What the names of weight files in a model start with: the folder that the model file lies in."""

_PROTO_PACKAGE: Final = "_retvec_lite_coreml_proto"
_ALIGNMENT: Final = 64
_SENTINEL: Final = 0xDEADBEEF
_HEADER: Final = struct.Struct("<II56s")
"""Number of arrays, version, reserved zeros."""

_ENTRY: Final = struct.Struct("<IIQQQ32s")
"""Sentinel, data type, size in bytes, offset of the data, unused bits in its last byte, reserved zeros."""

_BLOB_TYPES: Final[Mapping[int, str]] = {
    1: "fp16",
    2: "fp32",
    3: "uint8",
    4: "int8",
    6: "int16",
    7: "uint16",
    8: "int4",
    9: "uint1",
    10: "uint2",
    11: "uint4",
    12: "uint3",
    13: "uint6",
    14: "int32",
    15: "uint32",
}
"""The storage's own numbering of data types; bfloat16 (5) and 8-bit floats (16, 17) are in no program of ours."""

NUMPY_TYPES: Final[Mapping[str, type[np.generic]]] = {
    "fp16": np.float16,
    "fp32": np.float32,
    "fp64": np.float64,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
    "int4": np.int8,
    "uint1": np.uint8,
    "uint2": np.uint8,
    "uint3": np.uint8,
    "uint4": np.uint8,
    "uint6": np.uint8,
}
"""How values of a MIL data type are held; those of less than eight bits one to a byte."""

_SMALL: Final[Mapping[str, int]] = {"int4": 4, "uint1": 1, "uint2": 2, "uint3": 3, "uint4": 4, "uint6": 6}


def bits_of(dtype: str) -> int:
    """Bits that a value of a MIL data type takes in a file."""
    return _SMALL.get(dtype) or 8 * np.dtype(NUMPY_TYPES[dtype]).itemsize


def unpack_values(data: bytes, dtype: str, count: int) -> Array:
    """Values from their packed bytes, least significant bit first.

    Args:
        data: as many bytes as `count` values need.
        dtype: a MIL data type.
        count: number of values.

    Returns:
        `[count]` of the type in `NUMPY_TYPES`.

    Raises:
        RetvecLiteError: when there are more or fewer bytes, or a bit that no value uses is set.
    """
    width = bits_of(dtype)
    size = -(-count * width // 8)
    if len(data) != size:
        raise RetvecLiteError(f"Expected {size} bytes for {count} values of {dtype}, received {len(data)}.")
    if dtype not in _SMALL:
        return np.frombuffer(data, np.dtype(NUMPY_TYPES[dtype]).newbyteorder("<")).astype(NUMPY_TYPES[dtype])
    digits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    if digits[count * width :].any():
        raise RetvecLiteError(f"Expected the bits behind {count} values of {dtype} to be zero, received others.")
    places = digits[: count * width].reshape(count, width)
    values = (places.astype(np.int16) << np.arange(width)).sum(axis=1)
    if dtype == "int4":
        values -= 16 * (values > 7)
    return np.asarray(values, NUMPY_TYPES[dtype])


@dataclass(frozen=True)
class Blob:
    """One array of a weight file: MIL data type, place and length of its bytes, unused bits in the last of them."""

    dtype: str
    start: int
    size: int
    unused_bits: int


class WeightFile:
    """A weight file: every array by the offset of its description, which is how models refer to it."""

    def __init__(self, name: str, data: bytes) -> None:
        """Walk the whole file.

        Args:
            name: for error messages.
            data: its bytes.

        Raises:
            RetvecLiteError: for another version, a damaged description, or bytes that belong to no array.
        """
        self.name = name
        self._data = data
        self._unread: set[int] = set()
        self.blobs: dict[int, Blob] = {}
        if len(data) < _HEADER.size:
            raise RetvecLiteError(f"Expected {name} to be a weight file, received {len(data)} bytes.")
        count, version, reserved = _HEADER.unpack_from(data)
        if version != 2 or any(reserved):
            raise RetvecLiteError(f"Expected {name} to be a weight file of version 2, received version {version}.")
        end = _HEADER.size
        for _ in range(count):
            place = end + -end % _ALIGNMENT
            self._expect_zeros(end, place)
            blob = self._describe(place)
            self._expect_zeros(place + _ENTRY.size, blob.start)
            self.blobs[place] = blob
            end = blob.start + blob.size
        self._expect_zeros(end, len(data))
        if len(data) - end >= _ALIGNMENT:
            raise RetvecLiteError(f"Expected {name} to end at byte {end}, received {len(data)} bytes.")
        self._unread = set(self.blobs)

    def read(self, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
        """One array.

        Args:
            offset: of its description.
            dtype: the MIL data type that the model declares.
            shape: the shape that it declares.

        Raises:
            RetvecLiteError: when the file holds something else there.
        """
        if offset not in self.blobs:
            raise RetvecLiteError(f"Expected an array at offset {offset} of {self.name}, received none.")
        blob = self.blobs[offset]
        count = int(np.prod(shape, dtype=np.int64))
        if blob.dtype != dtype or count * bits_of(dtype) + blob.unused_bits != 8 * blob.size:
            raise RetvecLiteError(
                f"Expected {count} values of {dtype} at offset {offset} of {self.name}, "
                f"received {blob.size} bytes of {blob.dtype}."
            )
        self._unread.discard(offset)
        return unpack_values(self._data[blob.start : blob.start + blob.size], dtype, count).reshape(shape)

    def expect_all_read(self) -> None:
        """Raise RetvecLiteError when some array was never read: what a model does not use was not proven."""
        if self._unread:
            raise RetvecLiteError(
                f"Expected the model to use every array of {self.name}, "
                f"received none that reads those at {', '.join(map(str, sorted(self._unread)))}."
            )

    def _describe(self, place: int) -> Blob:
        if place + _ENTRY.size > len(self._data):
            raise RetvecLiteError(f"Expected an array at byte {place} of {self.name}, received the end of the file.")
        sentinel, number, size, start, unused, reserved = _ENTRY.unpack_from(self._data, place)
        if sentinel != _SENTINEL or any(reserved):
            raise RetvecLiteError(
                f"Expected the description of an array at byte {place} of {self.name}, received others."
            )
        if number not in _BLOB_TYPES:
            raise RetvecLiteError(
                f"Expected a known data type at byte {place} of {self.name}, received number {number}."
            )
        if start % _ALIGNMENT or start < place + _ENTRY.size or start + size > len(self._data):
            raise RetvecLiteError(
                f"Expected the array at byte {place} of {self.name} inside the file of {len(self._data)} bytes, "
                f"received {size} bytes from {start}."
            )
        if start - place - _ENTRY.size >= _ALIGNMENT or unused > 7:
            raise RetvecLiteError(
                f"Expected the array at byte {place} of {self.name} right behind its description, received {start}."
            )
        return Blob(_BLOB_TYPES[number], start, size, unused)

    def _expect_zeros(self, start: int, end: int) -> None:
        if any(self._data[start:end]):
            raise RetvecLiteError(f"Expected zeros between byte {start} and {end} of {self.name}, received others.")


@dataclass(frozen=True)
class Package:
    """A package that was read.

    Attributes:
        path: the folder.
        size: bytes of all its files.
        spec: the model description, a `Model_pb2.Model`.
        weights: weight files by the name under which models refer to them.
    """

    path: Path
    size: int
    spec: Any
    weights: Mapping[str, WeightFile]

    @property
    def metadata(self) -> dict[str, str]:
        """The user-defined metadata."""
        return dict(self.spec.description.metadata.userDefined)


def read_package(path: str | Path) -> Package:
    """Read an `.mlpackage`.

    Raises:
        RetvecLiteError: when it is none, a file is missing or damaged, or coremltools is not installed.
    """
    path = Path(path)
    try:
        manifest = _manifest(path)
        model, folders = _items(path, manifest)
        spec = parse_model(model.read_bytes(), str(model.relative_to(path)))
        weights = {}
        for folder in folders:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    weights[MODEL_PATH + file.relative_to(model.parent).as_posix()] = WeightFile(
                        file.name, file.read_bytes()
                    )
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    except OSError as error:
        raise RetvecLiteError(f"Expected {error.filename} to be readable, received: {error.strerror}.") from error
    return Package(path, size, spec, weights)


@functools.cache
def proto() -> SimpleNamespace:
    """coremltools' generated protobuf modules: `Model_pb2` and `MIL_pb2`.

    They are loaded without the package around them, whose import loads TensorFlow and takes ten seconds.

    Raises:
        RetvecLiteError: when coremltools is not installed.
    """
    package = importlib.util.find_spec("coremltools")
    if package is None or not package.submodule_search_locations:
        raise RetvecLiteError(
            "Expected coremltools, which describes Core ML's file format, but it is not installed: "
            "run `pip install 'retvec-lite[coreml]'`."
        )
    folder = Path(package.submodule_search_locations[0]) / "proto"
    spec = importlib.util.spec_from_file_location(
        _PROTO_PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_PROTO_PACKAGE] = module
    spec.loader.exec_module(module)
    return SimpleNamespace(
        **{name: importlib.import_module(f"{_PROTO_PACKAGE}.{name}") for name in ("Model_pb2", "MIL_pb2")}
    )


def parse_model(data: bytes, name: str) -> Any:
    """A `Model_pb2.Model` from its bytes; `name` is for the RetvecLiteError that is raised for other bytes."""
    from google.protobuf.message import DecodeError

    spec = proto().Model_pb2.Model()
    try:
        spec.ParseFromString(data)
    except DecodeError as error:
        raise RetvecLiteError(f"Expected {name} to be a Core ML model, received other bytes ({error}).") from error
    return spec


def _manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise RetvecLiteError(f"Expected {path} to be an .mlpackage, a folder, received no folder.")
    try:
        manifest = json.loads((path / "Manifest.json").read_bytes())
        entries, root = manifest["itemInfoEntries"], manifest["rootModelIdentifier"]
        if manifest["fileFormatVersion"] != "1.0.0":
            raise RetvecLiteError(
                f"Expected {path} to have file format 1.0.0, received {manifest['fileFormatVersion']!r}."
            )
        if root not in entries or not all(isinstance(entry["path"], str) for entry in entries.values()):
            raise KeyError(root)
    except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError) as error:
        raise RetvecLiteError(
            f"Expected {path} to have a Manifest.json with the items of an .mlpackage, received {error!r}."
        ) from error
    return dict(manifest)


def _items(path: Path, manifest: Mapping[str, Any]) -> tuple[Path, list[Path]]:
    """The model file and the folders of weights; raises RetvecLiteError for a path that leads elsewhere or nowhere."""
    model, folders = None, []
    for identifier, entry in manifest["itemInfoEntries"].items():
        relative = PurePosixPath(entry["path"])
        if relative.is_absolute() or ".." in relative.parts:
            raise RetvecLiteError(f"Expected an item inside {path}, received the path {entry['path']!r}.")
        item = path / "Data" / relative
        if identifier == manifest["rootModelIdentifier"]:
            model = item
        elif item.is_dir():
            folders.append(item)
        else:
            raise RetvecLiteError(f"Expected the item {entry['path']!r} in {path}, received no such folder.")
    if model is None or not model.is_file():
        raise RetvecLiteError(f"Expected a model file in {path}, received none.")
    known = {path / "Manifest.json", model, *(file for folder in folders for file in folder.rglob("*"))}
    for file in path.rglob("*"):
        if file.is_file() and file not in known:
            raise RetvecLiteError(
                f"Expected {path} to hold what its Manifest.json lists, received {file.relative_to(path)} as well."
            )
    return model, folders
