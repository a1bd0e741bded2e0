"""What a typo may put in place of a character: letters of its alphabet, its other case, neighboring keys, look-alikes.

The tables are derived at first use from the Unicode data of Python's standard library and of the packages `regex` and
`confusable-homoglyphs`, and kept for the life of the process. A table is indexed by code point, so that a whole batch is
looked up in one NumPy call.
"""

import functools
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import regex

from makers.embedding.keyboards import LAYOUTS
from retvec_lite.contract import MAX_CODE_POINT, Ints
from retvec_lite.data.typos import neighbor_keys

Doubles = npt.NDArray[np.float64]

_ALL_CODES: Final = MAX_CODE_POINT + 1
_ASSIGNED_END: Final = 0x32400  # nothing above is a letter, a digit or a sign (tags, variation selectors, private use)


@dataclass(frozen=True)
class Choices:
    """For every code point a (possibly empty) list of replacements, stored flat so that draws are vectorized.

    The list of a code point begins at `starts`, int32 [1114112], in `members`, int32 [M], and has `counts`, int32 [1114112], of them.
    """

    starts: Ints
    counts: Ints
    members: Ints

    def draw(self, codes: Ints, uniform: Doubles) -> Ints:
        """Return one of each code point's list, picked by `uniform` in [0, 1); itself where it has none."""
        counts = self.counts[codes]
        picked = self.members[
            np.minimum(self.starts[codes] + (uniform * counts).astype(np.int32), len(self.members) - 1)
        ]
        return np.where(counts > 0, picked, codes).astype(np.int32)

    def draw_other(self, codes: Ints, uniform: Doubles) -> Ints:
        """Draw from lists that hold the code point itself, but never itself when there is another."""
        counts = self.counts[codes]
        # One fewer to pick from; the last member stands in where the pick is the code point itself.
        picked = self.draw_index(codes, (uniform * np.maximum(counts - 1, 1)).astype(np.int32))
        last = self.draw_index(codes, np.maximum(counts - 1, 0))
        return np.where(counts > 0, np.where(picked == codes, last, picked), codes).astype(np.int32)

    def draw_index(self, codes: Ints, index: Ints) -> Ints:
        """Return the member at `index` of each list (any member where the list is empty: the caller masks)."""
        found: Ints = self.members[np.minimum(self.starts[codes] + index, len(self.members) - 1)]
        return found


def make_choices(lists: Mapping[int, Sequence[int]]) -> Choices:
    """Return `Choices` of a dictionary of code point -> replacements."""
    starts = np.zeros(_ALL_CODES, np.int32)
    counts = np.zeros(_ALL_CODES, np.int32)
    members: list[int] = []
    shared: dict[int, int] = {}  # lists that are one object (an alphabet) are stored once
    for code, options in lists.items():
        if id(options) not in shared:
            shared[id(options)] = len(members)
            members.extend(options)
        starts[code] = shared[id(options)]
        counts[code] = len(options)
    return Choices(starts, counts, np.asarray(members or [0], np.int32))


def _alphabet_key(char: str) -> tuple[str, int, str] | None:
    """Return which alphabet a character belongs to; None for one without (punctuation, symbols, unassigned)."""
    category = unicodedata.category(char)
    if category[0] not in "LMN":
        return None
    script = unicodedata.name(char, "").partition(" ")[0]
    # Han and Hangul are one alphabet each; elsewhere half a block: a typed "a" is mistaken for one of a-z, hardly ever
    # for one of the 600 other Latin letters, which have their own neighbours (those of é are the accented ones).
    part = 0 if script in ("CJK", "HANGUL") else ord(char) >> 7
    return script, part, category if category[0] == "L" else category[0]


@functools.cache
def alphabets() -> Choices:
    """Return for each letter, mark and digit the characters of its alphabet (same script, half block and category)."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    lists: dict[int, list[int]] = {}
    for code in range(0x30, _ASSIGNED_END):
        key = _alphabet_key(chr(code))
        if key is not None:
            group = groups.setdefault(key, [])
            group.append(code)
            lists[code] = group
    return make_choices(lists)


def _one_to_one(method: str) -> Ints:
    table = np.arange(_ALL_CODES, dtype=np.int32)
    for code in range(0x41, 0x1EA00):  # Adlam, the last cased script, ends below
        changed: str = getattr(chr(code), method)()
        if len(changed) == 1:
            table[code] = ord(changed)
    return table


@functools.cache
def upper_table() -> Ints:
    """Return the upper case of each code point, where it is one code point: int32 [1114112]."""
    return _one_to_one("upper")


@functools.cache
def title_table() -> Ints:
    """Return the title case of each code point, where it is one code point: int32 [1114112]."""
    return _one_to_one("title")


@functools.cache
def other_case() -> Choices:
    """Return the other case of each code point that has one of one code point."""
    table = _one_to_one("swapcase")
    return make_choices({code: [int(table[code])] for code in np.flatnonzero(table != np.arange(_ALL_CODES)).tolist()})


@functools.cache
def ascii_pool() -> Ints:
    """Return printable ASCII without the space, which would end the word."""
    return np.arange(0x21, 0x7F, dtype=np.int32)


@functools.cache
def punctuation_pool() -> Ints:
    """Return ASCII punctuation (three times: it is what people type) and the common signs of other scripts."""
    ascii_signs = [code for code in range(0x21, 0x7F) if not chr(code).isalnum()]
    others = "¡¿«»“”„‘’‚‹›–—…·•°§¶†‡、。「」『』【】〈〉《》・،؛؟।॥։՞՝჻።፣፤፥၊။៖។ฯ๏"
    return np.asarray(ascii_signs * 3 + [ord(sign) for sign in others], np.int32)


@functools.cache
def bmp_pool() -> Ints:
    """Return all characters of the Basic Multilingual Plane that a word can hold.

    That is: assigned, no surrogate, private use, separator or control, and nothing invisible (format characters), which
    the encoder drops.
    """
    skipped = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")
    return np.asarray([c for c in range(0x21, 0x10000) if unicodedata.category(chr(c)) not in skipped], np.int32)


@functools.cache
def emoji_pool() -> Ints:
    """Return the characters with the Unicode property Emoji_Presentation, regional indicators included."""
    is_emoji = regex.compile(r"\p{Emoji_Presentation}")
    return np.asarray([code for code in range(0x2000, 0x1FB00) if is_emoji.match(chr(code))], np.int32)


@functools.cache
def lookalikes() -> Choices:
    """Return for each code point the single code points that Unicode calls confusable with it (UTS 39, both directions).

    Confusables of several characters ("rn" for "m") are left out: a substitution replaces one character by one.
    """
    import confusable_homoglyphs

    path = Path(confusable_homoglyphs.__file__).parent / "confusables.json"
    table: dict[str, list[dict[str, str]]] = json.loads(path.read_text(encoding="utf-8"))
    lists: dict[int, list[int]] = {}
    for char, options in table.items():
        singles = [ord(option["c"]) for option in options if len(option["c"]) == 1 and not option["c"].isspace()]
        singles = [code for code in singles if not 0xD800 <= code <= 0xDFFF]
        if len(char) == 1 and singles:
            lists[ord(char)] = singles
    return make_choices(lists)


_WEIGHTS: Final = {"us": 3, "us_shift": 3}
"""English QWERTY, the paper's only layout, counts three times as much as any other."""


@functools.cache
def keyboard_neighbors() -> Choices:
    """Return for each code point of any layout the neighbors of its key, pooled over the layouts that have it."""
    pooled: dict[int, list[int]] = {}
    for name, rows in LAYOUTS.items():
        for key, neighbors in neighbor_keys(rows).items():
            pooled.setdefault(ord(key), []).extend([ord(other) for other in neighbors] * _WEIGHTS.get(name, 1))
    return make_choices(pooled)
