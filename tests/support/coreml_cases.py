"""What the tests of Core ML's graph share: classifiers, packages, and coremltools' own evaluation of a graph under construction."""

import contextlib
import dataclasses
import functools
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import standin

from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.coreml import load_coremltools
from retvec_lite.converters.format import about, details
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig

needs_coremltools = pytest.mark.skipif(
    importlib.util.find_spec("coremltools") is None, reason="coremltools is not installed: no package can be made"
)
RECIPES = ("float32", "int8", "int4")
HEADS = ("pool", "vector", "blocks", "cnn", "raw")
PAIRS = [*(("pool", recipe) for recipe in RECIPES), ("vector", "int8"), ("cnn", "int4"), ("raw", "float32")]
"""Every head and every recipe: a recipe stores a matrix alike whatever head it is of."""
MODEL = "Data/com.apple.CoreML/model.mlmodel"
UNUSED = ("tensorflow", "sklearn")
"""coremltools imports both where it can, which takes ten seconds, and needs neither to build a graph."""


def import_coremltools() -> None:
    """Import coremltools, and not what it does not need."""
    with _hidden([name for name in UNUSED if name not in sys.modules]):
        load_coremltools()


@contextlib.contextmanager
def _hidden(names: list[str]) -> Iterator[None]:
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # None: cannot be imported
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


@functools.cache
def on_grid(name: str) -> TrainedModel:
    """A stand-in whose matrices lie on training's grid: scales of eight binary digits, the largest of a column on +-7."""
    spec = standin.classifier(name)
    weights = dict(spec.weights)
    for weight, values in weights.items():
        if weight.endswith("kernel"):
            scale = np.abs(values).max(axis=0).astype(np.float64) / 7
            unit = 2.0 ** (np.floor(np.log2(scale)) - 7)
            scale = np.ceil(scale / unit) * unit
            integers = np.clip(np.rint(values / scale), -7, 7)
            integers[np.abs(values).argmax(axis=0), np.arange(len(scale))] = 7
            weights[weight] = (integers * scale).astype(np.float32)
    return dataclasses.replace(spec, weights=weights)


def files_of(spec: TrainedModel, recipe: str) -> dict[str, bytes]:
    """A package's files."""
    load_coremltools()
    from retvec_lite.converters.coreml.build import build_package

    return build_package(spec, find_recipe(recipe), about(spec, recipe), details(spec, recipe, {"iOS": "16"}))


@functools.cache
def grid_files(name: str, recipe: str) -> dict[str, bytes]:
    """A package's files, of `on_grid(name)`."""
    return files_of(on_grid(name), recipe)


def model_of(files: dict[str, bytes]) -> Any:
    """The model description."""
    return load_coremltools().proto.Model_pb2.Model.FromString(files[MODEL])


def operations_of(files: dict[str, bytes]) -> list[Any]:
    """The operations of the program as they are written."""
    function = model_of(files).mlProgram.functions["main"]
    (block,) = function.block_specializations.values()
    return list(block.operations)


@contextlib.contextmanager
def _unpacked(mb: Any) -> Iterator[None]:
    """Let the builder unpack compressed weights: value inference stops at operators that do so when a model is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("constexpr_affine_dequantize", "constexpr_lut_to_dense"):
            build = getattr(mb, name)
            unpack = lambda build=build, **given: mb.const(val=build(**given).op.materialized_val_inference())  # noqa: E731
            patch.setattr(mb, name, staticmethod(unpack))
        yield


def inferred(row: np.ndarray, spec: TrainedModel, recipe: str) -> dict[str, np.ndarray]:
    """Every value of the graph that is built around a constant input, as coremltools computes it: name -> value."""
    coremltools = load_coremltools()
    from coremltools.converters.mil import Builder as mb
    from coremltools.converters.mil.mil import Function

    from retvec_lite.converters.coreml.build import graph

    with np.errstate(all="ignore"), _unpacked(mb), Function({}, opset_version=coremltools.target.iOS16) as function:
        graph(mb.const(val=row.reshape(1, -1)), spec, find_recipe(recipe))
    return {value.name: value.val for operation in function.operations for value in operation.outputs}


def inferred_words(row: np.ndarray, config: EncoderConfig) -> tuple[np.ndarray, np.ndarray]:
    """Words and bits of one text by coremltools' value inference."""
    coremltools = load_coremltools()
    from coremltools.converters.mil import Builder as mb
    from coremltools.converters.mil.mil import Function

    from retvec_lite.converters.coreml.encoder import cut_words, sanitize, word_bits

    with _unpacked(mb), Function({}, opset_version=coremltools.target.iOS16):
        words = cut_words(sanitize(mb.const(val=row.reshape(1, -1)), config), config)
        bits = word_bits(words)
    return words.val, bits.val


def inferred_ngrams(
    row: np.ndarray, encoder: EncoderConfig, config: NgramConfig, weights: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The buckets of all n-grams of one text and their logits, by coremltools' value inference."""
    coremltools = load_coremltools()
    from coremltools.converters.mil import Builder as mb
    from coremltools.converters.mil.mil import Function

    from retvec_lite.converters.coreml.encoder import sanitize
    from retvec_lite.converters.coreml.linear import find_ngrams, ngram_logits

    with _unpacked(mb), Function({}, opset_version=coremltools.target.iOS16):
        found = find_ngrams(sanitize(mb.const(val=row.reshape(1, -1)), encoder), config)
        logits = ngram_logits(found, weights)
    return found.buckets.val[found.present.val > 0], logits.val


def stored_weights(spec: TrainedModel, recipe: str) -> dict[str, np.ndarray]:
    """What the program computes with in place of each weight: name -> value, materialized by coremltools itself."""
    coremltools = load_coremltools()
    from coremltools.converters.mil import Builder as mb
    from coremltools.converters.mil.mil import Function, types

    from retvec_lite.converters.coreml.build import graph

    row = mb.placeholder(shape=(1, spec.encoder.max_chars), dtype=types.int32)
    with Function({"codepoints": row}, opset_version=coremltools.target.iOS16) as function:
        graph(function.inputs["codepoints"], spec, find_recipe(recipe))
    found: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(0))
    for operation in function.operations:
        value = operation.outputs[0]
        if operation.op_type.startswith("constexpr_"):
            found[value.name] = operation.materialized_val_inference()
        elif operation.op_type == "mul" and f"{value.name}_integers" in found:
            found[value.name] = found[f"{value.name}_integers"] * operation.y.val
        elif operation.op_type == "const" and value.val is not None:
            found[value.name] = value.val
    return found
