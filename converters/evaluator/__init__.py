"""Run a saved Core ML package in NumPy, op by op, with every declared type and shape checked.

This evaluator is our own because nothing on Linux runs Core ML. coremltools' value inference is made for graphs under
construction: it reads saved files and their weights with the code that wrote them (the tests use it as a
second opinion). The evaluator knows the file format and the meaning of the ops, and nothing of the code that builds our graphs.
What it does not know is an error, never skipped.
"""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.converters.evaluator.ops import OPS
from retvec_lite.converters.evaluator.package import MOST, NUMPY_TYPES, Array, Type, immediate_value, read_package
from retvec_lite.errors import RetvecLiteError, reason

_OPSET, _VERSION = "CoreML6", 7
"""The opset of iOS 16, and the version of the model description that belongs to it."""

_MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)
"""What comes of a description that is a valid protobuf and no valid program: an unknown enum, an op without outputs, a size that overflows."""

_TOGETHER: Final = 32
"""Texts that are computed at once: enough for an op to take longer than its call, and few enough for the caches of a processor."""


@dataclass(frozen=True)
class Literal:
    """A value stored in the file, with its declared type, and how many bytes of a weight file it takes."""

    value: Any
    type: Type
    stored: int = 0

    @property
    def of_all(self) -> Any:
        """The value as ops take it: an array with an axis of texts in front."""
        return self.value[None] if isinstance(self.value, np.ndarray) else self.value


@dataclass(frozen=True)
class Operation:
    """One op. An operand is the name of an earlier value or a literal; an op that takes a list has several."""

    kind: str
    name: str
    inputs: Mapping[str, tuple[str | Literal, ...]]
    outputs: tuple[tuple[str, Type], ...]

    @property
    def sources(self) -> Iterable[str]:
        """The names of the values that the op reads."""
        return (item for items in self.inputs.values() for item in items if isinstance(item, str))

    @property
    def literals(self) -> Iterable[tuple[str, Literal]]:
        """The values that the op holds itself, each with the name of its input."""
        return ((key, item) for key, items in self.inputs.items() for item in items if isinstance(item, Literal))


class Program:
    """The main function of a package.

    Attributes:
        package: where it comes from.
        inputs: name -> declared type.
        outputs: names of what `run` returns.
        operations: every op, in order.
    """

    def __init__(self, path: str | Path) -> None:
        """Read an `.mlpackage` and check all that it declares.

        Raises:
            RetvecLiteError: when it is none or damaged, has an unknown op, or is not for iOS 16.
        """
        self.package = read_package(path)
        try:
            self._read(self.package.spec)
        except _MALFORMED as error:
            raise RetvecLiteError(f"{self.package.path} is no valid ML program: {reason(error)}.") from error

    def _read(self, spec: Any) -> None:
        """Read and check a model description."""
        package = self.package
        if spec.WhichOneof("Type") != "mlProgram" or list(spec.mlProgram.functions) != ["main"]:
            raise RetvecLiteError(f"{package.path} is no ML program with one function ({spec.WhichOneof('Type')}).")
        function = spec.mlProgram.functions["main"]
        blocks = list(function.block_specializations)
        if (function.opset, blocks, spec.specificationVersion) != (_OPSET, [_OPSET], _VERSION):
            raise RetvecLiteError(
                f"{package.path} is for {function.opset!r}, version {spec.specificationVersion}, with blocks for {', '.join(blocks)}, and this "
                f"release makes and verifies packages for iOS 16 ({_OPSET}, version {_VERSION}): export it again."
            )
        block = function.block_specializations[function.opset]
        self.inputs = {item.name: Type.of(item.type) for item in function.inputs}
        self.outputs = list(block.outputs)
        self.operations = [self._operation(item) for item in block.operations]
        for file in package.weights.values():
            file.check_all_read()
        self._producers: dict[str, Operation] = {}
        self._constants: dict[str, Any] = {}
        self._fixed: set[str] = set()
        """Values that depend on no input; `_constants` has those that are known already."""
        largest = max((math.prod(kind.shape) for item in self.operations for _, kind in item.outputs), default=1)
        self._together = max(1, min(_TOGETHER, MOST // max(1, largest)))
        self._check_order()
        self._check_description()

    @property
    def labels(self) -> list[str]:
        """The classes of a classifier, in the order of its probabilities; empty for other programs."""
        given = [part for item in self.operations if item.kind == "classify" for part in item.literals]
        return [str(label) for key, part in given if key == "classes" for label in part.value]

    def run(self, inputs: Mapping[str, Array], wanted: Sequence[str] | None = None) -> dict[str, Any]:
        """Compute values by name, and only what they need.

        Args:
            inputs: every input by name, of its declared type and shape.
            wanted: names of outputs or inner values; by default the outputs.

        Returns:
            Arrays; a classifier's label is a `str`, its probabilities are a `dict[str, float]`.

        Raises:
            RetvecLiteError: for other inputs, an unknown name, or an op that cannot be computed or gives something else than it declares.
        """
        self._check_names(inputs)
        for name, value in inputs.items():
            self.inputs[name].check(f"The input {name!r}", value)
        found = self.run_all({name: value[None] for name, value in inputs.items()}, wanted)
        return {name: values[0] for name, values in found.items()}

    def run_all(self, inputs: Mapping[str, Array], wanted: Sequence[str] | None = None) -> dict[str, Any]:
        """Compute values of some texts, which must be one at least, with what each text alone gives; raises as `run` does.

        Args:
            inputs: every input by name, of its declared type, `[texts, *shape]`.
            wanted: as for `run`.

        Returns:
            Arrays `[texts, *shape]`; for a classifier's label and probabilities, lists.
        """
        names = self.outputs if wanted is None else list(wanted)
        self._check_names(inputs)
        for name, value in inputs.items():
            self.inputs[name].check_all(f"The input {name!r}", value)
        count = max((len(value) for value in inputs.values()), default=1)
        parts = [
            self._run_part({name: value[start : start + self._together] for name, value in inputs.items()}, names)
            for start in range(0, count, self._together)
        ]
        return {name: _joined([part[name] for part in parts]) for name in names}

    def _run_part(self, inputs: Mapping[str, Array], names: Sequence[str]) -> dict[str, Any]:
        values: dict[str, Any] = dict(inputs)
        # Infinity is a valid fp16 result; the caller judges what comes of it.
        with np.errstate(all="ignore"):
            for operation in self._needed(names):
                name = operation.outputs[0][0]
                if name not in self._constants:
                    arguments = {key: self._argument(items, values) for key, items in operation.inputs.items()}
                    (self._constants if name in self._fixed else values).update(_compute(operation, arguments))
        count = max((len(value) for value in inputs.values()), default=1)
        return {name: _of_each(self._known(name, values), count) for name in names}

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        if set(inputs) != set(self.inputs):
            raise RetvecLiteError(f"The program takes the inputs {sorted(self.inputs)}, not {sorted(inputs)}.")

    def constant(self, name: str) -> Any:
        """Return a value that depends on no input."""
        zeros = {key: np.zeros(kind.shape, NUMPY_TYPES[kind.dtype]) for key, kind in self.inputs.items()}
        return self.run(zeros, [name])[name]

    def _known(self, name: str, values: Mapping[str, Any]) -> Any:
        return self._constants[name] if name in self._constants else values[name]

    def _needed(self, names: Sequence[str]) -> list[Operation]:
        """Return the ops behind some values, in order."""
        reached, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name in self.inputs:
                continue
            if name not in self._producers:
                raise RetvecLiteError(f"{self.package.path.name} has no value named {name!r}.")
            operation = self._producers[name]
            if id(operation) not in reached:
                reached.add(id(operation))
                waiting.extend(operation.sources)
        return [operation for operation in self.operations if id(operation) in reached]

    def _argument(self, items: Sequence[str | Literal], values: Mapping[str, Any]) -> Any:
        found = [item.of_all if isinstance(item, Literal) else self._known(item, values) for item in items]
        return found[0] if len(found) == 1 else found

    def _operation(self, item: Any) -> Operation:
        """Parse one op and check its inputs against the op's parameters."""
        outputs = tuple((output.name, Type.of(output.type)) for output in item.outputs)
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
        place = f"The op {name!r} ({item.type})"
        if item.type != "const" and item.type not in OPS:
            raise RetvecLiteError(f"{place} is unknown.")
        if item.blocks:
            raise RetvecLiteError(f"{place} has nested blocks, which no op of ours has.")
        # In the oldest opset, weights are attributes of the ops that unpack them.
        if item.type == "const" or item.type.startswith("constexpr_"):
            inputs |= {key: (value,) for key, value in attributes.items()}
        elif attributes:
            raise RetvecLiteError(f"{place} has unknown attributes: {', '.join(attributes)}.")
        known, required = _parameters(item.type)
        if not required <= set(inputs) <= known:
            raise RetvecLiteError(
                f"{place} has the inputs {', '.join(sorted(inputs))}; known are {', '.join(sorted(known))}, "
                f"needed are {', '.join(sorted(required))}."
            )
        return Operation(item.type, name, inputs, outputs)

    def _literal(self, value: Any) -> Literal:
        kind = Type.of(value.type)
        if kind.kind == "list" and value.immediateValue.WhichOneof("value") == "list":
            items = [self._literal(item).value for item in value.immediateValue.list.values]
            if len(items) != kind.shape[0]:
                raise RetvecLiteError(f"A {kind} holds {len(items)} items.")
            return Literal(items, kind)
        if kind.kind != "tensor":
            raise RetvecLiteError(f"A {kind} is no constant tensor or list.")
        if value.WhichOneof("value") == "blobFileValue":
            reference = value.blobFileValue
            if reference.fileName not in self.package.weights:
                raise RetvecLiteError(f"The package has no weight file {reference.fileName!r}.")
            weights = self.package.weights[reference.fileName]
            values = weights.read(reference.offset, kind.dtype, kind.shape)
            return Literal(values, kind, weights.blobs[reference.offset].size)
        return Literal(immediate_value(value.immediateValue.tensor, kind), kind)

    def _check_order(self) -> None:
        """Check that every value is computed once and before it is read, and that every output is computed."""
        known = set(self.inputs)
        for operation in self.operations:
            for source in operation.sources:
                if source not in known:
                    raise RetvecLiteError(f"The op {operation.name!r} reads {source!r} before it is computed.")
            for name, _ in operation.outputs:
                if name in known:
                    raise RetvecLiteError(f"Two values are named {name!r}.")
                known.add(name)
                self._producers[name] = operation
            if self._fixed.issuperset(operation.sources):
                self._fixed.update(name for name, _ in operation.outputs)
        for name in self.outputs:
            if name not in known:
                raise RetvecLiteError(f"No op computes the output {name!r}.")

    def _check_description(self) -> None:
        """Check that the description for apps has the program's inputs and outputs."""
        description = self.package.spec.description
        told = self.package.input_types
        if told != self.inputs:
            raise RetvecLiteError(f"The description names the inputs {told}, the program {self.inputs}.")
        outputs = [item.name for item in description.output]
        if sorted(outputs) != sorted(self.outputs):
            raise RetvecLiteError(f"The description names the outputs {outputs}, the program {self.outputs}.")


def _parameters(kind: str) -> tuple[set[str], set[str]]:
    """Return the inputs that an op may have, and those that it must have."""
    if kind == "const":
        return {"val"}, {"val"}
    parameters = inspect.signature(OPS[kind]).parameters.values()
    required = {item.name for item in parameters if item.default is inspect.Parameter.empty}
    return {item.name for item in parameters}, required


def _compute(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of an op by their names, of the declared types."""
    place = f"the op {operation.name!r} ({operation.kind})"
    if operation.kind == "const":
        results: tuple[Any, ...] = (arguments["val"],)
    else:
        try:
            computed = OPS[operation.kind](**arguments)
        except RetvecLiteError as error:
            raise RetvecLiteError(f"{str(error).removesuffix('.')} (in {place}).") from error
        except _MALFORMED as error:
            raise RetvecLiteError(f"Cannot compute {place}: {reason(error)}.") from error
        results = computed if isinstance(computed, tuple) else (computed,)
    if len(results) != len(operation.outputs):
        raise RetvecLiteError(f"Cannot compute {place}: it declares {len(operation.outputs)} outputs.")
    for (name, kind), value in zip(operation.outputs, results, strict=True):
        (kind.check if operation.kind == "const" and not isinstance(value, np.ndarray) else kind.check_all)(
            f"The output {name!r} of {place}", value
        )
    return {name: value for (name, _), value in zip(operation.outputs, results, strict=True)}


def _of_each(value: Any, count: int) -> Any:
    """Return a value as that of each text."""
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value, (count, *value.shape[1:]))
    is_of_texts = isinstance(value, list) and len(value) in (1, count)
    return value * (count // len(value)) if is_of_texts else [value] * count


def _joined(parts: Sequence[Any]) -> Any:
    """Return arrays as one `[texts, *shape]`, lists as one list."""
    whole = [item for part in parts for item in part]
    return np.stack(whole) if isinstance(whole[0], np.ndarray) else whole
