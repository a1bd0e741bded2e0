"""Words in decomposed form equal what Python's unicodedata says of them."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.pretraining.forms import decomposed, have_two_forms
from retvec_lite.pretraining.words import decode_word, word_rows

WORDS = st.text(st.characters(min_codepoint=0x21, exclude_categories=("Cs",)), min_size=1, max_size=16)


@given(st.lists(WORDS, min_size=1, max_size=20))
def test_any_words_are_decomposed_as_unicode_says(words: list[str]) -> None:
    expected = [unicodedata.normalize("NFD", word)[:16] for word in words]
    assert list(map(decode_word, decomposed(word_rows(words)))) == expected


@pytest.mark.parametrize("word", ["người", "안녕하세요", "café", "\u0958", "ά"])
def test_words_with_two_forms_are_found(word: str) -> None:
    rows = word_rows([word, "plain"])
    before = rows.copy()
    assert have_two_forms(rows).tolist() == [0]
    assert decode_word(decomposed(rows)[0]) == unicodedata.normalize("NFD", word)[:16]
    assert decode_word(decomposed(rows)[1]) == "plain"
    assert np.array_equal(rows, before)
