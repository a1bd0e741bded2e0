"""The NumPy reference against examples worked out by hand: every rule of the contract, the bits, a tiny network."""

import math
import unicodedata
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from contract_cases import INT32, code_points, configs, padded
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.contract import (
    BITS,
    INVISIBLE,
    KANA_RANGES,
    SEA_RANGES,
    SEPARATORS,
    EncoderConfig,
    _pieces,
    bits,
    codepoints,
    composed,
    visible_characters,
    words,
)
from retvec_lite.model.reference_network import dense, embed, gelu


def cut(text: str | list[int], **parameters: Any) -> list[str]:
    """The words of a text as strings, without the empty slots behind them."""
    config = EncoderConfig(**{"max_chars": 64, **parameters})
    values = padded(text, config.max_chars) if isinstance(text, list) else codepoints(text, config.max_chars)
    slots = words(values, config)
    assert slots.shape == (config.max_words, config.word_length) and slots.dtype == np.int32
    return ["".join(chr(char) for char in slot if char) for slot in slots if slot[0]]


# --- what an app feeds ------------------------------------------------------------------------------------------------


def test_codepoints_are_cut_or_padded() -> None:
    assert codepoints("aé🙂", 5).tolist() == [0x61, 0xE9, 0x1F642, 0, 0]
    assert codepoints("abc", 2).tolist() == [0x61, 0x62]
    assert codepoints("", 2).tolist() == [0, 0] and codepoints("", 2).dtype == np.int32
    assert codepoints("\ud800", 1).tolist() == [0xD800]


@pytest.mark.parametrize("text", ["người được", "안녕하세요", "café à la crème", "कृपया ड़"])
def test_a_decomposed_text_has_the_code_points_of_the_composed_one(text: str) -> None:
    for size in (3, 9, 40):
        found = (codepoints(composed(unicodedata.normalize(form, text), size), size) for form in ("NFC", "NFD"))
        np.testing.assert_array_equal(*found)


def test_composing_a_hostile_text_stops_early() -> None:
    assert composed("\u0300\u0323" * 10**6, 8) == "\u0323" * 8 and len(composed("a" * 10**7, 4)) == 4


# --- rule 1: sanitize -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [*INT32, -1, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x110000, 0x7FFFFF])
def test_what_is_no_scalar_value_becomes_the_replacement(value: int) -> None:
    assert cut([0x61, value, 0x62]) == ["a\ufffdb"]


@pytest.mark.parametrize("value", [1, 0x7F, 0xD7FF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF])
def test_every_scalar_value_is_kept(value: int) -> None:
    assert cut([0x61, value, 0x62]) == [f"a{chr(value)}b"]


# --- rule 2: separators -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [0, *SEPARATORS])
def test_words_are_runs_between_separators(separator: int) -> None:
    space = chr(separator)
    assert cut(f"ab{space}c") == ["ab", "c"]
    assert cut(f"{space}{space}ab{space}{space}c{space}") == ["ab", "c"]
    assert cut(space * 5) == []


def test_text_goes_on_behind_a_zero() -> None:
    assert cut("a\0b") == ["a", "b"]


def test_information_separators_and_punctuation_do_not_separate() -> None:
    assert cut("a\x1cb\x1fc") == ["a\x1cb\x1fc"]
    assert cut("well-known, it's") == ["well-known,", "it's"]


# --- rule 3: invisible characters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("invisible", INVISIBLE)
def test_invisible_characters_are_dropped_before_words_are_cut(invisible: int) -> None:
    hidden = chr(invisible)
    assert cut(f"{hidden}fr{hidden}{hidden}ee{hidden}") == ["free"]
    assert cut(hidden * 3) == []


def test_a_dropped_character_joins_a_run_of_an_unspaced_script() -> None:
    assert cut("か\u200bなの") == ["かな", "なの"]


# --- rule 4: pieces ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("一二三四五", ["一", "二", "三", "四", "五"]),
        ("一", ["一"]),
        ("かなカナー", ["かな", "なカ", "カナ", "ナー"]),
        ("の", ["の"]),
        ("ไทยไทย", ["ไทยไทย"]),
        ("ไทยไทยก", ["ไทยไทย", "ไทยก"]),
        ("ไทยไทยไทย", ["ไทยไทย", "ไทยไทย"]),
        ("ไทยไทยไทยก", ["ไทยไทย", "ไทยไทย", "ไทยก"]),
    ],
)
def test_a_run_is_cut_into_pieces_that_each_show_something_new(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_scripts_are_cut_apart() -> None:
    assert cut("iPhone漢字がの15台ไทยภาษาx") == ["iPhone", "漢", "字", "がの", "15", "台", "ไทยภาษ", "ภาษา", "x"]


def test_hiragana_and_katakana_are_one_run_and_thai_and_khmer_too() -> None:
    assert cut("仮なカ") == ["仮", "なカ"]
    assert cut("ไขខ្") == ["ไขខ្"]


def test_cjk_punctuation_is_spaced_text() -> None:
    assert cut("はい、三。") == ["はい", "、", "三", "。"]


# --- rule 5: length ---------------------------------------------------------------------------------------------------


def test_a_longer_word_goes_on_in_the_next_slot() -> None:
    assert cut("abcdefghijklmn x", word_length=6) == ["abcdef", "ghijkl", "mn", "x"]
    assert cut("abcdefghijkl x", word_length=6) == ["abcdef", "ghijkl", "x"]


def test_what_does_not_fit_is_not_encoded() -> None:
    assert cut("a bb c d", max_words=2) == ["a", "bb"]
    assert cut("abcdefgh", max_chars=3) == ["abc"]
    assert len(_pieces([ord(char) for char in "a bb c d"], EncoderConfig(max_words=2))) == 4


@given(configs(), st.data())
def test_no_word_is_lost_or_invented(config: EncoderConfig, data: st.DataObject) -> None:
    """Without pieces that overlap and a full last slot, the slots are the normal form without separators."""
    overlapping = (*KANA_RANGES, *SEA_RANGES)
    values = data.draw(code_points(config.max_chars).filter(lambda found: all(value > 0 for value in found)))
    values = [value for value in values if not any(low <= value <= high for low, high in overlapping)]
    whole = EncoderConfig(max_chars=config.max_chars, max_words=config.max_chars)
    slots = words(padded(values, config.max_chars), whole)
    assert slots[slots > 0].tolist() == [value for value in visible_characters(values, whole) if value != 0x20]


@given(configs(), st.data())
def test_slots_are_filled_from_the_front(config: EncoderConfig, data: st.DataObject) -> None:
    values = data.draw(code_points(config.max_chars))
    slots = words(padded(values, config.max_chars), config)
    used = slots > 0
    assert (used[:, 1:] <= used[:, :-1]).all() and (used[1:, 0] <= used[:-1, 0]).all()
    assert used[:, 0].sum() == min(len(_pieces(list(values), config)), config.max_words)


# --- rule 6: bits -----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 0x10FFFF), min_size=6, max_size=6))
def test_bits_are_the_binary_digits(values: list[int]) -> None:
    digits = bits(np.array(values, np.int32).reshape(2, 3))
    assert digits.shape == (2, 3 * BITS) and digits.dtype == np.float32
    assert "".join(str(int(digit)) for digit in digits.reshape(-1)) == "".join(f"{value:021b}" for value in values)
    packed = np.packbits(digits.reshape(6, BITS).astype(np.uint8), axis=1, bitorder="big")
    assert [bytes(row) for row in packed] == [(value << 3).to_bytes(3, "big") for value in values]


# --- the embedding ----------------------------------------------------------------------------------------------------

PHI = NormalDist().cdf
"""The cumulative normal distribution: GELU is x * PHI(x)."""


def test_gelu_is_the_exact_one() -> None:
    values = np.linspace(-6.0, 6.0, 97, dtype=np.float32)
    np.testing.assert_allclose(gelu(values), [float(value) * PHI(float(value)) for value in values], atol=1e-7)


def test_embed_is_two_gelus_and_a_tanh() -> None:
    """ "A" is U+0041, binary 1000001: two digits set, the last of them among the last three."""
    weights = {
        "embedding/dense_0/kernel": np.stack([np.ones(BITS), [0.0] * (BITS - 3) + [4.0, 2.0, 1.0]], axis=1),
        "embedding/dense_0/bias": np.array([-1.0, -2.0]),
        "embedding/dense_1/kernel": np.array([[1.0], [-1.0]]),
        "embedding/dense_1/bias": np.array([0.5]),
        "embedding/dense_2/kernel": np.array([[2.0, 0.0]]),
        "embedding/dense_2/bias": np.array([0.25, -1.0]),
    }
    weights = {name: value.astype(np.float32) for name, value in weights.items()}
    vector = embed(bits(np.array([[ord("A")]], np.int32)), weights)
    before = 1.0 * PHI(1.0) - (-1.0 * PHI(-1.0)) + 0.5  # hidden: 2 - 1 = 1 and 1 - 2 = -1
    expected = [math.tanh(2.0 * before * PHI(before) + 0.25), math.tanh(-1.0)]
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, [expected], atol=1e-7)


def test_raw_is_the_bits_themselves() -> None:
    digits = bits(np.array([[ord("A")]], np.int32))
    assert embed(digits, {}) is digits


def test_dense_does_not_round_on_the_way() -> None:
    """1e8 - 1e8 + 1: float32 would lose the one."""
    weights = {"x/kernel": np.array([[1.0], [1.0], [-1.0]], np.float32), "x/bias": np.zeros(1, np.float32)}
    assert dense(np.array([[1e8, 1.0, 1e8]], np.float32), weights, "x").tolist() == [[1.0]]
