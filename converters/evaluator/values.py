"""Types and values of the ops of a Core ML program, as its description declares and stores them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.package import NUMPY_TYPES, proto, values_in
from retvec_lite.errors import RetvecLiteError

_FIELDS: Final[Mapping[str, str]] = {
    "fp32": "floats",
    "int32": "ints",
    "bool": "bools",
    "str": "strings",
} | dict.fromkeys(("fp16", "int8", "uint8", "uint32"), "bytes")
"""MIL data type -> field of the model description that holds its values."""

MOST: Final = 1 << 28
"""Numbers of the largest value that a program may compute or store: far more than any of ours, and no full memory."""


@dataclass(frozen=True)
class Type:
    """A declared type: `kind` is tensor, list or dict; `dtype` is that of the elements; `shape` is that of a tensor."""

    kind: str
    dtype: str
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} of {self.dtype} {list(self.shape)}"


def type_of(declared: Any) -> Type:
    """Return a type of the description; raise RetvecLiteError for one that no program of ours has."""
    kind = declared.WhichOneof("type")
    if kind == "tensorType":
        tensor = declared.tensorType
        shape = tuple(int(item.constant.size) for item in tensor.dimensions)
        if len(shape) != tensor.rank or any(item.WhichOneof("dimension") != "constant" for item in tensor.dimensions):
            raise RetvecLiteError(f"A tensor of rank {tensor.rank} has no fixed shape ({list(shape)}).")
        if math.prod(shape) > MOST:
            raise RetvecLiteError(f"A tensor of the shape {list(shape)} is too large.")
        return Type("tensor", _dtype(tensor.dataType), shape)
    if kind == "listType":
        return Type("list", type_of(declared.listType.type).dtype, (int(declared.listType.length.constant.size),))
    if kind == "dictionaryType":
        return Type("dict", type_of(declared.dictionaryType.keyType).dtype)
    raise RetvecLiteError(f"A value is a {kind}; only tensors, lists and dictionaries are known.")


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


def _is_of(kind: Type, value: Any) -> bool:
    if kind.kind == "tensor" and kind.dtype != "str":
        return isinstance(value, np.ndarray) and value.dtype == NUMPY_TYPES[kind.dtype] and value.shape == kind.shape
    return isinstance(value, {"tensor": str, "list": list, "dict": dict}[kind.kind])


def check(what: str, kind: Type, value: Any) -> None:
    """Raise RetvecLiteError when a value does not have its declared type and shape."""
    if _is_of(kind, value):
        return
    found = f"{value.dtype.name} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
    raise RetvecLiteError(f"{what} is declared as a {kind} but is {found}.")


def check_all(what: str, kind: Type, values: Any) -> None:
    """Do what `check` does for the value of each text: an array `[texts, *shape]`, or a list of what is no array."""
    if isinstance(values, np.ndarray) and values.ndim:
        if _is_of(Type(kind.kind, kind.dtype, (len(values), *kind.shape)), values):
            return
        values = [np.asarray(values[0])]
    for value in values:
        check(what, kind, value)
