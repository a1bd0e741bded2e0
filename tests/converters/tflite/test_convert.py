"""Conversion of every head and its quantization by every recipe, run on every installed runtime."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import standin
from exported import EXPORTED, call_it_kept_version
from hypothesis import given
from hypothesis import strategies as st
from scripts import Run, run_script

from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite import find_tensor, pack, promote_outputs, read_model
from retvec_lite.converters.tflite.examine import match_weights
from retvec_lite.converters.tflite.format import package
from retvec_lite.converters.tflite.graph import (
    ALLOWED,
    behind,
    constants,
    dtype_of,
    operator_name,
    operators,
    shape_of,
    sizes,
)
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.grid import to_grid
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.ngrams import PRIME
from retvec_lite.runtime.artifact import read_artifact

HEADS = ["pool", "vector", "blocks", "cnn", "raw"]


@functools.cache
def quantized(folder: Path, name: str, recipe: str) -> bytes:
    return quantize((folder / f"{name}.tflite").read_bytes(), recipe)


def stages_of(name: str) -> list[str]:
    return ["words", "bits"] if name == "raw" else ["words", "bits", "embedding"]


# --- conversion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HEADS)
def test_interface_and_operators(built: Path, name: str) -> None:
    model = read_model((built / f"{name}.tflite").read_bytes())
    (graph,) = model.subgraphs
    (signature,) = model.signatureDefs
    assert signature.signatureKey == "classify"
    assert [(entry.name, entry.tensorIndex) for entry in signature.inputs] == [("codepoints", graph.inputs[0])]
    assert [(entry.name, entry.tensorIndex) for entry in signature.outputs] == [("probabilities", graph.outputs[0])]
    assert len(graph.inputs) == len(graph.outputs) == 1
    taken, given_out = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    assert (taken.name, dtype_of(taken), shape_of(taken)) == ("codepoints", "int32", (1, standin.CONFIG.max_chars))
    assert (given_out.name, dtype_of(given_out)) == ("probabilities", "float32")
    assert shape_of(given_out) == (1, len(standin.LABELS))
    for operator, version, _ in operators(model):
        assert version <= ALLOWED[operator]
    assert [shape_of(tensor) for tensor in graph.tensors if tensor.name == "bits"] == [(1, 12, 336)]
    assert model.metadata == [], "conversion metadata differs from run to run"


def test_a_call_does_not_remember_the_one_before(built: Path, runtime: str, run: Run) -> None:
    models = {"cnn": ((built / "cnn.tflite").read_bytes(), standin.inputs())}
    outputs = run(runtime, models)["cnn"]
    assert not isinstance(outputs, str), outputs
    np.testing.assert_allclose(outputs["probabilities/again"], outputs["probabilities"], rtol=0, atol=1e-7)


def test_the_weights_are_in_the_file(built: Path) -> None:
    model = read_model((built / "pool.tflite").read_bytes())
    weights = standin.classifier("pool").weights
    matched = match_weights(model, weights)
    for name, values in weights.items():
        np.testing.assert_array_equal(matched[name].values, values)


def own_weights(model: bytes, reference: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: match.values for name, match in match_weights(read_model(model), reference).items()}


@pytest.mark.exhaustive
def test_another_process_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    run_script("build_standins.py", str(tmp_path), "cnn", "pool")
    for name in ("pool", "cnn"):
        assert (tmp_path / f"{name}.tflite").read_bytes() == (built / f"{name}.tflite").read_bytes()


def test_a_kept_export_is_what_is_written_now(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all signatures, by another process after other models."""
    call_it_kept_version(monkeypatch.setattr)
    path = EXPORTED / "raw" / "classifier-int8.tflite"
    model = load_trained_model(EXPORTED / "raw" / "reference.safetensors")
    graph = quantize((built / "raw-export.tflite").read_bytes(), "int8")
    oldest = read_artifact(path).metadata["oldest_runtime"]
    assert package(graph, model, RECIPES["int8"], oldest) == path.read_bytes()


def test_wrong_graphs_are_refused(built: Path) -> None:
    unconnected, forbidden = (built / "refusals.txt").read_text(encoding="utf-8").split("\n")
    assert "does not compute 'probabilities' from 'bits'" in unconnected
    assert "SIN version 1 (1x)" in forbidden


# --- recipes ----------------------------------------------------------------------------------------------------------


def versions(model: Any) -> dict[str, set[int]]:
    """Of the operators of the network; the encoder stays as it is."""
    found: dict[str, set[int]] = {}
    for graph in model.subgraphs:
        for position in behind(graph, find_tensor(graph, "bits")):
            operator = graph.operators[position]
            version = model.operatorCodes[operator.opcodeIndex].version
            found.setdefault(operator_name(model, operator), set()).add(version)
    # What turns stored weights into floats does not depend on the bits.
    found["DEQUANTIZE"] = {version for name, version, _ in operators(model) if name == "DEQUANTIZE"}
    return {name: kinds for name, kinds in found.items() if kinds}


@pytest.mark.parametrize("recipe", RECIPES)
def test_right_or_refused_on_every_runtime(built: Path, runtime: str, run: Run, recipe: str) -> None:
    """A runtime that is older than a recipe asks for must refuse the file; silently wrong answers are the worst outcome."""
    promises = RECIPES[recipe].oldest_runtime[0] in ("tflite-runtime", runtime)
    models, expected = {}, {}
    for name in HEADS:
        model = quantized(built, name, recipe)
        spec = standin.classifier(name)
        if promises:
            expected[name] = standin.reference(spec, own_weights(model, spec.weights))
        models[name] = (promote_outputs(model, stages_of(name)), standin.inputs())
    tolerance = RECIPES[recipe].formats["tflite"].parity_tolerance
    for name, outputs in run(runtime, models).items():
        if not promises:
            assert isinstance(outputs, str)
            assert "version" in outputs
            continue
        assert not isinstance(outputs, str), outputs
        for stage in ("words", "bits"):
            np.testing.assert_array_equal(outputs[stage], expected[name][stage], err_msg=f"{name} {stage}")
        for stage in (*stages_of(name)[2:], "probabilities"):
            worst = np.abs(outputs[stage] - expected[name][stage]).max()
            assert worst <= tolerance, f"{name} {stage}: {worst}"


def test_convolutions_and_addends(built: Path, runtime: str, run: Run) -> None:
    """CONV_2D, DEPTHWISE_CONV_2D and a constant addend, against NumPy with the file's own weights."""
    models = {recipe: (quantized(built, "conv", recipe), standin.conv_inputs()) for recipe in RECIPES}
    for recipe, outputs in run(runtime, models).items():
        if RECIPES[recipe].oldest_runtime[0] not in ("tflite-runtime", runtime):
            assert isinstance(outputs, str), recipe
            continue
        assert not isinstance(outputs, str), (recipe, outputs)
        worst = np.abs(outputs["probabilities"] - conv_reference(models[recipe][0])).max()
        assert worst <= RECIPES[recipe].formats["tflite"].parity_tolerance, recipe


def conv_reference(model: bytes) -> np.ndarray:
    """What the graph of convolutions must answer with its own weights."""
    weights = standin.conv_weights()
    conv = np.transpose(weights.conv, (2, 0, 1))
    stored = own_weights(
        model,
        {
            "dense": weights.dense,
            "positions": weights.positions,
            "conv": conv.reshape(standin.CONV_WIDTH, 3, 1, standin.CONV_WIDTH),
            "depthwise": weights.depthwise,
            "logits": weights.logits,
        },
    )
    return standin.conv_reference(
        standin.ConvWeights(
            stored["dense"],
            stored["positions"],
            np.transpose(stored["conv"].reshape(conv.shape), (1, 2, 0)),
            stored["depthwise"],
            stored["logits"],
        )
    )


def matrices(model: bytes) -> list[Any]:
    """Constants that are rounded. The encoder has a matrix of 16 x 16, which nothing rounds."""
    parsed = read_model(model)
    found = constants(parsed, parsed.subgraphs[0])
    return [constant for constant in found if constant.values.ndim == 2 and constant.values.size > 256]


def test_how_weights_are_stored(built: Path) -> None:
    for recipe in RECIPES.values():
        assert {constant.bits for constant in matrices(quantized(built, "cnn", recipe.name))} == {recipe.bits}


def test_operator_versions(built: Path) -> None:
    """The versions decide which runtimes refuse a file; 12 is per-channel float x int8, 5 are int8 weights."""
    found = {recipe: versions(read_model(quantized(built, "cnn", recipe))) for recipe in RECIPES}
    assert found["int8"]["DEQUANTIZE"] == {5}
    assert max(found["int8"]["FULLY_CONNECTED"]) <= 9
    assert found["int4"]["FULLY_CONNECTED"] == {12}
    assert "DEQUANTIZE" not in found["int4"], "a layer would be computed in floats"


@pytest.mark.parametrize("name", HEADS)
def test_sizes_shrink_and_the_encoder_stays(built: Path, name: str) -> None:
    files = {recipe: quantized(built, name, recipe) for recipe in RECIPES}
    parts = {recipe: sizes(data, read_model(data)) for recipe, data in files.items()}
    network = {recipe: part["embedding"] + part["head"] for recipe, part in parts.items()}
    assert network["int8"] < 0.40 * network["float32"]
    assert network["int4"] < 0.28 * network["float32"]
    assert {part["encoder"] for part in parts.values()} == {parts["float32"]["encoder"]}
    # The table of n-grams is 8-bit integers in every recipe.
    ngrams = standin.NGRAMS.get(name)
    assert {part["ngrams"] for part in parts.values()} == {
        ngrams.buckets * (len(standin.LABELS) + 1) + PRIME * ngrams.codebooks if ngrams else 0
    }


@pytest.mark.parametrize(("head", "recipe"), [("pool", "int8"), ("pool", "int4"), ("cnn", "int4")])
def test_weights_on_a_four_bit_grid_are_kept_exactly(head: str, recipe: str) -> None:
    """Those of the kept exports lie on one."""
    weights = load_trained_model(EXPORTED / head / "reference.safetensors").weights
    path = EXPORTED / head / f"classifier-{recipe}.tflite"
    stored = match_weights(read_model(read_artifact(path).model), weights)
    for weight, values in weights.items():
        np.testing.assert_array_equal(stored[weight].values, values, err_msg=weight)


@given(
    step=st.floats(2.0**-20, 1024.0, width=32),
    row=st.lists(st.integers(-7, 7), min_size=1, max_size=40),
    bits=st.sampled_from([4, 8]),
)
def test_grid_of_any_step_is_recovered(step: float, row: list[int], bits: int) -> None:
    values = (np.array([[*row, 7]], np.float32) * np.float32(step)).astype(np.float32)
    integers, scales = to_grid(values, bits, 0)
    np.testing.assert_array_equal(integers.astype(np.float32) * scales[:, None], values)


@pytest.mark.parametrize(("bits", "limit"), [(4, 7), (8, 127)])
def test_grid_is_symmetric_and_near(bits: int, limit: int) -> None:
    values = np.random.default_rng(0).normal(size=(5, 300)).astype(np.float32)
    values[2] = 0
    for axis in (0, 1):
        integers, scales = to_grid(values, bits, axis)
        assert integers.min() >= -limit
        assert integers.max() <= limit
        assert scales.shape == (values.shape[axis],)
        along = scales.reshape([-1, 1] if axis == 0 else [1, -1])
        off = np.sqrt(np.square(integers * along - values).mean() / np.square(values).mean())
        assert off < (0.2 if bits == 4 else 0.02)
        assert not integers[2].any()


@pytest.mark.parametrize("recipe", RECIPES)
def test_quantizing_again_gives_the_same_bytes(built: Path, recipe: str) -> None:
    assert quantize((built / "vector.tflite").read_bytes(), recipe) == quantized(built, "vector", recipe)


def test_model_without_bits(built: Path) -> None:
    model = read_model((built / "pool.tflite").read_bytes())
    model.subgraphs[0].tensors[find_tensor(model.subgraphs[0], "bits")].name = "other"
    with pytest.raises(RetvecLiteError, match="'bits'"):
        quantize(pack(model), "int8")


def test_bounds_do_not_drift() -> None:
    bounds = {
        recipe.name: (recipe.formats["tflite"].parity_tolerance, recipe.embedding_cosine, recipe.label_agreement)
        for recipe in RECIPES.values()
    }
    assert bounds == {"float32": (1e-5, None, None), "int8": (2e-3, 0.999, 0.995), "int4": (2e-2, 0.99, 0.985)}
