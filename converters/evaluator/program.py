"""Running a saved Core ML package without Core ML: its ops one by one in NumPy, every declared type and shape checked.

Nothing on Linux runs Core ML. This evaluator knows the file format and the meaning of the ops, and nothing of the code that
built the graph; what it does not know is an error, never skipped.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.indexing import INDEXING
from retvec_lite.converters.evaluator.network_ops import NETWORK
from retvec_lite.converters.evaluator.ops import ELEMENTWISE, Array
from retvec_lite.converters.evaluator.package import NUMPY_TYPES, Package, proto, read_package, unpack_values
from retvec_lite.errors import RetvecLiteError

OPS: Final = {**ELEMENTWISE, **INDEXING, **NETWORK}

_TARGETS: Final[Mapping[str, tuple[str, int]]] = {
    "CoreML6": ("iOS16", 7),
    "CoreML7": ("iOS17", 8),
    "CoreML8": ("iOS18", 9),
}
"""Opset -> the oldest system that knows it, and the version of the model description that may hold it."""

_IN_BYTES: Final = ("fp16", "int8", "uint8", "uint32", "int4", "uint1", "uint2", "uint3", "uint4", "uint6")
"""Data types whose values stand as bytes in the model description."""

_FIELDS: Final[Mapping[str, str]] = {
    "fp32": "floats",
    "fp64": "doubles",
    "int16": "ints",
    "uint16": "ints",
    "int32": "ints",
    "int64": "longInts",
    "uint64": "longInts",
    "bool": "bools",
    "str": "strings",
} | dict.fromkeys(_IN_BYTES, "bytes")

_INPUT_TYPES: Final[Mapping[str, str]] = {"INT32": "int32", "FLOAT32": "fp32", "FLOAT16": "fp16", "DOUBLE": "fp64"}


@dataclass(frozen=True)
class Type:
    """A declared type: `kind` is tensor, list or dict; `dtype` that of its elements; `shape` that of a tensor."""

    kind: str
    dtype: str
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} of {self.dtype} {list(self.shape)}"


@dataclass(frozen=True)
class Literal:
    """A value that stands in the file itself, of a declared type."""

    value: Any
    type: Type


@dataclass(frozen=True)
class Operation:
    """One op; an operand is the name of an earlier value or a literal, several of them where the op takes a list."""

    kind: str
    name: str
    inputs: Mapping[str, tuple[str | Literal, ...]]
    outputs: tuple[tuple[str, Type], ...]

    @property
    def sources(self) -> Iterable[str]:
        """The names of the values that the op reads."""
        return (item for items in self.inputs.values() for item in items if isinstance(item, str))


def load_package(path: str | Path) -> "Program":
    """Read an `.mlpackage` and check all that it declares.

    Raises:
        RetvecLiteError: when it is none or damaged, holds an op that is not known here, or was written for another system
            than iOS 16 to 18.
    """
    return Program(read_package(path))


class Program:
    """The main function of a package.

    Attributes:
        package: where it came from.
        target: the oldest system that runs it, `iOS16` to `iOS18`.
        inputs: name -> declared type.
        outputs: names of what `run` gives.
        operations: every op, in order.
    """

    def __init__(self, package: Package) -> None:
        """Parse; see `load_package`."""
        self.package = package
        spec = package.spec
        if spec.WhichOneof("Type") != "mlProgram" or list(spec.mlProgram.functions) != ["main"]:
            raise RetvecLiteError(
                f"Expected {package.path} to be an ML program with one function, received {spec.WhichOneof('Type')}."
            )
        function = spec.mlProgram.functions["main"]
        if list(function.block_specializations) != [function.opset] or function.opset not in _TARGETS:
            raise RetvecLiteError(
                f"Expected a program for {', '.join(_TARGETS)}, received {function.opset!r} with blocks for "
                f"{', '.join(function.block_specializations)}."
            )
        self.target, version = _TARGETS[function.opset]
        if spec.specificationVersion != version:
            raise RetvecLiteError(
                f"Expected specification version {version} for {function.opset}, received {spec.specificationVersion}."
            )
        block = function.block_specializations[function.opset]
        self.inputs = {item.name: _type(item.type) for item in function.inputs}
        self.outputs = list(block.outputs)
        self.operations = [self._operation(item) for item in block.operations]
        for file in package.weights.values():
            file.expect_all_read()
        self._producers: dict[str, Operation] = {}
        self._constants: dict[str, Any] = {}
        self._check_order()
        self._check_description()

    @property
    def names(self) -> list[str]:
        """The names of all values, in the order in which they are computed."""
        return [name for operation in self.operations for name, _ in operation.outputs]

    @property
    def labels(self) -> list[str]:
        """The classes of a classifier, in the order of its probabilities; none for other programs."""
        for operation in self.operations:
            if operation.kind == "classify":
                return [
                    str(item)
                    for part in operation.inputs["classes"]
                    if isinstance(part, Literal)
                    for item in part.value
                ]
        return []

    def run(self, inputs: Mapping[str, Array], wanted: Sequence[str] | None = None) -> dict[str, Any]:
        """Compute values by name, and nothing that they do not need.

        Args:
            inputs: every input by name, of its declared type and shape.
            wanted: names of outputs or inner values; the outputs by default.

        Returns:
            Arrays; the label of a classifier is a `str`, its probabilities are a `dict[str, float]`.

        Raises:
            RetvecLiteError: for other inputs or an unknown name, or when an op gives something else than it declares, or
                cannot be computed.
        """
        names = self.outputs if wanted is None else list(wanted)
        if set(inputs) != set(self.inputs):
            raise RetvecLiteError(f"Expected the inputs {sorted(self.inputs)}, received {sorted(inputs)}.")
        for name, value in inputs.items():
            _expect(f"the input {name!r}", self.inputs[name], value)
        values: dict[str, Any] = dict(inputs)
        # Infinity is a 16-bit number like others: what it does to the answer is for the caller to judge.
        with np.errstate(all="ignore"):
            for operation in self._needed(names):
                if operation.outputs[0][0] in self._constants:
                    continue
                constant = all(source in self._constants for source in operation.sources)
                found = self._compute(operation, values)
                (self._constants if constant else values).update(found)
        return {name: self._constants[name] if name in self._constants else values[name] for name in names}

    def constant(self, name: str) -> Any:
        """A value that depends on no input, by name."""
        zeros = {key: np.zeros(kind.shape, NUMPY_TYPES[kind.dtype]) for key, kind in self.inputs.items()}
        return self.run(zeros, [name])[name]

    def _needed(self, names: Iterable[str]) -> list[Operation]:
        """The ops behind some values, in order."""
        reached, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name in self.inputs:
                continue
            if name not in self._producers:
                raise RetvecLiteError(f"Expected a value named {name!r} in {self.package.path.name}, received none.")
            operation = self._producers[name]
            if id(operation) not in reached:
                reached.add(id(operation))
                waiting.extend(operation.sources)
        return [operation for operation in self.operations if id(operation) in reached]

    def _compute(self, operation: Operation, values: Mapping[str, Any]) -> dict[str, Any]:
        arguments = {}
        for key, items in operation.inputs.items():
            found = [
                item.value
                if isinstance(item, Literal)
                else (self._constants[item] if item in self._constants else values[item])
                for item in items
            ]
            arguments[key] = found[0] if len(found) == 1 else found
        place = f"the op {operation.name!r} ({operation.kind})"
        if operation.kind == "const":
            results = (arguments["val"],)
        else:
            try:
                computed = OPS[operation.kind](**arguments)
            except RetvecLiteError as error:
                sentence = str(error).removesuffix(".")
                raise RetvecLiteError(f"{sentence} (in {place}).") from error
            except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError) as error:
                raise RetvecLiteError(f"Expected {place} to be computable, received: {error}") from error
            results = computed if isinstance(computed, tuple) else (computed,)
        if len(results) != len(operation.outputs):
            raise RetvecLiteError(f"Expected {len(operation.outputs)} outputs of {place}, received {len(results)}.")
        for (name, kind), value in zip(operation.outputs, results, strict=True):
            _expect(f"{name!r}, an output of {place},", kind, value)
        return {name: value for (name, _), value in zip(operation.outputs, results, strict=True)}

    def _operation(self, item: Any) -> Operation:
        """Parse one op and hold its inputs against the parameters of the op."""
        outputs = tuple((output.name, _type(output.type)) for output in item.outputs)
        attributes = {key: self._literal(value) for key, value in item.attributes.items()}
        label = attributes.pop("name", None)
        name = str(label.value) if label is not None else outputs[0][0]
        inputs: dict[str, tuple[str | Literal, ...]] = {
            key: tuple(
                binding.name if binding.WhichOneof("binding") == "name" else self._literal(binding.value)
                for binding in argument.arguments
            )
            for key, argument in item.inputs.items()
        }
        place = f"the op {name!r} ({item.type})"
        if item.type != "const" and item.type not in OPS:
            raise RetvecLiteError(f"Expected an op that is known here, received {place}.")
        if item.blocks:
            raise RetvecLiteError(f"Expected no nested blocks, received some in {place}.")
        # Weights of the oldest opset stand as attributes of the ops that unpack them.
        if item.type == "const" or item.type.startswith("constexpr_"):
            inputs |= {key: (value,) for key, value in attributes.items()}
        elif attributes:
            raise RetvecLiteError(f"Expected no attributes but a name, received {', '.join(attributes)} in {place}.")
        known, required = _parameters(item.type)
        if not required <= set(inputs) <= known:
            raise RetvecLiteError(
                f"Expected {place} to have inputs out of {', '.join(sorted(known))}, received {', '.join(sorted(inputs))}."
            )
        return Operation(item.type, name, inputs, outputs)

    def _literal(self, value: Any) -> Literal:
        kind = _type(value.type)
        if kind.kind == "list" and value.immediateValue.WhichOneof("value") == "list":
            items = [self._literal(item).value for item in value.immediateValue.list.values]
            if len(items) != kind.shape[0]:
                raise RetvecLiteError(f"Expected a {kind}, received {len(items)} items.")
            return Literal(items, kind)
        if kind.kind != "tensor":
            raise RetvecLiteError(f"Expected a constant tensor or list, received a {kind}.")
        if value.WhichOneof("value") == "blobFileValue":
            reference = value.blobFileValue
            if reference.fileName not in self.package.weights:
                raise RetvecLiteError(f"Expected a weight file of the package, received {reference.fileName!r}.")
            weights = self.package.weights[reference.fileName]
            return Literal(weights.read(reference.offset, kind.dtype, kind.shape), kind)
        return Literal(_immediate(value.immediateValue.tensor, kind), kind)

    def _check_order(self) -> None:
        """Make sure that every value is made once, before it is read, and that there is every output."""
        known = set(self.inputs)
        for operation in self.operations:
            for source in operation.sources:
                if source not in known:
                    raise RetvecLiteError(f"Expected {source!r} to be computed before {operation.name!r} reads it.")
            for name, _ in operation.outputs:
                if name in known:
                    raise RetvecLiteError(f"Expected values of different names, received {name!r} twice.")
                known.add(name)
                self._producers[name] = operation
        for name in self.outputs:
            if name not in known:
                raise RetvecLiteError(
                    f"Expected the program to compute its output {name!r}, received nothing that does."
                )

    def _check_description(self) -> None:
        """Make sure that the description for apps tells of the same inputs and outputs as the program."""
        description = self.package.spec.description
        arrays = {item.name: item.type.multiArrayType for item in description.input}
        data_type = proto().Model_pb2.FeatureTypes__pb2.ArrayFeatureType.ArrayDataType.Name
        told = {
            name: Type("tensor", _INPUT_TYPES.get(data_type(array.dataType), "?"), tuple(array.shape))
            for name, array in arrays.items()
        }
        if told != self.inputs:
            raise RetvecLiteError(f"Expected a description of the inputs {self.inputs}, received {told}.")
        outputs = [item.name for item in description.output]
        if sorted(outputs) != sorted(self.outputs):
            raise RetvecLiteError(f"Expected a description of the outputs {self.outputs}, received {outputs}.")


def _parameters(kind: str) -> tuple[set[str], set[str]]:
    """Inputs that an op may have, and those that it must have."""
    if kind == "const":
        return {"val"}, {"val"}
    parameters = inspect.signature(OPS[kind]).parameters.values()
    required = {item.name for item in parameters if item.default is inspect.Parameter.empty}
    return {item.name for item in parameters}, required


def _type(declared: Any) -> Type:
    kind = declared.WhichOneof("type")
    if kind == "tensorType":
        tensor = declared.tensorType
        shape = tuple(int(item.constant.size) for item in tensor.dimensions)
        if len(shape) != tensor.rank or any(item.WhichOneof("dimension") != "constant" for item in tensor.dimensions):
            raise RetvecLiteError(f"Expected a tensor of fixed shape, received one of rank {tensor.rank}, {shape}.")
        return Type("tensor", _dtype(tensor.dataType), shape)
    if kind == "listType":
        return Type("list", _type(declared.listType.type).dtype, (int(declared.listType.length.constant.size),))
    if kind == "dictionaryType":
        return Type("dict", _type(declared.dictionaryType.keyType).dtype)
    raise RetvecLiteError(f"Expected a tensor, list or dictionary, received {kind}.")


def _dtype(number: int) -> str:
    """The MIL name of a numbered data type."""
    name = str(proto().MIL_pb2.DataType.Name(number))
    short = {"STRING": "str", "BOOL": "bool"}.get(name) or name.lower().replace("float", "fp")
    if short != "str" and short not in NUMPY_TYPES:
        raise RetvecLiteError(f"Expected a known data type, received {name}.")
    return short


def _immediate(tensor: Any, kind: Type) -> Any:
    """A value that stands in the model description."""
    field = tensor.WhichOneof("value")
    if field != _FIELDS[kind.dtype]:
        raise RetvecLiteError(f"Expected a {kind} as {_FIELDS[kind.dtype]}, received {field}.")
    values = getattr(tensor, field).values
    count = int(np.prod(kind.shape, dtype=np.int64))
    if kind.dtype == "str":
        if kind.shape or len(values) != 1:
            raise RetvecLiteError(f"Expected one string, received {len(values)}.")
        return str(values[0])
    if field == "bytes":
        return unpack_values(values, kind.dtype, count).reshape(kind.shape)
    if len(values) != count:
        raise RetvecLiteError(f"Expected {count} numbers, received {len(values)}.")
    return np.array(values, NUMPY_TYPES[kind.dtype]).reshape(kind.shape)


def _expect(what: str, kind: Type, value: Any) -> None:
    """Raise RetvecLiteError when a value is not of its declared type and shape."""
    if kind.kind == "tensor" and kind.dtype != "str":
        if isinstance(value, np.ndarray) and value.dtype == NUMPY_TYPES[kind.dtype] and value.shape == kind.shape:
            return
    elif isinstance(value, {"tensor": str, "list": list, "dict": dict}[kind.kind]):
        return
    received = f"{value.dtype.name} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
    raise RetvecLiteError(f"Expected {what} to be a {kind}, received {received}.")
