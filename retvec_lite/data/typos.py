"""Seeded random typos: what training texts are augmented with, and what typo curves are measured on.

A typo changes one character of one word (RETVec, arXiv:2302.09207: random insertion, deletion, substitution,
transposition, and neighbouring keys). The same seed gives the same typos on every platform and Python version: the only
source of randomness is `random.Random.random`, whose sequence Python promises to keep, and the alphabets are pinned below.
"""

import enum
import numbers
import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from retvec_lite.arguments import as_texts, require_strings
from retvec_lite.contract import BLANK, INVISIBLE, SEPARATING
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.normal_form import hex_ranges

_US: Final = ("1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./")
"""The keys of a QWERTY keyboard, a row a string, from the digits down."""

TYPO_KINDS: Final = ("insert", "delete", "substitute", "swap", "neighbor_key")
"""The kinds of typo: a letter added, a character lost, a letter replaced, two neighbouring characters swapped, the
neighbouring key of a QWERTY keyboard hit (letters stay letters, digits stay digits, case is kept)."""

_INSERT, _DELETE, _SUBSTITUTE, _SWAP, _NEIGHBOR_KEY = TYPO_KINDS


class Way(enum.Enum):
    """How the texts are written on which a training tests; where words are mistyped, the value is their share."""

    CLEAN = 0.0
    FEW_TYPOS = 0.2
    MANY_TYPOS = 0.5
    DISGUISED = "disguised"
    """Disguised, or with an ending: they decide how much each part of a classifier counts, and are in no table of typos."""
    TRANSLATED = "translated"
    """In words of other languages, likewise."""

    @property
    def rate(self) -> float | None:
        """The share of mistyped words; None where something else is done to texts."""
        return self.value if isinstance(self.value, float) else None


_LATIN: Final = "abcdefghijklmnopqrstuvwxyz"


class _Script(NamedTuple):
    """Characters `first` to `last` are mistyped with the letters of `alphabet`, which is written as `hex_ranges`."""

    first: int
    last: int
    alphabet: str


# The first row that holds a character decides. Alphabets are the letters and vowel signs in everyday use.
_SCRIPTS: Final = (
    _Script(0x0030, 0x0039, "0030-0039"),  # digits
    _Script(0x0041, 0x005A, "0061-007a"),  # Latin
    _Script(0x0061, 0x007A, "0061-007a"),
    _Script(0x00C0, 0x00D6, "0061-007a"),  # ... with marks
    _Script(0x00D8, 0x00F6, "0061-007a"),
    _Script(0x00F8, 0x024F, "0061-007a"),
    _Script(0x1E00, 0x1EFF, "0061-007a"),
    _Script(0x0386, 0x03FF, "03b1-03c1 03c3-03c9"),  # Greek
    _Script(0x1F00, 0x1FFF, "03b1-03c1 03c3-03c9"),
    _Script(0x0400, 0x052F, "0430-044f"),  # Cyrillic
    _Script(0x0531, 0x0556, "0561-0586"),  # Armenian
    _Script(0x0561, 0x0586, "0561-0586"),
    _Script(0x05D0, 0x05EA, "05d0-05ea"),  # Hebrew
    _Script(0x0660, 0x0669, "0660-0669"),  # Arabic digits
    _Script(0x06F0, 0x06F9, "06f0-06f9"),
    _Script(0x0620, 0x06FF, "0621-063a 0641-064a"),  # Arabic
    _Script(0x0966, 0x096F, "0966-096f"),  # Devanagari digits
    _Script(0x0900, 0x097F, "0902-0903 0905-090b 090f-0910 0913-0928 092a-0930 0932 0935-0939 093e-0943 0947-0948 094b-094d"),
    _Script(0x0980, 0x09FF, "0985-098b 098f-0990 0993-09a8 09aa-09b0 09b2 09b6-09b9 09be-09c3 09c7-09c8 09cb-09cd"),
    _Script(0x0A00, 0x0A7F, "0a05-0a0a 0a0f-0a10 0a13-0a28 0a2a-0a30 0a32 0a35 0a38-0a39 0a3e-0a42 0a47-0a48 0a4b-0a4d"),
    _Script(0x0A80, 0x0AFF, "0a85-0a8b 0a8f-0a90 0a93-0aa8 0aaa-0ab0 0ab2-0ab3 0ab5-0ab9 0abe-0ac3 0ac7-0ac8 0acb-0acd"),
    _Script(0x0B00, 0x0B7F, "0b05-0b0b 0b0f-0b10 0b13-0b28 0b2a-0b30 0b32-0b33 0b36-0b39 0b3e-0b43 0b47-0b48 0b4b-0b4d"),
    _Script(0x0B80, 0x0BFF, "0b85-0b8a 0b8e-0b90 0b92-0b95 0b99-0b9a 0b9c 0b9e-0b9f 0ba3-0ba4 0ba8-0baa 0bae-0bb5 0bbe-0bc2"),
    _Script(0x0C00, 0x0C7F, "0c05-0c0b 0c0e-0c10 0c12-0c28 0c2a-0c33 0c35-0c39 0c3e-0c43 0c46-0c48 0c4a-0c4d"),
    _Script(0x0C80, 0x0CFF, "0c85-0c8b 0c8e-0c90 0c92-0ca8 0caa-0cb3 0cb5-0cb9 0cbe-0cc3 0cc6-0cc8 0cca-0ccd"),
    _Script(0x0D00, 0x0D7F, "0d05-0d0b 0d0e-0d10 0d12-0d28 0d2a-0d39 0d3e-0d43 0d46-0d48 0d4a-0d4d 0d7a-0d7e"),
    _Script(0x0D80, 0x0DFF, "0d85-0d8d 0d91-0d96 0d9a-0db1 0db3-0dbb 0dbd 0dc0-0dc6 0dca 0dcf-0dd4 0dd6 0dd9-0dde"),
    _Script(0x0E00, 0x0E7F, "0e01-0e2e 0e30-0e39 0e40-0e44 0e48-0e49"),  # Thai
    _Script(0x0E80, 0x0EFF, "0e81-0e82 0e84 0e87-0e88 0e94-0e97 0e99-0e9f 0ea1-0ea3 0eaa-0eab 0ead-0eae 0eb0-0eb9 0ec0-0ec4"),
    _Script(0x1000, 0x109F, "1000-1021 102b-1032 1036-103e"),  # Myanmar
    _Script(0x10D0, 0x10FA, "10d0-10f0"),  # Georgian
    _Script(0x1780, 0x17DD, "1780-17a2 17b6-17c8 17d2"),  # Khmer
    _Script(0x3041, 0x309F, "3042 3044 3046 3048 304a-3062 3064-3082 3084 3086 3088-308d 308f 3092-3093"),  # Hiragana
    _Script(0x30A1, 0x30FE, "30a2 30a4 30a6 30a8 30aa-30c2 30c4-30e2 30e4 30e6 30e8-30ed 30ef 30f2-30f3"),  # Katakana
)  # fmt: skip


def neighbor_keys(rows: Sequence[str]) -> dict[str, list[str]]:
    """Return for each character of a layout the characters of the keys that touch its key; a space is no key.

    On a staggered keyboard the key at column c touches columns c-1 and c+1 of its own row, c and c+1 of the row above and c-1 and c of
    the row below (the digit row sits half a key to the left).
    """
    found: dict[str, list[str]] = {}
    for row, keys in enumerate(rows):
        for column, key in enumerate(keys):
            if key == " ":
                continue
            places = [(row, column - 1), (row, column + 1), (row - 1, column), (row - 1, column + 1)]
            places += [(row + 1, column - 1), (row + 1, column)]
            inside = [(r, c) for r, c in places if 0 <= r < len(rows) and 0 <= c < len(rows[r])]
            found[key] = [rows[r][c] for r, c in inside if rows[r][c] not in (" ", key)]
    return found


def _neighbors() -> dict[str, str]:
    """Return the letters around each letter of a QWERTY keyboard, and the digits beside each digit."""
    order = "".join(_US)
    around = {key: sorted(others, key=order.index) for key, others in neighbor_keys(_US).items()}
    letters = {key: "".join(filter(str.isalpha, around[key])) for key in order if key.isalpha()}
    capitals = {key.upper(): others.upper() for key, others in letters.items()}
    return {**letters, **capitals, **{key: "".join(filter(str.isdigit, around[key])) for key in order[:10]}}


_NEIGHBORS: Final = _neighbors()
_HIDDEN: Final = frozenset({*SEPARATING, *INVISIBLE, *range(0xD800, 0xE000)})


class _Letters(dict[str, str]):
    """Character -> the letters of its script and case, filled on demand; empty for punctuation."""

    def __missing__(self, character: str) -> str:
        letters = self[character] = self._find(ord(character))
        return letters

    @staticmethod
    def _find(code: int) -> str:
        for script in _SCRIPTS:
            if script.first <= code <= script.last:
                spans = hex_ranges(script.alphabet)
                letters = "".join(chr(code) for first, last in spans for code in range(first, last + 1))
                return letters.upper() if chr(code).isupper() else letters
        # Han, Hangul and emoji: the 16 code points around, which mostly share a radical, first sounds or a theme.
        # A block that holds a space or an invisible character would change where words end.
        nearby = range(code & ~15, (code & ~15) + 16)
        return "" if code < 0x80 or not _HIDDEN.isdisjoint(nearby) else "".join(map(chr, nearby))


_LETTERS: Final = _Letters()
_split: Final = re.compile(f"([{BLANK}]+)").split


def _draw(character: str, word: str, draw: Callable[[], float]) -> str:
    """Return a letter of the script of `character`, or else of the first character of the word that has a script."""
    letters = _LETTERS[character]
    if not letters:
        letters = next(filter(None, map(_LETTERS.__getitem__, word)), _LATIN)
    return letters[int(draw() * len(letters))]


def _mistype_word(word: str, kind: str, draw: Callable[[], float]) -> str:
    length = len(word)
    if kind == _INSERT:
        at = int(draw() * (length + 1))
        return word[:at] + _draw(word[at - 1 if at else 0], word, draw) + word[at:]
    if kind == _SWAP and length > 1:
        at = int(draw() * (length - 1))
        if word[at] == word[at + 1]:
            places = [place for place in range(length - 1) if word[place] != word[place + 1]]
            if not places:
                return _mistype_word(word, _SUBSTITUTE, draw)
            at = places[int(draw() * len(places))]
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    at = int(draw() * length)
    if kind == _DELETE and length > 1:
        return word[:at] + word[at + 1 :]
    old = word[at]
    if kind == _NEIGHBOR_KEY and old in _NEIGHBORS:
        keys = _NEIGHBORS[old]
        return word[:at] + keys[int(draw() * len(keys))] + word[at + 1 :]
    new = old
    while new == old:
        new = _draw(old, word, draw)
    return word[:at] + new + word[at + 1 :]


def _mistype(text: str, rate: float, kinds: Sequence[str], draw: Callable[[], float]) -> str:
    pieces = _split(text)  # word, gap, word, ..., word; only the first and the last word can be empty
    start, stop = 0 if pieces[0] else 2, len(pieces) if pieces[-1] else len(pieces) - 2
    words = (stop - start + 1) // 2
    chosen = min(words, int(rate * words + draw()))
    for at in range(start, stop, 2):
        if chosen <= 0:
            break
        if draw() * words < chosen:  # selection sampling: exactly `chosen` words, every set of them equally likely
            pieces[at] = _mistype_word(pieces[at], kinds[int(draw() * len(kinds))], draw)
            chosen -= 1
        words -= 1
    return "".join(pieces)


def check_rate(rate: float) -> None:
    """Refuse what is no share of mistyped words with RetvecLiteError: 20 is one of those who mean percent."""
    if not isinstance(rate, numbers.Real) or isinstance(rate, bool) or not 0.0 <= rate <= 1.0:
        raise RetvecLiteError(f"A typo rate is a share of the words from 0 to 1 (0.2 for 20 %), not {shown(rate)}.")


def mistype(text: str, rate: float, seed: int | random.Random, kinds: Sequence[str] = TYPO_KINDS) -> str:
    """Mistype a share of the words of a text.

    Words are the runs between the separators of the contract; the gaps stay as they are, and no word appears or
    disappears. A chosen word gets exactly one typo and always comes out different. A word for which the kind is
    impossible (deleting from a word of one character, swapping within "aaa", a key that is not on the keyboard) gets a
    substitution instead.

    Args:
        text: any text.
        rate: share of the words from 0 to 1; 1 (100 %) means every word. Of n words, rate * n are mistyped, rounded up
            or down at random so that the mean over many texts is exact.
        seed: an integer, or a generator to go on drawing from.
        kinds: the kinds to draw from, each equally likely.

    Raises:
        RetvecLiteError: for a rate outside 0..1 or an unknown kind.

    Example:
        >>> from retvec_lite import mistype
        >>> mistype("wake me up at half past six", 0.5, seed=1)
        'wake me qp at halfl past sif'
    """
    return mistype_many(require_strings([text]), rate, seed, kinds)[0]


def mistype_many(
    texts: Iterable[str], rate: float, seed: int | random.Random, kinds: Sequence[str] = TYPO_KINDS
) -> list[str]:
    """Mistype many texts with one generator, like `mistype`: the result depends on the seed and on the order of the texts.

    Example:
        >>> from retvec_lite.data.typos import mistype_many
        >>> len(mistype_many(["good morning", "good night"], 1.0, seed=0))
        2
    """
    # By hand: `arguments.checked` would take as long as mistyping a text.
    check_rate(rate)
    is_list = isinstance(kinds, Sequence) and not isinstance(kinds, str)
    if not is_list or not kinds or any(kind not in TYPO_KINDS for kind in kinds):
        raise RetvecLiteError(f"Unknown typo kinds {shown(kinds)}: choose from {', '.join(TYPO_KINDS)}.")
    if not isinstance(seed, numbers.Integral | random.Random):
        raise RetvecLiteError(f"seed must be an integer or a random.Random, not {shown(seed)}.")
    draw = (seed if isinstance(seed, random.Random) else random.Random(int(seed))).random
    return [_mistype(text, rate, kinds, draw) for text in as_texts(texts)]
