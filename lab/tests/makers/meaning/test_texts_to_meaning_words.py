"""The fast words of pre-training are those of the contract, on any Unicode."""

import itertools
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from makers.meaning.words import meaning_words_of, unspaced_letters
from retvec_lite.condensing import without_repeats
from retvec_lite.contract import SEPARATING, EncoderConfig, visible_characters
from retvec_lite.ngrams import folded_letters
from retvec_lite.normal_form import is_latin, is_letter, is_other_letter

ENCODER = EncoderConfig()


def by_the_contract(text: str) -> list[str]:
    codes = [ord(char) for char in without_repeats(unicodedata.normalize("NFC", text))]
    folded = folded_letters(True)
    chars = [0 if code in SEPARATING else folded.get(code, code) for code in visible_characters(codes, ENCODER)]
    runs = itertools.groupby(chars, lambda code: is_latin(code) or is_letter(code) or is_other_letter(code))
    words = ["".join(map(chr, run)) for is_word, run in runs if is_word]
    return [word for word in words if len(word) <= 16]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop, mother-in-law!", ["don", "t", "stop", "mother", "in", "law"]),
        ("In 2024 I'm @home", ["in", "zoza", "i", "m", "ahome"]),
        ("CAFÉ Straße naïve Łódź", ["cafe", "straße", "naive", "lodz"]),
        ("goooood soooo so", ["good", "soo", "so"]),
        ("f.r.e.e.e money", ["freee", "money"]),
        ("Ｆгее Ⓜoney", ["free", "money"]),
        ("Привет, мир", ["привет", "мир"]),
        ("a" * 16 + " ab" * 6, ["aa", *["ab"] * 6]),
        ("abcdefgh" * 2 + " " + "abcdefgh" * 2 + "i", ["abcdefgh" * 2]),
        ("x\u200by z\u0336ed", ["xy", "zed"]),
        ("東京タワー", ["東京タワー"]),
        ("\u3000\t\x85 \n", []),
    ],
)
def test_examples(text: str, words: list[str]) -> None:
    assert list(meaning_words_of(text)) == words == by_the_contract(text)


PIECES = st.sampled_from(
    ["a", "B", "aa", "é", "e\u0301", "г", "е", "ο", "ж", "Ｆ", "𝐚", " ", ".", "-", "\u200b", "\u0336", "1", "0", "@", "|", "ß",
     "İ", "東", "か", "ไ", "\u3000", "\0", "'", "ﬁ", "²", "İ", "ſ", "K", "\u1680", "ا", "ﺀ", "्", "#", "A.B.C.D", "ÅÅÅ", "🇩", "🇪", "🇩🇪", "ꓐ", "ꓮ", "ꓕ", "ᑕᗩ", "⠋", "ɹ", "я", "д"]
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(PIECES | st.text(max_size=3), max_size=24).map("".join))
@example("a.b.c.d e.f")
@example("aaa.b.b.b.b")
@example("ооо ooo")
@example("a.A:A.a")
@example("n🔥ow → a🔥b")
def test_any_text(text: str) -> None:
    assert list(meaning_words_of(text)) == by_the_contract(text)


def test_letters_of_scripts_without_spaces() -> None:
    assert unspaced_letters("plain text") == unspaced_letters("дом") == 0
    assert unspaced_letters("東京 a タワー") == 5
    assert unspaced_letters("สวัสดี") == 6
