"""The normal form of a text: rule 2 of the contract from version 2 on, and its reference in plain Python.

Disguised letters become the letters that a person reads: those of `letters`. The tables are pinned, so they do not depend on the
platform's Unicode version. docs/contract.md states the rules.
"""

import functools
import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from retvec_lite.letters import compatibility_forms, faint_lookalikes, is_rare, lookalikes

Ranges = tuple[tuple[int, int], ...]

IGNORED: Final[Ranges] = (
    (0x00AD, 0x00AD),
    (0x0300, 0x036F),
    (0x0488, 0x0489),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x20D0, 0x20FF),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""What rule 2a drops, as (first, last): the code points with the property Default_Ignorable_Code_Point (Unicode 16,
DerivedCoreProperties.txt), and the blocks of combining marks that belong to no script, with U+0488 and U+0489. Such a mark is
left in composed text only where it forms no letter, so it decorates."""

_DIGITS: Final = "0123456789"
_SIGN: Final = -1
"""Stands for all signs and symbols where they count as one separator."""

ALPHABETS: Final[Ranges] = (
    (0x041, 0x05A), (0x061, 0x07A), (0x0AA, 0x0AA), (0x0BA, 0x0BA), (0x0C0, 0x0D6), (0x0D8, 0x0F6), (0x0F8, 0x2AF),
    (0x370, 0x373), (0x376, 0x377), (0x37B, 0x37D), (0x37F, 0x37F), (0x386, 0x386), (0x388, 0x481), (0x48A, 0x556),
    (0x560, 0x588), (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5F2), (0x610, 0x61A),
    (0x620, 0x65F), (0x66E, 0x6D3), (0x6D5, 0x6DC), (0x6DF, 0x6E8), (0x6EA, 0x6EF), (0x6FA, 0x6FC), (0x6FF, 0x6FF),
    (0x10A0, 0x10FA), (0x10FC, 0x10FF), (0x13A0, 0x13FF), (0x1C80, 0x1C8F), (0x1C90, 0x1CBF), (0x1D00, 0x1DBF),
    (0x1E00, 0x1FBC), (0x1FC2, 0x1FCC), (0x1FD0, 0x1FDB), (0x1FE0, 0x1FEC), (0x1FF2, 0x1FFC), (0x2C60, 0x2CE4),
    (0x2D00, 0x2D2F), (0xA4D0, 0xA4F7), (0xA640, 0xA66E), (0xA680, 0xA69D), (0xA722, 0xA788), (0xA78B, 0xA7FF),
    (0xAB30, 0xAB5A), (0xAB5C, 0xAB69), (0xAB70, 0xABBF), (0xFB50, 0xFBB1), (0xFBD3, 0xFD3D), (0xFD50, 0xFDFB),
    (0xFE70, 0xFEFC),
)  # fmt: skip
"""Letters with their marks as (first, last), for rules 2c and 2d: Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Georgian,
Cherokee, Coptic and Lisu, with code points that Unicode may assign to them."""

NEWER_ALPHABETS: Final[Ranges] = (
    (0x1400, 0x167F), (0x16A0, 0x16FF), (0x2D30, 0x2D7F), (0xA4F8, 0xA4FF), (0x10280, 0x1034F), (0x10400, 0x104FF),
)  # fmt: skip
"""More of them: Canadian syllabics, runes, Tifinagh, the tones of Lisu, Lycian to Gothic, Deseret to Osage."""

LATIN: Final[Ranges] = (
    (0x41, 0x2AF),
    (0x1D00, 0x1DBF),
    (0x1E00, 0x1EFF),
    (0x2C60, 0x2C7F),
    (0xA722, 0xA7FF),
    (0xAB30, 0xAB69),
)
"""Code points of `ALPHABETS` that are Latin, as (first, last)."""

RIGHT_TO_LEFT: Final[Ranges] = ((0x591, 0x6FF), (0xFB50, 0xFEFC))
"""Code points of `ALPHABETS` that are Hebrew or Arabic, as (first, last)."""

REGIONAL: Final = (0x1F1E6, 0x1F1FF)
"""Regional indicators: two of them are a flag."""

UNKNOWN_LETTER: Final = 0x2AD
"""Stands in Latin words for the letters of other alphabets that look like none: a Latin letter that no language writes."""

OTHER_SCRIPTS: Final[Ranges] = (
    (0x700, 0x109F), (0x1100, 0x139F), (0x1400, 0x1C7F), (0x1CC0, 0x1CFF), (0x2D30, 0x2DFF), (0x2E80, 0x2FFF),
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x30FA), (0x30FC, 0x31EF),
    (0x31F0, 0xA4CF), (0xA500, 0xA63F), (0xA6A0, 0xA6FF), (0xA800, 0xAB2F), (0xABC0, 0xD7FF), (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC), (0x10000, 0x1CFFF), (0x1E000, 0x1EFFF), (0x20000, 0x3FFFF),
)  # fmt: skip
"""Blocks of the other scripts, as (first, last). For rule 2c all of their code points count as letters."""

SIGNS: Final[Ranges] = (
    (0x22, 0x22),
    (0x27, 0x27),
    (0x2A, 0x2A),
    (0x2C, 0x2F),
    (0x3A, 0x3B),
    (0x3D, 0x3D),
    (0x5C, 0x5C),
    (0x5E, 0x60),
    (0x7E, 0x7E),
    (0xB7, 0xB7),
    (0x2010, 0x2027),
)
"""Signs that set letters apart, as (first, last): under rule 2d, they count as one separator. Signs that are written for letters,
such as $, @ and !, are not among them."""

SYMBOLS: Final[Ranges] = ((0x2190, 0x2BFF), (0x1D000, 0x1D24F), (0x1F000, 0x1FAFF))
"""Blocks of symbols as (first, last): arrows to Braille, musical notation, and emoji. All of them lie above `SIGNS`, and rule 2d drops
them between letters."""

TECHNICAL: Final = "#/@\\_"
"""Signs of links, addresses, mentions, hashtags, paths and code: with `letters_only`, words that have one of them are not read."""


def ranges_hold(ranges: Ranges, code: int) -> bool:
    """Return whether a code point is in one of some ranges."""
    return any(first <= code <= last for first, last in ranges)


@functools.cache
def is_ignored(code: int) -> bool:
    """Return whether rule 2a drops a code point."""
    return ranges_hold(IGNORED, code)


@functools.cache
def is_latin(code: int) -> bool:
    """Return whether a code point is a Latin letter."""
    return ranges_hold(LATIN, code) and ranges_hold(ALPHABETS, code)


@functools.cache
def alphabets() -> Ranges:
    """Return the letters of all alphabets."""
    return ALPHABETS + NEWER_ALPHABETS


@functools.cache
def is_letter(code: int) -> bool:
    """Return whether a code point is a letter for rule 2d."""
    return ranges_hold(alphabets(), code) or code in lookalikes()


@functools.cache
def is_other_letter(code: int) -> bool:
    """Return whether a code point is a letter for rule 2c that is neither Latin nor like a Latin one."""
    known = is_latin(code) or code in lookalikes()
    return not known and (ranges_hold(alphabets(), code) or ranges_hold(OTHER_SCRIPTS, code))


@functools.cache
def is_foreign(code: int) -> bool:
    """Return whether rule 2c replaces a letter that is like no Latin one in Latin words."""
    of_alphabet = ranges_hold(alphabets(), code) and not ranges_hold(RIGHT_TO_LEFT, code)
    return of_alphabet and is_other_letter(code)


def normalize(
    values: Sequence[int],
    separators: Collection[int],
    unspaced: Sequence[Ranges],
    letters_only: bool = False,
) -> list[int]:
    """Bring a text into its normal form: rule 2 of the contract.

    Args:
        values: Unicode scalar values.
        separators: code points between words; each becomes a space.
        unspaced: the scripts that are cut into pieces; their order matters for rule 2d alone.
        letters_only: whether only letters are left by rule 2b.
    """
    forms = compatibility_forms()
    flags = _flags(values)
    chars = [
        0x20 if code in separators else code if place in flags else forms.get(code, code)
        for place, code in enumerate(values)
        if not is_ignored(code)
    ]
    if letters_only:
        chars = list(_letters(chars, unspaced))
    return list(_joined(_without_lookalikes(chars), unspaced))


def _flags(values: Sequence[int]) -> set[int]:
    """Return the places of regional indicators that stand in pairs."""
    found: set[int] = set()
    place = 0
    for is_regional, run in itertools.groupby(values, lambda code: ranges_hold((REGIONAL,), code)):
        length = len(list(run))
        if is_regional and length == 2:
            found |= {place, place + 1}
        place += length
    return found


def _letters(chars: Sequence[int], unspaced: Sequence[Ranges]) -> Iterator[int]:
    """Yield the characters, spaces for what is no letter or stands in a word with a sign of `TECHNICAL`."""
    for ends_words, run in itertools.groupby(chars, lambda code: _ends_words(code, unspaced)):
        word = list(run)
        reads = ends_words or not any(chr(code) in TECHNICAL for code in word)
        yield from (code if reads and _in_word(code) else 0x20 for code in word)


def _ends_words(code: int, unspaced: Sequence[Ranges]) -> bool:
    return code == 0x20 or any(ranges_hold(ranges, code) for ranges in unspaced)


@functools.cache
def weight_of(code: int) -> int:
    """Return what a code point weighs where rule 2c asks whether a text is of another script: below 0 if it says so."""
    if is_latin(code):
        return 64
    if is_other_letter(code):
        return -36
    if code not in lookalikes():
        return 0
    return 1 if is_rare(code) else -2


def _without_lookalikes(chars: Sequence[int]) -> Sequence[int]:
    """Apply rule 2c."""
    words = [(is_word, list(run)) for is_word, run in itertools.groupby(chars, _in_word)]
    if sum(weight_of(code) for code in chars) < 0:
        return chars
    latin = [is_word and _is_latin_word(run) for is_word, run in words]
    mixes = any(of_latin and not all(map(is_latin, run)) for of_latin, (_, run) in zip(latin, words, strict=True))
    text_is_latin = mixes or 2 * sum(latin) > sum(is_word for is_word, _ in words)
    found: list[int] = []
    for word_is_latin, (is_word, run) in zip(latin, words, strict=True):
        replaces = word_is_latin or (is_word and text_is_latin and all(code in lookalikes() for code in run))
        found += [_as_latin(code) for code in run] if replaces else run
    return found


def _is_latin_word(word: Sequence[int]) -> bool:
    """Return whether a word has a Latin letter and no other ones than foreign ones, or lookalikes alone, a rare one among them."""
    if any(map(is_latin, word)):
        return all(is_foreign(code) for code in word if is_other_letter(code))
    return any(map(is_rare, word)) and all(code in lookalikes() for code in word)


def _as_latin(code: int) -> int:
    if is_foreign(code):
        return faint_lookalikes().get(code, UNKNOWN_LETTER)
    return lookalikes().get(code, code)


def _in_word(code: int) -> bool:
    return is_latin(code) or is_other_letter(code) or code in lookalikes()


def _joined(chars: Sequence[int], unspaced: Sequence[Ranges]) -> Iterator[int]:
    """Apply rule 2d."""
    letters = [False, False, *(is_letter(code) for code in chars), False, False]
    reads = [False, False, *(is_letter(code) or chr(code) in _DIGITS for code in chars), False, False]
    kinds = [_SIGN if _is_sign(code) else code for code in chars]
    # The two places before and after one, and itself.
    between = {
        place
        for place in range(len(chars))
        if reads[place + 1] and reads[place + 3] and not (reads[place] or reads[place + 2] or reads[place + 4])
    }
    of_letters = {place for place in between if letters[place + 1] and letters[place + 3]}
    spread = {
        kinds[place]
        for place in of_letters
        if {place + 2, place + 4} <= of_letters and kinds[place] == kinds[place + 2] == kinds[place + 4]
    }
    separator = max(spread, key=lambda code: _order(code, unspaced), default=None)
    dropped = {place for place in between if kinds[place] == separator}
    dropped |= {
        place
        for place, code in enumerate(chars)
        if letters[place + 1] and letters[place + 3] and ranges_hold(SYMBOLS, code)
    }
    yield from (code for place, code in enumerate(chars) if place not in dropped)


@functools.cache
def _is_sign(code: int) -> bool:
    return ranges_hold((*SIGNS, *SYMBOLS), code)


def _order(code: int, unspaced: Sequence[Ranges]) -> tuple[int, int]:
    """Return the place of a separator: white space first, then by script and code point; `_SIGN` last."""
    scripts = [number for number, ranges in enumerate(unspaced, start=2) if ranges_hold(ranges, code)]
    return (scripts or [{0x20: 0, _SIGN: len(unspaced) + 2}.get(code, 1)])[0], code
