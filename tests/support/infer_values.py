"""Evaluate saved packages by coremltools' own value inference: `infer_values.py OUTPUT.npz PACKAGE ROWS.npy ...`.

A saved program is loaded with its input replaced by a constant, so that coremltools infers every op as it adds it.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from coremltools import proto
from coremltools.converters.mil.frontend.milproto.load import load
from coremltools.converters.mil.mil.ops.defs.iOS16 import constexpr_ops
from coremltools.models import MLModel

# coremltools keeps stored weights packed until it is asked to unpack them.
for operation in (constexpr_ops.constexpr_affine_dequantize, constexpr_ops.constexpr_lut_to_dense):
    operation.value_inference = operation.materialized_val_inference

NAMES = ("words", "bits", "embedding")


def inferred(package: Path, row: np.ndarray) -> dict[str, np.ndarray]:
    """The inner values and the probabilities of one text, as far as coremltools infers them."""
    model = MLModel(str(package), skip_model_load=True)
    spec = model.get_spec()
    function = spec.mlProgram.functions["main"]
    block = function.block_specializations[function.opset]
    operations = [constant(function.inputs[0], row), *block.operations]
    del block.operations[:]
    block.operations.extend(operations)
    # A program needs some input.
    function.inputs[0].name = spec.description.input[0].name = "unused"
    program: Any = load(spec, spec.specificationVersion, model.weights_dir)
    values = {}
    for operation in program.functions["main"].operations:
        for output in operation.outputs:
            if output.val is not None:
                values[output.name] = output.val
        if operation.op_type == "classify":
            values["probabilities"] = operation.probabilities.val
    return {name: np.asarray(values[name]) for name in (*NAMES, "probabilities") if values.get(name) is not None}


def constant(declared: Any, row: np.ndarray) -> Any:
    """A const op with the name, type and shape of an input."""
    operation = proto.MIL_pb2.Operation(type="const")
    output = operation.outputs.add()
    output.CopyFrom(declared)
    value = operation.attributes["val"]
    value.type.CopyFrom(declared.type)
    value.immediateValue.tensor.ints.values.extend(row.tolist())
    name = operation.attributes["name"]
    name.type.tensorType.dataType = proto.MIL_pb2.DataType.STRING
    name.immediateValue.tensor.strings.values.append(declared.name)
    return operation


def main(output: Path, packages: list[str]) -> None:
    found = {}
    for number, (package, rows) in enumerate(zip(packages[::2], packages[1::2], strict=True)):
        for place, row in enumerate(np.load(rows)):
            found |= {f"{number}/{place}/{key}": value for key, value in inferred(Path(package), row).items()}
    np.savez(output, **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
