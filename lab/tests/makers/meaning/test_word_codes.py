"""Codes of words: axes that share what they have to say among the bytes, and codebooks of whole multiples of one scale."""

import numpy as np
import pytest

from makers.meaning.codes import balanced_axes, coded, importance
from retvec_lite.model.meaning_file import MeaningFile, decoded

VECTORS = (np.random.default_rng(0).normal(size=(4000, 128)) * 0.95 ** np.arange(128)).astype(np.float32)
EVEN = importance(np.ones(4000))


@pytest.mark.parametrize("size", [16, 32])
def test_axes_are_a_rotation_that_balances_the_bytes(size: int) -> None:
    axes = balanced_axes(VECTORS, EVEN, size)
    assert axes.dtype == np.float32
    np.testing.assert_allclose(axes @ axes.T, np.eye(128), atol=1e-5)
    products = np.log(np.var(VECTORS @ axes, axis=0)).reshape(size, -1).sum(axis=1)
    assert np.ptp(products) < 1 < np.ptp(np.log(np.var(VECTORS, axis=0)).reshape(size, -1).sum(axis=1))


def test_frequent_words_count_more_but_less_than_they_occur() -> None:
    found = importance(np.array([1, 1000, 0.5]))
    assert found.sum() == pytest.approx(1, abs=1e-6) and 1 < found[1] / found[0] < 100 and found[2] < found[0]


def test_a_file_takes_the_codes_and_important_words_lose_less() -> None:
    some = np.arange(4000) < 400
    counts = np.where(some, 20, 0.2).astype(np.float32)
    lost = []
    for weights in (EVEN, counts / counts.sum()):
        codes, codebooks = coded(VECTORS, weights, 16)
        MeaningFile(tuple(f"w{number}" for number in range(4000)), codes, codebooks, "tlh", "of tests", {})
        lost.append(np.square(decoded(codes, codebooks) - VECTORS)[some].sum() / np.square(VECTORS[some]).sum())
    assert lost[1] < 0.8 * lost[0] < 0.4
