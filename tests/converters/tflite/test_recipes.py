from pathlib import Path

import numpy as np
import pytest
import standin
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.converters.parity.matching import match_weights
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.editing import find_tensor, pack, promote_outputs, unpack
from retvec_lite.converters.tflite.ops import operator_name, operators
from retvec_lite.converters.tflite.quantize import quantize, to_grid
from retvec_lite.converters.tflite.reading import Model, constant_tensors, read_model, sizes
from retvec_lite.errors import RetvecLiteError

HEADS = ["pool", "cnn", "rnn", "bert", "raw"]


def versions(model: Model) -> dict[str, set[int]]:
    """Of the operators of the network; the encoder stays as it is."""
    found: dict[str, set[int]] = {}
    for graph in model.graphs:
        for position in graph.behind(graph.index("bits")):
            operator = graph.operators[position]
            found.setdefault(operator_name(operator.code), set()).add(operator.version)
    # What turns stored weights into floats does not depend on the bits.
    found["DEQUANTIZE"] = {version for name, version, _ in operators(model) if name == "DEQUANTIZE"}
    return {name: kinds for name, kinds in found.items() if kinds}


@pytest.mark.parametrize("recipe", RECIPES)
def test_right_or_refused_on_every_runtime(built: Path, runtime: str, run: Run, recipe: str) -> None:
    """A runtime that is older than a recipe asks for must refuse the file; silently wrong answers are the worst outcome."""
    promises = RECIPES[recipe].oldest_runtime[0] in ("tflite-runtime", runtime)
    models, expected = {}, {}
    for name in HEADS:
        model = quantize((built / f"{name}.tflite").read_bytes(), recipe)
        spec = standin.classifier(name)
        expected[name] = standin.reference(spec, match_weights(read_model(model), spec.weights))
        stages = ["words", "bits"] if name == "raw" else ["words", "bits", "embedding"]
        models[name] = (promote_outputs(model, stages), standin.inputs())
    tolerance = RECIPES[recipe].parity_tolerance
    for name, outputs in run(runtime, models).items():
        if not promises:
            assert isinstance(outputs, str)
            assert "version" in outputs
            continue
        assert not isinstance(outputs, str), outputs
        for stage in ("words", "bits"):
            np.testing.assert_array_equal(outputs[stage], expected[name][stage], err_msg=f"{name} {stage}")
        for stage in ("embedding", "probabilities"):
            if stage in outputs:
                worst = np.abs(outputs[stage] - expected[name][stage]).max()
                assert worst <= tolerance, f"{name} {stage}: {worst}"


@pytest.mark.parametrize("recipe", RECIPES)
def test_convolutions_and_addends(built: Path, runtime: str, run: Run, recipe: str) -> None:
    """CONV_2D, DEPTHWISE_CONV_2D and a constant addend, against NumPy with the file's own weights."""
    model = quantize((built / "conv.tflite").read_bytes(), recipe)
    weights = standin.conv_weights()
    conv = np.transpose(weights.conv, (2, 0, 1))
    stored = match_weights(
        read_model(model),
        {
            "dense": weights.dense,
            "positions": weights.positions,
            "conv": conv.reshape(standin.CONV_WIDTH, 3, 1, standin.CONV_WIDTH),
            "depthwise": weights.depthwise,
            "logits": weights.logits,
        },
    )
    expected = standin.conv_reference(
        standin.ConvWeights(
            stored["dense"],
            stored["positions"],
            np.transpose(stored["conv"].reshape(conv.shape), (1, 2, 0)),
            stored["depthwise"],
            stored["logits"],
        )
    )
    outputs = run(runtime, {"conv": (model, standin.conv_inputs())})["conv"]
    if RECIPES[recipe].oldest_runtime[0] not in ("tflite-runtime", runtime):
        assert isinstance(outputs, str)
        return
    assert not isinstance(outputs, str), outputs
    assert np.abs(outputs["probabilities"] - expected).max() <= RECIPES[recipe].parity_tolerance


def test_an_odd_number_of_inputs_keeps_eight_bits(built: Path) -> None:
    """XNNPACK has no 4-bit kernel for the 63 inputs of the character features; another one is four times slower (454 instead of 118 µs a text)."""
    constants = constant_tensors(read_model(quantize((built / "cnn.tflite").read_bytes(), "int4")))
    kinds = {c.values.shape: c.dtype for c in constants if c.values.ndim == 2 and c.values.size > 256}
    assert kinds.pop((standin.FILTERS, 63)) == "int8"
    assert len(kinds) > 3 and set(kinds.values()) == {"int4"}


def test_how_weights_are_stored(built: Path) -> None:
    float32 = (built / "rnn.tflite").read_bytes()
    kinds = {}
    for recipe in RECIPES:
        constants = constant_tensors(read_model(quantize(float32, recipe)))
        kinds[recipe] = {
            # The encoder has a matrix of 16 x 16, which nothing rounds.
            constant.dtype
            for constant in constants
            if constant.values.ndim == 2 and constant.values.size > 256
        }
    assert kinds == {
        "float32": {"float32"},
        "float16": {"float16"},
        "int8": {"int8"},
        "int8-dynamic": {"int8"},
        "int4": {"int4"},
    }


def test_operator_versions(built: Path) -> None:
    """The versions decide which runtimes refuse a file; 12 is per-channel float x int8, 5 and 6 are int8 and int4 weights."""
    found = {recipe: versions(read_model(quantize((built / "rnn.tflite").read_bytes(), recipe))) for recipe in RECIPES}
    assert found["float16"]["DEQUANTIZE"] == {3}
    assert found["int8"]["DEQUANTIZE"] == {5}
    assert max(found["int8"]["FULLY_CONNECTED"]) <= 9
    assert found["int8"]["UNIDIRECTIONAL_SEQUENCE_LSTM"] == {1}
    assert found["int8-dynamic"]["FULLY_CONNECTED"] == {12}
    assert found["int8-dynamic"]["UNIDIRECTIONAL_SEQUENCE_LSTM"] == {2}
    assert "DEQUANTIZE" not in found["int8-dynamic"]
    assert found["int4"]["FULLY_CONNECTED"] == {12}
    assert found["int4"]["DEQUANTIZE"] == {6}


def test_hybrid_lstm_has_one_scale_a_matrix(built: Path) -> None:
    """Its kernel reads the first scale only; a file with more is accepted and answers nonsense."""
    model = read_model(quantize((built / "rnn.tflite").read_bytes(), "int8-dynamic"))
    (graph,) = model.graphs
    (lstm,) = [operator for operator in graph.operators if operator.code == 44]
    assert {graph.tensors[index].scales.size for index in lstm.inputs[1:9]} == {1}


@pytest.mark.parametrize("name", HEADS)
def test_sizes_shrink_and_the_encoder_stays(built: Path, name: str) -> None:
    parts = {recipe: sizes(quantize((built / f"{name}.tflite").read_bytes(), recipe)) for recipe in RECIPES}
    network = {recipe: part["embedding"] + part["head"] for recipe, part in parts.items()}
    assert network["float16"] < 0.56 * network["float32"]
    assert network["int8"] < 0.40 * network["float32"]
    assert network["int4"] < 0.28 * network["float32"]
    assert {part["encoder"] for part in parts.values()} == {parts["float32"]["encoder"]}


@pytest.mark.parametrize("name", ["pool-snapped", "rnn-snapped"])
@pytest.mark.parametrize("recipe", ["int8", "int4"])
def test_weights_on_a_four_bit_grid_are_kept_exactly(built: Path, name: str, recipe: str) -> None:
    weights = standin.classifier(name).weights
    stored = match_weights(read_model(quantize((built / f"{name}.tflite").read_bytes(), recipe)), weights)
    for weight, values in weights.items():
        np.testing.assert_array_equal(stored[weight], values, err_msg=weight)


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
    for axis in (0, 1, None):
        integers, scales = to_grid(values, bits, axis)
        assert integers.min() >= -limit
        assert integers.max() <= limit
        assert scales.shape == (1,) if axis is None else (values.shape[axis],)
        along = scales.reshape([-1, 1] if axis == 0 else [1, -1])
        off = np.sqrt(np.square(integers * along - values).mean() / np.square(values).mean())
        assert off < (0.2 if bits == 4 else 0.02)
        assert not integers[2].any()


@pytest.mark.parametrize("recipe", RECIPES)
def test_deterministic_and_repeatable(built: Path, recipe: str) -> None:
    float32 = (built / "bert.tflite").read_bytes()
    assert quantize(float32, recipe) == quantize(float32, recipe)


def test_unknown_recipe() -> None:
    with pytest.raises(RetvecLiteError, match="float32, float16, int8, int8-dynamic, int4, received 'int2'"):
        quantize(b"", "int2")


def test_model_without_bits(built: Path) -> None:
    model = unpack((built / "pool.tflite").read_bytes())
    model.subgraphs[0].tensors[find_tensor(model.subgraphs[0], "bits")].name = "other"
    with pytest.raises(RetvecLiteError, match="'bits'"):
        quantize(pack(model), "int8")


def test_bounds_are_those_of_the_design() -> None:
    bounds = {
        recipe.name: (recipe.parity_tolerance, recipe.embedding_cosine, recipe.label_agreement)
        for recipe in RECIPES.values()
    }
    assert bounds == {
        "float32": (1e-5, None, None),
        "float16": (2e-3, 0.99999, 0.999),
        "int8": (2e-3, 0.999, 0.995),
        "int8-dynamic": (2e-2, 0.999, 0.995),
        "int4": (2e-2, 0.99, 0.985),
    }
