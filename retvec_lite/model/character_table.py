"""What graphs need to know of a code point for its normal form, as small tables: two stages to an entry, then numbers by entry."""

import functools
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS, MAX_CODE_POINT, REPLACEMENT, SEPARATORS, UNSPACED
from retvec_lite.normal_form import (
    ALPHABETS,
    IGNORED,
    LATIN,
    OTHER_SCRIPTS,
    Ranges,
    compatibility_forms,
    lookalikes,
)

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

PAGE: Final = 256
"""Code points per page of the table."""

CLASS: Final = float(2**BITS)
"""Class and code point are one number, `class * CLASS + code point`. Letters of alphabets have the class -1."""

LIKE_LATIN: Final = -2.0
LATIN_LETTER: Final = 2.0**18
OTHER_LETTER: Final = -(2.0**36)
"""Weights of letters, for their sum over a word: a Latin letter outweighs all that only look like one, and a letter of another
script outweighs both, in texts of up to 65,536 code points."""

NEVER: Final = -(2.0**40)
ALWAYS: Final = 2.0**100
"""What makes a code point keep or lose its own number, whatever its word is."""


class CharacterTable(NamedTuple):
    """A two-stage table, `entries[pages[code // 256 + 1] * 256 + code % 256]` for codes from -1 to 0x110000, and what an entry means.

    A code point becomes `base`, or `base + code - target` where it keeps its own number, which depends on `replaced` and on the
    weights of its word.

    Attributes:
        pages: uint8 `[4354]`.
        entries: uint8 `[pages * 256]`.
        base: float32 `[entries]`: the class, plus what replaces the code point, see `CLASS`.
        target: float32 `[entries]`: what replaces the code point under rule 2c, else 0.
        replaced: float32 `[entries]`: `ALWAYS`, `NEVER`, or 0 where the word decides.
        weight: float32 `[entries]`: the weight of a letter, 0 for everything else.
        parts: int32 `[entries]`: 1 for what separates words under rule 2c, else 0.
        kept: int32 `[entries]`: 0 for what rule 2a drops, else 1.
    """

    pages: npt.NDArray[np.uint8]
    entries: npt.NDArray[np.uint8]
    base: Floats
    target: Floats
    replaced: Floats
    weight: Floats
    parts: Ints
    kept: Ints


@functools.cache
def character_table(unspaced: tuple[str, ...], drops_ignored: bool) -> CharacterTable:
    """Build the table.

    Args:
        unspaced: the keys of `UNSPACED` that have a rule, in their order: classes from 2 on.
        drops_ignored: whether rule 2a applies.
    """
    size = MAX_CODE_POINT + 1
    alphabet, other, latin = (_flags(ranges, size) for ranges in (ALPHABETS, OTHER_SCRIPTS, LATIN))
    like = np.zeros(size, bool)
    like[list(lookalikes())] = True
    latin &= alphabet
    classes = np.ones(size, np.float32)
    for place, name in enumerate(unspaced, start=2):
        classes[_flags(UNSPACED[name], size)] = place
    classes[alphabet | like] = -1.0
    facts = np.zeros((size, 6), np.float64)
    base, target, replaced, weight, parts, kept = facts.T
    base[:] = classes * CLASS
    replaced[:] = NEVER
    weight[other | alphabet] = OTHER_LETTER
    weight[latin] = LATIN_LETTER
    weight[like] = LIKE_LATIN
    parts[weight == 0] = 1
    kept[:] = 1
    forms = compatibility_forms()
    facts[list(forms)] = facts[list(forms.values())]
    for source, form in forms.items():
        # Signs keep a distance, which most of them share, because there are too many for a target each.
        is_sign = not chr(form).isalnum()
        base[source] += form - source if is_sign else form
        replaced[source] = NEVER if is_sign else ALWAYS
    for source, latin_letter in lookalikes().items():
        base[source] += latin_letter
        target[source] = latin_letter
        replaced[source] = 0
    facts[[0, *SEPARATORS]] = (0, 0, ALWAYS, 0, 1, 1)
    if drops_ignored:
        facts[_flags(IGNORED, size)] = (0, 0, ALWAYS, 0, 0, 0)
    return _paged(facts)


def _paged(facts: npt.NDArray[np.float64]) -> CharacterTable:
    replacement = facts[REPLACEMENT].copy()
    replacement[[0, 2]] = replacement[0] + REPLACEMENT, ALWAYS
    kinds, numbers = np.unique(np.concatenate([facts, replacement[None]]), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    if len(kinds) > PAGE:
        raise AssertionError(f"{len(kinds)} kinds of code points do not fit into a byte")
    found = numbers[:-1].reshape(-1, PAGE)
    valid = np.ones(len(found), bool)
    valid[0xD800 // PAGE : 0xE000 // PAGE] = False
    distinct, places = np.unique(found[valid], axis=0, return_inverse=True)
    pages = np.zeros(len(found) + 2, np.uint8)
    pages[1:-1][valid] = places.reshape(-1) + 1
    entries = np.concatenate([np.full((1, PAGE), numbers[-1]), distinct]).reshape(-1).astype(np.uint8)
    floats = kinds.astype(np.float32)
    base, target, replaced, weight = (np.ascontiguousarray(column) for column in floats.T[:4])
    parts, kept = (np.ascontiguousarray(column.astype(np.int32)) for column in kinds.T[4:])
    return CharacterTable(pages, entries, base, target, replaced, weight, parts, kept)


def _flags(ranges: Ranges, size: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(size, bool)
    for first, last in ranges:
        found[first : last + 1] = True
    return found
