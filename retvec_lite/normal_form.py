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


def hex_ranges(listed: str) -> Ranges:
    """Return ranges of code points as (first, last), which are written in hexadecimal: "41-5A 5F"."""
    parts = (part.partition("-") for part in listed.split())
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in parts)


IGNORED: Final[Ranges] = hex_ranges(
    "AD 300-36F 488-489 61C 115F-1160 17B4-17B5 180B-180F 1AB0-1AFF 1DC0-1DFF 200B-200F 202A-202E 2060-206F 20D0-20FF "
    "3164 FE00-FE0F FE20-FE2F FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)
"""What rule 2a drops, as (first, last): the code points with the property Default_Ignorable_Code_Point (Unicode 16,
DerivedCoreProperties.txt), and the blocks of combining marks that belong to no script, with U+0488 and U+0489. Such a mark is
left in composed text only where it forms no letter, so it decorates."""

_DIGITS: Final = "0123456789"
_SIGN: Final = -1
"""Stands for all signs and symbols where they count as one separator."""

ALPHABETS: Final[Ranges] = hex_ranges(
    "41-5A 61-7A AA BA C0-D6 D8-F6 F8-2AF 370-373 376-377 37B-37D 37F 386 388-481 48A-556 560-588 591-5BD 5BF 5C1-5C2 "
    "5C4-5C5 5C7-5F2 610-61A 620-65F 66E-6D3 6D5-6DC 6DF-6E8 6EA-6EF 6FA-6FC 6FF 10A0-10FA 10FC-10FF 13A0-13FF "
    "1C80-1C8F 1C90-1CBF 1D00-1DBF 1E00-1FBC 1FC2-1FCC 1FD0-1FDB 1FE0-1FEC 1FF2-1FFC 2C60-2CE4 2D00-2D2F A4D0-A4F7 "
    "A640-A66E A680-A69D A722-A788 A78B-A7FF AB30-AB5A AB5C-AB69 AB70-ABBF FB50-FBB1 FBD3-FD3D FD50-FDFB FE70-FEFC"
)
"""Letters with their marks as (first, last), for rules 2c and 2d: Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Georgian,
Cherokee, Coptic and Lisu, with code points that Unicode may assign to them."""

NEWER_ALPHABETS: Final[Ranges] = hex_ranges("1400-167F 16A0-16FF 2D30-2D7F A4F8-A4FF 10280-1034F 10400-104FF")
"""More of them: Canadian syllabics, runes, Tifinagh, the tones of Lisu, Lycian to Gothic, Deseret to Osage."""

LATIN: Final[Ranges] = hex_ranges("41-2AF 1D00-1DBF 1E00-1EFF 2C60-2C7F A722-A7FF AB30-AB69")
"""Code points of `ALPHABETS` that are Latin, as (first, last)."""

RIGHT_TO_LEFT: Final[Ranges] = hex_ranges("591-6FF FB50-FEFC")
"""Code points of `ALPHABETS` that are Hebrew or Arabic, as (first, last)."""

REGIONAL: Final = (0x1F1E6, 0x1F1FF)
"""Regional indicators: two of them are a flag."""

UNKNOWN_LETTER: Final = 0x2AD
"""Stands in Latin words for the letters of other alphabets that look like none: a Latin letter that no language writes."""

OTHER_SCRIPTS: Final[Ranges] = hex_ranges(
    "700-109F 1100-139F 1400-1C7F 1CC0-1CFF 2D30-2DFF 2E80-2FFF 3005-3007 3021-3029 3031-3035 3038-303C 3041-30FA "
    "30FC-31EF 31F0-A4CF A500-A63F A6A0-A6FF A800-AB2F ABC0-D7FF F900-FAFF FF66-FFDC 10000-1CFFF 1E000-1EFFF "
    "20000-3FFFF"
)
"""Blocks of the other scripts, as (first, last). For rule 2c all of their code points count as letters."""

SIGNS: Final[Ranges] = hex_ranges("22 27 2A 2C-2F 3A-3B 3D 5C 5E-60 7E B7 2010-2027")
"""Signs that set letters apart, as (first, last): under rule 2d, they count as one separator. Signs that are written for letters,
such as $, @ and !, are not among them."""

SYMBOLS: Final[Ranges] = hex_ranges("2190-2BFF 1D000-1D24F 1F000-1FAFF")
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
