"""A classifier as a Core ML package, the same bytes for the same weights.

coremltools' MIL builder makes the graph straight from the NumPy weights, and no graph pass runs over it: its default passes
would move code points to 16 bits (`common::add_int16_cast`), and fuse or rename what `verify` looks for. coremltools writes
packages with a date, random identifiers and unordered maps, so the folder is put together here.
"""

import collections
import contextlib
import itertools
import json
import tempfile
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import coremltools
from coremltools import proto
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.backend.mil.load import load
from coremltools.converters.mil.mil import Function, Program, mil_list, types

from retvec_lite.converters import INPUT, LABEL, PROBABILITIES
from retvec_lite.converters.coreml import FOUR_BITS_SINCE, Storage
from retvec_lite.converters.coreml.encoder import (
    check_length,
    cut_words,
    find_ngrams,
    ngram_logits,
    sanitize,
    word_bits,
    word_mask,
)
from retvec_lite.converters.coreml.network import CoreMLNetwork, probability_values
from retvec_lite.converters.format import About
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.interpreters import silent_standard_error

Var = Any  # a value of a MIL program

_AUTHOR: Final = "com.apple.CoreML"
_MODEL_PATH: Final = f"{_AUTHOR}/model.mlmodel"
_WEIGHTS_PATH: Final = f"{_AUTHOR}/weights"
_MODEL_FILE: Final = f"Data/{_MODEL_PATH}"
_WEIGHTS_FILE: Final = "weight.bin"

_IOS_OF_OPSET: Final = {"CoreML6": 16, "CoreML7": 17, "CoreML8": 18}


def build_package(
    classifier: TrainedModel, storage: Storage, about: About, details: Mapping[str, Any]
) -> dict[str, bytes]:
    """Return the files of a package by their paths in it; `details` are its JSON-ready user-defined metadata.

    Raises:
        RetvecLiteError: for a text length, a head or a block that Core ML's graph cannot have.
    """
    description = _description(about, classifier, details)
    with silent_standard_error(), warnings.catch_warnings(), _fresh_names():
        warnings.simplefilter("ignore")
        program = _program(classifier, storage)
        with tempfile.TemporaryDirectory() as folder:
            version = _target(storage).value
            model = load(program, folder, specification_version=version, model_description=description)
            weights = (Path(folder) / _WEIGHTS_FILE).read_bytes()
    return _files(model, weights)


def graph(codepoints: Var, classifier: TrainedModel, storage: Storage) -> Var:
    """Add the whole classifier to the function that is being built.

    The values `words`, `bits` and (but for RETVec-raw) `embedding` have these names in the program; with the head `ngrams`, there
    are none of them.

    Args:
        codepoints: int32 `[1, max_chars]`.
        classifier: contract parameters, head and weights.
        storage: how the weights are stored.

    Returns:
        float32 `[1, classes]`, named `probability_values`.
    """
    check_length(classifier.encoder)
    characters = sanitize(codepoints, classifier.encoder, storage.ios >= FOUR_BITS_SINCE)

    def said() -> Var:
        if classifier.ngrams is None:
            return None
        return ngram_logits(find_ngrams(characters, classifier.ngrams, storage), classifier.weights, storage)

    if isinstance(classifier.head, NgramHead):
        return probability_values(said(), classifier.multi_label)
    network = CoreMLNetwork(classifier.weights, storage)
    words = cut_words(characters, classifier.encoder)
    bits = word_bits(words)
    vectors = network.word_vectors(bits, network.embed(bits))
    ngrams = said()
    return network.classify(vectors, word_mask(words), classifier.head, ngrams, classifier.multi_label)


def _program(classifier: TrainedModel, storage: Storage) -> Program:
    given = mb.placeholder(shape=(1, classifier.encoder.max_chars), dtype=types.int32)
    with Function({INPUT: given}, opset_version=_target(storage)) as function:
        values = graph(function.inputs[INPUT], classifier, storage)
        label, shares = mb.classify(probabilities=values, classes=mb.const(val=mil_list(list(classifier.labels))))
        label.name, shares.name = LABEL, PROBABILITIES
        function.set_outputs([label, shares])
    program = Program()
    program.add_function("main", function)
    return program


def _target(storage: Storage) -> Any:
    return getattr(coremltools.target, f"iOS{storage.ios}")


@contextlib.contextmanager
def _fresh_names() -> Iterator[None]:
    """Let the builder number unnamed values from zero, whatever this process built before."""
    before = mb.name_count
    mb.name_count = collections.defaultdict(int)
    try:
        yield
    finally:
        mb.name_count = before


def _description(
    about: About, classifier: TrainedModel, details: Mapping[str, Any]
) -> "proto.Model_pb2.ModelDescription":
    """Describe the interface for apps; metadata values that are no strings become JSON."""
    description = proto.Model_pb2.ModelDescription()
    length = classifier.encoder.max_chars
    codepoints = f"The text's Unicode code points: the first {length}, zeros behind them."
    given = description.input.add(name=INPUT, shortDescription=codepoints)
    array = proto.FeatureTypes_pb2.ArrayFeatureType
    given.type.multiArrayType.CopyFrom(array(shape=[1, length], dataType=array.ArrayDataType.INT32))
    found = description.output.add(name=LABEL, shortDescription="The most likely label.")
    found.type.stringType.SetInParent()
    probabilities = f"The probability of each of the {len(classifier.labels)} labels."
    shares = description.output.add(name=PROBABILITIES, shortDescription=probabilities)
    shares.type.dictionaryType.stringKeyType.SetInParent()
    description.predictedFeatureName = LABEL
    description.predictedProbabilitiesName = PROBABILITIES

    metadata = description.metadata
    metadata.shortDescription = about.description
    metadata.versionString = about.version
    metadata.author = about.author
    metadata.license = about.license
    for key, value in details.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        metadata.userDefined[key] = text
    return description


def _files(model: "proto.Model_pb2.Model", weights: bytes) -> dict[str, bytes]:
    """Return the files of a package by their paths in it."""
    identifiers = {
        path: str(uuid.uuid5(uuid.NAMESPACE_URL, f"retvec-lite:{path}")) for path in (_MODEL_PATH, _WEIGHTS_PATH)
    }
    manifest = {
        "fileFormatVersion": "1.0.0",
        "itemInfoEntries": {
            identifiers[path]: {"author": _AUTHOR, "description": description, "name": Path(path).name, "path": path}
            for path, description in (
                (_MODEL_PATH, "CoreML Model Specification"),
                (_WEIGHTS_PATH, "CoreML Model Weights"),
            )
        },
        "rootModelIdentifier": identifiers[_MODEL_PATH],
    }
    return {
        "Manifest.json": (json.dumps(manifest, indent=4, sort_keys=True) + "\n").encode(),
        _MODEL_FILE: model.SerializeToString(deterministic=True),
        f"Data/{_WEIGHTS_PATH}/{_WEIGHTS_FILE}": weights,
    }


def package_sizes(model: Any, manifest: int, total: int) -> dict[str, int]:
    """Return the bytes of a package by part: constants of `encoder`, `embedding`, `head` and `ngrams`, `metadata`, `graph`.

    Character features count as part of the head, which alone reads them. `manifest` and `total` are bytes of files.
    """
    parts = dict.fromkeys(("encoder", "embedding", "head", "ngrams", "graph", "metadata"), 0)
    own = "encoder"
    for operation in _operations(model):
        name = operation.outputs[0].name
        part = next((part for part in ("embedding", "head", "ngrams") if name.startswith(f"{part}_")), own)
        parts[part] += sum(_stored_bytes(value) for value in _values(operation))
        # Constants without a name of their own belong to the operators around them.
        own = "head" if name == "bits" else own
    parts["metadata"] = manifest + model.description.ByteSize()
    parts["graph"] = total - sum(parts.values())
    return parts


def package_operators(model: Any) -> list[tuple[str, int, int]]:
    """Return every kind of operator but constants: name, iOS version of its operator set, count; sorted by name."""
    (opset,) = (function.opset for function in model.mlProgram.functions.values())
    counts = collections.Counter(operation.type for operation in _operations(model) if operation.type != "const")
    return [(name, _IOS_OF_OPSET[opset], count) for name, count in sorted(counts.items())]


def _operations(model: Any) -> Sequence[Any]:
    (function,) = model.mlProgram.functions.values()
    return list(function.block_specializations[function.opset].operations)


def _values(operation: Any) -> list[Any]:
    """Return the values that are stored in an operation itself."""
    bound = itertools.chain.from_iterable(argument.arguments for argument in operation.inputs.values())
    return [*operation.attributes.values(), *(item.value for item in bound if item.WhichOneof("binding") == "value")]


def _stored_bytes(value: Any) -> int:
    """Return how many bytes of the weight file a value takes; 0 when it is stored in the model file."""
    if value.WhichOneof("value") != "blobFileValue":
        return 0
    kind = value.type.tensorType
    elements = 1
    for dimension in kind.dimensions:
        elements *= dimension.constant.size
    bits = int("".join(filter(str.isdigit, proto.MIL_pb2.DataType.Name(kind.dataType))))
    return (elements * bits + 7) // 8
