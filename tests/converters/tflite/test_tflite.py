from pathlib import Path

import numpy as np
import pytest
import standin
from conftest import Run, run_script

from retvec_lite.converters.parity.matching import match_weights
from retvec_lite.converters.tflite.editing import promote_outputs
from retvec_lite.converters.tflite.ops import ALLOWED, operators
from retvec_lite.converters.tflite.reading import read_model

HEADS = ["pool", "cnn", "rnn", "bert", "raw"]


def stages_of(name: str) -> list[str]:
    return ["words", "bits"] if name == "raw" else ["words", "bits", "embedding"]


@pytest.mark.parametrize("name", HEADS)
def test_interface_and_operators(built: Path, name: str) -> None:
    model = read_model((built / f"{name}.tflite").read_bytes())
    (graph,) = model.graphs
    (signature,) = model.signatures
    assert signature.name == "classify"
    assert signature.inputs == {"codepoints": graph.inputs[0]}
    assert signature.outputs == {"probabilities": graph.outputs[0]}
    assert len(graph.inputs) == len(graph.outputs) == 1
    taken, given = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    assert (taken.name, taken.dtype, taken.shape) == ("codepoints", "int32", (1, standin.CONFIG.max_chars))
    assert (given.name, given.dtype, given.shape) == ("probabilities", "float32", (1, len(standin.LABELS)))
    for operator, version, _ in operators(model):
        assert version <= ALLOWED[operator].version
    assert [tensor.shape for tensor in graph.tensors if tensor.name == "bits"] == [(1, 12, 336)]
    assert model.metadata == {}, "conversion metadata differs from run to run"


def test_lstm_is_one_fused_operator(built: Path) -> None:
    counts = {name: count for name, _, count in operators(read_model((built / "rnn.tflite").read_bytes()))}
    assert counts["UNIDIRECTIONAL_SEQUENCE_LSTM"] == 1


def test_every_runtime_computes_what_the_reference_says(built: Path, runtime: str, run: Run) -> None:
    models = {}
    for name in HEADS:
        model = promote_outputs((built / f"{name}.tflite").read_bytes(), stages_of(name))
        models[name] = (model, standin.inputs())
    for name, outputs in run(runtime, models).items():
        assert not isinstance(outputs, str), outputs
        spec = standin.classifier(name)
        expected = standin.reference(spec, dict(spec.weights))
        for stage in ("words", "bits"):
            np.testing.assert_array_equal(outputs[stage], expected[stage], err_msg=f"{name} {stage}")
        for stage in (*stages_of(name)[2:], "probabilities"):
            np.testing.assert_allclose(outputs[stage], expected[stage], rtol=0, atol=1e-5, err_msg=f"{name} {stage}")


def test_a_call_does_not_remember_the_one_before(built: Path, runtime: str, run: Run) -> None:
    """The fused LSTM keeps its state from call to call; `fused_lstm` clears it inside the graph."""
    models = {"rnn": ((built / "rnn.tflite").read_bytes(), standin.inputs())}
    outputs = run(runtime, models)["rnn"]
    assert not isinstance(outputs, str), outputs
    np.testing.assert_allclose(outputs["probabilities/again"], outputs["probabilities"], rtol=0, atol=1e-7)


def test_variables_are_frozen(built: Path) -> None:
    """A graph that kept its variables would be without weights: 67 kB that LiteRT runs without a word."""
    model = read_model((built / "pool+variables.tflite").read_bytes())
    weights = standin.classifier("pool").weights
    matched = match_weights(model, weights)
    for name, values in weights.items():
        np.testing.assert_array_equal(matched[name], values)


def test_same_weights_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """In another process, after other models: nothing of the process gets into the file."""
    run_script("build_standins.py", str(tmp_path), "rnn", "pool")
    for name in ("pool", "rnn"):
        assert (tmp_path / f"{name}.tflite").read_bytes() == (built / f"{name}.tflite").read_bytes()


def test_refuses_functions_of_another_shape(built: Path) -> None:
    name, batch, outputs, unconnected, forbidden = (built / "refusals.txt").read_text(encoding="utf-8").split("\n")
    assert "one int32 argument 'codepoints'" in name
    assert "static shape [1, max_chars]" in batch
    assert "'probabilities' and 'bits'" in outputs
    assert "computed from 'bits'" in unconnected
    assert "allow-list" in forbidden
    assert "BUILTIN_66 version 1 (1x)" in forbidden
