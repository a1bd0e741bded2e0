"""The direct objective: right gradients, and halves of texts that find each other."""

import itertools

import numpy as np
import pytest

from makers.meaning.neighbors import (
    LONGEST,
    SHORTEST,
    draw_halves,
    info_nce,
)


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(3)
    sums = rng.normal(size=(12, 64)).astype(np.float32)
    sums[6:] += sums[:6]
    loss, gradient = info_nce(sums)
    assert 0 < loss < np.log(6) + 1 / 0.07
    for _ in range(5):
        direction = rng.normal(size=sums.shape).astype(np.float32)
        steps = [info_nce(sums + sign * np.float32(0.01) * direction)[0] for sign in (1, -1)]
        assert (steps[0] - steps[1]) / 0.02 == pytest.approx(float(np.sum(gradient * direction)), rel=0.02, abs=2e-3)


def test_halves_are_neighbouring_words_of_the_texts() -> None:
    stream = np.arange(5000, dtype=np.int32)
    tokens, bounds = draw_halves(stream, 1, 7, pairs=50)
    assert len(bounds) == 101 and bounds[-1] == len(tokens)
    halves = [tokens[first:last] for first, last in itertools.pairwise(bounds)]
    assert {len(half) for half in halves} <= set(range(SHORTEST // 2, LONGEST // 2 + 1))
    for left, right in zip(halves[:50], halves[50:], strict=True):
        whole = np.concatenate([left, right])
        assert len(left) == len(right) and (np.diff(whole) == 1).all()
    np.testing.assert_array_equal(tokens, draw_halves(stream, 1, 7, pairs=50)[0])
    assert not np.array_equal(tokens[:9], draw_halves(stream, 1, 8, pairs=50)[0][:9])
