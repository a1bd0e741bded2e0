"""A classifier as a Core ML package, the same bytes for the same weights.

coremltools' MIL builder makes the graph straight from the NumPy weights, and no graph pass runs over it: its default passes
would move code points to 16 bits (`common::add_int16_cast`), and fuse or rename what `verify` looks for. coremltools writes
packages with a date, random identifiers and unordered maps, so the folder is put together here.
"""

import collections
import contextlib
import json
import tempfile
import uuid
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import coremltools
from coremltools import proto
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.backend.mil.load import load
from coremltools.converters.mil.mil import Function, Program, mil_list, types

from retvec_lite.converters import INPUT, LABEL, PROBABILITIES
from retvec_lite.converters.coreml import IOS
from retvec_lite.converters.coreml.encoder import Characters, check_encoder, cut_words, sanitize, word_bits, word_mask
from retvec_lite.converters.coreml.linear import find_letters, find_meaning, find_ngrams, meaning_logits, ngram_logits
from retvec_lite.converters.coreml.network import CoreMLNetwork, probability_values
from retvec_lite.converters.format import About
from retvec_lite.converters.recipes import Recipe
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.interpreters import silent_standard_error

Var = Any  # a value of a MIL program

_AUTHOR: Final = "com.apple.CoreML"
_MODEL_PATH: Final = f"{_AUTHOR}/model.mlmodel"
_WEIGHTS_PATH: Final = f"{_AUTHOR}/weights"
_MODEL_FILE: Final = f"Data/{_MODEL_PATH}"
_WEIGHTS_FILE: Final = "weight.bin"
_TARGET: Final = getattr(coremltools.target, f"iOS{IOS}")


def build_package(
    classifier: TrainedModel, recipe: Recipe, about: About, details: Mapping[str, Any]
) -> dict[str, bytes]:
    """Return the files of a package by their paths in it; `details` are its JSON-ready user-defined metadata.

    Raises:
        RetvecLiteError: for a text length or a contract that Core ML's graph cannot have.
    """
    description = _description(about, classifier, details)
    with silent_standard_error(), warnings.catch_warnings(), _fresh_names():
        warnings.simplefilter("ignore")
        program = _program(classifier, recipe)
        with tempfile.TemporaryDirectory() as folder:
            version = _TARGET.value
            model = load(program, folder, specification_version=version, model_description=description)
            weights = (Path(folder) / _WEIGHTS_FILE).read_bytes()
    return _files(model, weights)


def graph(codepoints: Var, classifier: TrainedModel, recipe: Recipe) -> Var:
    """Add the whole classifier to the function that is being built: int32 `[1, max_chars]` -> float32 `[1, classes]`.

    The result is named `probability_values`; the inner tensors (see `stage_names`) have their names.
    """
    check_encoder(classifier.encoder)
    characters = sanitize(codepoints, classifier.encoder)

    if isinstance(classifier.head, NgramHead):
        return probability_values(_linear_logits(characters, classifier), classifier.multi_label)
    network = CoreMLNetwork(classifier.weights, recipe)
    words = cut_words(characters, classifier.encoder)
    bits = word_bits(words)
    vectors = network.embed(bits)
    linear = _linear_logits(characters, classifier)
    return network.classify(vectors, word_mask(words), classifier.head, linear, classifier.multi_label)


def _linear_logits(characters: Characters, classifier: TrainedModel) -> Var:
    """Return what n-grams and the meaning of words say about the labels, float32 `[1, classes]`; None without both."""
    letters = None if classifier.meaning is None else find_letters(characters)
    said = None
    if classifier.ngrams is not None:
        ngrams = find_ngrams(characters, classifier.ngrams, letters and letters.chars)
        said = ngram_logits(ngrams, classifier.weights)
    if letters is None:
        return said
    meant = meaning_logits(find_meaning(letters, classifier.weights), classifier.weights)
    return meant if said is None else mb.add(x=said, y=meant, name="linear_logits")


def _program(classifier: TrainedModel, recipe: Recipe) -> Program:
    given = mb.placeholder(shape=(1, classifier.encoder.max_chars), dtype=types.int32)
    with Function({INPUT: given}, opset_version=_TARGET) as function:
        values = graph(function.inputs[INPUT], classifier, recipe)
        label, shares = mb.classify(probabilities=values, classes=mb.const(val=mil_list(list(classifier.labels))))
        label.name, shares.name = LABEL, PROBABILITIES
        function.set_outputs([label, shares])
    program = Program()
    program.add_function("main", function)
    return program


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
