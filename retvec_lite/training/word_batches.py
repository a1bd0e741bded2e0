"""Batches of word ids for the network: in random order to train on, in order to predict, each cut to its longest text."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Ints

_WINDOW: Final = 16
"""Batches are formed within this many batches' worth of shuffled texts, sorted by length."""


class WordBatch(NamedTuple):
    """Rows of the data set and their word ids, int32 `[batch, words]` with `words` one of `lengths(max_words)`."""

    rows: npt.NDArray[np.int64]
    ids: Ints


def lengths(max_words: int) -> tuple[int, ...]:
    """Return the lengths that batches are cut to: few, because XLA compiles a step for each."""
    return tuple(sorted({max(1, round(max_words * share)) for share in (0.25, 0.5, 0.75, 1.0)}))


def epoch(ids: Ints, batch_size: int, rng: np.random.Generator) -> Iterator[WordBatch]:
    """Yield texts in random order, none twice, in batches of similar length, cut to what their texts need.

    Padding is the most expensive part of short texts. The few texts that fill no batch wait for the next epoch.
    """
    used = used_words(ids)
    order = rng.permutation(len(ids))
    window = batch_size * _WINDOW
    groups = [order[start : start + window] for start in range(0, len(order), window)]
    batches: list[npt.NDArray[np.int64]] = []
    for group in groups:
        group = group[np.argsort(used[group], kind="stable")]
        count = len(group) // batch_size
        skipped = rng.integers(0, len(group) - count * batch_size + 1)
        batches += np.split(group[skipped : skipped + count * batch_size], count) if count else []
    for index in rng.permutation(len(batches)):
        rows = batches[index]
        yield WordBatch(rows, _cut(ids[rows], int(used[rows].max())))


def in_order(ids: Ints, batch_size: int) -> Iterator[WordBatch]:
    """Yield every text once, sorted by length, for prediction; the last batch is filled up with repeated rows."""
    used = used_words(ids)
    order = np.argsort(used, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        rows = np.concatenate([rows, np.repeat(rows[-1:], batch_size - len(rows))])
        yield WordBatch(rows, _cut(ids[rows], int(used[rows].max())))


def used_words(ids: Ints) -> npt.NDArray[np.int64]:
    """Return how many slots each text uses; they are always the first ones."""
    used: npt.NDArray[np.int64] = (ids != 0).sum(axis=1)
    return used


def distinct_words(ids: Ints) -> tuple[Ints, Ints]:
    """Return the ids of the words that texts use, the empty word 0 first, and the texts as places among them: what reads one word reads it once."""
    distinct, places = np.unique(np.append(ids, 0), return_inverse=True)
    return distinct, places[:-1].reshape(ids.shape).astype(np.int32)


def _cut(ids: Ints, needed: int) -> Ints:
    return ids[:, : next(length for length in lengths(ids.shape[1]) if length >= needed)]
