"""What graphs need to know of a code point for its normal form: its kind, and numbers for each kind."""

import functools
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite import normal_form as rules
from retvec_lite.contract import BITS, MAX_CODE_POINT, REPLACEMENT, SEPARATING, UNSPACED
from retvec_lite.letters import compatibility_forms, faint_lookalikes, is_rare, lookalikes

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

CLASS: Final = float(2**BITS)
"""Class and code point are one number, `class * CLASS + code point`. Letters of alphabets have the class -1."""

DIGIT: Final = 5.0
SIGN: Final = 6.0
"""Classes of digits, and of `SIGNS` and `SYMBOLS`, above those of unspaced scripts; rule 2d makes them 1."""

FIRST_SYMBOL: Final = float(rules.SYMBOLS[0][0])
"""Signs lie below it, symbols do not."""

LIKE_LATIN: Final = -2.0
RARE_LETTER: Final = 2.0**19
FOREIGN_LETTER: Final = -(2.0**36)
LATIN_LETTER: Final = 2.0**53
OTHER_LETTER: Final = -(2.0**70)
"""Weights of letters, for their sum over a word: each of these outweighs all of the ones before it, in texts of up to 65,536 code
points, with what the text adds for each of its words."""

NEVER: Final = -(2.0**90)
ALWAYS: Final = 2.0**100
"""What makes a code point keep or lose its own number, whatever its word is."""

PAGE: Final = 32
"""Code points per row of the table: about the size that makes rows and their borders smallest."""

_KINDS: Final = 256
"""Kinds that a byte tells apart."""


@dataclass(frozen=True, eq=False)
class CharacterTable:
    """The kind of each code point, and what a kind means.

    A code point becomes `base`, or `base + code - target` where it keeps its own number, which depends on `replaced` and on the
    weights of its word.

    Attributes:
        kinds: uint16 `[0x110000]`; those of a page are all below 256, or all from there on.
        invalid: the kind of values that are not Unicode scalar values.
        base: float32 `[kinds]`: the class, plus what replaces the code point, see `CLASS`.
        target: float32 `[kinds]`: what replaces the code point under rule 2c, else 0.
        group: uint8 `[kinds]`: kinds of one group have the same values of all of the following.
        replaced: float32 `[groups]`: `ALWAYS`, `NEVER`, or 0 where the word decides.
        weight: float32 `[groups]`: the weight of a letter in its word, 0 for everything else.
        balance: float32 `[groups]`: its weight in the text, see `normal_form.weight_of`.
        parts: int32 `[groups]`: 1 for what separates words under rule 2c, else 0.
        kept: int32 `[groups]`: 0 for what rule 2a drops, else 1.
        like: float32 `[groups]`: 1 for letters that rule 2c may replace, else 0.
        ends: int32 `[kinds]`: 1 for what ends words with `letters_only`, else 0.
        technical: float32 `[kinds]`: 1 for signs of `TECHNICAL`, else 0.
        space: the kind of separators.
        symbol: the kind of symbols.
    """

    kinds: npt.NDArray[np.uint16]
    invalid: int
    base: Floats
    target: Floats
    group: npt.NDArray[np.uint8]
    replaced: Floats
    weight: Floats
    balance: Floats
    parts: Ints
    kept: Ints
    like: Floats
    ends: Ints
    technical: Floats
    space: int
    symbol: int

    @functools.cached_property
    def pages(self) -> tuple[Ints, npt.NDArray[np.uint8], int]:
        """Return the kinds in two stages: `rows[pages[code // PAGE + 1]][code % PAGE]`, for codes from -1 to 0x110000.

        Returns:
            int32 `[0x110000 // PAGE + 2]`, 0 for values that are not Unicode scalar values; uint8 `[rows, PAGE]`; and the first row that
            tells how far its kinds are above 256.
        """
        found = self.kinds.reshape(-1, PAGE).copy()
        found[0xD800 // PAGE : 0xE000 // PAGE] = self.invalid
        distinct, numbers = np.unique(found, axis=0, return_inverse=True)
        # The kind of what is invalid fills the first row.
        order = np.lexsort(((distinct != self.invalid).any(axis=1), distinct[:, 0] >= _KINDS))
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order))
        rows = distinct[order]
        high = int((rows[:, 0] < _KINDS).sum())
        pages = np.concatenate([[0], places[numbers.reshape(-1)], [0]]).astype(np.int32)
        return pages, (rows % _KINDS).astype(np.uint8), high


@functools.cache
def character_table(letters_only: bool = False) -> CharacterTable:
    """Build the table; the scripts of `UNSPACED` have the classes from 2 on. With `letters_only` everything else separates."""
    size = MAX_CODE_POINT + 1
    alphabet, other, latin = (_flags(ranges, size) for ranges in (rules.alphabets(), rules.OTHER_SCRIPTS, rules.LATIN))
    like = np.zeros(size, bool)
    like[list(lookalikes())] = True
    latin &= alphabet
    classes = np.ones(size, np.float32)
    for place, ranges in enumerate(UNSPACED.values(), start=2):
        classes[_flags(ranges, size)] = place
    classes[_flags((*rules.SIGNS, *rules.SYMBOLS), size)] = SIGN
    classes[ord("0") : ord("9") + 1] = DIGIT
    classes[alphabet | like] = -1.0
    facts = np.zeros((size, 9), np.float64)
    base, target, ends, technical, replaced, weight, balance, parts, kept = facts.T
    base[:] = classes * CLASS
    replaced[:] = NEVER
    weight[other | alphabet] = OTHER_LETTER
    weight[alphabet & ~_flags(rules.RIGHT_TO_LEFT, size)] = FOREIGN_LETTER
    weight[latin] = LATIN_LETTER
    weight[like] = LIKE_LATIN
    weight[[code for code in lookalikes() if is_rare(code)]] = RARE_LETTER
    for kind in np.unique(weight):
        balance[weight == kind] = rules.weight_of(int(np.argmax(weight == kind)))
    parts[weight == 0] = 1
    kept[:] = 1
    if letters_only:
        ends[(classes > 1) & (classes < DIGIT)] = 1
        technical[[ord(sign) for sign in rules.TECHNICAL]] = 1
    forms = compatibility_forms()
    facts[list(forms)] = facts[list(forms.values())]
    for source, form in forms.items():
        # Signs keep a distance, which most of them share, because there are too many for a target each.
        is_sign = not chr(form).isalnum()
        base[source] += form - source if is_sign else form
        replaced[source] = NEVER if is_sign else ALWAYS
    foreign = dict.fromkeys(np.flatnonzero(weight == FOREIGN_LETTER).tolist(), rules.UNKNOWN_LETTER)
    for source, latin_letter in (foreign | faint_lookalikes() | lookalikes()).items():
        base[source] += latin_letter
        target[source] = latin_letter
        replaced[source] = 0
    separators = np.zeros(size, bool)
    separators[[*SEPARATING]] = True
    if letters_only:
        ends[separators] = 1
        separators |= weight == 0
    facts[separators, :2] = 0
    facts[separators, 4:] = (ALWAYS, 0, 0, 1, 1)
    facts[_flags(rules.IGNORED, size)] = (0, 0, 0, 0, ALWAYS, 0, 0, 0, 0)
    return _table(facts)


def _table(facts: npt.NDArray[np.float64]) -> CharacterTable:
    replacement = facts[REPLACEMENT].copy()
    if replacement[0]:
        replacement[[0, 4]] = replacement[0] + REPLACEMENT, ALWAYS
    facts = np.concatenate([facts, replacement[None]])
    # Neighbours are mostly alike: one of each run is sorted, since sorting a million rows takes seconds.
    is_first = np.append(True, (facts[1:] != facts[:-1]).any(axis=1))
    distinct, kinds = np.unique(facts[is_first], axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)[np.cumsum(is_first) - 1]
    if len(distinct) > _KINDS:
        distinct, kinds = _in_two(distinct, kinds)
    base, target = distinct[:, :2].astype(np.float32).T
    groups, group = np.unique(distinct[:, 4:], axis=0, return_inverse=True)
    replaced, weight, balance = (column.astype(np.float32) for column in groups.T[:3])
    parts, kept = (column.astype(np.int32) for column in groups.T[3:])
    return CharacterTable(
        kinds=kinds[:-1].astype(np.uint16),
        invalid=int(kinds[-1]),
        base=base.copy(),
        target=target.copy(),
        group=group.reshape(-1).astype(np.uint8),
        replaced=replaced,
        weight=weight,
        balance=balance,
        parts=parts,
        kept=kept,
        like=((replaced == 0) & (weight != 0)).astype(np.float32),
        ends=distinct[:, 2].astype(np.int32),
        technical=distinct[:, 3].astype(np.float32),
        space=int(kinds[0x20]),
        symbol=int(kinds[rules.SYMBOLS[0][0]]),
    )


def _in_two(
    distinct: npt.NDArray[np.float64], kinds: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Number kinds so that a byte tells those of a page apart: pages with forms of other scripts have kinds of their own, from 256 on."""
    is_form = (distinct[:, 4] == ALWAYS) & (distinct[:, 5] == OTHER_LETTER)
    pages = kinds[:-1].reshape(-1, PAGE)
    is_high = np.append(np.repeat(is_form[pages].any(axis=1), PAGE), False)
    found = np.zeros((2 * _KINDS, distinct.shape[1]))
    numbers = np.empty_like(kinds)
    for start, part in ((0, ~is_high), (_KINDS, is_high)):
        used, numbers[part] = np.unique(kinds[part], return_inverse=True)
        assert len(used) <= _KINDS, f"{len(used)} kinds of code points do not fit into a byte"
        found[start : start + len(used)] = distinct[used]
        numbers[part] += start
    return found[: numbers.max() + 1], numbers


def _flags(ranges: rules.Ranges, size: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(size, bool)
    for first, last in ranges:
        found[first : last + 1] = True
    return found
