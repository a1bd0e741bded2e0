"""Write the graph of a .tflite as ONNX: each builtin operator as the one or few ONNX operators that compute the same.

The graph is that of the signature `classify`, after quantization, so both files hold the same numbers. Operators and their versions:
https://onnx.ai/onnx/operators/. Opset 17 and IR 8 are what onnxruntime 1.13 reads, and newer ones.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from retvec_lite.converters.tflite import find_signature, find_tensor, schema
from retvec_lite.converters.tflite.graph import data_of, dtype_of, is_stored, operator_name, scales_of, shape_of
from retvec_lite.errors import RetvecLiteError

OPSET: Final = 17
IR_VERSION: Final = 8

_TYPES: Final[Mapping[str, int]] = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
"""Types of tensors in a .tflite -> those of ONNX."""

_SAME: Final[Mapping[str, str]] = {
    "ABS": "Abs",
    "ADD": "Add",
    "DIV": "Div",
    "FLOOR": "Floor",
    "GREATER": "Greater",
    "LOGISTIC": "Sigmoid",
    "MAXIMUM": "Max",
    "MINIMUM": "Min",
    "MUL": "Mul",
    "RELU": "Relu",
    "SUB": "Sub",
    "TANH": "Tanh",
}
"""Operators of our graphs that ONNX has as well -> their names there."""

_FAR: Final = 2**31 - 1
"""The end of a slice that goes to the end."""


class GraphWriter:
    """Writes the operators of the signature `classify`, in order.

    Args:
        model: a parsed .tflite, see `read_model`.
        stages: names of inner tensors, which keep them.

    Raises:
        RetvecLiteError: on construction, for an operator, or a use of one, that is not translated.
    """

    def __init__(self, model: Any, stages: Sequence[str] = ()) -> None:
        self._model = model
        entry = find_signature(model)
        self._graph = model.subgraphs[entry.subgraphIndex]
        self._outputs = {item.tensorIndex: item.name for item in entry.outputs}
        self._inputs = {item.tensorIndex: item.name for item in entry.inputs}
        self._stages = {find_tensor(self._graph, name): name for name in stages}
        self._nodes: list[onnx.NodeProto] = []
        self._stored: dict[str, onnx.TensorProto] = {}
        self._constants: dict[tuple[str, bytes, tuple[int, ...]], str] = {}

        for operator in self._graph.operators:
            self._write(operator)

    def to_bytes(self, description: str, properties: Mapping[str, str]) -> bytes:
        """Return the file, the same bytes for the same graph: int32 `codepoints` `[1, max_chars]` in, float32 `probabilities` `[1, labels]` out.

        Args:
            description: in words.
            properties: its metadata.
        """
        sides = [
            [
                helper.make_tensor_value_info(
                    name, _TYPES[dtype_of(self._tensor(place))], shape_of(self._tensor(place))
                )
                for place, name in names.items()
            ]
            for names in (self._inputs, self._outputs)
        ]
        graph = helper.make_graph(self._nodes, "classify", *sides, list(self._stored.values()))
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, ir_version=IR_VERSION, opset_imports=opsets, producer_name="retvec-lite")
        model.doc_string = description
        helper.set_model_props(model, dict(properties))
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _write(self, operator: Any) -> None:
        """Write one operator, and the activation that is part of it."""
        kind = operator_name(self._model, operator)
        inputs, outputs = operator.inputs.tolist(), operator.outputs.tolist()
        options = operator.builtinOptions
        if kind == "SPLIT":
            axis = int(self._numbers(inputs[0]))
            names = [self._name(place) for place in outputs]
            self._nodes.append(helper.make_node("Split", [self._name(inputs[1])], names, axis=axis))
            return
        (output,) = outputs
        name = self._name(output)
        activation = getattr(options, "fusedActivationFunction", 0)
        target = f"{name}/sum" if activation else name
        if kind in _SAME:
            self._add(_SAME[kind], map(self._name, inputs), target)
        else:
            write: Callable[[Sequence[int], str, Any, Any], None] | None = getattr(self, f"_{kind.lower()}", None)
            if write is None:
                raise RetvecLiteError(f"ONNX files cannot compute {kind}: export tflite.")
            write(inputs, target, options, self._tensor(output))
        if activation:
            if activation != schema().ActivationFunctionType.RELU:
                raise RetvecLiteError(
                    f"ONNX files cannot compute the activation {activation} of {kind}: export tflite."
                )
            self._add("Relu", [target], name)

    # --- operators that ONNX writes otherwise ---

    def _batch_matmul(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        sources = []
        for place, turned in zip(inputs, (options.adjX, options.adjY), strict=True):
            source = self._name(place)
            if turned:
                axes = list(range(len(shape_of(self._tensor(place)))))
                self._add("Transpose", [source], f"{target}/{place}", perm=[*axes[:-2], axes[-1], axes[-2]])
                source = f"{target}/{place}"
            sources.append(source)
        self._add("MatMul", sources, target)

    def _cast(self, inputs: Sequence[int], target: str, _: Any, output: Any) -> None:
        self._add("Cast", [self._name(inputs[0])], target, to=_TYPES[dtype_of(output)])

    def _concatenation(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        self._add("Concat", map(self._name, inputs), target, axis=options.axis)

    def _conv_2d(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        """Channels stand behind in a .tflite, and in front in ONNX."""
        for place, name in zip(inputs, ("in", "kernel"), strict=False):
            self._add("Transpose", [self._name(place)], f"{target}/{name}", perm=(0, 3, 1, 2))
        same = options.padding == schema().Padding.SAME
        self._add(
            "Conv",
            [f"{target}/in", f"{target}/kernel", *map(self._name, inputs[2:])],
            f"{target}/out",
            auto_pad="SAME_UPPER" if same else "VALID",
            strides=(options.strideH, options.strideW),
            dilations=(options.dilationHFactor, options.dilationWFactor),
            group=1,
        )
        self._add("Transpose", [f"{target}/out"], target, perm=(0, 2, 3, 1))

    def _cumsum(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        self._add(
            "CumSum",
            map(self._name, inputs),
            target,
            exclusive=int(options.exclusive),
            reverse=int(options.reverse),
        )

    def _dequantize(self, inputs: Sequence[int], target: str, _: Any, __: Any) -> None:
        stored = self._tensor(inputs[0])
        quantization = stored.quantization
        self._refuse(quantization.zeroPoint is not None and np.any(quantization.zeroPoint), "zero points")
        scales = scales_of(stored)
        along = {"axis": int(quantization.quantizedDimension)} if scales.size > 1 else {}
        scale = self._constant(scales if scales.size > 1 else scales.reshape(()), f"{target}/scale")
        self._add("DequantizeLinear", [self._name(inputs[0]), scale], target, **along)

    def _fully_connected(self, inputs: Sequence[int], target: str, _: Any, output: Any) -> None:
        """A kernel `[outputs, inputs]`; whatever the axes of its input, it is a matrix for `Gemm`."""
        given, kernel = self._tensor(inputs[0]), self._tensor(inputs[1])
        width = shape_of(kernel)[1]
        rows = int(np.prod(shape_of(given))) // width
        source, result = self._name(inputs[0]), target
        if shape_of(given) != (rows, width):
            source, flat = f"{target}/rows", self._constant(np.array([rows, width]), f"{target}/rows/shape")
            self._add("Reshape", [self._name(inputs[0]), flat], source)
        if shape_of(output) != (rows, shape_of(kernel)[0]):
            result = f"{target}/product"
        bias = [self._name(place) for place in inputs[2:] if place >= 0]
        self._add("Gemm", [source, self._name(inputs[1]), *bias], result, transB=1)
        if result != target:
            self._reshaped(result, target, output)

    def _gather(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        self._refuse(options.batchDims, "GATHER by batches")
        self._add("Gather", map(self._name, inputs), target, axis=options.axis)

    def _gelu(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        """x / 2 (1 + erf(x / sqrt(2))): the operator Gelu is of opset 20."""
        self._refuse(options.approximate, "approximate GELU")
        source = self._name(inputs[0])
        half, root, one = (
            self._constant(np.float32(value), f"gelu/{place}") for place, value in enumerate((0.5, np.sqrt(0.5), 1.0))
        )
        self._add("Mul", [source, root], f"{target}/scaled")
        self._add("Erf", [f"{target}/scaled"], f"{target}/erf")
        self._add("Add", [f"{target}/erf", one], f"{target}/above")
        self._add("Mul", [source, half], f"{target}/half")
        self._add("Mul", [f"{target}/half", f"{target}/above"], target)

    def _pad(self, inputs: Sequence[int], target: str, _: Any, __: Any) -> None:
        """All in front come first in ONNX; in a .tflite front and behind of each axis do."""
        pads = self._constant(self._numbers(inputs[1]).reshape(-1, 2).T.reshape(-1), f"{target}/pads")
        self._add("Pad", [self._name(inputs[0]), pads, *map(self._name, inputs[2:])], target)

    _padv2 = _pad

    def _reduce_max(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        axes = self._numbers(inputs[1]).reshape(-1).tolist()
        self._add("ReduceMax", [self._name(inputs[0])], target, axes=axes, keepdims=int(options.keepDims))

    def _reshape(self, inputs: Sequence[int], target: str, _: Any, output: Any) -> None:
        self._reshaped(self._name(inputs[0]), target, output)

    def _rsqrt(self, inputs: Sequence[int], target: str, _: Any, __: Any) -> None:
        self._add("Sqrt", [self._name(inputs[0])], f"{target}/root")
        self._add("Reciprocal", [f"{target}/root"], target)

    def _scatter_nd(self, inputs: Sequence[int], target: str, _: Any, output: Any) -> None:
        """What is scattered to one place is added up, as TFLite does."""
        places, values, shape = inputs
        zero = helper.make_tensor("zero", _TYPES[dtype_of(output)], [1], [0])
        self._add("Cast", [self._name(places)], f"{target}/places", to=TensorProto.INT64)
        size = self._constant(self._numbers(shape), f"{target}/shape")
        self._add("ConstantOfShape", [size], f"{target}/zeros", value=zero)
        of = [f"{target}/zeros", f"{target}/places", self._name(values)]
        self._add("ScatterND", of, target, reduction="add")

    def _softmax(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        self._refuse(options.beta != 1.0, "SOFTMAX of a beta other than 1")
        self._add("Softmax", [self._name(inputs[0])], target, axis=-1)

    def _square(self, inputs: Sequence[int], target: str, _: Any, __: Any) -> None:
        self._add("Mul", [self._name(inputs[0])] * 2, target)

    def _squared_difference(self, inputs: Sequence[int], target: str, _: Any, __: Any) -> None:
        self._add("Sub", map(self._name, inputs), f"{target}/difference")
        self._add("Mul", [f"{target}/difference"] * 2, target)

    def _strided_slice(self, inputs: Sequence[int], target: str, options: Any, output: Any) -> None:
        self._refuse(options.ellipsisMask or options.newAxisMask or options.offset, "this kind of STRIDED_SLICE")
        begins, ends, steps = (self._numbers(place) for place in inputs[1:])
        axes = np.arange(len(begins))
        bits = 1 << axes
        first = np.where(options.beginMask & bits, np.where(steps > 0, 0, _FAR), begins)
        last = np.where(options.endMask & bits, np.where(steps > 0, _FAR, -_FAR), ends)
        one = options.shrinkAxisMask & bits != 0
        last = np.where(one, np.where(first == -1, _FAR, first + 1), last)
        parts = [self._constant(part, f"{target}/{place}") for place, part in enumerate((first, last, axes, steps))]
        result = f"{target}/slice" if one.any() else target
        self._add("Slice", [self._name(inputs[0]), *parts], result)
        if one.any():
            self._reshaped(result, target, output)

    def _sum(self, inputs: Sequence[int], target: str, options: Any, _: Any) -> None:
        axes = self._constant(self._numbers(inputs[1]).reshape(-1), f"{target}/axes")
        self._add("ReduceSum", [self._name(inputs[0]), axes], target, keepdims=int(options.keepDims))

    # --- names, tensors and nodes ---

    def _refuse(self, found: Any, what: str) -> None:
        if found:
            raise RetvecLiteError(f"ONNX files cannot compute {what}: export tflite.")

    def _tensor(self, place: int) -> Any:
        return self._graph.tensors[place]

    def _name(self, place: int) -> str:
        """Return what a tensor is called; the first time, store it if it is a constant."""
        tensor = self._tensor(place)
        name = self._inputs.get(place) or self._outputs.get(place) or self._stages.get(place) or f"t{place}"
        if is_stored(self._model, tensor) and name not in self._stored:
            values = np.frombuffer(data_of(self._model, tensor), np.dtype(dtype_of(tensor)).newbyteorder("<"))
            self._stored[name] = numpy_helper.from_array(values.reshape(shape_of(tensor)), name)
        return name

    def _numbers(self, place: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the values of a constant of integers, such as axes, as ONNX wants them."""
        tensor = self._tensor(place)
        self._refuse(not is_stored(self._model, tensor), "sizes that are not constant")
        values = np.frombuffer(data_of(self._model, tensor), np.dtype(dtype_of(tensor)).newbyteorder("<"))
        return values.reshape(shape_of(tensor)).astype(np.int64)

    def _constant(self, values: Any, name: str) -> str:
        """Store a constant, and return the name of an equal one that is there already."""
        array = np.asarray(values)
        key = (array.dtype.str, array.tobytes(), array.shape)
        if key not in self._constants:
            self._constants[key] = name
            self._stored[name] = numpy_helper.from_array(array, name)
        return self._constants[key]

    def _reshaped(self, source: str, target: str, output: Any) -> None:
        shape = self._constant(np.array(shape_of(output), np.int64), f"{target}/shape")
        self._add("Reshape", [source, shape], target)

    def _add(self, kind: str, inputs: Any, output: str, **attributes: Any) -> None:
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
