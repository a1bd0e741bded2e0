"""The network in training: weights, class weights and learning rate; batches in parts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from modeling_cases import SMALL_HEADS

from retvec_lite.training.network import TrainableNetwork, WordBatch
from retvec_lite.training.network_part import cosine_schedule
from retvec_lite.training.plan import FitSettings


def same(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_the_schedule_warms_up_and_comes_down() -> None:
    rate = cosine_schedule(0.05, 100, 10)
    found = [rate(step) for step in (0, 5, 10, 55, 100, 200)]
    np.testing.assert_allclose(found, [0.0, 0.025, 0.05, 0.05 * 0.51, 0.05 * 0.02, 0.05 * 0.02], rtol=1e-4, atol=1e-9)


def ids_of(counts: list[int], max_words: int) -> npt.NDArray[np.int32]:
    """Texts of the given lengths, whose words differ."""
    used = np.arange(max_words) < np.array(counts)[:, None]
    return np.where(used, np.arange(1, used.size + 1).reshape(used.shape) % 40, 0).astype(np.int32)


HEAD = SMALL_HEADS[0]
SETTINGS = FitSettings(dropout=0.5, weight_decay=0.01)


def a_network(seed: int, settings: FitSettings = SETTINGS) -> tuple[dict[str, Any], TrainableNetwork]:
    """Arguments that depend on the seed, and a network of them."""
    rng = np.random.default_rng(seed)
    vectors = np.random.default_rng(7).normal(size=(40, 5)).astype(np.float16)
    parts: dict[str, Any] = {
        "weights": HEAD.initial_weights(rng, 5, 4, 8),
        "class_weights": rng.uniform(0.5, 1.5, 4).astype(np.float32),
        "schedule": cosine_schedule(0.1 / (seed + 1), 10, 2),
    }
    return parts, TrainableNetwork(HEAD, vectors=vectors, settings=settings, **parts)


def trained(network: TrainableNetwork, steps: int = 5) -> dict[str, npt.NDArray[Any]]:
    """The weights after steps over batches of every length."""
    rng = np.random.default_rng(0)
    for count in range(steps):
        ids = np.where(np.arange(8) < rng.integers(1, 9), rng.integers(1, 40, (4, 8)), 0).astype(np.int32)
        targets = rng.integers(0, 4, 4).astype(np.int32)
        loss = network.train(WordBatch(np.arange(4), ids), targets, count, np.ones(4, np.float32))
        assert np.isfinite(loss)
    return network.weights()


def test_a_network_that_was_reset_trains_as_a_new_one() -> None:
    parts, new = a_network(0)
    _, used = a_network(1)
    assert not same(trained(used), expected := trained(new))
    used.reset(**parts)
    assert same(trained(used), expected)


def test_a_network_is_reset_to_its_own_shapes_only() -> None:
    parts, network = a_network(0)
    few = dict(list(parts["weights"].items())[1:])
    for wrong in ({"weights": few}, {"class_weights": np.ones(3, np.float32)}):
        with pytest.raises(ValueError):
            network.reset(**parts | wrong)


@pytest.mark.parametrize("batch_size", [64, 128])
def test_parts_of_a_batch_do_what_the_whole_does(batch_size: int) -> None:
    (_, whole), (_, parts) = (
        a_network(0, dataclasses.replace(SETTINGS, dropout=0.0, batch_size=size)) for size in (32, batch_size)
    )
    ids = ids_of([3, 8, 0, 1, 5], 8)
    for texts in range(1, 6):
        np.testing.assert_allclose(parts.logits(ids[:texts], 4, 8), whole.logits(ids[:texts], 4, 8), atol=1e-6)
    batch, targets = WordBatch(np.arange(5), ids), np.array([0, 1, 2, 3, 0], np.int32)
    ones = np.ones(5, np.float32)
    losses = [[network.train(batch, targets, step, ones) for step in range(5)] for network in (parts, whole)]
    assert losses[1][4] < losses[1][0]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


def test_padding_changes_nothing() -> None:
    _, network = a_network(0)
    ids = np.array([[3, 4, 0, 0], [5, 0, 0, 0], [0, 0, 0, 0]], np.int32)
    longer = np.pad(ids, ((0, 0), (0, 4)))
    np.testing.assert_allclose(network.logits(longer, 4, 2), network.logits(ids, 4, 3), atol=1e-6)


def test_earlier_weights_can_be_loaded_and_predict_alike() -> None:
    rng = np.random.default_rng(0)
    head = SMALL_HEADS[0]
    weights = head.initial_weights(rng, 5, 4, 8)
    vectors = rng.normal(size=(40, 5)).astype(np.float16)
    network = TrainableNetwork(
        head, weights, vectors, np.ones(4, np.float32), cosine_schedule(0.1, 10, 0),
        FitSettings(dropout=0.5, seed=2**31 - 1),
    )  # fmt: skip
    ids = rng.integers(0, 40, (6, 8)).astype(np.int32)
    ids = np.take_along_axis(ids, np.argsort(ids == 0, axis=1, kind="stable"), axis=1)
    weights = network.weights()
    network.load(weights)
    before = network.logits(ids, 4, 4)
    assert same(network.weights(), weights), "what lies on its grid stays there"
    network.load({name: value + 0.5 for name, value in weights.items()})
    assert not np.allclose(network.logits(ids, 4, 4), before)
    network.load(weights)
    np.testing.assert_array_equal(network.logits(ids, 4, 4), before)
    np.testing.assert_allclose(network.logits(ids[::-1], 4, 4)[::-1], before, atol=1e-6)


def test_what_reads_one_word_reads_each_word_of_a_batch_once() -> None:
    _, network = a_network(0)
    table, local = network._local(np.array([[5, 7, 5, 0], [7, 7, 0, 0]], np.int32))
    np.testing.assert_array_equal(table, network._words[[0, 5, 7]])
    assert local.tolist() == [[1, 2, 1, 0], [2, 2, 0, 0]]
    full, places = network._local(np.array([[5, 7]], np.int32))
    assert full.shape == (3, 5) and places.tolist() == [[1, 2]], "the empty word is there where no text needs it"
