"""Texts as word ids: the ids name the oracle's words, and the chosen sizes fit the data."""

import numpy as np
import pytest
from contract_cases import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st
from modeling_cases import random_embedding

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Piece
from retvec_lite.model import reference_network
from retvec_lite.training import texts as texts_module
from retvec_lite.training.texts import codepoint_rows, count_words, embed_words, encode_texts, fitting_config

TEXTS = ["", "  ", "hello hello world", "world", "漢字かな ไทยภาษา x", "wor\u200bld", "supercalifragilisticexpialidocious", "🙂 \ud800", "a b c d e f g h i j k l"]  # fmt: skip
CONFIG = EncoderConfig(max_chars=40, max_words=9)

texts = st.lists(st.text(st.one_of(st.characters(codec=None), st.sampled_from([chr(c) for kind in KINDS for c in kind if 0 <= c <= 0x10FFFF])), max_size=50), max_size=6)  # fmt: skip


@given(texts)
@settings(max_examples=50)
def test_rows_are_what_an_app_feeds(found: list[str]) -> None:
    rows = codepoint_rows(found, 33)
    assert rows.shape == (len(found), 33) and rows.dtype == np.int32
    for row, text in zip(rows, found, strict=True):
        np.testing.assert_array_equal(row, contract.codepoints(text, 33))


def assert_words(found: list[str], config: EncoderConfig) -> None:
    encoded = encode_texts(found, config)
    assert encoded.ids.dtype == np.int32 and encoded.ids.shape == (len(found), config.max_words)
    assert encoded.words.dtype == np.int32 and not encoded.words[0].any()
    assert len(np.unique(encoded.words, axis=0)) == len(encoded.words), "every distinct word stands there once"
    assert set(encoded.ids.ravel()) | {0} == set(range(len(encoded.words)))
    for ids, text in zip(encoded.ids, found, strict=True):
        expected = contract.words(contract.codepoints(text, config.max_chars), config)
        np.testing.assert_array_equal(encoded.words[ids], expected)
        np.testing.assert_array_equal(ids != 0, expected[:, 0] != 0)


def test_ids_name_the_oracle_s_words() -> None:
    assert_words(TEXTS, CONFIG)
    assert_words(
        TEXTS,
        EncoderConfig(
            max_chars=16, max_words=4, word_length=5, han_piece=Piece(1, 1), sea_piece=None, overflow="truncate"
        ),
    )
    ids = encode_texts(TEXTS, CONFIG).ids
    assert ids[2, 0] == ids[2, 1] != ids[2, 2] == ids[3, 0] == ids[5, 0]


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encode_texts(TEXTS, CONFIG)
    monkeypatch.setattr(texts_module, "_CHARS_AT_ONCE", 2 * CONFIG.max_chars)
    seen: list[int] = []
    parts = encode_texts(TEXTS, CONFIG, seen.append)
    np.testing.assert_array_equal(parts.ids, whole.ids)
    np.testing.assert_array_equal(parts.words, whole.words)
    assert seen == [2, 2, 2, 2, 1]


def test_no_texts_and_no_words() -> None:
    assert encode_texts([], CONFIG).ids.shape == (0, CONFIG.max_words)
    assert len(encode_texts(["", " "], CONFIG).words) == 1


def test_word_vectors_are_the_oracle_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "_WORDS_AT_ONCE", 8)
    encoded = encode_texts(TEXTS, CONFIG)
    seen: list[int] = []
    vectors = embed_words(encoded.words, random_embedding().weights, seen.append)
    assert vectors.dtype == np.float16 and sum(seen) == len(encoded.words) == len(vectors) and len(seen) > 1
    assert not vectors[0].any()
    expected = reference_network.embed(contract.bits(encoded.words), random_embedding().weights)
    np.testing.assert_allclose(vectors[1:], expected[1:], atol=6e-4)  # float16 below 1: half a step is 2.4e-4
    np.testing.assert_array_equal(embed_words(encoded.words, {}), contract.bits(encoded.words))


def test_words_are_counted_beyond_every_limit() -> None:
    config = EncoderConfig(max_chars=1, max_words=1)
    expected = [contract.count_pieces([ord(char) for char in text], config) for text in TEXTS]
    assert count_words(TEXTS, config).tolist() == expected
    assert count_words(["w " * 2047 + "漢" * 9], config).tolist() == [2047 + 2], "the first 4,096 code points"


def test_the_size_is_the_99th_percentile_in_eights() -> None:
    found = ["w " * n for n in [5] * 195 + [17] * 4 + [400]]
    config = fitting_config(found, EncoderConfig())
    assert config.max_words == 24 and config.max_chars % 8 == 0 and config.max_chars >= 2 * 17
    assert fitting_config(found, EncoderConfig(), 10).max_words == 10
    assert fitting_config(["w"], EncoderConfig()).max_words == 8
    assert fitting_config([" "], EncoderConfig()).max_words == 8
    long = fitting_config(["w" * 5_000] * 3, EncoderConfig())
    assert long.max_words == 256 and 4096 <= long.max_chars <= 65536


@pytest.mark.parametrize("length", [3, 12, 30])
def test_chars_rarely_cut_what_slots_could_hold(length: int) -> None:
    rng = np.random.default_rng(length)
    found = [" ".join("w" * max(1, int(rng.poisson(length))) for _ in range(rng.integers(1, 40))) for _ in range(200)]
    config = fitting_config(found, EncoderConfig())
    fitting = (encode_texts(found, config).ids != 0).sum(axis=1)
    assert np.mean(fitting < count_words(found, config)) <= 0.03


def test_no_slot_at_all_is_refused() -> None:
    with pytest.raises(Exception, match="max_words"):
        fitting_config(["a"], EncoderConfig(), 0)
