import json
import subprocess
import sys
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import standin
from conftest import RUNTIMES, Run

from retvec_lite.converters.parity.matching import match_weights
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.editing import pack, promote_outputs, schema, unpack
from retvec_lite.converters.tflite.ops import ALLOWED, check_operators, operators
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.converters.tflite.reading import DTYPES, constant_tensors, read_model, sizes
from retvec_lite.errors import RetvecLiteError


@pytest.fixture(scope="module")
def pool(built: Path) -> bytes:
    return (built / "pool.tflite").read_bytes()


def text(name: bytes | str | None) -> str:
    return name.decode() if isinstance(name, bytes) else name or ""


@pytest.mark.parametrize("name", ["pool", "rnn", "conv"])
def test_reader_agrees_with_the_generated_schema(built: Path, name: str) -> None:
    data = quantize((built / f"{name}.tflite").read_bytes(), "int8")
    (mine,), (theirs,) = read_model(data).graphs, unpack(data).subgraphs
    codes = unpack(data).operatorCodes
    assert [t.name for t in mine.tensors] == [text(t.name) for t in theirs.tensors]
    assert [t.shape for t in mine.tensors] == [
        tuple(np.array([] if t.shape is None else t.shape)) for t in theirs.tensors
    ]
    assert [DTYPES.index(t.dtype) for t in mine.tensors] == [t.type for t in theirs.tensors]
    assert [t.is_variable for t in mine.tensors] == [t.isVariable for t in theirs.tensors]
    assert [o.inputs for o in mine.operators] == [tuple(o.inputs) for o in theirs.operators]
    assert [(o.code, o.version) for o in mine.operators] == [
        (codes[o.opcodeIndex].builtinCode, codes[o.opcodeIndex].version) for o in theirs.operators
    ]


def test_names_of_types_and_operators_are_the_schema_s() -> None:
    kinds = schema().TensorType
    assert [getattr(kinds, dtype.upper()) for dtype in DTYPES] == list(range(len(DTYPES)))
    codes = schema().BuiltinOperator
    assert {name: getattr(codes, name) for name in ALLOWED} == {name: op.code for name, op in ALLOWED.items()}


def test_allowed_versions_are_known_to_the_runtime(pool: bytes, runtime: str, run: Run) -> None:
    """One model that registers every allowed operator at its newest version, and loads."""
    newest = {name: builtin.version for name, builtin in ALLOWED.items()}
    if runtime == "ai-edge-litert":
        newest |= RECIPES["int4"].newer_operators
    model = unpack(pool)
    for name, version in newest.items():
        code = schema().OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode = ALLOWED[name].code, min(ALLOWED[name].code, 127)
        code.version = version
        model.operatorCodes.append(code)
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    outputs = run(runtime, {"all": (bytes(builder.Output()), standin.inputs()[:1])})["all"]
    assert not isinstance(outputs, str), outputs


def test_operators_off_the_list_are_named(pool: bytes) -> None:
    model = unpack(pool)
    used = {code.builtinCode: code for code in model.operatorCodes}
    used[ALLOWED["SOFTMAX"].code].version = 9
    with pytest.raises(RetvecLiteError, match=r"SOFTMAX version 9 \(1x\)"):
        check_operators(read_model(pack(model)))


def test_buffers_are_aligned(pool: bytes) -> None:
    for recipe in ("float32", "int8", "int4"):
        data = quantize(pool, recipe)
        start = np.frombuffer(data, np.uint8).ctypes.data
        for buffer in read_model(data).buffers:
            if buffer:
                assert (np.frombuffer(buffer, np.uint8).ctypes.data - start) % 16 == 0


def test_packing_is_stable_and_drops_what_is_unused(pool: bytes) -> None:
    assert pack(unpack(pool)) == pool
    model = unpack(pool)
    unused = schema().BufferT()
    unused.data = np.zeros(5000, np.uint8)
    model.buffers.append(unused)
    assert pack(model) == pool


def test_sizes_add_up(pool: bytes) -> None:
    parts = sizes(pool)
    assert sum(parts.values()) == len(pool)
    # Besides the weights, a few numbers: shapes, axes, the mask's constants.
    assert 0 <= parts["embedding"] - 4 * (336 * 64 + 64 * 64 + 64 * 64 + 3 * 64) < 64
    assert 0 <= parts["head"] - 4 * (64 * 64 + 64 + 128 * 5 + 5) < 64


@pytest.mark.parametrize("recipe", ["float32", "int8", "int8-dynamic"])
def test_promoted_outputs_are_those_of_the_file(pool: bytes, runtime: str, run: Run, recipe: str) -> None:
    """The probabilities do not move when inner tensors become outputs: delegates still run the same partitions."""
    model = quantize(pool, recipe)
    if recipe == "int8-dynamic" and runtime == "tflite-runtime":
        pytest.skip("int8-dynamic is refused by tflite-runtime, as test_recipes.py checks")
    promoted = promote_outputs(model, ["words", "bits", "embedding"])
    assert [t.name for t in read_model(promoted).graphs[0].tensors] == [
        t.name for t in read_model(model).graphs[0].tensors
    ]
    outputs = run(runtime, {"plain": (model, standin.inputs()), "promoted": (promoted, standin.inputs())})
    plain, more = outputs["plain"], outputs["promoted"]
    assert not isinstance(plain, str), plain
    assert not isinstance(more, str), more
    assert {name for name in more if "/" not in name} == {"words", "bits", "embedding", "probabilities"}
    np.testing.assert_allclose(more["probabilities"], plain["probabilities"], rtol=0, atol=1e-6)


def test_promoting_what_is_not_there(pool: bytes) -> None:
    with pytest.raises(RetvecLiteError, match="'nothing'"):
        promote_outputs(pool, ["nothing"])


@pytest.mark.parametrize("cut", [0, 3, 7, 8, 100, 2000, 0.5, 0.99])
def test_damaged_files_are_refused_in_one_sentence(pool: bytes, cut: float) -> None:
    with pytest.raises(RetvecLiteError, match="TFLite model"):
        read_model(pool[: int(cut if cut >= 1 else cut * len(pool))])


def test_random_damage_raises_nothing_else(pool: bytes) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        damaged = bytearray(pool)
        for position in rng.integers(8, len(pool), 40):
            damaged[position] = rng.integers(256)
        damaged[rng.integers(8, 200)] = rng.integers(256)
        try:
            constant_tensors(read_model(bytes(damaged)))
        except RetvecLiteError as error:
            assert "damaged" in str(error), error


def test_matching_says_what_is_missing(pool: bytes) -> None:
    weights = dict(standin.classifier("pool").weights)
    weights["head/word/kernel"] = weights["head/word/kernel"] + np.float32(0.5)
    weights["head/gone/kernel"] = np.ones((3, 3), np.float32)
    with pytest.raises(RetvecLiteError, match=r"none for head/word/kernel, head/gone/kernel\.$"):
        match_weights(read_model(pool), weights)


def test_matching_takes_absent_zeros_and_rows(pool: bytes) -> None:
    weights = standin.classifier("pool").weights
    rows = np.stack([weights["head/word/bias"], weights["embedding/dense_1/bias"]])
    matched = match_weights(read_model(pool), {"zeros": np.zeros(77, np.float32), "rows": rows})
    np.testing.assert_array_equal(matched["zeros"], np.zeros(77))
    np.testing.assert_array_equal(matched["rows"], rows)


def test_reading_needs_numpy_alone_and_editing_loads_no_runtime() -> None:
    """Two runtimes in one process break each other, so that nothing here may load one behind a caller's back."""
    script = (
        "import sys, json\n"
        "from retvec_lite.converters import flatbuffer, matching, ops, recipes\n"
        "light = [name for name in sys.modules if name.partition('.')[0] in {packages}]\n"
        "from retvec_lite.converters import editing, metadata, quantize\n"
        "editing.schema()\n"
        "loaded = [name for name in sys.modules if name in {runtimes}]\n"
        "print(json.dumps([light, loaded]))"
    ).format(
        packages=["flatbuffers", "tensorflow", *RUNTIMES.values()],
        runtimes=["tensorflow", *RUNTIMES.values()],
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], []]


def test_operators_are_counted(pool: bytes) -> None:
    counts = {name: count for name, _, count in operators(read_model(pool))}
    # Three layers of the embedding, two of the head, and the sums of the encoder.
    assert counts["FULLY_CONNECTED"] == 6
    assert counts["SOFTMAX"] == 1
