"""Batches are pairs of variants, a function of seed and number alone, and come from a thread in order."""

import numpy as np
import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining.augment import AUGMENTATIONS
from retvec_lite.pretraining.batches import CHUNK, SAMPLING, make_chunk, make_shares, prefetch
from retvec_lite.pretraining.words import WordList, WordShares, build_word_list, word_rows


def test_batches_are_pairs_and_a_function_of_seed_and_number(small_lists: WordList) -> None:
    options = {"batch_size": 64, "random_share": 0.1, "dropout": 0.25, "sampling": "shifts", "decomposed_share": 0.5}
    first, again = (make_chunk(small_lists, 3, seed=1, **options) for _ in range(2))
    other = make_chunk(small_lists, 4, seed=1, **options)
    assert len(first) == CHUNK
    for batch, same, different in zip(first, again, other, strict=True):
        assert (batch.codepoints == same.codepoints).all() and (batch.keep == same.keep).all()
        assert (batch.codepoints != different.codepoints).any()
        assert batch.codepoints.shape == batch.keep.shape == (64, 16)
        assert (batch.classes[:32] == batch.classes[32:]).all()
        assert len(set(batch.classes.tolist())) > 20
    values = np.unique(np.concatenate([batch.keep for batch in first]))
    assert values == pytest.approx([0, 1 / 0.75])


def test_the_same_word_twice_is_one_class() -> None:
    single = build_word_list([("one", word_rows(["12"]), np.ones(1), 1.0)], "test")
    options = {"batch_size": 32, "random_share": 0.0, "dropout": 0.0, "sampling": "kinds", "decomposed_share": 0.0}
    for batch in make_chunk(single, 0, seed=0, **options):
        assert (batch.classes == 0).all()


def test_batches_resume_in_the_middle_of_a_chunk_and_errors_come_through() -> None:
    def numbers(chunk: int) -> list[int]:
        if chunk == 5:
            raise RuntimeError("no more words")
        return list(range(chunk * CHUNK, (chunk + 1) * CHUNK))

    assert list(prefetch(numbers, 0, 19)) == list(range(19))  # type: ignore[arg-type]
    assert list(prefetch(numbers, 11, 30)) == list(range(11, 30))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="no more words"):
        list(prefetch(numbers, 0, 100))  # type: ignore[arg-type]


def test_schemes_draw_kinds_or_categories_alike() -> None:
    by_kind = dict(zip(AUGMENTATIONS, SAMPLING["kinds"], strict=True))
    assert len(by_kind) == 22 and len(set(by_kind.values())) == 1
    categories = dict.fromkeys(("deletion", "insertion", "substitution", "transposition"), 0)
    for kind, share in zip(AUGMENTATIONS, SAMPLING["categories"], strict=True):
        name = {"repetition": "insertion", "neighbour_swap": "transposition", "shuffle": "transposition"}.get(
            kind, kind
        )
        categories[name.rpartition("_")[2]] += share
    assert len(set(categories.values())) == 1
    assert SAMPLING["shifts"][AUGMENTATIONS.index("deletion")] == max(SAMPLING["shifts"])


def test_a_share_of_the_rows_is_decomposed_and_stays_its_word() -> None:
    accents = build_word_list([("one", word_rows(["ééé", "ôôô", "üüü"]), np.ones(3), 1.0)], "test")
    options = {"batch_size": 256, "random_share": 0.0, "dropout": 0.0, "sampling": "kinds"}
    batches = make_chunk(accents, 0, seed=0, decomposed_share=0.5, **options)
    is_accent = [np.isin(batch.codepoints, list(map(ord, "\u0301\u0302\u0308"))).any(axis=1) for batch in batches]
    assert 0.42 < np.mean(is_accent) < 0.58
    assert all(len(set(batch.classes.tolist())) <= 3 * 3 for batch in batches)  # three words in three cases
    never = make_chunk(accents, 0, seed=0, decomposed_share=0.0, **options)
    assert not any(np.isin(batch.codepoints, list(map(ord, "\u0301\u0302\u0308"))).mean() > 0.01 for batch in never)


def test_shares_make_the_whole_batch(small_lists: WordList) -> None:
    options = {"seed": 1, "batch_size": 64, "random_share": 0.1, "dropout": 0.1, "sampling": "shifts"}
    options["decomposed_share"] = 0.2
    whole = make_shares(WordShares.of(small_lists, 2), 3, **options)[0]
    parts = [make_shares(WordShares.of(small_lists, 2, [number]), 3, **options)[0] for number in (0, 1)]
    for name in ("codepoints", "keep", "words"):
        halves = [np.split(getattr(part, name), 2) for part in parts]
        joined = np.concatenate([half[side] for side in (0, 1) for half in halves])
        assert np.array_equal(getattr(whole, name), joined)
    assert (whole.classes[:32] == whole.classes[32:]).all()
    (alone,) = make_shares(WordShares.of(small_lists), 3, **options)[:1]
    assert np.array_equal(alone.codepoints, make_chunk(small_lists, 3, **options)[0].codepoints)


def test_shares_hold_each_word_once(small_lists: WordList) -> None:
    whole = WordShares.of(small_lists, 3)
    rows = np.concatenate([share.rows for share in whole.shares.values()])
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, small_lists.rows.tolist()))
    assert all(share.cumulative[-1] == 1 and (np.diff(share.cumulative) > 0).all() for share in whole.shares.values())
    assert whole.words == len(small_lists.rows) and whole.digest == small_lists.digest
    assert len(WordShares.of(small_lists, 3, [1]).shares[1].rows) == len(whole.shares[1].rows)
    with pytest.raises(RetvecLiteError, match=r"words cannot be shared by"):
        WordShares.of(small_lists, len(small_lists.rows) + 1)
