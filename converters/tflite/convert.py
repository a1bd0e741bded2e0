"""TensorFlow functions as one .tflite of builtin operators, with the stages on their way kept under known names."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import tensorflow as tf

from retvec_lite.converters.tflite.editing import find_signature, name_of_signature, pack, unpack
from retvec_lite.converters.tflite.ops import ALLOWED, check_operators
from retvec_lite.converters.tflite.reading import read_model
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import CLASSIFY

INPUT: Final = "codepoints"
OUTPUT: Final = "probabilities"
NETWORK_INPUT: Final = "bits"


@dataclass(frozen=True)
class Entry:
    """A signature to be.

    Attributes:
        function: a `tf.function` or concrete function with the one argument `codepoints`, int32 `[1, max_chars]`, that returns
            a dict with the outputs, `bits` and any other stages. Weights must be constants: a LSTM whose weights are variables
            cannot become the fused operator. Captured variables are frozen first.
        name: of the signature.
        outputs: which of the results are its outputs.
    """

    function: Any
    name: str = CLASSIFY
    outputs: tuple[str, ...] = (OUTPUT,)


def to_tflite(entries: Sequence[Entry]) -> bytes:
    """Convert functions to one float32 .tflite with a signature for each, the first of them in the first subgraph.

    Constants that are the same in several graphs are stored once. A function's results other than its outputs become inner
    tensors of their names, so that `promote_outputs` finds them in this file and in everything made from it; `bits` among them
    is what `quantize` takes for the network's input.

    Returns:
        The model, the same bytes for the same functions and weights.

    Raises:
        RetvecLiteError: for other inputs or outputs, or when an operator is not on the allow-list.
    """
    module = tf.Module()
    signatures = {}
    for entry in entries:
        function = entry.function
        concrete = function if hasattr(function, "structured_outputs") else function.get_concrete_function()
        _check_interface(concrete, entry)
        signatures[entry.name] = _frozen(concrete)
        setattr(module, entry.name, signatures[entry.name])
    with tempfile.TemporaryDirectory() as folder:
        # By way of a SavedModel: in a bare concrete function the converter inlines the call that becomes the fused LSTM.
        tf.saved_model.save(module, folder, signatures=signatures)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(signatures))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        # It holds a hash of the folder's files: another one at every call.
        converter.exclude_conversion_metadata = True
        converted = converter.convert()
    model = _tidied(bytes(converted), entries)
    parsed = read_model(model)
    check_operators(parsed)
    for entry, graph in zip(entries, parsed.graphs, strict=True):
        for output in set(entry.outputs) & _FROM_BITS:
            if not graph.behind(graph.index(NETWORK_INPUT)) & graph.before(graph.index(output)):
                raise RetvecLiteError(
                    f"Expected {output!r} to be computed from 'bits', received a graph where it is not."
                )
    return model


_FROM_BITS: Final = frozenset({OUTPUT, "embeddings", "text"})
"""Outputs of the network; all others are the encoder's."""


def _check_interface(concrete: Any, entry: Entry) -> None:
    arguments = concrete.structured_input_signature
    specs = [*arguments[0], *arguments[1].values()]
    if len(specs) != 1 or specs[0].name != INPUT or specs[0].dtype != tf.int32 or specs[0].shape.rank != 2:
        raise RetvecLiteError(f"Expected a function of one int32 argument {INPUT!r} [1, max_chars], received {specs}.")
    if specs[0].shape[0] != 1 or specs[0].shape[1] is None:
        raise RetvecLiteError(f"Expected {INPUT!r} of the static shape [1, max_chars], received {specs[0].shape}.")
    outputs = concrete.structured_outputs
    wanted = [*entry.outputs, NETWORK_INPUT]
    if not isinstance(outputs, dict) or not set(wanted) <= set(outputs):
        raise RetvecLiteError(
            f"Expected a dict of outputs with {' and '.join(map(repr, wanted))}, received {outputs!r}."
        )


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


def _tidied(model: bytes, entries: Sequence[Entry]) -> bytes:
    """Graphs in the order asked for, stages named, outputs alone left as such, without what differs between runs."""
    edited = unpack(model)
    signatures = [find_signature(edited, entry.name) for entry in entries]
    # The converter sorts by name; whoever runs a file without naming a signature gets the first graph.
    edited.subgraphs = [edited.subgraphs[signature.subgraphIndex] for signature in signatures]
    edited.signatureDefs = signatures
    for index, (entry, signature) in enumerate(zip(entries, signatures, strict=True)):
        signature.subgraphIndex = index
        edited.subgraphs[index].name = name_of_signature(signature)
        _tidy(edited, edited.subgraphs[index], signature, entry.outputs)
    edited.metadata = None
    edited.description = "retvec-lite"
    return pack(edited)


def _tidy(model: Any, graph: Any, signature: Any, outputs: Sequence[str]) -> None:
    """Name the stages of one graph and leave `outputs` as its only outputs."""
    entries = {entry.name.decode(): entry for entry in signature.outputs}
    taken: set[int] = set()
    for name, entry in sorted(entries.items(), key=lambda item: (item[0] != NETWORK_INPUT, item[0])):
        if entry.tensorIndex not in taken:
            graph.tensors[entry.tensorIndex].name = name
            taken.add(entry.tensorIndex)
    for entry in signature.inputs:
        graph.tensors[entry.tensorIndex].name = entry.name
        taken.add(entry.tensorIndex)
    for index, tensor in enumerate(graph.tensors):
        if index not in taken:
            tensor.name = None
    for entry in entries.values():
        _route_through(model, graph, entry.tensorIndex)
    signature.outputs = [entries[name] for name in outputs]
    graph.outputs = np.array([entries[name].tensorIndex for name in outputs], np.int32)


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
