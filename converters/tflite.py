"""A TensorFlow function as one .tflite of builtin operators, with the stages on its way kept under known names."""

import tempfile
from typing import Any, Final

import numpy as np
import tensorflow as tf

from retvec_lite.converters.editing import SIGNATURE, find_signature, pack, unpack
from retvec_lite.converters.flatbuffer import read_model
from retvec_lite.converters.ops import ALLOWED, check_operators
from retvec_lite.errors import RetvecLiteError

INPUT: Final = "codepoints"
OUTPUT: Final = "probabilities"


def to_tflite(function: Any) -> bytes:
    """Convert a function to a float32 .tflite with the signature `classify`.

    The function's outputs other than `probabilities` become inner tensors of their names, so that `promote_outputs` finds
    them in this file and in everything made from it; `bits` among them is what `quantize` takes for the network's input.

    Args:
        function: a `tf.function` or concrete function with the one argument `codepoints`, int32 `[1, max_chars]`, that
            returns a dict with `probabilities`, `bits` and any other stages. Weights must be constants: a LSTM whose
            weights are variables cannot become the fused operator. Captured variables are frozen first.

    Returns:
        The model, the same bytes for the same function and weights.

    Raises:
        RetvecLiteError: for other inputs or outputs, or when an operator is not on the allow-list.
    """
    concrete = function if hasattr(function, "structured_outputs") else function.get_concrete_function()
    _check_interface(concrete)
    module = tf.Module()
    module.classify = _frozen(concrete)
    with tempfile.TemporaryDirectory() as folder:
        # By way of a SavedModel: in a bare concrete function the converter inlines the call that becomes the fused LSTM.
        tf.saved_model.save(module, folder, signatures={SIGNATURE: module.classify})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[SIGNATURE])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        # It holds a hash of the folder's files: another one at every call.
        converter.exclude_conversion_metadata = True
        converted = converter.convert()
    model = _tidied(bytes(converted))
    parsed = read_model(model)
    check_operators(parsed)
    graph = parsed.graphs[0]
    if not graph.behind(graph.index("bits")) & graph.before(graph.index(OUTPUT)):
        raise RetvecLiteError(f"Expected {OUTPUT!r} to be computed from 'bits', received a graph where it is not.")
    return model


def _check_interface(concrete: Any) -> None:
    arguments = concrete.structured_input_signature
    specs = [*arguments[0], *arguments[1].values()]
    if len(specs) != 1 or specs[0].name != INPUT or specs[0].dtype != tf.int32 or specs[0].shape.rank != 2:
        raise RetvecLiteError(f"Expected a function of one int32 argument {INPUT!r} [1, max_chars], received {specs}.")
    if specs[0].shape[0] != 1 or specs[0].shape[1] is None:
        raise RetvecLiteError(f"Expected {INPUT!r} of the static shape [1, max_chars], received {specs[0].shape}.")
    outputs = concrete.structured_outputs
    if not isinstance(outputs, dict) or not {OUTPUT, "bits"} <= set(outputs):
        raise RetvecLiteError(f"Expected a dict of outputs with {OUTPUT!r} and 'bits', received {outputs!r}.")


def _frozen(concrete: Any) -> Any:
    """The function with variables turned into constants; as it is when it has none."""
    if not concrete.variables:
        return concrete
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    names = sorted(concrete.structured_outputs)
    frozen = convert_variables_to_constants_v2(concrete)

    def constants(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(names, tf.nest.flatten(frozen(codepoints)), strict=True))

    spec = tf.TensorSpec(concrete.inputs[0].shape, tf.int32, INPUT)
    return tf.function(constants, input_signature=[spec], autograph=False).get_concrete_function()


def _tidied(model: bytes) -> bytes:
    """Name the stages, leave `probabilities` as the only output, and drop what differs between runs or is of no use."""
    edited = unpack(model)
    signature = find_signature(edited)
    graph = edited.subgraphs[signature.subgraphIndex]
    entries = {entry.name.decode(): entry for entry in signature.outputs}
    taken: set[int] = set()
    for name, entry in sorted(entries.items(), key=lambda item: (item[0] != "bits", item[0])):
        if entry.tensorIndex not in taken:
            graph.tensors[entry.tensorIndex].name = name
            taken.add(entry.tensorIndex)
    for entry in signature.inputs:
        graph.tensors[entry.tensorIndex].name = entry.name
        taken.add(entry.tensorIndex)
    for index, tensor in enumerate(graph.tensors):
        if index not in taken:
            tensor.name = f"t{index}"
    for entry in entries.values():
        _route_through(edited, graph, entry.tensorIndex)
    signature.outputs = [entries[OUTPUT]]
    graph.outputs = np.array([entries[OUTPUT].tensorIndex], np.int32)
    edited.metadata = None
    edited.description = "retvec-lite"
    return pack(edited)


def _route_through(model: Any, graph: Any, stage: int) -> None:
    """Make the graph compute with a stage that is a mere reshape of what the next operators read.

    The converter reshapes the same source twice, once for the output and once for the next operator, and the stage would
    hang beside the graph instead of standing in it.
    """
    reshape = ALLOWED["RESHAPE"].code
    reshapes = [
        operator for operator in graph.operators if model.operatorCodes[operator.opcodeIndex].builtinCode == reshape
    ]
    made = next((operator for operator in reshapes if operator.outputs[0] == stage), None)
    if made is None:
        return
    others = [operator for operator in reshapes if operator is not made and operator.inputs[0] == made.inputs[0]]
    ordered = [operator for operator in graph.operators if operator is not made]
    before = [position for position, operator in enumerate(ordered) if made.inputs[0] in operator.outputs]
    ordered.insert(max(before, default=-1) + 1, made)
    graph.operators = ordered
    for operator in others:
        operator.inputs = np.array([stage, *operator.inputs[1:]], np.int32)
        if list(graph.tensors[operator.outputs[0]].shape) == list(graph.tensors[stage].shape):
            ordered.remove(operator)
            for reader in ordered:
                reader.inputs = np.where(reader.inputs == operator.outputs[0], stage, reader.inputs)
