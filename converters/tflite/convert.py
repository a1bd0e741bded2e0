"""Convert a classifier to one .tflite of builtin operators, with the stages on the way kept under known names.

The functions of all signatures go through one SavedModel. The result is then edited: graphs in order, stages named, and nothing
left that differs from run to run.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import tensorflow as tf

from retvec_lite.converters import INPUT, PROBABILITIES
from retvec_lite.converters.parity.examiner import stage_names
from retvec_lite.converters.tflite import find_signature, find_tensor, pack, read_model
from retvec_lite.converters.tflite.graph import (
    NETWORK_INPUT,
    before,
    behind,
    check_operators,
    has_network,
    operator_name,
)
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.network_graph import classify, embed
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, EMBED

EMBED_OUTPUTS: Final = ("words", "embeddings", "text")

_FROM_BITS: Final = frozenset({PROBABILITIES, "embeddings", "text"})
"""Outputs of the network; all others belong to the encoder."""


@dataclass(frozen=True)
class Entry:
    """One signature of the file that is made.

    Attributes:
        function: a `tf.function` with the one argument `codepoints`, int32 `[1, max_chars]`, that returns a dict of the outputs,
            `bits` and any other stages. All weights must be constants.
        name: the signature's name.
        outputs: which of the results are its outputs.
    """

    function: Any
    name: str = CLASSIFY
    outputs: tuple[str, ...] = (PROBABILITIES,)


def entries(classifier: TrainedModel, embeds: bool) -> list[Entry]:
    """Return the signatures of a classifier's file: `classify`, then (optional) `embed`.

    Raises:
        RetvecLiteError: for `embeds` with the head `ngrams`, which has no words to embed.
    """
    weights = {name: np.asarray(value, np.float32) for name, value in classifier.weights.items()}
    stages = stage_names(classifier)

    def only(found: Any, outputs: Sequence[str]) -> dict[str, tf.Tensor]:
        return {name: getattr(found, name) for name in (*stages, *outputs)}

    def classified(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        return only(classify(codepoints, classifier, weights), [PROBABILITIES])

    def embedded(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        return only(embed(codepoints, classifier, weights), EMBED_OUTPUTS)

    def traced(graph: Callable[[tf.Tensor], dict[str, tf.Tensor]]) -> Any:
        spec = tf.TensorSpec([1, classifier.encoder.max_chars], tf.int32, name=INPUT)
        return tf.function(graph, input_signature=[spec], autograph=False)

    if embeds and isinstance(classifier.head, NgramHead):
        raise RetvecLiteError("The head ngrams reads no words, so there are none to embed: leave out the option embed.")
    made = [Entry(traced(classified))]
    if embeds:
        made.append(Entry(traced(embedded), EMBED, EMBED_OUTPUTS))
    return made


def to_tflite(entries: Sequence[Entry]) -> bytes:
    """Convert functions to one float32 .tflite with a signature for each, the first of them in the first subgraph.

    Constants that several graphs use are stored once. Results that are not outputs become inner tensors with their names, so that
    `promote_outputs` finds them in this file and in everything made from it; `quantize` takes `bits` for the network's input.

    Returns:
        The model, the same bytes for the same functions and weights.

    Raises:
        RetvecLiteError: for outputs that are not computed from the bits, or an operator that is not on the allow-list.
    """
    module = tf.Module()
    signatures = {entry.name: entry.function.get_concrete_function() for entry in entries}
    for name, function in signatures.items():
        setattr(module, name, function)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=signatures)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(signatures))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        # It contains a hash of the folder's files, which differs at every call.
        converter.exclude_conversion_metadata = True
        converted = converter.convert()
    edited = _tidied(bytes(converted), entries)
    model = pack(edited)
    check_operators(edited)
    for entry, graph in zip(entries, edited.subgraphs, strict=True):
        source = NETWORK_INPUT if has_network(graph) else INPUT
        network = behind(graph, find_tensor(graph, source))
        for output in set(entry.outputs) & _FROM_BITS:
            if not network & before(graph, find_tensor(graph, output)):
                raise RetvecLiteError(f"The graph does not compute {output!r} from {source!r}.")
    return model


def _tidied(model: bytes, entries: Sequence[Entry]) -> Any:
    """Put the graphs in the given order, name the stages, keep only the outputs asked for, drop what differs between runs."""
    edited = read_model(model)
    signatures = [find_signature(edited, entry.name) for entry in entries]
    # The converter sorts by name, but a caller that names no signature gets the first graph.
    edited.subgraphs = [edited.subgraphs[signature.subgraphIndex] for signature in signatures]
    edited.signatureDefs = signatures
    for index, (entry, signature) in enumerate(zip(entries, signatures, strict=True)):
        signature.subgraphIndex = index
        edited.subgraphs[index].name = signature.signatureKey
        _tidy(edited, edited.subgraphs[index], signature, entry.outputs)
    edited.metadata = []
    edited.description = "retvec-lite"
    return edited


def _tidy(model: Any, graph: Any, signature: Any, outputs: Sequence[str]) -> None:
    """Name the stages of one graph and leave `outputs` as its only outputs."""
    entries = {entry.name: entry for entry in signature.outputs}
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
    """Make the graph compute with a stage that is only a reshape of what the next operators read.

    The converter reshapes the same source twice, once for the output and once for the next operator. Without this edit the stage
    would be a side branch that nothing is computed from.
    """
    reshapes = [operator for operator in graph.operators if operator_name(model, operator) == "RESHAPE"]
    made = next((operator for operator in reshapes if operator.outputs[0] == stage), None)
    if made is None:
        return
    others = [operator for operator in reshapes if operator is not made and operator.inputs[0] == made.inputs[0]]
    ordered = [operator for operator in graph.operators if operator is not made]
    earlier = [position for position, operator in enumerate(ordered) if made.inputs[0] in operator.outputs]
    ordered.insert(max(earlier, default=-1) + 1, made)
    graph.operators = ordered
    for operator in others:
        operator.inputs = np.array([stage, *operator.inputs[1:]], np.int32)
        if list(graph.tensors[operator.outputs[0]].shape) == list(graph.tensors[stage].shape):
            ordered.remove(operator)
            for reader in ordered:
                reader.inputs = np.where(reader.inputs == operator.outputs[0], stage, reader.inputs)
