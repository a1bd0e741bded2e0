"""Meaning as a graph against the reference: any text and any int32 values, alone and in batches."""

import numpy as np
import tensorflow as tf
from contract_cases import HOSTILE, code_points, configs, padded
from hypothesis import given, settings
from hypothesis import strategies as st
from meaning_cases import WORDS, table

from retvec_lite.contract import EncoderConfig, codepoints
from retvec_lite.meaning import meaning_words, text_vector
from retvec_lite.model.encoder_graph import sanitize
from retvec_lite.model.linear_graph import count_words, find_letters, find_meaning, find_ngrams
from retvec_lite.ngrams import NgramConfig

ENCODER = EncoderConfig(max_chars=60, max_words=4)


def assert_same(rows: np.ndarray, encoder: EncoderConfig) -> None:
    config, weights = table()
    found = find_meaning(find_letters(sanitize(tf.constant(rows), encoder)), weights).numpy()
    assert found.dtype == np.float32
    right = np.stack([text_vector(row, encoder, config, weights) for row in rows])
    np.testing.assert_allclose(found, right, atol=1e-6)


@given(data=st.data())
@settings(max_examples=30)
def test_any_batch_has_the_meaning_of_the_reference(data: st.DataObject) -> None:
    encoder = data.draw(configs())
    texts = data.draw(st.lists(code_points(encoder.max_chars), min_size=1, max_size=3))
    assert_same(np.stack([padded(text, encoder.max_chars) for text in texts]), encoder)


@given(st.lists(st.text(st.characters(codec=None), max_size=60), min_size=1, max_size=4))
@settings(max_examples=20)
def test_any_unicode_text_has_the_meaning_of_the_reference(texts: list[str]) -> None:
    assert_same(np.stack([padded([*map(ord, text)], 60) for text in texts]), ENCODER)


@given(st.lists(st.sampled_from(HOSTILE) | st.integers(-(2**31), 2**31 - 1), min_size=60, max_size=60))
@settings(max_examples=20)
def test_hostile_values_have_the_meaning_of_the_reference(values: list[int]) -> None:
    assert_same(np.array([values, values[::-1]], np.int32), ENCODER)


@given(
    st.lists(
        st.sampled_from(WORDS)
        | st.text(st.sampled_from("abcdefgilnoprst"), min_size=1, max_size=18)
        | st.sampled_from(["parcell", "prcel", "tertible", "x", "q" * 16, "q" * 17, "1", "'", "手机"]),
        min_size=1,
        max_size=14,
    )
    .flatmap(lambda words: st.sampled_from([" ", ".", "'s "]).map(lambda gap: gap.join(words)))
)  # fmt: skip
@settings(max_examples=60)
def test_words_and_their_typos_have_the_meaning_of_the_reference(text: str) -> None:
    assert_same(codepoints(text, 60)[None], ENCODER)


def test_every_key_and_typo_of_a_text_counts() -> None:
    _, weights = table(keys=250)
    rows = np.stack(
        [codepoints(text, 60) for text in ("terrible parcel", "trerible parxel", "PARCEL, terrible!", "", "...")]
    )
    found = find_meaning(find_letters(sanitize(tf.constant(rows), ENCODER)), weights).numpy()
    assert np.linalg.norm(found[0]) > 0.99 and not found[3:].any()
    np.testing.assert_allclose(found[1:3], found[[0, 0]], atol=1e-6)


@given(st.text(max_size=60))
@settings(max_examples=30)
def test_all_words_are_counted(text: str) -> None:
    row = codepoints(text + " a1" * 20, 60)
    count = count_words(find_letters(sanitize(tf.constant(row[None]), ENCODER))).numpy()
    everything = EncoderConfig(max_chars=600, max_words=4)
    long = sum(1 for _ in meaning_words(np.pad(row, (0, 540)), everything))
    assert count[0] >= long and (count[0] == long or any(len(run) > 16 for run in text.split()))


def test_ngrams_take_the_letters_that_are_folded_already() -> None:
    text = sanitize(tf.constant(codepoints("Ünïcode T3xt ÀÉ|$", 60)[None]), ENCODER)
    for plain in (True, False):
        config = NgramConfig(buckets=997, plain_letters=plain)
        shared = find_ngrams(text, config, find_letters(text).chars)
        np.testing.assert_array_equal(shared.buckets, find_ngrams(text, config).buckets)
