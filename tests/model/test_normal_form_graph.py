"""The graph of the normal form against the reference: texts of everything that a rule treats differently."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from contract_cases import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite.contract import SEPARATORS, UNSPACED, EncoderConfig, Ints, visible_characters
from retvec_lite.letters import compatibility_forms, faint_lookalikes, lookalikes
from retvec_lite.model.encoder_graph import characters, sanitize
from retvec_lite.normal_form import IGNORED, OTHER_SCRIPTS, REGIONAL, alphabets

ALPHABET = [
    *map(ord, "abc.-@%1  ж漢か😀é＃"), *map(ord, "аоекбжαβξ"), *map(ord, "ｗ𝐇ⓞᴀ\u0336\u034fﻻﺏ"), *map(ord, "ꓐꓮꓕꓕᐊᎾ𐍈⠋🇩🇪🇫"), *HOSTILE,
]  # fmt: skip
"""A few of each kind, so that words mix, repeat and are spread."""


def expected(row: Ints, config: EncoderConfig) -> list[int]:
    found = [0 if code in (0, *SEPARATORS) else code for code in visible_characters(row.tolist(), config)]
    return found + [0] * (config.max_chars - len(found))


def assert_same(rows: Ints, config: EncoderConfig) -> None:
    found = characters(sanitize(tf.constant(rows), config)).numpy().astype(int)
    for row, line in zip(rows, found, strict=True):
        assert line.tolist() == expected(row, config), [hex(code) for code in row]


@given(st.lists(st.lists(st.sampled_from(ALPHABET), min_size=24, max_size=24), min_size=4, max_size=4), st.booleans())
@settings(max_examples=80, deadline=None)
def test_any_text(rows: list[list[int]], letters: bool) -> None:
    assert_same(np.array(rows, np.int32), EncoderConfig(max_chars=24, letters_only=letters))


@pytest.mark.parametrize(
    "spread",
    [
        "a.b.c.d",
        "a b c d e-f",
        "a漢b漢c漢d.e.f.g",
        "aaab aa a",
        "аba οк xok",
        "бa око abc",
        "a@b 漢\u200b",
        "a.🔥-b",
        "a1-_%b ",
        "a🔥漢- 1b５＿",
        "🇩a🇪 🇫🇷🇪",
        "🇩🇪.\u200b",
        "ꓐaꓕ оᐊ. ",
        "ꓐꓕꓕꓐꓐꓐꓐꓐꓐꓐꓐꓐꓐꓐꓐ a ж",
        "aдо еa",
        "aдδжϱ🇫 ",
    ],
)
@pytest.mark.parametrize("letters", [False, True])
def test_texts_made_of_few_characters(spread: str, letters: bool) -> None:
    rng = np.random.default_rng()
    rows = rng.choice([ord(char) for char in spread], (300, 16)).astype(np.int32)
    rows[::2, 1::2] = ord(spread[1])
    assert_same(rows, EncoderConfig(max_chars=16, letters_only=letters))


def test_a_text_is_of_another_script_by_the_weight_of_all_its_letters() -> None:
    """Texts around the border: of Latin letters, others, lookalikes and rare lookalikes, each a word of its own."""
    words = ["a", "ж", "о", "ꓐ"]
    counts = itertools.product((0, 1, 2), (0, 1, 2, 3, 4), (0, 1, 3, 4, 7, 8, 9), (0, 1, 15, 16, 17, 31, 32, 33))
    texts = [" ".join(" ".join([word] * many) for word, many in zip(words, row, strict=True)) for row in counts]
    mixed = [f"{text} aо ꓐж" for text in texts]
    assert_same(
        np.array([[ord(char) for char in text.ljust(128)] for text in texts + mixed], np.int32),
        EncoderConfig(max_chars=128),
    )


@pytest.mark.parametrize("letters", [False, True])
def test_every_code_point_of_the_tables_and_every_edge(letters: bool) -> None:
    ranges = [
        REGIONAL,
        *IGNORED,
        *alphabets(),
        *OTHER_SCRIPTS,
        *(span for spans in UNSPACED.values() for span in spans),
    ]
    codes = {code for first, last in ranges for code in (first - 1, first, last, last + 1)}
    codes |= {*compatibility_forms(), *lookalikes(), *faint_lookalikes(), *SEPARATORS, *HOSTILE, *range(0x180)}
    texts = []
    for code in sorted(codes):
        texts.append([0x61, 0x431, 0x20, code, code, code, 0x62, 0x20, code, 0x2E, code, 0x2E, code, 0x2E, code])
        texts.append([0x78, code, code, 0x20, 0x3BF, 0x20, 0x61, code, 0x62, code, 0x63, code, 0x64, 0x2E, 0x65])
    assert_same(np.array(texts, np.int32), EncoderConfig(max_chars=15, letters_only=letters))
