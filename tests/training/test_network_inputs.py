"""Batches of word ids hold every text at most once and none cut short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.training.network import epoch, in_order, used_words


def ids_of(counts: list[int], max_words: int) -> np.ndarray:
    """Texts of the given lengths; each id names its text."""
    used = np.arange(max_words) < np.array(counts).reshape(-1, 1)
    return np.where(used, np.arange(1, len(counts) + 1)[:, None], 0).astype(np.int32)


sizes = st.integers(1, 40).flatmap(lambda words: st.tuples(st.just(words), st.lists(st.integers(0, words), min_size=1, max_size=300)))  # fmt: skip


@given(sizes, st.integers(1, 20), st.integers(0, 99))
def test_an_epoch_is_every_text_at_most_once(size: tuple[int, list[int]], batch_size: int, seed: int) -> None:
    words, counts = size
    ids = ids_of(counts, words)
    batches = list(epoch(ids, batch_size, np.random.default_rng(seed)))
    seen = [row for batch in batches for row in batch.rows]
    assert len(seen) == len(set(seen)) == len(counts) // batch_size * batch_size
    for batch in batches:
        width = batch.ids.shape[1]
        assert batch.ids.shape[0] == batch_size and width == max(1, used_words(batch.ids).max())
        np.testing.assert_array_equal(batch.ids, ids[batch.rows, :width])
        assert not ids[batch.rows, width:].any(), "no word may be cut off"


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
        assert len(batch.rows) <= batch_size and batch.ids.shape[1] == max(1, used_words(batch.ids).max())
        found[batch.rows] = batch.ids.max(axis=1)
        assert not ids[batch.rows, batch.ids.shape[1] :].any()
    np.testing.assert_array_equal(found, ids.max(axis=1))


@pytest.mark.parametrize("counts", [[], [0, 0, 0]])
def test_no_texts_and_no_words(counts: list[int]) -> None:
    ids = ids_of(counts, 8)
    assert sum(len(batch.rows) for batch in epoch(ids, 1, np.random.default_rng(0))) == len(counts)
    assert len(list(in_order(ids, 4))) == (1 if counts else 0)
