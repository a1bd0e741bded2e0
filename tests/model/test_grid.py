"""The grid of quantized files: snapping, fake quantization, learned scales."""

from __future__ import annotations

import numpy as np
import pytest


def test_snapped_kernels_survive_every_quantizer() -> None:
    pytest.importorskip("keras")
    from retvec_lite.model.grid import snap

    kernel = np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32)
    kernel[:, 3] *= 1e-4
    kernel[:, 4] = 0
    snapped = snap(kernel)
    step = np.abs(kernel).max(axis=0) / 7
    assert (np.abs(snapped - kernel) <= 0.52 * step + 1e-9).all()
    assert (snap(snapped) == snapped).all()
    used = np.arange(32) != 4
    scale = (np.abs(snapped).max(axis=0) / np.float32(7)).astype(np.float32)  # what a max-abs int4 quantizer computes
    levels = np.rint(snapped[:, used] / scale[used])
    assert (np.abs(levels).max(axis=0) == 7).all()
    assert (levels * scale[used] == snapped[:, used]).all()  # exact, in float32
    assert (snapped[:, 4] == 0).all()
    assert (snapped[:, used].astype(np.float16) == snapped[:, used])[:, np.arange(31) != 3].all()


def test_fake_quantization_is_what_snapping_does() -> None:
    pytest.importorskip("keras")
    from retvec_lite.model.grid import fake_quantize, snap

    kernel = np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32)
    fake, snapped = np.asarray(fake_quantize(kernel)), snap(kernel)
    levels, snapped_levels = (np.rint(values / np.abs(values).max(axis=0) * 7) for values in (fake, snapped))
    # The snapped scale is up to 1 % larger (8 binary digits): a few weights that lay between two levels change sides.
    assert (levels == snapped_levels).mean() > 0.98
    assert np.abs(levels - snapped_levels).max() <= 1


def test_a_learned_scale_clips_and_gets_the_gradient_of_the_rounding_error() -> None:
    """LSQ: the gradient of the scale is round(v) - v inside the grid and +-levels outside; that of weights is 1 or 0."""
    tf = pytest.importorskip("tensorflow")
    if pytest.importorskip("keras").backend.backend() != "tensorflow":
        pytest.skip("gradients are read with TensorFlow's tape")
    from retvec_lite.model.grid import fake_quantize, snap

    kernel = np.array([[0.34, -2.0], [0.06, 0.93], [-0.71, 0.35]], np.float32)
    scale = np.array([[0.1, 0.2]], np.float32)
    with tf.GradientTape() as tape:
        weights, steps = tf.Variable(kernel), tf.Variable(scale)
        values = fake_quantize(weights, 7, steps)
        total = tf.reduce_sum(values)
    assert np.asarray(values) == pytest.approx(np.array([[0.3, -1.4], [0.1, 1.0], [-0.7, 0.4]]), abs=1e-6)
    to_weights, to_steps = tape.gradient(total, [weights, steps])
    v = kernel / scale
    inside = np.abs(v) <= 7
    assert (np.asarray(to_weights) == inside).all()
    expected = np.where(inside, np.rint(v) - v, np.sign(v) * 7).sum(axis=0, keepdims=True)
    assert np.asarray(to_steps) == pytest.approx(expected, abs=1e-4)
    snapped = snap(kernel, 7, scale)
    assert np.abs(snapped).max(axis=0) == pytest.approx([0.7, 1.4], rel=0.01)
    assert (snap(snapped) == snapped).all()  # a quantizer that looks for the largest weight finds this grid
