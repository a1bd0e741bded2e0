"""Read an .onnx, and compare it with the NumPy reference on ONNX Runtime."""

import collections
import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from retvec_lite.converters import INPUT, PROBABILITIES
from retvec_lite.converters.format import PARTS, Contents, OpenArtifact, require_origin
from retvec_lite.converters.onnx.graph import OPSET
from retvec_lite.converters.parity import RuntimeResult
from retvec_lite.converters.parity.examiner import ENCODING, Examiner, checked, stage_names
from retvec_lite.converters.parity.oracle import Constant, Match, Oracle
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite.examine import match_tables
from retvec_lite.converters.tflite.graph import NETWORK_INPUT
from retvec_lite.errors import RetvecLiteError
from retvec_lite.foreign import read_whole
from retvec_lite.json_text import parse_json
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import METADATA_NAME
from retvec_lite.runtime.onnx_file import RUNTIME, is_installed
from retvec_lite.runtime.worker import Job, run_models

_CHUNK: Final = 64
"""Texts whose inner values are held at once."""

_EDGES: Final = 512
"""Texts whose words and bits are held at once."""


class ONNXFile(OpenArtifact):
    """An .onnx that was read and parsed."""

    def __init__(self, path: Path) -> None:
        """Read a file; raise RetvecLiteError when it is damaged."""
        self._path, content = path, read_whole(path)
        self._bytes = len(content)
        try:
            self._model = onnx.load_model_from_string(content)
            initializers = self._model.graph.initializer
            if any(item.data_location == onnx.TensorProto.EXTERNAL for item in initializers):
                raise ValueError("weights in other files")
            onnx.checker.check_model(self._model, full_check=True)
            self._stored = {item.name: numpy_helper.to_array(item) for item in initializers}
            properties = {item.key: item.value for item in self._model.metadata_props}
            self.metadata = parse_json(properties[METADATA_NAME], METADATA_NAME)
            if not isinstance(self.metadata, Mapping):
                raise TypeError("metadata")
        # What protobuf, onnx and its checks raise on random bytes.
        except (
            DecodeError,
            LookupError,
            ValueError,
            TypeError,
            onnx.checker.ValidationError,
            onnx.shape_inference.InferenceError,
        ) as error:
            raise RetvecLiteError(f"{path} is damaged, or was not exported by retvec-lite. Export it again.") from error

    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        labels = self.metadata.get("labels")
        require_origin(self._path.name, classifier, labels if isinstance(labels, list) else [], self.metadata)
        self._require_interface(classifier)
        found = [Constant(name, values, 32) for name, values in self._stored.items() if values.dtype == np.float32]
        gathered = []
        for node in self._model.graph.node:
            if node.op_type == "DequantizeLinear" and {*node.input} <= self._stored.keys():
                values, scales = (self._stored[name] for name in node.input)
                axis = next((item.i for item in node.attribute if item.name == "axis"), 0)
                along = [-1 if place == axis and scales.size > 1 else 1 for place in range(values.ndim)]
                found.append(Constant(node.output[0], values.astype(np.float32) * scales.reshape(along), 8))
            elif node.op_type == "Gather" and node.input[0] in self._stored:
                gathered.append(self._stored[node.input[0]])
        plain = bool(classifier.ngrams and classifier.ngrams.plain_letters)
        return match_tables(found, gathered, classifier.weights, plain)

    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterator[RuntimeResult]:
        """Run it on ONNX Runtime, in a worker: a file that crashes it is a result."""
        if is_installed():
            yield self._examine(examiner, recipe, oracle)

    def contents(self) -> Contents:
        sizes = dict.fromkeys(PARTS, 0)
        network, embedding = self._behind(NETWORK_INPUT), self._before("embedding")
        meaning, projected = self._before("meaning"), self._behind("meaning") - network
        seen: set[str] = set()
        for place, node in enumerate(self._model.graph.node):
            for name in {*node.input} & self._stored.keys() - seen:
                seen.add(name)
                part = "encoder" if network else "ngrams"
                # A matrix belongs to what computes with it, past its scales.
                user = next(iter(self._users(node.output[0])), place) if node.op_type == "DequantizeLinear" else place
                if user in network:
                    part = "embedding" if user in embedding else "head"
                elif self._stored[name].dtype in (np.int8, np.uint8) and self._stored[name].ndim == 2:
                    part = "meaning" if user in meaning else "ngrams"
                if user in projected:
                    part = "meaning"
                sizes[part] += self._stored[name].nbytes
        sizes["metadata"] = sum(item.ByteSize() for item in self._model.metadata_props)
        sizes["graph"] = self._bytes - sum(sizes.values())
        kinds = collections.Counter(node.op_type for node in self._model.graph.node)
        return Contents(sizes, [(kind, OPSET, count) for kind, count in sorted(kinds.items())])

    def _behind(self, start: str) -> set[int]:
        """Return the places of the nodes whose result depends on a tensor."""
        reached, found = {start}, set()
        for place, node in enumerate(self._model.graph.node):
            if reached & {*node.input}:
                found.add(place)
                reached.update(node.output)
        return found

    def _before(self, end: str) -> set[int]:
        """Return the places of the nodes that a tensor depends on."""
        needed, found = {end}, set()
        for place, node in reversed(list(enumerate(self._model.graph.node))):
            if needed & {*node.output}:
                found.add(place)
                needed.update(node.input)
        return found

    def _promoted(self, names: Sequence[str], alone: bool = False) -> bytes:
        """Return the model with inner values as outputs: besides its own, or alone, without the nodes that they do not need."""
        promoted = onnx.ModelProto()
        promoted.CopyFrom(self._model)
        graph = promoted.graph
        if alone:
            needed = set[int]().union(*map(self._before, names))
            nodes = [node for place, node in enumerate(self._model.graph.node) if place in needed]
            read = {name for node in nodes for name in node.input}
            stored = [item for item in self._model.graph.initializer if item.name in read]
            for field, kept in (
                (graph.node, nodes),
                (graph.initializer, stored),
                (graph.output, []),
                (graph.value_info, []),
            ):
                del field[:]
                field.extend(kept)
        # Without a type, ONNX Runtime finds it out.
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return bytes(promoted.SerializeToString())

    def _users(self, name: str) -> list[int]:
        return [place for place, node in enumerate(self._model.graph.node) if name in node.input]

    def _require_interface(self, classifier: TrainedModel) -> None:
        found = [
            {item.name: [axis.dim_value for axis in item.type.tensor_type.shape.dim] for item in side}
            for side in (self._model.graph.input, self._model.graph.output)
        ]
        wanted = [{INPUT: [1, classifier.encoder.max_chars]}, {PROBABILITIES: [1, len(classifier.labels)]}]
        if found != wanted:
            raise RetvecLiteError(f"{self._path.name} must take {wanted[0]} and answer {wanted[1]}; it has {found}.")

    def _examine(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
        version = importlib.metadata.version(RUNTIME)
        names = stage_names(examiner.classifier)
        encoding = [name for name in names if name in ENCODING]
        stages, whole = examiner.stages(recipe), examiner.golden + examiner.real
        parts, edges = examiner.staged.parts(_CHUNK), examiner.edges.parts(_EDGES) if encoding else []
        inner, encoder = self._promoted(names), self._promoted(encoding, alone=True) if encoding else b""
        jobs = [Job(self._model.SerializeToString(), whole.rows), *(Job(inner, part.rows) for part in parts)]
        answered = run_models(RUNTIME, [*jobs, *(Job(encoder, part.rows) for part in edges)])
        try:
            shape = (len(whole), len(examiner.classifier.labels))
            table = checked(next(answered), PROBABILITIES, shape, np.float32)
            for part in parts:
                stages.compare(next(answered), part, oracle)
            for part in edges:
                stages.compare_encoding(next(answered), part)
        except RetvecLiteError as error:
            return RuntimeResult(RUNTIME, version, True, (), str(error))
        checks = [*stages.checks(recipe), *examiner.answer_checks(table, oracle, recipe)]
        return RuntimeResult(RUNTIME, version, True, tuple(checks), None, examiner.accuracy_of(table))
