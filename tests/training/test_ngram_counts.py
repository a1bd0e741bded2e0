"""Counts of n-grams, kept as counts of runs: what comes out is what counting texts one by one gives."""

import numpy as np
import pytest
from ngram_counts import count_ngrams
from tiny_data import TINY_CONFIG

from retvec_lite import contract
from retvec_lite.ngrams import PRIME, NgramConfig, ngram_buckets
from retvec_lite.training.linear_features import NgramCounts, fold_counts

TEXTS = ["tick tick tock", "", "tock! 漢字 tick", "ÀÉ é", "tick"]
HASHES = NgramConfig(buckets=PRIME, longest=4)


def expected(buckets: int, texts: list[str] = TEXTS) -> np.ndarray:
    config = NgramConfig(buckets=buckets, longest=4)
    found = [ngram_buckets(contract.codepoints(text, TINY_CONFIG.max_chars), TINY_CONFIG, config) for text in texts]
    return np.stack([np.bincount(row, minlength=buckets) for row in found]).astype(np.float32)


@pytest.fixture(scope="module")
def counts() -> NgramCounts:
    return count_ngrams(TEXTS, TINY_CONFIG, HASHES)


def test_the_product_has_each_bucket_once_in_order(counts: NgramCounts) -> None:
    found = counts.matrix()
    assert found.has_canonical_format and found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), expected(PRIME))
    assert (len(counts), counts.buckets) == found.shape


def test_texts_can_be_chosen_and_joined(counts: NgramCounts) -> None:
    some = counts[np.array([4, 0])].joined([counts[2:3], counts[np.array([], int)]])
    np.testing.assert_array_equal(some.matrix().toarray(), expected(PRIME)[[4, 0, 2]])
    np.testing.assert_array_equal(some.totals(), expected(PRIME)[[4, 0, 2]].sum(axis=0))
    assert some.ngrams is counts.ngrams, "what runs consist of is kept once"


@pytest.mark.parametrize("buckets", [16, 499])
def test_folded_counts_are_those_of_fewer_buckets(counts: NgramCounts, buckets: int) -> None:
    some, others = fold_counts([counts, counts[1:]], buckets)
    np.testing.assert_array_equal(some.matrix().toarray(), expected(buckets))
    assert others.ngrams is some.ngrams and len(others) == len(TEXTS) - 1


def test_counts_of_no_text(counts: NgramCounts) -> None:
    none = counts[:0]
    assert none.matrix().shape == (0, PRIME) and not none.totals().any()
