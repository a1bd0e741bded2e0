"""The LSTM that the converter fuses: the same function as the one that is trained and as the oracle's."""

import numpy as np
import pytest
import tensorflow as tf
from modeling_cases import random_head

from retvec_lite.converters.tflite.convert import fused_lstm
from retvec_lite.model import reference_network
from retvec_lite.model.heads import RnnHead
from retvec_lite.model.network_graph import head_logits, scan_lstm


def weights_of(features: int, units: int, scale: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = ((features, 4 * units), (units, 4 * units), (4 * units,))
    kernel, recurrent, bias = (rng.normal(0, scale, shape).astype(np.float32) for shape in shapes)
    return kernel, recurrent, bias


@pytest.mark.parametrize("scale", [0.01, 0.5, 5.0])
@pytest.mark.parametrize("steps", [1, 9, 64])
def test_the_same_outputs_as_the_one_that_is_trained(steps: int, scale: float) -> None:
    kernel, recurrent, bias = weights_of(6, 5, scale)
    inputs = tf.constant(np.random.default_rng(1).normal(size=(1, steps, 6)), tf.float32)
    fused = fused_lstm(inputs, kernel, recurrent, bias)
    assert fused.shape == (1, steps, 5)
    np.testing.assert_allclose(fused, scan_lstm(inputs, kernel, recurrent, bias), atol=1e-5)


def test_logits_of_the_head_are_the_oracle_s() -> None:
    head = RnnHead(hidden=14, projection=12, units=10)
    weights = random_head(head, 8, 3, 7)
    for used in (0, 1, 7):
        mask = (np.arange(7) < used).astype(np.float32)[None]
        embeddings = np.random.default_rng(used).normal(size=(1, 7, 8)).astype(np.float32)
        found = head_logits(tf.constant(embeddings), mask, head, weights, fused_lstm)
        right = reference_network.head_logits(embeddings[0], mask[0] != 0, head, weights)
        np.testing.assert_allclose(found[0], right, atol=2e-5)


def signal_rows(kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kernel with its extra row and the inputs with their extra step, as they stand in the graph."""
    graph = tf.function(lambda inputs: fused_lstm(inputs, kernel, recurrent, bias))
    concrete = graph.get_concrete_function(tf.TensorSpec([1, 3, kernel.shape[0]]))
    constants = {
        tuple(value.shape): value
        for operation in concrete.graph.get_operations()
        if operation.type == "Const"
        for value in [tf.make_ndarray(operation.get_attr("value"))]
        if value.dtype == np.float32
    }
    return constants[kernel.shape[0] + 1, kernel.shape[1]], constants[1, 4, 1]


@pytest.mark.parametrize("scale", [0.01, 1.0])
def test_the_first_step_closes_both_gates_whatever_a_call_left_behind(scale: float) -> None:
    """TFLite keeps state and cell between calls; |state| < 1 and |cell| < number of steps are all they can be."""
    kernel, recurrent, bias = weights_of(6, 5, scale)
    extended, signal = signal_rows(kernel, recurrent, bias)
    assert not signal[0, 1:].any(), "the signal must be silent on every real step"
    for state in (np.ones(5), -np.ones(5), np.sign(recurrent[:, 0]), np.sign(recurrent[:, 7])):
        gates = signal[0, 0, 0] * extended[-1] + state @ recurrent + bias
        assert (gates[: 2 * 5] < -90.0).all(), "input and forget gate"


def test_the_extra_row_widens_no_scale() -> None:
    kernel, recurrent, bias = weights_of(6, 5, 0.3)
    extended, _ = signal_rows(kernel, recurrent, bias)
    np.testing.assert_array_equal(extended[:-1], kernel)
    assert (np.abs(extended[-1]) <= np.abs(kernel).max(axis=0)).all()
    assert not extended[-1, 10:].any(), "cell and output gate are left alone"


def test_a_column_of_zeros_still_closes_its_gate() -> None:
    kernel, recurrent, bias = weights_of(6, 5, 0.3)
    kernel[:, 2] = 0.0
    extended, signal = signal_rows(kernel, recurrent, bias)
    gates = signal[0, 0, 0] * extended[-1] + np.ones(5) @ np.abs(recurrent) + bias
    assert (gates[:10] < -90.0).all()


def test_the_call_carries_what_the_converter_looks_for() -> None:
    kernel, recurrent, bias = weights_of(6, 5, 0.3)
    graph = tf.function(lambda inputs: fused_lstm(inputs, kernel, recurrent, bias))
    library = graph.get_concrete_function(tf.TensorSpec([1, 3, 6])).graph.as_graph_def().library
    marked = [function for function in library.function if "api_implements" in function.attr]
    assert marked and all(function.attr["api_implements"].s.startswith(b"lstm_") for function in marked)
    assert all(len(function.signature.output_arg) == 5 for function in marked)
