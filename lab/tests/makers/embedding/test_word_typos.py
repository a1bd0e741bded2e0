"""Each kind of typo does what its name says, on any words; batches keep their shape, order and alphabet of values."""

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_words import decode_word

from makers.embedding import word_typos
from makers.embedding.keyboards import LAYOUTS
from makers.embedding.substitutes import bmp_pool, emoji_pool, lookalikes, punctuation_pool
from makers.embedding.words import word_rows
from retvec_lite.data.typos import TYPO_KINDS, neighbor_keys

SUBSTITUTIONS = [kind.name for kind in word_typos.KINDS if kind.category == "substitution" and "ngram" not in kind.name]
SAMPLES = [
    "information",
    "Keyboard",
    "привет",
    "東京都",
    "สวัสดี",
    "a",
    "ab",
    "straßenbahn",
    "internationalization",
    "🙂",
]
# A word: 1-16 characters that the encoder can hand over (no surrogates, no zero).
WORDS = st.lists(
    st.text(st.characters(min_codepoint=1, exclude_categories=("Cs",)), min_size=1, max_size=16), min_size=1, max_size=8
)


def typo(word: str, kind: str, seed: int) -> str:
    """One word with one typo, beside others that n-grams can come from."""
    rows = word_typos.apply_typos(word_rows([word, *SAMPLES]), kind, np.random.default_rng(seed))
    return decode_word(rows[0])


def is_insertion(before: str, after: str) -> str | None:
    """The characters that were put in at one place, or None when that is not what happened."""
    size = len(after) - len(before)
    for place in range(len(before) + 1):
        if size >= 0 and after == before[:place] + after[place : place + size] + before[place:]:
            return after[place : place + size]
    return None


def replaced(before: str, after: str) -> list[tuple[str, str]]:
    """Pairs of characters that differ, of words of equal length."""
    assert len(before) == len(after)
    return [(old, new) for old, new in zip(before, after, strict=True) if old != new]


def test_there_are_22_kinds_with_names_of_their_own() -> None:
    assert len(set(word_typos.KIND_NAMES)) == 22
    assert set(TYPO_KINDS) < set(word_typos.KIND_NAMES), "one name for one typo"


@given(WORDS, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_any_words_stay_valid_rows(words: list[str], seed: int) -> None:
    rows = word_rows(words)
    untouched = rows.copy()
    rng = np.random.default_rng(seed)
    results = [word_typos.apply_typos(rows, kind, rng) for kind in word_typos.KIND_NAMES]
    results += [word_typos.augment(rows, rng), word_typos.random_tokens(len(words), rng)]
    assert (rows == untouched).all()  # inputs are not written to
    for result in results:
        assert result.shape == rows.shape and result.dtype == np.int32
        assert ((result >= 0) & (result <= 0x10FFFF)).all()
        assert not ((result >= 0xD800) & (result <= 0xDFFF)).any()
        lengths = word_typos.word_lengths(result)
        assert (lengths >= 1).all()
        assert ((np.arange(16) < lengths[:, None]) == (result > 0)).all()  # zeros at the end only


@pytest.mark.parametrize("kind", [kind for kind in word_typos.KIND_NAMES if "insert" in kind])
@given(st.text("abcdefgh", min_size=1, max_size=11), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_insertions_put_in_and_leave_the_rest(kind: str, word: str, seed: int) -> None:
    after = typo(word, kind, seed)
    new = is_insertion(word, after)
    assert new
    if "before" in kind:
        assert after.endswith(word)
    if "after" in kind:
        assert after.startswith(word)
    if "ascii" in kind:
        assert "!" <= new <= "~"
    if kind == "insert":
        assert "a" <= new <= "z"
    if "punctuation" in kind:
        assert ord(new) in punctuation_pool()
    if "bmp" in kind:
        assert ord(new) in bmp_pool()
    if "emoji" in kind:
        assert ord(new) in emoji_pool()


@given(
    st.text(
        "abcdefghijklmnop",
        min_size=2,
        max_size=16,
    ),
    st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_deletion_repetition_swap_and_shuffle(word: str, seed: int) -> None:
    assert is_insertion(typo(word, "delete", seed), word) is not None
    if len(word) < 16:
        repeated = typo(word, "repeat", seed)
        assert any(repeated == word[: i + 1] + word[i:] for i in range(len(word)))
    swapped = typo(word, "swap", seed)
    places = range(len(word) - 1)
    assert any(swapped == word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places)
    shuffled = typo(word, "shuffle", seed)
    assert Counter(shuffled) == Counter(word)
    different = [i for i, (old, new) in enumerate(zip(word, shuffled, strict=True)) if old != new]
    assert not different or different[-1] - different[0] <= 2


@pytest.mark.parametrize("word", ["keyboard", "Tastatur", "привет", "γράμμα", "12345678"])
@pytest.mark.parametrize("kind", SUBSTITUTIONS)
def test_substitutions_replace_one_character_by_one_of_their_kind(kind: str, word: str) -> None:
    for seed in range(25):
        changes = replaced(word, typo(word, kind, seed))
        if kind == "other_case" and word == "12345678":
            assert not changes  # no letter to change
            continue
        ((old, new),) = changes
        if kind == "other_case":
            assert old.swapcase() == new
        elif kind == "neighbor_key":
            assert any(new in neighbor_keys(rows).get(old, []) for rows in LAYOUTS.values())
        elif kind == "lookalike":
            start, count = lookalikes().starts[ord(old)], lookalikes().counts[ord(old)]
            assert ord(new) in lookalikes().members[start : start + count]
        elif kind == "substitute_ascii":
            assert "!" <= new <= "~"
        elif kind == "substitute":
            assert unicodedata.name(old).split()[0] == unicodedata.name(new).split()[0] or old.isdigit()
            assert unicodedata.category(old) == unicodedata.category(new)
        elif kind == "substitute_punctuation":
            assert ord(new) in punctuation_pool()
        else:
            assert ord(new) in bmp_pool()


def test_the_same_seed_gives_the_same_typos() -> None:
    rows = np.tile(word_rows(SAMPLES), (50, 1))
    first, again, other = (word_typos.augment(rows, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
def test_no_more_than_a_quarter_of_the_characters_is_changed_on_average(length: int) -> None:
    rows = word_rows(["abcdefghi"[:length]] * 8000)
    mistyped = (word_typos.augment(rows, np.random.default_rng(0)) != rows).any(axis=1).mean()
    assert mistyped == pytest.approx(0.8 * min(length / 4, 1.0), abs=0.02)
    assert (word_typos.mistype_all(rows, np.random.default_rng(0)) != rows).any(axis=1).mean() > 0.98
