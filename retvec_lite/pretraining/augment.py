"""The 22 augmentations of the RETVec paper (arXiv:2302.09207) over batches of words, vectorized in NumPy.

A word is a row of int32 code points, zero-padded, 16 long in the embedding that ships. All 22 are one operation with other
numbers: at a place, cut out some characters and put others in. So a batch in which each row has its own augmentation takes
one pass: place, cut and characters per row, then a single gather.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining.substitutes import (
    Doubles,
    alphabets,
    ascii_pool,
    bmp_pool,
    emoji_pool,
    homoglyphs,
    keyboard_neighbours,
    punctuation_pool,
    swapcase_table,
)

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WORD_LENGTH: Final = 16
_MAX_INSERT: Final = 5
_MAX_SHARE: Final = 0.25  # of a word's characters
_MAX_TYPOS: Final = 4

AUGMENTATIONS: Final[tuple[str, ...]] = (
    "deletion",
    "repetition",
    "ngram_prefix_insertion",
    "ngram_suffix_insertion",
    "ascii_insertion",
    "alphabet_insertion",
    "punctuation_insertion",
    "punctuation_prefix_insertion",
    "punctuation_suffix_insertion",
    "bmp_insertion",
    "emoji_prefix_insertion",
    "emoji_suffix_insertion",
    "case_substitution",
    "ngram_substitution",
    "qwerty_substitution",
    "homoglyph_substitution",
    "ascii_substitution",
    "alphabet_substitution",
    "punctuation_substitution",
    "bmp_substitution",
    "neighbour_swap",
    "shuffle",
)
"""In the order of the paper's table. A kind of typo is asked for by its name or by its index here."""

_KIND: Final = {name: index for index, name in enumerate(AUGMENTATIONS)}


def _named(predicate: str) -> Mask:
    return np.asarray([predicate in name for name in AUGMENTATIONS])


_IS_PREFIX = _named("prefix")
_IS_SUFFIX = _named("suffix")
_IS_BETWEEN = (_named("insertion") | _named("repetition")) & ~_IS_PREFIX & ~_IS_SUFFIX
_IS_NGRAM = _named("ngram")
# What is cut and what is put in; an n-gram's numbers depend on the word and are filled in later.
_CUT = np.where(_named("substitution") | _named("deletion"), 1, 0)
_CUT[[_KIND["neighbour_swap"], _KIND["shuffle"]]] = 2, 3
_PUT = np.where(_named("insertion") | _named("substitution") | _named("repetition"), 1, 0)
_PUT[[_KIND["neighbour_swap"], _KIND["shuffle"]]] = 2, 3
# A word must keep at least one character, and cannot be shuffled when it is too short.
_SHORTEST = np.ones(len(AUGMENTATIONS), np.int64)
_SHORTEST[[_KIND["deletion"], _KIND["neighbour_swap"], _KIND["shuffle"]]] = 2, 2, 3

_PERMUTATIONS = np.asarray([(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])  # all but the identity


def word_lengths(words: Ints) -> Indices:
    """Return the length of each word, int64 [B], from int32 [B, L]: zeros are padding, and only padding."""
    lengths: Indices = np.count_nonzero(words, axis=1).astype(np.int64)
    return lengths


def kind_indices(kinds: str | int | npt.ArrayLike, count: int) -> Indices:
    """Return the indices of kinds given by name or index, for one batch: int64 [count]."""
    if isinstance(kinds, str):
        if kinds not in _KIND:
            raise RetvecLiteError(f"Unknown augmentation {kinds!r}: choose from {', '.join(AUGMENTATIONS)}.")
        kinds = _KIND[kinds]
    return np.array(np.broadcast_to(np.asarray(kinds, np.int64), (count,)))


def apply_typos(words: Ints, kinds: str | int | npt.ArrayLike, rng: np.random.Generator) -> Ints:
    """Return the words with one typo in each.

    Args:
        words: int32 [B, L]. The n-grams that are inserted come from other words of this batch.
        kinds: one name or index of `AUGMENTATIONS` for all words, or an index for each.
        rng: the only source of randomness.

    Returns:
        int32 [B, L], cut off at L characters. A word that the kind cannot change (nothing to swap, no other case, an
        insertion behind the last place, an empty word) stays as it is.

    Raises:
        RetvecLiteError: for an unknown name.
    """
    count = len(words)
    if count == 0:
        return words.copy()
    kind = kind_indices(kinds, count)
    length = word_lengths(words)
    uniform = rng.random((3, count))

    cut, put = _CUT[kind], _PUT[kind]
    ngram = np.flatnonzero(_IS_NGRAM[kind])
    replaces = kind[ngram] == _KIND["ngram_substitution"]
    # A replaced n-gram takes at most half of the word: a word of which nothing is left is no mistyped word.
    most = np.where(replaces, np.maximum(length[ngram] // 2, 1), _MAX_INSERT)
    foreign, size = _foreign_ngrams(words, length, ngram, most, rng)
    put[ngram] = size
    cut[ngram] = np.where(replaces, size, 0)

    between = _IS_BETWEEN[kind] & (kind != _KIND["repetition"])
    place = (uniform[0] * np.maximum(np.where(between, length + 1, length - cut + 1), 1)).astype(np.int64)
    place = np.where(_IS_PREFIX[kind], 0, np.where(_IS_SUFFIX[kind], length, place))
    repeat = kind == _KIND["repetition"]
    place[repeat] = (uniform[0, repeat] * length[repeat]).astype(np.int64)

    possible = length >= _SHORTEST[kind]
    characters = np.zeros((count, _MAX_INSERT), np.int32)
    _fill(characters, words, kind, length, place, possible, uniform, rng)
    characters[ngram] = foreign
    cut = np.where(possible, cut, 0)
    put = np.where(possible, put, 0)
    return _splice(words, place, cut, characters, put)


def augment(
    words: Ints,
    rng: np.random.Generator,
    *,
    share: float = 0.8,
    weights: Sequence[int] | None = None,
) -> Ints:
    """Return the words mistyped as in the paper: most words, up to a quarter of their characters, at most four typos.

    Args:
        words: int32 [B, L].
        rng: the only source of randomness.
        share: share of words that are mistyped at all. Words of one to three characters are mistyped less often, so that on
            average no more than a quarter of their characters changes either.
        weights: how often each of the 22 is drawn, as integers; None for equally often.

    Returns:
        int32 [B, L]. A typo that is impossible (a case change in Arabic, a swap in a word of one character) becomes a
        substitution within the alphabet, so that every chosen word comes out different.
    """
    pool = np.arange(len(AUGMENTATIONS))
    if weights is not None:
        pool = np.repeat(pool, weights)
    lengths = word_lengths(words)
    typos = _typo_counts(lengths, rng)
    typos[rng.random(len(words)) >= share * np.minimum(lengths * _MAX_SHARE, 1.0)] = 0
    return _with_typos(words, typos, pool, rng, always=True)


def mistype_all(words: Ints, rng: np.random.Generator, *, kind: str | int | None = None) -> Ints:
    """Return the words with one to four typos in each, in up to a quarter of its characters, but at least in one.

    Args:
        words: int32 [B, L].
        rng: the only source of randomness.
        kind: name or index of the only kind of typo; None for all 22 alike.

    Returns:
        int32 [B, L]. Words that `kind` cannot change stay as they are; with None every word changes.
    """
    pool = np.arange(len(AUGMENTATIONS)) if kind is None else kind_indices(kind, 1)
    typos = _typo_counts(word_lengths(words), rng)
    return _with_typos(words, typos, pool, rng, always=kind is None)


def _typo_counts(lengths: Indices, rng: np.random.Generator) -> Indices:
    """Draw the typos of words that are mistyped: uniform from 1 to a quarter of the length, at most four."""
    most = np.clip((lengths * _MAX_SHARE).astype(np.int64), 1, _MAX_TYPOS)
    counts: Indices = 1 + (rng.random(len(lengths)) * most).astype(np.int64)
    return counts


def _with_typos(words: Ints, typos: Indices, pool: Indices, rng: np.random.Generator, *, always: bool) -> Ints:
    """Return the words with so many typos of the kinds in `pool`; `always`: another kind where one is impossible."""
    mistyped = words.copy()
    for done in range(int(typos.max(initial=0))):
        rows = np.flatnonzero(typos > done)
        before = mistyped[rows]
        after = apply_typos(before, pool[rng.integers(0, len(pool), len(rows))], rng)
        if always:
            same = np.flatnonzero((after == before).all(axis=1))
            after[same] = apply_typos(before[same], "alphabet_substitution", rng)
        mistyped[rows] = after
    return mistyped


def random_tokens(count: int, rng: np.random.Generator, word_length: int = WORD_LENGTH) -> Ints:
    """Return random tokens of 1 to `word_length` characters (10 % of the paper's samples): int32 [count, word_length].

    Five sorts in equal parts, because uniform code points alone would be almost only Han, Hangul and unassigned values: any
    Unicode scalar value; any assigned BMP character; characters of one alphabet; printable ASCII (codes, addresses,
    prices); digits and emoji.
    """
    shape = (count, word_length)
    scalar = rng.integers(1, 0x110000 - 0x800, shape, dtype=np.int32)
    scalar += np.where(scalar >= 0xD800, 0x800, 0).astype(np.int32)  # jump over the surrogates
    scalar = np.where(scalar < 0x4000, _from_pool(bmp_pool(), rng.random(shape)), scalar)  # no control, no separator
    bmp = _from_pool(bmp_pool(), rng.random(shape))
    first = np.repeat(bmp[:, :1], word_length, axis=1)
    letters = alphabets().draw(first, rng.random(shape))
    ascii_ = _from_pool(ascii_pool(), rng.random(shape))
    digits = rng.integers(0x30, 0x3A, shape, dtype=np.int32)
    emoji = np.where(rng.random((count, 1)) < 0.5, digits, _from_pool(emoji_pool(), rng.random(shape)))
    tokens: Ints = np.choose(rng.integers(0, 5, (count, 1)), [scalar, bmp, letters, ascii_, emoji]).astype(np.int32)
    tokens[np.arange(word_length) >= rng.integers(1, word_length + 1, (count, 1))] = 0
    return tokens


def _from_pool(pool: Ints, uniform: Doubles) -> Ints:
    picked: Ints = pool[(uniform * len(pool)).astype(np.int64)]
    return picked


def _other_from_pool(pool: Ints, current: Ints, uniform: Doubles) -> Ints:
    """Return a character of the pool other than the current one: where they are equal, the next of the pool."""
    index = (uniform * len(pool)).astype(np.int64)
    picked = pool[index]
    return np.where(picked == current, pool[(index + 1) % len(pool)], picked).astype(np.int32)


def _fill(
    characters: Ints,
    words: Ints,
    kind: Indices,
    length: Indices,
    place: Indices,
    possible: Mask,
    uniform: Doubles,
    rng: np.random.Generator,
) -> None:
    """Write the characters to put in, for all kinds but n-grams; move `place` where only some characters will do."""
    # Kinds that need a character with a certain property look for one; all others take the place that was drawn.
    for name, usable in (
        ("case_substitution", None),
        ("qwerty_substitution", keyboard_neighbours()),
        ("homoglyph_substitution", homoglyphs()),
    ):
        rows = np.flatnonzero(kind == _KIND[name])
        if len(rows) == 0:
            continue
        codes = words[rows]
        fits = swapcase_table()[codes] != codes if usable is None else usable.counts[codes] > 0
        place[rows] = (fits * (1.0 + rng.random(codes.shape))).argmax(axis=1)
        possible[rows] &= fits.any(axis=1)
        chosen = codes[np.arange(len(rows)), place[rows]]
        new = swapcase_table()[chosen] if usable is None else usable.draw(chosen, uniform[1, rows])
        characters[rows, 0] = new

    every = np.arange(len(words))
    # The character at the place; for an insertion at the end, the last one (whose alphabet is continued).
    current = words[every, np.clip(np.minimum(place, length - 1), 0, words.shape[1] - 1)]
    for pool, insertions, substitution in (
        (ascii_pool(), ("ascii_insertion",), "ascii_substitution"),
        (bmp_pool(), ("bmp_insertion",), "bmp_substitution"),
        (emoji_pool(), ("emoji_prefix_insertion", "emoji_suffix_insertion"), ""),
        (
            punctuation_pool(),
            ("punctuation_insertion", "punctuation_prefix_insertion", "punctuation_suffix_insertion"),
            "punctuation_substitution",
        ),
    ):
        rows = np.flatnonzero(np.isin(kind, [_KIND[name] for name in insertions]))
        characters[rows, 0] = _from_pool(pool, uniform[1, rows])
        if substitution:
            rows = np.flatnonzero(kind == _KIND[substitution])
            characters[rows, 0] = _other_from_pool(pool, current[rows], uniform[1, rows])

    rows = np.flatnonzero(kind == _KIND["alphabet_insertion"])
    characters[rows, 0] = alphabets().draw(current[rows], uniform[1, rows])
    rows = np.flatnonzero(kind == _KIND["alphabet_substitution"])
    characters[rows, 0] = alphabets().draw_other(current[rows], uniform[1, rows])
    rows = np.flatnonzero(kind == _KIND["repetition"])
    characters[rows, 0] = current[rows]

    rows = np.flatnonzero(kind == _KIND["neighbour_swap"])
    start = np.minimum(place[rows], words.shape[1] - 2)
    characters[rows, 0], characters[rows, 1] = words[rows, start + 1], words[rows, start]
    rows = np.flatnonzero(kind == _KIND["shuffle"])
    start = np.minimum(place[rows], words.shape[1] - 3)
    order = _PERMUTATIONS[(uniform[1, rows] * len(_PERMUTATIONS)).astype(np.int64)]
    characters[rows[:, None], np.arange(3)] = words[rows[:, None], start[:, None] + order]


def _foreign_ngrams(
    words: Ints, length: Indices, rows: Indices, most: Indices, rng: np.random.Generator
) -> tuple[Ints, Indices]:
    """Draw for each of `rows` a run of three to five characters, but at most `most`, of another word of the batch.

    Returns:
        int32 [R, 5], and how many of the five count, int64 [R]: fewer than drawn only where no word of the batch is that long.
    """
    donors = np.flatnonzero(length >= _MAX_INSERT)
    donors = donors if len(donors) else np.arange(len(words))
    picked = rng.integers(0, len(donors), len(rows))
    # No row reads itself (unless it is the only donor), or an n-gram could be replaced by itself.
    other = np.where(donors[picked] == rows, donors[(picked + 1) % len(donors)], donors[picked])
    size = np.minimum(np.minimum(rng.integers(3, _MAX_INSERT + 1, len(rows)), most), length[other])
    place = (rng.random(len(rows)) * (length[other] - size + 1)).astype(np.int64)
    index = np.minimum(place[:, None] + np.arange(_MAX_INSERT), words.shape[1] - 1)
    return words[other[:, None], index], size


def _splice(words: Ints, place: Indices, cut: Indices, characters: Ints, put: Indices) -> Ints:
    """Return the words with `cut` characters at `place` replaced by the first `put` of `characters`: int32 [B, L]."""
    count, length = words.shape
    # Columns: the word, as many zeros as a cut can pull in, the characters to put in.
    width = length + 2 * _MAX_INSERT
    source = np.zeros((count, width), np.int32)
    source[:, :length] = words
    source[:, length + _MAX_INSERT :] = characters
    column = np.arange(length)
    offset = column - place[:, None]
    index = np.where(
        offset < 0,
        column,
        np.where(offset < put[:, None], length + _MAX_INSERT + offset, column + (cut - put)[:, None]),
    )
    index += np.arange(count)[:, None] * width
    spliced: Ints = source.ravel().take(index)
    return spliced
