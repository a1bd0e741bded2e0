"""The network in training: batches hold every text at most once and none cut short; weights, class weights and learning rate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from modeling_cases import SMALL_HEADS

from retvec_lite.training.network import (
    TextBatch,
    TrainableNetwork,
    cosine_schedule,
    epoch,
    in_order,
    lengths,
    used_words,
)
from retvec_lite.training.settings import FitSettings


def ids_of(counts: list[int], max_words: int) -> np.ndarray:
    """Texts of the given lengths; each id names its text."""
    used = np.arange(max_words) < np.array(counts).reshape(-1, 1)
    return np.where(used, np.arange(1, len(counts) + 1)[:, None], 0).astype(np.int32)


sizes = st.integers(1, 40).flatmap(lambda words: st.tuples(st.just(words), st.lists(st.integers(0, words), min_size=1, max_size=300)))  # fmt: skip


# --- batches ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 4096))
def test_lengths_are_few_and_end_with_all(max_words: int) -> None:
    found = lengths(max_words)
    assert list(found) == sorted(set(found)) and found[0] >= 1 and found[-1] == max_words and len(found) <= 5


@given(sizes, st.integers(1, 20), st.integers(0, 99))
def test_an_epoch_is_every_text_at_most_once(size: tuple[int, list[int]], batch_size: int, seed: int) -> None:
    words, counts = size
    ids = ids_of(counts, words)
    batches = list(epoch(ids, batch_size, np.random.default_rng(seed)))
    seen = [row for batch in batches for row in batch.rows]
    assert len(seen) == len(set(seen)) == len(counts) // batch_size * batch_size
    for batch in batches:
        width = batch.ids.shape[1]
        assert batch.ids.shape[0] == batch_size and width in lengths(words)
        np.testing.assert_array_equal(batch.ids, ids[batch.rows, :width])
        assert not ids[batch.rows, width:].any(), "no word may be cut off"
        shorter = [length for length in lengths(words) if length < width]
        assert not shorter or used_words(batch.ids).max() > shorter[-1], "the shortest that fits"


def test_epochs_follow_the_generator() -> None:
    ids = ids_of(list(range(20)) * 20, 20)

    def rows(seed: int) -> list[list[int]]:
        return [batch.rows.tolist() for batch in epoch(ids, 16, np.random.default_rng(seed))]

    assert rows(1) == rows(1) != rows(2)
    rng = np.random.default_rng(1)
    first, second = (sorted(row for batch in epoch(ids[:35], 16, rng) for row in batch.rows) for _ in range(2))
    assert first != second, "another rest is left out in another epoch"


def test_batches_are_of_similar_length() -> None:
    counts = list(range(1, 33)) * 32
    cut = np.mean([batch.ids.shape[1] for batch in epoch(ids_of(counts, 32), 16, np.random.default_rng(0))])
    assert cut < 26, "shuffled batches of 16 would nearly all need 32"


@given(sizes, st.integers(1, 20))
def test_predictions_cover_every_text(size: tuple[int, list[int]], batch_size: int) -> None:
    words, counts = size
    ids = ids_of(counts, words)
    found = np.zeros(len(counts), int)
    for batch in in_order(ids, batch_size):
        assert len(batch.rows) == batch_size and batch.ids.shape[1] in lengths(words)
        found[batch.rows] = batch.ids.max(axis=1)
        assert not ids[batch.rows, batch.ids.shape[1] :].any()
    np.testing.assert_array_equal(found, ids.max(axis=1))


@pytest.mark.parametrize("counts", [[], [0, 0, 0]])
def test_no_texts_and_no_words(counts: list[int]) -> None:
    ids = ids_of(counts, 8)
    assert sum(len(batch.rows) for batch in epoch(ids, 1, np.random.default_rng(0))) == len(counts)
    assert len(list(in_order(ids, 4))) == (1 if counts else 0)


# --- weights ----------------------------------------------------------------------------------------------------------


def same(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_the_schedule_warms_up_and_comes_down() -> None:
    rate = cosine_schedule(0.05, 100, 10)
    found = [rate(step) for step in (0, 5, 10, 55, 100, 200)]
    np.testing.assert_allclose(found, [0.0, 0.025, 0.05, 0.05 * 0.51, 0.05 * 0.02, 0.05 * 0.02], rtol=1e-4, atol=1e-9)


HEAD = SMALL_HEADS[0]
SETTINGS = FitSettings(dropout=0.5, embedding_rate=1.0, weight_decay=0.01)


def a_network(seed: int) -> tuple[dict[str, Any], TrainableNetwork]:
    """Arguments that depend on the seed, and a network of them."""
    rng = np.random.default_rng(seed)
    words = np.zeros((40, 16), np.int32)
    words[1:, 0] = range(0x61, 0x61 + 39)
    vectors = np.random.default_rng(7).normal(size=(40, 5)).astype(np.float16)
    parts: dict[str, Any] = {
        "weights": HEAD.initial_weights(rng, 5, 4, 8),
        "class_weights": rng.uniform(0.5, 1.5, 4).astype(np.float32),
        "schedule": cosine_schedule(0.1 / (seed + 1), 10, 2),
    }
    return parts, TrainableNetwork(HEAD, frozen=vectors, words=words, settings=SETTINGS, levels=7, **parts)


def trained(network: TrainableNetwork, steps: int = 5) -> dict[str, npt.NDArray[Any]]:
    """The weights after steps over batches of every length."""
    rng = np.random.default_rng(0)
    for count in range(steps):
        ids = np.where(np.arange(8) < rng.integers(1, 9), rng.integers(1, 40, (4, 8)), 0).astype(np.int32)
        loss = network.train(TextBatch(np.arange(4), ids), rng.integers(0, 4, 4).astype(np.int32), count)
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


def test_padding_changes_nothing() -> None:
    _, network = a_network(0)
    ids = np.array([[3, 4, 0, 0], [5, 0, 0, 0], [0, 0, 0, 0]], np.int32)
    longer = np.pad(ids, ((0, 0), (0, 4)))
    np.testing.assert_allclose(network.logits(longer, 4, 2), network.logits(ids, 4, 3), atol=1e-6)


def test_earlier_weights_can_be_loaded_and_predict_alike() -> None:
    rng = np.random.default_rng(0)
    words = np.zeros((40, 16), np.int32)
    words[1:, 0] = range(0x61, 0x61 + 39)
    head = SMALL_HEADS[0]
    weights = head.initial_weights(rng, 5, 4, 8)
    vectors = rng.normal(size=(40, 5)).astype(np.float16)
    network = TrainableNetwork(
        head, weights, vectors, words, np.ones(4, np.float32), cosine_schedule(0.1, 10, 0),
        FitSettings(dropout=0.5, seed=2**31 - 1), levels=7,
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
    np.testing.assert_array_equal(table, network._frozen[[0, 5, 7]])
    assert local.tolist() == [[1, 2, 1, 0], [2, 2, 0, 0]]
    full, places = network._local(np.array([[5, 7]], np.int32))
    assert full.shape == (3, 5) and places.tolist() == [[1, 2]], "the empty word is there where no text needs it"
