"""The 22 kinds of typos of the RETVec paper (arXiv:2302.09207), for batches of words; `data.typos` mistypes texts.

A word is a row of 16 int32 code points, zero-padded. All kinds are one operation with other
numbers: at a place, cut out some characters and put others in. So a batch in which each row has its own kind takes one pass:
place, cut and characters for each row, then a single gather. A new kind is a new `Kind` in `KINDS`;
one whose characters come from the word itself is drawn in `_fill`.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from makers.embedding.substitutes import (
    Doubles,
    alphabets,
    ascii_pool,
    bmp_pool,
    emoji_pool,
    keyboard_neighbors,
    lookalikes,
    other_case,
    punctuation_pool,
)
from retvec_lite.contract import Ints
from retvec_lite.errors import RetvecLiteError

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WORD_LENGTH: Final = 16
"""Characters of a word."""
_MAX_INSERT: Final = 5
_MAX_SHARE: Final = 0.25  # of a word's characters
_MAX_TYPOS: Final = 4
_MISTYPED: Final = 0.8  # of the words of a batch


class Kind(NamedTuple):
    """A kind of typo.

    Attributes:
        name: as in `data.typos.TYPO_KINDS` where that has the same kind.
        category: in the RETVec paper.
        cut: characters that are cut out.
        put: characters that are put in. Of n-grams both numbers depend on the word.
        place: where: `on` a character, `between` two or at an end, `before` or `after` the word.
        shortest: characters that a word needs; one must be left, and three are shuffled.
        pool: what is put in is drawn from these code points; a substitution draws another than the character itself.
        usual: how often training draws it.
    """

    name: str
    category: Literal["deletion", "insertion", "substitution", "transposition"]
    cut: int
    put: int
    place: Literal["on", "between", "before", "after"] = "on"
    shortest: int = 1
    pool: Callable[[], Ints] | None = None
    usual: int = 6


KINDS: Final[tuple[Kind, ...]] = (
    Kind("delete", "deletion", 1, 0, shortest=2, usual=24),
    Kind("repeat", "insertion", 0, 1, usual=9),
    Kind("insert_ngram_before", "insertion", 0, 0, "before", usual=2),
    Kind("insert_ngram_after", "insertion", 0, 0, "after", usual=2),
    Kind("insert_ascii", "insertion", 0, 1, "between", pool=ascii_pool),
    Kind("insert", "insertion", 0, 1, "between", usual=9),
    Kind("insert_punctuation", "insertion", 0, 1, "between", pool=punctuation_pool),
    Kind("insert_punctuation_before", "insertion", 0, 1, "before", pool=punctuation_pool, usual=9),
    Kind("insert_punctuation_after", "insertion", 0, 1, "after", pool=punctuation_pool, usual=3),
    Kind("insert_bmp", "insertion", 0, 1, "between", pool=bmp_pool),
    Kind("insert_emoji_before", "insertion", 0, 1, "before", pool=emoji_pool, usual=9),
    Kind("insert_emoji_after", "insertion", 0, 1, "after", pool=emoji_pool, usual=3),
    Kind("other_case", "substitution", 1, 1, usual=3),
    Kind("substitute_ngram", "substitution", 1, 1, usual=2),
    Kind("neighbor_key", "substitution", 1, 1),
    Kind("lookalike", "substitution", 1, 1),
    Kind("substitute_ascii", "substitution", 1, 1, pool=ascii_pool),
    Kind("substitute", "substitution", 1, 1),
    Kind("substitute_punctuation", "substitution", 1, 1, pool=punctuation_pool),
    Kind("substitute_bmp", "substitution", 1, 1, pool=bmp_pool),
    Kind("swap", "transposition", 2, 2, shortest=2, usual=9),
    Kind("shuffle", "transposition", 3, 3, shortest=3),
)
"""In the order of the paper's table. A kind is asked for by its name or by its index here."""

KIND_NAMES: Final = tuple(kind.name for kind in KINDS)

_USUAL: Final = np.repeat(np.arange(len(KINDS)), [kind.usual for kind in KINDS])
"""Kinds of typos, as often as training draws them; retrieval sets draw all kinds alike.

What moves the rest of the word is drawn more often, since a network that reads positions finds it the hardest and deletions are the
most frequent human typo; foreign n-grams less often, since nobody recognizes a word under them. The paper draws its four categories alike.
"""

_INDEX: Final = {name: index for index, name in enumerate(KIND_NAMES)}
_IS_NGRAM: Final = np.asarray(["ngram" in name for name in KIND_NAMES])
_PERMUTATIONS: Final = np.asarray([(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])  # all but the identity


def _each(attribute: str) -> npt.NDArray[Any]:
    """Return an attribute of every kind."""
    return np.asarray([getattr(kind, attribute) for kind in KINDS])


_CUT, _PUT, _SHORTEST, _places = map(_each, ("cut", "put", "shortest", "place"))
_IS_BETWEEN, _IS_BEFORE, _IS_AFTER = (_places == place for place in ("between", "before", "after"))


def word_lengths(words: Ints) -> Indices:
    """Return the length of each word, int64 [B], from int32 [B, L]: zeros are padding, and only padding."""
    lengths: Indices = np.count_nonzero(words, axis=1).astype(np.int64)
    return lengths


def kind_indices(kinds: str | int | npt.ArrayLike, count: int) -> Indices:
    """Return the indices of kinds given by name or index, for one batch: int64 [count]."""
    if isinstance(kinds, str):
        if kinds not in _INDEX:
            raise RetvecLiteError(f"Unknown kind of typo {kinds!r}: choose from {', '.join(KIND_NAMES)}.")
        kinds = _INDEX[kinds]
    return np.array(np.broadcast_to(np.asarray(kinds, np.int64), (count,)))


def apply_typos(words: Ints, kinds: str | int | npt.ArrayLike, rng: np.random.Generator) -> Ints:
    """Return the words, int32 [B, L], with one typo in each, cut off at L characters.

    The n-grams that are inserted come from other words of this batch. `kinds` is one name or index of `KINDS` for all words, or an
    index for each. A word that its kind cannot change (nothing to swap, no other case, an insertion behind the last place, an
    empty word) stays as it is.

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
    replaces = kind[ngram] == _INDEX["substitute_ngram"]
    # A replaced n-gram takes at most half of the word: a word of which nothing is left is no mistyped word.
    most = np.where(replaces, np.maximum(length[ngram] // 2, 1), _MAX_INSERT)
    foreign, size = _foreign_ngrams(words, length, ngram, most, rng)
    put[ngram] = size
    cut[ngram] = np.where(replaces, size, 0)

    choices = np.where(_IS_BETWEEN[kind], length + 1, length - cut + 1)
    choices = np.where(kind == _INDEX["repeat"], length, choices)
    place = (uniform[0] * np.maximum(choices, 1)).astype(np.int64)
    place = np.where(_IS_BEFORE[kind], 0, np.where(_IS_AFTER[kind], length, place))

    possible = length >= _SHORTEST[kind]
    characters = np.zeros((count, _MAX_INSERT), np.int32)
    _choose_by_property(characters, words, kind, place, possible, uniform[1], rng)
    _fill(characters, words, kind, length, place, uniform[1])
    characters[ngram] = foreign
    cut = np.where(possible, cut, 0)
    put = np.where(possible, put, 0)
    return _splice(words, place, cut, characters, put)


def augment(words: Ints, rng: np.random.Generator) -> Ints:
    """Return words int32 [B, L] mistyped as in the paper: most words, up to a quarter of their characters, at most four typos.

    A typo that is impossible (a case change in Arabic, a swap in a word of one character) becomes a substitution within the
    alphabet, so that every chosen word comes out different. Four in five words are mistyped at all; words of one to three
    characters less often, so that on average no more than a quarter of their characters changes either.
    """
    lengths = word_lengths(words)
    typos = _typo_counts(lengths, rng)
    typos[rng.random(len(words)) >= _MISTYPED * np.minimum(lengths * _MAX_SHARE, 1.0)] = 0
    return _with_typos(words, typos, _USUAL, rng, always=True)


def mistype_all(words: Ints, rng: np.random.Generator, *, kind: str | int | None = None) -> Ints:
    """Return words int32 [B, L] with one to four typos in each, in up to a quarter of its characters, but at least in one.

    Of all 22 kinds alike, every word changes; with the name or index of one `kind`, those stay that it cannot change.
    """
    pool = np.arange(len(KINDS)) if kind is None else kind_indices(kind, 1)
    return _with_typos(words, _typo_counts(word_lengths(words), rng), pool, rng, always=kind is None)


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
            after[same] = apply_typos(before[same], "substitute", rng)
        mistyped[rows] = after
    return mistyped


def random_tokens(count: int, rng: np.random.Generator) -> Ints:
    """Return random tokens of 1 to 16 characters (10 % of the paper's samples): int32 [count, 16].

    Five sorts in equal parts, because uniform code points alone would be almost only Han, Hangul and unassigned values: any
    Unicode scalar value; any assigned BMP character; characters of one alphabet; printable ASCII (codes, addresses,
    prices); digits and emoji.
    """
    shape = (count, WORD_LENGTH)
    scalar = rng.integers(1, 0x110000 - 0x800, shape, dtype=np.int32)
    scalar += np.where(scalar >= 0xD800, 0x800, 0).astype(np.int32)  # jump over the surrogates
    scalar = np.where(scalar < 0x4000, _from_pool(bmp_pool(), rng.random(shape)), scalar)  # no control, no separator
    bmp = _from_pool(bmp_pool(), rng.random(shape))
    first = np.repeat(bmp[:, :1], WORD_LENGTH, axis=1)
    letters = alphabets().draw(first, rng.random(shape))
    ascii_ = _from_pool(ascii_pool(), rng.random(shape))
    digits = rng.integers(0x30, 0x3A, shape, dtype=np.int32)
    emoji = np.where(rng.random((count, 1)) < 0.5, digits, _from_pool(emoji_pool(), rng.random(shape)))
    tokens: Ints = np.choose(rng.integers(0, 5, (count, 1)), [scalar, bmp, letters, ascii_, emoji]).astype(np.int32)
    tokens[np.arange(WORD_LENGTH) >= rng.integers(1, WORD_LENGTH + 1, (count, 1))] = 0
    return tokens


def _from_pool(pool: Ints, uniform: Doubles) -> Ints:
    picked: Ints = pool[(uniform * len(pool)).astype(np.int64)]
    return picked


def _other_from_pool(pool: Ints, current: Ints, uniform: Doubles) -> Ints:
    """Return a character of the pool other than the current one: where they are equal, the next of the pool."""
    index = (uniform * len(pool)).astype(np.int64)
    picked = pool[index]
    return np.where(picked == current, pool[(index + 1) % len(pool)], picked).astype(np.int32)


def _choose_by_property(
    characters: Ints,
    words: Ints,
    kind: Indices,
    place: Indices,
    possible: Mask,
    uniform: Doubles,
    rng: np.random.Generator,
) -> None:
    """Fill in the kinds that need a character with a certain property: move `place` to one, or say that there is none."""
    for name, tables in (("other_case", other_case), ("neighbor_key", keyboard_neighbors), ("lookalike", lookalikes)):
        rows = np.flatnonzero(kind == _INDEX[name])
        if len(rows) == 0:
            continue
        table, codes = tables(), words[rows]
        fits = table.counts[codes] > 0
        place[rows] = (fits * (1.0 + rng.random(codes.shape))).argmax(axis=1)
        possible[rows] &= fits.any(axis=1)
        characters[rows, 0] = table.draw(codes[np.arange(len(rows)), place[rows]], uniform[rows])


def _fill(characters: Ints, words: Ints, kind: Indices, length: Indices, place: Indices, uniform: Doubles) -> None:
    """Write the characters to put in at the places that were drawn, for all other kinds but n-grams."""
    # The character at the place; for an insertion at the end, the last one (whose alphabet is continued).
    current = words[np.arange(len(words)), np.clip(np.minimum(place, length - 1), 0, words.shape[1] - 1)]
    for index, drawn in enumerate(KINDS):
        if drawn.pool is None:
            continue
        rows = np.flatnonzero(kind == index)
        if drawn.cut:
            characters[rows, 0] = _other_from_pool(drawn.pool(), current[rows], uniform[rows])
        else:
            characters[rows, 0] = _from_pool(drawn.pool(), uniform[rows])

    rows = np.flatnonzero(kind == _INDEX["insert"])
    characters[rows, 0] = alphabets().draw(current[rows], uniform[rows])
    rows = np.flatnonzero(kind == _INDEX["substitute"])
    characters[rows, 0] = alphabets().draw_other(current[rows], uniform[rows])
    rows = np.flatnonzero(kind == _INDEX["repeat"])
    characters[rows, 0] = current[rows]

    rows = np.flatnonzero(kind == _INDEX["swap"])
    start = np.minimum(place[rows], words.shape[1] - 2)
    characters[rows, 0], characters[rows, 1] = words[rows, start + 1], words[rows, start]
    rows = np.flatnonzero(kind == _INDEX["shuffle"])
    start = np.minimum(place[rows], words.shape[1] - 3)
    order = _PERMUTATIONS[(uniform[rows] * len(_PERMUTATIONS)).astype(np.int64)]
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
