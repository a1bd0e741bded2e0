"""Read a saved Core ML package: manifest, model description, types and values in it, and weight file, with every byte checked.

Only the generated protobuf classes come from coremltools. The weight file is read here and not by coremltools' reader: a
proof must not depend on the code that wrote the file, and that reader neither checks the bytes between the arrays nor
notices arrays that nothing uses. The weight file is Core ML's "MIL blob storage", version 2, described by
`mlmodel/src/MILBlob/Blob/StorageFormat.hpp` of https://github.com/apple/coremltools: a header, then for each array 64 bytes
about it and its data, aligned to 64 bytes.
"""

import functools
import importlib.util
import math
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError, install
from retvec_lite.foreign import read_whole
from retvec_lite.json_text import parse_json

Array = npt.NDArray[Any]

MODEL_PATH: Final = "@model_path/"
"""Prefix of weight file names in a model: the folder of the model file."""

_PROTO_PACKAGE: Final = "_retvec_lite_coreml_proto"
_ALIGNMENT: Final = 64
_SENTINEL: Final = 0xDEADBEEF
_HEADER: Final = struct.Struct("<II56s")
"""Number of arrays, version, reserved zeros."""

_ENTRY: Final = struct.Struct("<IIQQQ32s")
"""Sentinel, data type, size in bytes, offset of the data, unused bits in the last byte, reserved zeros."""

_BLOB_TYPES: Final[Mapping[int, str]] = {
    1: "fp16",
    2: "fp32",
    3: "uint8",
    4: "int8",
    14: "int32",
}
"""The storage's own numbers of data types; our programs use no others."""

NUMPY_TYPES: Final[Mapping[str, type[np.generic]]] = {
    "fp16": np.float16,
    "fp32": np.float32,
    "int8": np.int8,
    "int32": np.int32,
    "uint8": np.uint8,
    "uint32": np.uint32,
    "bool": np.bool_,
}
"""MIL data type -> NumPy type of its values."""


def bits_of(dtype: str) -> int:
    """Return the bits that one value of a MIL data type takes in a file."""
    return 8 * np.dtype(NUMPY_TYPES[dtype]).itemsize


def values_in(data: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return the values of a MIL data type that bytes hold; raise RetvecLiteError for more or fewer of them than the shape has."""
    size = math.prod(shape) * bits_of(dtype) // 8
    if len(data) != size:
        raise RetvecLiteError(f"{list(shape)} values of {dtype} take {size} bytes, but {len(data)} are stored.")
    return np.frombuffer(data, np.dtype(NUMPY_TYPES[dtype]).newbyteorder("<")).astype(NUMPY_TYPES[dtype]).reshape(shape)


@dataclass(frozen=True)
class Blob:
    """One array of a weight file: MIL data type, first byte, number of bytes."""

    dtype: str
    start: int
    size: int


class WeightFile:
    """A weight file. Models refer to an array by the offset of its description.

    Attributes:
        name: the file's name, for error messages.
        blobs: offset of the description -> array.
    """

    def __init__(self, name: str, data: bytes) -> None:
        """Check the whole file.

        Raises:
            RetvecLiteError: for another version, a damaged description, or bytes that belong to no array.
        """
        self.name = name
        self.blobs: dict[int, Blob] = {}
        self._data = data
        if len(data) < _HEADER.size:
            raise RetvecLiteError(f"{name} is no weight file: it has only {len(data)} bytes.")
        count, version, reserved = _HEADER.unpack_from(data)
        if version != 2 or any(reserved):
            raise RetvecLiteError(f"{name} is no weight file of version 2 (its header says {version}).")
        end = _HEADER.size
        for _ in range(count):
            place = end + -end % _ALIGNMENT
            self._check_zeros(end, place)
            blob = self._describe(place)
            self._check_zeros(place + _ENTRY.size, blob.start)
            self.blobs[place] = blob
            end = blob.start + blob.size
        self._check_zeros(end, len(data))
        if len(data) - end >= _ALIGNMENT:
            raise RetvecLiteError(f"{name} goes on after its last array, which ends at byte {end}.")
        self._unread = set(self.blobs)

    def read(self, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
        """Return the array whose description is at an offset; raise RetvecLiteError for another type or size than declared."""
        if offset not in self.blobs:
            raise RetvecLiteError(f"{self.name} has no array at offset {offset}.")
        blob = self.blobs[offset]
        if blob.dtype != dtype:
            raise RetvecLiteError(
                f"The model declares {dtype} at offset {offset} of {self.name}, where {blob.dtype} is stored."
            )
        self._unread.discard(offset)
        return values_in(self._data[blob.start : blob.start + blob.size], dtype, shape)

    def check_all_read(self) -> None:
        """Raise RetvecLiteError when some array was never read: running the model proves nothing about it."""
        if self._unread:
            offsets = ", ".join(map(str, sorted(self._unread)))
            raise RetvecLiteError(f"The model does not use the arrays of {self.name} at offset {offsets}.")

    def _describe(self, place: int) -> Blob:
        what = f"the array at byte {place} of {self.name}"
        if place + _ENTRY.size > len(self._data):
            raise RetvecLiteError(f"{self.name} ends before the array at byte {place}.")
        sentinel, number, size, start, unused, reserved = _ENTRY.unpack_from(self._data, place)
        if sentinel != _SENTINEL or any(reserved):
            raise RetvecLiteError(f"The description of {what} is damaged.")
        if number not in _BLOB_TYPES:
            raise RetvecLiteError(f"The data type of {what} is unknown: number {number}.")
        if start % _ALIGNMENT or start < place + _ENTRY.size or start + size > len(self._data):
            raise RetvecLiteError(
                f"The data of {what} ({size} bytes from {start}) are outside of the file of {len(self._data)} bytes."
            )
        if start - place - _ENTRY.size >= _ALIGNMENT or unused:
            raise RetvecLiteError(f"The data of {what} do not follow their description but start at {start}.")
        return Blob(_BLOB_TYPES[number], start, size)

    def _check_zeros(self, start: int, end: int) -> None:
        if any(self._data[start:end]):
            raise RetvecLiteError(f"The padding of {self.name} from byte {start} to {end} is not zero.")


@dataclass(frozen=True)
class Package:
    """A package as read from disk.

    Attributes:
        path: the folder.
        spec: the model description, a `Model_pb2.Model`.
        weights: weight files by the name that models use for them.
    """

    path: Path
    spec: Any
    weights: Mapping[str, WeightFile]

    @property
    def metadata(self) -> dict[str, str]:
        """The user-defined metadata."""
        return dict(self.spec.description.metadata.userDefined)

    @property
    def input_types(self) -> dict[str, "Type"]:
        """The types of the inputs that the description for apps names."""
        name = proto().Model_pb2.FeatureTypes__pb2.ArrayFeatureType.ArrayDataType.Name
        arrays = {item.name: item.type.multiArrayType for item in self.spec.description.input}
        return {
            key: Type("tensor", _INPUT_TYPES.get(name(array.dataType), "?"), tuple(array.shape))
            for key, array in arrays.items()
        }


def read_package(path: str | Path) -> Package:
    """Read an `.mlpackage`.

    Raises:
        RetvecLiteError: when it is none, a file is missing or damaged, or coremltools is not installed.
    """
    path = Path(path)
    try:
        model, folders = _items(path, _manifest(path))
        spec = parse_model(read_whole(model), str(model.relative_to(path)))
        weights = {
            MODEL_PATH + file.relative_to(model.parent).as_posix(): WeightFile(file.name, read_whole(file))
            for folder in folders
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {error.filename}: {error.strerror}.") from error
    return Package(path, spec, weights)


@functools.cache
def proto() -> SimpleNamespace:
    """Load coremltools' generated protobuf modules, `Model_pb2` and `MIL_pb2`.

    They are loaded without the package around them, whose import loads TensorFlow and takes ten seconds.
    """
    package = importlib.util.find_spec("coremltools")
    if package is None or not package.submodule_search_locations:
        raise RetvecLiteError(f"The package coremltools is not installed. Run {install('.[coreml]')}.")
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
    """Parse a `Model_pb2.Model`; for other bytes, raise a RetvecLiteError about the file `name`."""
    from google.protobuf.message import DecodeError

    spec = proto().Model_pb2.Model()
    try:
        spec.ParseFromString(data)
    except DecodeError as error:
        raise RetvecLiteError(f"{name} is no Core ML model ({error}).") from error
    return spec


def _manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise RetvecLiteError(f"{path} is no .mlpackage: there is no such folder.")
    try:
        manifest = parse_json(read_whole(path / "Manifest.json"), path / "Manifest.json")
        entries, root = manifest["itemInfoEntries"], manifest["rootModelIdentifier"]
        if manifest["fileFormatVersion"] != "1.0.0":
            raise RetvecLiteError(f"{path} has file format {manifest['fileFormatVersion']!r}; only 1.0.0 is known.")
        if root not in entries or not all(
            isinstance(entry["path"], str) and "\0" not in entry["path"] for entry in entries.values()
        ):
            raise KeyError(root)
    except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError) as error:
        raise RetvecLiteError(f"{path} has no Manifest.json of an .mlpackage ({error!r}).") from error
    return dict(manifest)


def _items(path: Path, manifest: Mapping[str, Any]) -> tuple[Path, list[Path]]:
    """Return the model file and the folders of weights; a path that leads elsewhere or nowhere is an error."""
    model, folders = None, []
    for identifier, entry in manifest["itemInfoEntries"].items():
        relative = PurePosixPath(entry["path"])
        if relative.is_absolute() or ".." in relative.parts:
            raise RetvecLiteError(f"The Manifest.json of {path} points outside of the package: {entry['path']!r}.")
        item = path / "Data" / relative
        if identifier == manifest["rootModelIdentifier"]:
            model = item
        elif item.is_dir():
            folders.append(item)
        else:
            raise RetvecLiteError(f"{path} has no folder {entry['path']!r}, which its Manifest.json lists.")
    if model is None or not model.is_file():
        raise RetvecLiteError(f"{path} has no model file.")
    known = {path / "Manifest.json", model, *(file for folder in folders for file in folder.rglob("*"))}
    for file in path.rglob("*"):
        if file.is_file() and file not in known:
            raise RetvecLiteError(f"{path} holds {file.relative_to(path)}, which its Manifest.json does not list.")
    return model, folders


_FIELDS: Final[Mapping[str, str]] = {
    "fp32": "floats",
    "int32": "ints",
    "bool": "bools",
    "str": "strings",
} | dict.fromkeys(("fp16", "int8", "uint8", "uint32"), "bytes")
"""MIL data type -> field of the model description that holds its values."""

_INPUT_TYPES: Final[Mapping[str, str]] = {"INT32": "int32", "FLOAT32": "fp32", "FLOAT16": "fp16"}

MOST: Final = 1 << 28
"""Numbers of the largest value that a program may compute or store: far more than any of ours, and no full memory."""


@dataclass(frozen=True)
class Type:
    """A declared type: `kind` is tensor, list or dict; `dtype` is that of the elements; `shape` is that of a tensor."""

    kind: str
    dtype: str
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, declared: Any) -> "Type":
        """Return a type of the description; raise RetvecLiteError for one that no program of ours has."""
        kind = declared.WhichOneof("type")
        if kind == "tensorType":
            tensor = declared.tensorType
            sizes = tensor.dimensions
            shape = tuple(int(item.constant.size) for item in sizes)
            if len(shape) != tensor.rank or any(item.WhichOneof("dimension") != "constant" for item in sizes):
                raise RetvecLiteError(f"A tensor of rank {tensor.rank} has no fixed shape ({list(shape)}).")
            if math.prod(shape) > MOST:
                raise RetvecLiteError(f"A tensor of the shape {list(shape)} is too large.")
            return cls("tensor", _dtype(tensor.dataType), shape)
        if kind == "listType":
            return cls("list", cls.of(declared.listType.type).dtype, (int(declared.listType.length.constant.size),))
        if kind == "dictionaryType":
            return cls("dict", cls.of(declared.dictionaryType.keyType).dtype)
        raise RetvecLiteError(f"A value is a {kind}; only tensors, lists and dictionaries are known.")

    def __str__(self) -> str:
        return f"{self.kind} of {self.dtype} {list(self.shape)}"

    def check(self, what: str, value: Any) -> None:
        """Raise RetvecLiteError when a value does not have this type and shape."""
        if not self._fits(value, self.shape):
            found = f"{value.dtype.name} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
            raise RetvecLiteError(f"{what} is declared as a {self} but is {found}.")

    def check_all(self, what: str, values: Any) -> None:
        """Do what `check` does for the value of each text: an array `[texts, *shape]`, or a list of what is no array."""
        if isinstance(values, np.ndarray) and values.ndim:
            if self._fits(values, (len(values), *self.shape)):
                return
            values = [np.asarray(values[0])]
        for value in values:
            self.check(what, value)

    def _fits(self, value: Any, shape: tuple[int, ...]) -> bool:
        if self.kind == "tensor" and self.dtype != "str":
            return isinstance(value, np.ndarray) and value.dtype == NUMPY_TYPES[self.dtype] and value.shape == shape
        return isinstance(value, {"tensor": str, "list": list, "dict": dict}[self.kind])


def _dtype(number: int) -> str:
    """Return the MIL name of a numbered data type."""
    name = str(proto().MIL_pb2.DataType.Name(number))
    short = {"STRING": "str", "BOOL": "bool"}.get(name) or name.lower().replace("float", "fp")
    if short != "str" and short not in NUMPY_TYPES:
        raise RetvecLiteError(f"The data type {name} is unknown.")
    return short


def immediate_value(tensor: Any, kind: Type) -> Any:
    """Return a value that is stored in the model description."""
    field = tensor.WhichOneof("value")
    if field != _FIELDS[kind.dtype]:
        raise RetvecLiteError(f"A {kind} is stored as {field}, not as {_FIELDS[kind.dtype]}.")
    values = getattr(tensor, field).values
    count = int(np.prod(kind.shape, dtype=np.int64))
    if field == "bytes":
        return values_in(values, kind.dtype, kind.shape)
    if len(values) != count:
        raise RetvecLiteError(f"A {kind} holds {len(values)} values.")
    if kind.dtype != "str":
        return np.array(values, NUMPY_TYPES[kind.dtype]).reshape(kind.shape)
    if kind.shape:
        raise RetvecLiteError(f"A {kind} is no single string.")
    return str(values[0])
