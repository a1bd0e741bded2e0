"""Eight bytes a word: nearest codes, and training that lets texts keep their neighbours."""

import numpy as np
import pytest

from makers.meaning.codes import (
    RATE,
    CodeTrainer,
    balanced_axes,
    importance,
    kept_neighbors,
)
from makers.meaning.neighbors import draw_halves
from retvec_lite.model.meaning_file import nearest_codebooks

COUNTS = np.full(1500, 7)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(1500, 12)) @ rng.normal(size=(12, 64)) / 12).astype(np.float32)


def test_axes_are_a_rotation_that_balances_the_subspaces() -> None:
    spread = 0.9 ** np.arange(64)
    vectors = (np.random.default_rng(0).normal(size=(4000, 64)) * spread).astype(np.float32)
    axes = balanced_axes(vectors, np.ones(4000, np.int64))
    assert axes.dtype == np.float32
    np.testing.assert_allclose(axes @ axes.T, np.eye(64), atol=1e-5)
    products = np.log(np.var(vectors @ axes, axis=0)).reshape(8, 8).sum(axis=1)
    assert np.ptp(products) < 1 < np.ptp(np.log(np.var(vectors, axis=0)).reshape(8, 8).sum(axis=1))


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(3)
    exact = rng.normal(size=(9, 64)).astype(np.float32)
    coded = exact + rng.normal(0, 0.5, size=(9, 64)).astype(np.float32)
    assert kept_neighbors(exact, 2 * exact)[0] == pytest.approx(0, abs=1e-5)
    loss, gradient = kept_neighbors(exact, coded)
    assert loss > 0.01
    for _ in range(5):
        direction = rng.normal(size=coded.shape).astype(np.float32)
        steps = [kept_neighbors(exact, coded + sign * np.float32(0.01) * direction)[0] for sign in (1, -1)]
        assert (steps[0] - steps[1]) / 0.02 == pytest.approx(float(np.sum(gradient * direction)), rel=0.02, abs=1e-3)


def test_training_keeps_neighbours_better(vectors: np.ndarray) -> None:
    stream = np.random.default_rng(2).integers(0, 1500, 20_000).astype(np.int32)
    trainer = CodeTrainer(vectors, nearest_codebooks(vectors, importance(COUNTS), 8, 0))
    losses = [trainer.step(*draw_halves(stream, 0, step % 5, pairs=64), RATE) for step in range(60)]
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])
