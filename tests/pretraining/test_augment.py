"""Each kind of typo does what its name says, on any words; batches keep their shape, order and alphabet of values."""

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining import augment as aug
from retvec_lite.pretraining.substitutes import (
    LAYOUTS,
    bmp_pool,
    emoji_pool,
    homoglyphs,
    neighbours_of_layout,
    punctuation_pool,
)
from retvec_lite.pretraining.words import decode_word, word_rows

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
    rows = aug.apply_typos(word_rows([word, *SAMPLES]), kind, np.random.default_rng(seed))
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
    assert len(set(aug.AUGMENTATIONS)) == 22


@given(WORDS, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_any_words_stay_valid_rows(words: list[str], seed: int) -> None:
    rows = word_rows(words)
    untouched = rows.copy()
    rng = np.random.default_rng(seed)
    results = [aug.apply_typos(rows, kind, rng) for kind in aug.AUGMENTATIONS]
    results += [aug.augment(rows, rng), aug.random_tokens(len(words), rng)]
    assert (rows == untouched).all()  # inputs are not written to
    for result in results:
        assert result.shape == rows.shape and result.dtype == np.int32
        assert ((result >= 0) & (result <= 0x10FFFF)).all()
        assert not ((result >= 0xD800) & (result <= 0xDFFF)).any()
        lengths = aug.word_lengths(result)
        assert (lengths >= 1).all()
        assert ((np.arange(16) < lengths[:, None]) == (result > 0)).all()  # zeros at the end only


@pytest.mark.parametrize("kind", aug.AUGMENTATIONS)
def test_length_changes_as_the_name_says(kind: str) -> None:
    for seed in range(40):
        after = typo("keyboard", kind, seed)
        change = len(after) - len("keyboard")
        if kind == "deletion":
            assert change == -1
        elif "ngram" in kind and "insertion" in kind:
            assert change in (3, 4, 5)
        elif "insertion" in kind or kind == "repetition":
            assert change == 1
        else:
            assert change == 0


@pytest.mark.parametrize("kind", [kind for kind in aug.AUGMENTATIONS if "insertion" in kind])
@given(st.text("abcdefgh", min_size=1, max_size=11), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_insertions_put_in_and_leave_the_rest(kind: str, word: str, seed: int) -> None:
    after = typo(word, kind, seed)
    new = is_insertion(word, after)
    assert new
    if "prefix" in kind:
        assert after.endswith(word)
    if "suffix" in kind:
        assert after.startswith(word)
    if "ascii" in kind:
        assert "!" <= new <= "~"
    if "alphabet" in kind:
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
    assert is_insertion(typo(word, "deletion", seed), word) is not None
    if len(word) < 16:
        repeated = typo(word, "repetition", seed)
        assert any(repeated == word[: i + 1] + word[i:] for i in range(len(word)))
    swapped = typo(word, "neighbour_swap", seed)
    places = range(len(word) - 1)
    assert any(swapped == word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places)
    shuffled = typo(word, "shuffle", seed)
    assert Counter(shuffled) == Counter(word)
    different = [i for i, (old, new) in enumerate(zip(word, shuffled, strict=True)) if old != new]
    assert not different or different[-1] - different[0] <= 2


@pytest.mark.parametrize("word", ["keyboard", "Tastatur", "привет", "γράμμα", "12345678"])
@pytest.mark.parametrize("kind", [k for k in aug.AUGMENTATIONS if "substitution" in k and "ngram" not in k])
def test_substitutions_replace_one_character_by_one_of_their_kind(kind: str, word: str) -> None:
    for seed in range(25):
        changes = replaced(word, typo(word, kind, seed))
        if kind == "case_substitution" and word == "12345678":
            assert not changes  # no letter to change
            continue
        ((old, new),) = changes
        if kind == "case_substitution":
            assert old.swapcase() == new
        elif kind == "qwerty_substitution":
            assert any(new in neighbours_of_layout(rows).get(old, []) for rows in LAYOUTS.values())
        elif kind == "homoglyph_substitution":
            start, count = homoglyphs().starts[ord(old)], homoglyphs().counts[ord(old)]
            assert ord(new) in homoglyphs().members[start : start + count]
        elif kind == "ascii_substitution":
            assert "!" <= new <= "~"
        elif kind == "alphabet_substitution":
            assert unicodedata.name(old).split()[0] == unicodedata.name(new).split()[0] or old.isdigit()
            assert unicodedata.category(old) == unicodedata.category(new)
        elif kind == "punctuation_substitution":
            assert ord(new) in punctuation_pool()
        else:
            assert ord(new) in bmp_pool()


def test_ngram_substitution_replaces_a_run_of_at_most_half_the_word() -> None:
    sizes = set()
    for seed in range(200):
        after = typo("zzzzzzzzzzzzzzz", "ngram_substitution", seed)
        places = [i for i, char in enumerate(after) if char != "z"]
        sizes.add(places[-1] - places[0] + 1)
        short = typo("zzzz", "ngram_substitution", seed)
        assert short.count("z") >= 2
    assert max(sizes) == 5 and 3 in sizes


def test_a_word_too_short_for_its_kind_is_left_alone() -> None:
    for kind in ("deletion", "neighbour_swap", "shuffle"):
        assert typo("a", kind, 0) == "a"
    assert typo("ab", "shuffle", 0) == "ab"
    assert typo("abcdefghijklmnop", "emoji_suffix_insertion", 0) == "abcdefghijklmnop"  # behind the 16th
    assert aug.apply_typos(np.zeros((0, 16), np.int32), "deletion", np.random.default_rng(0)).shape == (0, 16)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(RetvecLiteError, match="Unknown augmentation 'typo': choose from deletion, "):
        aug.apply_typos(word_rows(["a"]), "typo", np.random.default_rng(0))


def test_the_same_seed_gives_the_same_typos() -> None:
    rows = np.tile(word_rows(SAMPLES), (50, 1))
    first, again, other = (aug.augment(rows, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_share_and_number_of_typos() -> None:
    rng = np.random.default_rng(0)
    rows = np.tile(word_rows(["информации", "abcdefghijklmnop"]), (3000, 1))
    mistyped = (aug.augment(rows, rng) != rows).any(axis=1)
    assert 0.77 < mistyped.mean() < 0.82
    assert (aug.augment(rows, rng, share=1.0) != rows).any(axis=1).mean() > 0.98
    assert (aug.augment(rows, rng, share=0.0) == rows).all()
    # ASCII substitutions do not move characters: one change each, so they can be counted.
    rows = np.tile(word_rows(["информации", "abcdefghijklmnop", "kat"]), (3000, 1))
    changed = (aug.mistype_all(rows, rng, kind="ascii_substitution") != rows).sum(axis=1).reshape(-1, 3)
    assert (changed.max(axis=0) == [2, 4, 1]).all()  # a quarter of 10, 16 and 3 characters, at least one
    assert (changed.min(axis=0) == 1).all()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
def test_no_more_than_a_quarter_of_the_characters_is_changed_on_average(length: int) -> None:
    rows = word_rows(["abcdefghi"[:length]] * 8000)
    mistyped = (aug.augment(rows, np.random.default_rng(0), share=1.0) != rows).any(axis=1).mean()
    assert mistyped == pytest.approx(min(length / 4, 1.0), abs=0.02)
    assert (aug.mistype_all(rows, np.random.default_rng(0)) != rows).any(axis=1).mean() > 0.98


def test_foreign_ngrams_are_substrings_of_another_word() -> None:
    words = ["keyboard", "abcdefgh", "ij"] * 200
    rows = word_rows(words)
    sizes: dict[int, int] = {}
    for after in map(decode_word, aug.apply_typos(rows, "ngram_suffix_insertion", np.random.default_rng(0))):
        own = next(word for word in ("keyboard", "abcdefgh", "ij") if after.startswith(word))
        ngram = after.removeprefix(own)
        assert any(ngram in other for other in set(words))
        sizes[len(ngram)] = sizes.get(len(ngram), 0) + 1
    assert set(sizes) == {3, 4, 5}
    short = aug.apply_typos(word_rows(["ab", "xyz"] * 50), "ngram_suffix_insertion", np.random.default_rng(0))
    assert {decode_word(row) for row in short} <= {"abab", "abxyz", "xyzab", "xyzxyz"}


def test_all_kinds_are_drawn_equally_often() -> None:
    rows = word_rows(["info"] * 4000)  # short enough for a single typo
    # Two of the kinds put an emoji in, and hardly any other can.
    rows_with_emoji = np.isin(aug.augment(rows, np.random.default_rng(0), share=1.0), emoji_pool()).any(axis=1)
    assert abs(rows_with_emoji.mean() - 2 / 22) < 0.02


def test_random_tokens_have_all_lengths_and_no_separator() -> None:
    tokens = aug.random_tokens(4000, np.random.default_rng(0))
    assert set(aug.word_lengths(tokens).tolist()) == set(range(1, 17))
    text = "".join(map(decode_word, tokens))
    assert not any(char.isspace() or unicodedata.category(char) in ("Cc", "Cs") for char in set(text))
    assert sum(ord(char) > 0xFFFF for char in text) > 1000


def test_weights_say_how_often_a_kind_comes() -> None:
    words = word_rows(["info"] * 4000)
    weights = [0] * len(aug.AUGMENTATIONS)
    weights[aug.AUGMENTATIONS.index("deletion")] = 3
    weights[aug.AUGMENTATIONS.index("repetition")] = 1
    after = aug.augment(words, np.random.default_rng(0), share=1.0, weights=weights)
    change = aug.word_lengths(after) - 4
    assert set(change.tolist()) == {-1, 1}
    assert 0.72 < (change == -1).mean() < 0.78


@pytest.mark.parametrize("length", [8, 20])
def test_words_of_other_lengths_are_mistyped_within_theirs(length: int) -> None:
    words = word_rows(["a" * 30, "keyboard", "🙂"] * 200, length)
    rng = np.random.default_rng(0)
    for result in (aug.augment(words, rng, share=1.0), aug.random_tokens(600, rng, length)):
        lengths = aug.word_lengths(result)
        assert result.shape == (600, length)
        assert ((np.arange(length) < lengths[:, None]) == (result > 0)).all()
        assert lengths.max() == length
