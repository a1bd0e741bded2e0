"""Reading, editing and writing .tflite files, and questions about their graphs."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
import pytest
import standin
from exported import EXPORTED
from scripts import Run

from retvec_lite.converters import tflite as model_module
from retvec_lite.converters.tflite import find_signature, pack, promote_outputs, read_model, schema
from retvec_lite.converters.tflite.examine import match_weights
from retvec_lite.converters.tflite.graph import (
    ALLOWED,
    ALLOWED_INT4,
    check_operators,
    constants,
    operator_name,
    operators,
    outputs_alone,
    sizes,
)
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES

TINY = EXPORTED.with_name("tiny_signatures.tflite").read_bytes()


@pytest.fixture(scope="module")
def pool() -> bytes:
    return read_artifact(EXPORTED / "pool" / "classifier-float32.tflite").model


def plainly_packed(model: Any) -> bytes:
    """The bytes of a model, whatever is wrong with it."""
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_allowed_versions_are_known_to_the_runtime(pool: bytes, runtime: str, run: Run) -> None:
    """One model that registers every allowed operator at its newest version, and loads."""
    newest = ALLOWED_INT4 if runtime == "ai-edge-litert" else ALLOWED
    model = read_model(pool)
    for name, version in newest.items():
        code = schema().OperatorCodeT()
        code.builtinCode = getattr(schema().BuiltinOperator, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        model.operatorCodes.append(code)
    outputs = run(runtime, {"all": (plainly_packed(model), standin.inputs(standin.LONG)[:1])})["all"]
    assert not isinstance(outputs, str), outputs


def test_operators_off_the_list_are_named(pool: bytes) -> None:
    model = read_model(pool)
    used = {code.builtinCode: code for code in model.operatorCodes}
    used[schema().BuiltinOperator.SOFTMAX].version = 9
    sine = used[schema().BuiltinOperator.GELU]
    sine.builtinCode = sine.deprecatedBuiltinCode = schema().BuiltinOperator.SIN
    with pytest.raises(RetvecLiteError, match=r"SIN version 1 \(5x\), SOFTMAX version 9 \(1x\)"):
        check_operators(model)
    custom = next(code for code in model.operatorCodes if code.version == 9)
    custom.builtinCode = custom.deprecatedBuiltinCode = schema().BuiltinOperator.CUSTOM
    custom.customCode = "TFSentencepieceTokenizeOp"
    with pytest.raises(RetvecLiteError, match="CUSTOM:TFSentencepieceTokenizeOp version 9"):
        check_operators(model)


def test_buffers_are_aligned(pool: bytes) -> None:
    for recipe in ("float32", "int8", "int4"):
        data = quantize(pool, recipe)
        start = np.frombuffer(data, np.uint8).ctypes.data
        buffers = [buffer.data for buffer in read_model(data).buffers if buffer.data is not None]
        assert len(buffers) > 20
        for buffer in buffers:
            assert (buffer.ctypes.data - start) % 16 == 0


def test_packing_is_stable_and_drops_what_is_unused(pool: bytes) -> None:
    model = read_model(pool)
    unused = schema().BufferT()
    unused.data = np.zeros(5000, np.uint8)
    model.buffers.append(unused)
    assert pack(model) == pool


def test_sizes_add_up() -> None:
    data = (EXPORTED / "pool" / "classifier-float32.tflite").read_bytes()
    parts = sizes(data, read_model(data))
    assert sum(parts.values()) == len(data)
    # Besides the weights, a few numbers: shapes, axes, the mask's constants.
    assert 0 <= parts["embedding"] - 4 * (336 * 32 + 32 * 32 + 32 * 32 + 3 * 32) < 128
    assert 0 <= parts["head"] - 4 * (32 * 64 + 64 + 128 * 5 + 5) < 256


@pytest.mark.parametrize("recipe", ["float32", "int8", "int4"])
def test_promoted_outputs_are_those_of_the_file(pool: bytes, runtime: str, run: Run, recipe: str) -> None:
    """The probabilities do not move when inner tensors become outputs: delegates still run the same partitions."""
    model = quantize(pool, recipe)
    if recipe == "int4" and runtime == "tflite-runtime":
        pytest.skip("int4 is refused by tflite-runtime, as test_convert.py checks")
    promoted = promote_outputs(model, ["words", "bits", "embedding"])
    inputs = standin.inputs(standin.LONG)
    outputs = run(runtime, {"plain": (model, inputs), "promoted": (promoted, inputs)})
    plain, more = outputs["plain"], outputs["promoted"]
    assert not isinstance(plain, str), plain
    assert not isinstance(more, str), more
    assert {name for name in more if "/" not in name} == {"words", "bits", "embedding", "probabilities"}
    np.testing.assert_allclose(more["probabilities"], plain["probabilities"], rtol=0, atol=1e-6)


def test_promoting_changes_the_outputs_alone(pool: bytes) -> None:
    names = ["words", "bits", "embedding"]
    promoted = read_model(promote_outputs(pool, names, ["classify", "embed"]))
    for signature in promoted.signatureDefs:
        found = {entry.name for entry in signature.outputs}
        assert found == {entry.name for entry in find_signature(read_model(pool), signature.signatureKey).outputs} | {
            *names
        }
        graph = promoted.subgraphs[signature.subgraphIndex]
        assert {entry.tensorIndex for entry in signature.outputs} == set(graph.outputs.tolist())
    kept = [[tensor.name for tensor in graph.tensors] for graph in read_model(pool).subgraphs]
    assert [[tensor.name for tensor in graph.tensors] for graph in promoted.subgraphs] == kept


def test_the_encoder_alone_says_what_it_says_in_the_file(pool: bytes, runtime: str, run: Run) -> None:
    """It is the file's own: the same operators in the same order, up to the bits, in every signature."""
    signatures, names = ["classify", "embed"], ["words", "bits"]
    promoted = promote_outputs(quantize(pool, "int8"), names, signatures)
    alone = outputs_alone(promoted, names, signatures)
    inputs = standin.inputs(standin.LONG)
    outputs = run(runtime, {"promoted": (promoted, inputs), "alone": (alone, inputs)})
    whole, encoder = outputs["promoted"], outputs["alone"]
    assert not isinstance(whole, str), whole
    assert not isinstance(encoder, str), encoder
    assert {name for name in encoder if "/" not in name} == {*names}
    for name in names:
        np.testing.assert_array_equal(encoder[name], whole[name])
    model, cut = read_model(promoted), read_model(alone)
    for name in signatures:
        assert {entry.name for entry in find_signature(cut, name).outputs} == {*names}
        kinds, kept = (
            [operator_name(one, item) for item in one.subgraphs[find_signature(one, name).subgraphIndex].operators]
            for one in (model, cut)
        )
        # They need no more than what stands in front of the network, and none of its layers.
        remaining = iter(kinds)
        assert all(kind in remaining for kind in kept)
        assert "TANH" in kinds
        assert "TANH" not in kept
    assert len(alone) < len(promoted)


def test_promoting_what_is_not_there() -> None:
    with pytest.raises(RetvecLiteError, match="no tensor named 'nothing'"):
        promote_outputs(TINY, ["nothing"])
    with pytest.raises(RetvecLiteError, match="no signature 'other'"):
        promote_outputs(TINY, ["bits"], ["other"])


# --- hostile files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 3, 7, 8, 100, 2000, 0.5, 0.99])
def test_damaged_files_are_refused_in_one_sentence(cut: float) -> None:
    with pytest.raises(RetvecLiteError, match="TFLite model"):
        read_model(TINY[: int(cut if cut >= 1 else cut * len(TINY))])


@pytest.mark.parametrize("rounds", [300, pytest.param(20_000, marks=pytest.mark.exhaustive)])
def test_random_damage_raises_nothing_else(rounds: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        damaged = bytearray(TINY)
        for position in rng.integers(8, len(TINY), 20):
            damaged[position] = rng.integers(256)
        damaged[rng.integers(8, 200)] = rng.integers(256)
        try:
            model = read_model(bytes(damaged))
            for graph in model.subgraphs:
                constants(model, graph)
            operators(model)
        except RetvecLiteError as error:
            assert "damaged" in str(error), error


def foreign_name(model: Any) -> None:
    model.subgraphs[0].tensors[0].name = b"\xff\xfe"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model: model.subgraphs[0].operators[0].inputs.__setitem__(0, 9999),
        lambda model: model.subgraphs[0].operators[0].outputs.__setitem__(0, -2),
        lambda model: setattr(model.subgraphs[1].operators[2], "opcodeIndex", 9999),
        lambda model: setattr(model.subgraphs[0].tensors[1], "buffer", 9999),
        lambda model: model.subgraphs[0].inputs.__setitem__(0, -1),
        lambda model: model.subgraphs[1].outputs.__setitem__(0, 9999),
        lambda model: setattr(model.signatureDefs[0], "subgraphIndex", 2),
        lambda model: setattr(model.signatureDefs[1].inputs[0], "tensorIndex", 9999),
        foreign_name,
    ],
)
def test_every_index_and_name_is_checked(spoil: Callable[[Any], None]) -> None:
    model = read_model(TINY)
    for graph in model.subgraphs:
        for owner in (graph, *graph.operators):
            owner.inputs, owner.outputs = np.array(owner.inputs), np.array(owner.outputs)
    read_model(plainly_packed(model))
    model = read_model(plainly_packed(model))
    for graph in model.subgraphs:
        for owner in (graph, *graph.operators):
            owner.inputs, owner.outputs = np.array(owner.inputs), np.array(owner.outputs)
    spoil(model)
    with pytest.raises(RetvecLiteError, match="damaged"):
        read_model(plainly_packed(model))


def test_a_constant_that_does_not_fit_its_shape(pool: bytes) -> None:
    model = read_model(pool)
    graph = model.subgraphs[0]
    tensor = next(tensor for tensor in graph.tensors if tensor.shape is not None and list(tensor.shape) == [32, 336])
    model.buffers[tensor.buffer].data = model.buffers[tensor.buffer].data[:-4]
    with pytest.raises(RetvecLiteError, match="does not fit its shape"):
        constants(model, graph)


def test_a_missing_schema_is_one_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RetvecLiteError, match=r"ai-edge-litert.*pip install \"\.\[litert\]\""):
        schema.__wrapped__()


# --- matching ---------------------------------------------------------------------------------------------------------


def test_matching_says_what_is_missing(pool: bytes) -> None:
    weights = dict(load_trained_model(EXPORTED / "pool" / "reference.safetensors").weights)
    weights["head/word/kernel"] = weights["head/word/kernel"] + np.float32(0.5)
    weights["head/gone/kernel"] = np.ones((3, 3), np.float32)
    with pytest.raises(RetvecLiteError, match=r"none for head/word/kernel, head/gone/kernel\.$"):
        match_weights(read_model(pool), weights)


def test_matching_takes_absent_zeros_and_rows(pool: bytes) -> None:
    weights = load_trained_model(EXPORTED / "pool" / "reference.safetensors").weights
    rows = np.stack([weights["embedding/dense_0/bias"], weights["embedding/dense_1/bias"]])
    matched = match_weights(read_model(pool), {"zeros": np.zeros(77, np.float32), "rows": rows})
    np.testing.assert_array_equal(matched["zeros"].values, np.zeros(77))
    np.testing.assert_array_equal(matched["rows"].values, rows)


def test_reading_and_editing_load_no_runtime() -> None:
    """Two runtimes in one process break each other, so nothing here may load one behind a caller's back."""
    script = (
        "import sys, json\n"
        "from retvec_lite.converters import recipes\n"
        "from retvec_lite.converters.parity import oracle\n"
        "from retvec_lite.converters import tflite\n"
        "from retvec_lite.converters.tflite import examine, format, graph, quantize\n"
        "tflite.schema()\n"
        f"print(json.dumps([name for name in sys.modules if name in {['tensorflow', *RUNTIMES.values()]}]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_operators_are_counted(pool: bytes) -> None:
    counts = {name: count for name, _, count in operators(read_model(pool))}
    # In each of two graphs the embedding's three layers and the encoder's sums; two layers of the head in one of them.
    assert counts["FULLY_CONNECTED"] == 2 * 4 + 2
    assert counts["SOFTMAX"] == 1
