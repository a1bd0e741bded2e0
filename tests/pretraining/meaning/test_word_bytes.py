"""Bytes of the words of a pre-training: axes that share the work, errors where they cost least, numbers on a grid."""

import numpy as np

from retvec_lite.model.product_codes import decoded
from retvec_lite.pretraining.meaning.codes import coded, on_grid, principal_axes


def test_frequent_words_have_smaller_errors() -> None:
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(1500, 12)) @ rng.normal(size=(12, 64)) / 12).astype(np.float32)
    codes, books = coded(vectors, np.where(np.arange(1500) < 750, 100_000, 10), 16, seed=0)
    assert codes.shape == (1500, 16) and books.shape == (16, 256, 4)
    np.testing.assert_array_equal(on_grid(books), books)
    errors = np.square(decoded(codes, books) - vectors).mean(axis=1)
    assert errors[:750].mean() < 0.8 * errors[750:].mean() < 0.1 * vectors.var()


def test_axes_are_a_rotation_that_balances_the_subspaces() -> None:
    spread = 0.9 ** np.arange(64)
    vectors = (np.random.default_rng(0).normal(size=(4000, 64)) * spread).astype(np.float32)
    axes = principal_axes(vectors, np.ones(4000, np.int64), 8)
    assert axes.dtype == np.float32
    np.testing.assert_allclose(axes @ axes.T, np.eye(64), atol=1e-5)
    products = np.log(np.var(vectors @ axes, axis=0)).reshape(8, 8).sum(axis=1)
    assert np.ptp(products) < 1 < np.ptp(np.log(np.var(vectors, axis=0)).reshape(8, 8).sum(axis=1))


def test_the_grid_holds_8_bits() -> None:
    books = np.random.default_rng(1).normal(0, 0.3, (8, 256, 8)).astype(np.float32)
    found = on_grid(books)
    step = np.abs(found).max() / np.float32(127)
    np.testing.assert_array_equal(np.rint(found / step) * step, found)
    assert np.abs(found - books).max() <= 0.51 * step
    np.testing.assert_array_equal(on_grid(found), found)
