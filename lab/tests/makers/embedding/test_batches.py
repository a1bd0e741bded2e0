"""Batches are pairs of variants, a function of seed and number alone, and come from a thread in order."""

import numpy as np
import pytest

from makers.embedding.batches import CHUNK, make_chunk, prefetch
from makers.embedding.train import Round
from makers.embedding.words import WordList


def test_batches_are_pairs_and_a_function_of_seed_and_number(small_lists: WordList) -> None:
    settings = Round(steps=1, seed=1, batch_size=64)
    first, again = (make_chunk(small_lists, settings, 3) for _ in range(2))
    other = make_chunk(small_lists, settings, 4)
    assert len(first) == CHUNK
    for batch, same, different in zip(first, again, other, strict=True):
        assert (batch.codepoints == same.codepoints).all() and (batch.keep == same.keep).all()
        assert (batch.codepoints != different.codepoints).any()
        assert batch.codepoints.shape == batch.keep.shape == (64, 16)
        assert (batch.classes[:32] == batch.classes[32:]).all()
        assert len(set(batch.classes.tolist())) > 20
    values = np.unique(np.concatenate([batch.keep for batch in first]))
    assert values == pytest.approx([0, 16 / 15])


def test_batches_resume_in_the_middle_of_a_chunk_and_errors_come_through() -> None:
    def numbers(chunk: int) -> list[int]:
        if chunk == 5:
            raise RuntimeError("no more words")
        return list(range(chunk * CHUNK, (chunk + 1) * CHUNK))

    assert list(prefetch(numbers, 0, 19)) == list(range(19))  # type: ignore[arg-type]
    assert list(prefetch(numbers, 11, 30)) == list(range(11, 30))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="no more words"):
        list(prefetch(numbers, 0, 100))  # type: ignore[arg-type]
