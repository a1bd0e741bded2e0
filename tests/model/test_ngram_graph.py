"""N-grams as a graph against the reference: any text and any int32 values, alone and in batches."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from contract_cases import HOSTILE, code_points, configs, ngram_configs, padded
from hypothesis import given, settings
from hypothesis import strategies as st
from standin import ngram_weights

from retvec_lite import ngrams as reference
from retvec_lite.contract import EncoderConfig
from retvec_lite.model.encoder_graph import sanitize
from retvec_lite.model.linear_graph import find_ngrams, ngram_logits
from retvec_lite.ngrams import PRIME, NgramConfig

ENCODER = EncoderConfig(max_chars=60, max_words=4)


def assert_same(rows: np.ndarray, encoder: EncoderConfig, config: NgramConfig) -> None:
    """Buckets are equal, as sets with repetition, and logits near."""
    found = find_ngrams(sanitize(tf.constant(rows), encoder), config)
    weights = ngram_weights(config, 3)
    logits = ngram_logits(found, weights).numpy()
    assert logits.dtype == np.float32
    present = found.present.numpy()
    assert set(np.unique(present)) <= {0.0, 1.0}
    buckets = found.buckets.numpy()
    assert buckets.min() >= 0 and buckets.max() < (PRIME if config.codebooks else config.buckets)
    whole = dataclasses.replace(config, buckets=PRIME, codebooks=0) if config.codebooks else config
    for row, buckets_of_row, is_there, answer in zip(rows, buckets, present, logits, strict=True):
        assert sorted(buckets_of_row[is_there > 0]) == sorted(reference.ngram_buckets(row, encoder, whole))
        right = reference.ngram_logits(row, encoder, config, weights)
        np.testing.assert_allclose(answer, right, rtol=1e-5, atol=1e-5)


@given(data=st.data(), config=ngram_configs())
@settings(max_examples=30)
def test_any_batch_has_the_ngrams_of_the_reference(data: st.DataObject, config: NgramConfig) -> None:
    encoder = data.draw(configs())
    texts = data.draw(st.lists(code_points(encoder.max_chars), min_size=1, max_size=3))
    assert_same(np.stack([padded(text, encoder.max_chars) for text in texts]), encoder, config)


@given(st.lists(st.text(st.characters(codec=None), max_size=60), min_size=1, max_size=4))
@settings(max_examples=20)
def test_any_unicode_text_has_the_ngrams_of_the_reference(texts: list[str]) -> None:
    assert_same(np.stack([padded([*map(ord, text)], 60) for text in texts]), ENCODER, NgramConfig(buckets=500))


@given(st.lists(st.sampled_from(HOSTILE) | st.integers(-(2**31), 2**31 - 1), min_size=60, max_size=60))
@settings(max_examples=20)
def test_hostile_values_have_the_ngrams_of_the_reference(values: list[int]) -> None:
    assert_same(np.array([values, values[::-1]], np.int32), ENCODER, NgramConfig(buckets=100, longest=6))


@pytest.mark.parametrize("plain_letters", [False, True])
def test_every_letter_is_folded_as_in_the_reference(plain_letters: bool) -> None:
    letters = np.arange(1, 0x2001, dtype=np.int32).reshape(-1, 512)
    assert_same(letters, EncoderConfig(), NgramConfig(buckets=32_768, longest=1, plain_letters=plain_letters))


@pytest.mark.parametrize("rows", [np.zeros((2, 60)), np.full((1, 60), 0x20)])
def test_a_text_without_ngrams_leaves_the_bias(rows: np.ndarray) -> None:
    config = NgramConfig(buckets=20)
    weights = ngram_weights(config, 4)
    found = ngram_logits(find_ngrams(sanitize(tf.constant(rows, tf.int32), ENCODER), config), weights)
    np.testing.assert_array_equal(found, np.tile(weights["ngrams/bias"], (len(rows), 1)))
