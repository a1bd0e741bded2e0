"""The direct objective: right gradients, and halves of texts that find each other."""

import itertools

import numpy as np
import pytest

from makers.meaning.corpus import Corpus
from makers.meaning.neighbors import (
    LONGEST,
    SHORTEST,
    Neighbors,
    draw_halves,
    info_nce,
    starting_vectors,
    weights_of,
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


def test_texts_that_belong_together_have_no_loss() -> None:
    texts = np.eye(10, 64, dtype=np.float32)
    assert info_nce(np.concatenate([texts, 3 * texts]))[0] < 1e-4
    assert info_nce(np.concatenate([texts, np.roll(texts, 1, axis=0)]))[0] > 10


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


def test_frequent_words_count_less() -> None:
    weights = weights_of(np.asarray([0.05, 1e-3, 1e-6]))
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights, [1e-3 / 0.051, 0.5, 1e-3 / 1.001e-3], rtol=1e-6)


def test_starting_vectors_have_no_mean_and_length_1() -> None:
    vectors = np.random.default_rng(0).normal(3, 1, (50, 64)).astype(np.float32)
    found = starting_vectors(vectors)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    assert np.linalg.norm(found.mean(axis=0)) < 0.1


def test_it_learns_which_words_stand_together(topics: Corpus) -> None:
    rng = np.random.default_rng(0)
    start = starting_vectors(rng.normal(size=(len(topics.words), 64)).astype(np.float32))
    trainer = Neighbors(start, weights_of(topics.shares))
    losses = [trainer.step(*draw_halves(topics.known, 0, step, pairs=64)) for step in range(60)]
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.3
    assert trainer.vectors.dtype == np.float32 and not np.array_equal(start, trainer.vectors)
