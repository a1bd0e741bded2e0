"""The meaning words of a line of text, by the rule of the contract, and fast: a regular expression per rule, not a loop per character.

The reference is `contract.visible_characters`; lines that its rules 2c and 2d may change, which are few, are given to it.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from retvec_lite.condensing import without_repeats
from retvec_lite.contract import SEPARATING, UNSPACED, EncoderConfig, visible_characters
from retvec_lite.letters import compatibility_forms, lookalikes
from retvec_lite.model.meaning_file import LONGEST_WORD
from retvec_lite.ngrams import folded_letters
from retvec_lite.normal_form import (
    LATIN,
    OTHER_SCRIPTS,
    REGIONAL,
    SIGNS,
    SYMBOLS,
    Ranges,
    alphabets,
    is_ignored,
    is_latin,
    is_letter,
    is_other_letter,
    weight_of,
)

_ENCODER: Final = EncoderConfig()
_SPACE: Final = " "


class _Memory(dict[int, str]):
    """What `str.translate` makes of each code point, found once."""

    def __init__(self, find: Callable[[int], str]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, code: int) -> str:
        found = self[code] = self._find(code)
        return found


def _form(code: int) -> str:
    """Apply rules 2a and 2b to one code point."""
    if is_ignored(code):
        return ""
    return _SPACE if code in SEPARATING else chr(compatibility_forms().get(code, code))


def _folded(code: int) -> str:
    """Fold a code point with plain letters; what is no letter then ends a word."""
    folded = 0 if code in SEPARATING else folded_letters(True).get(code, code)
    is_of_word = is_letter(folded) or is_latin(folded) or is_other_letter(folded)
    return chr(folded) if is_of_word else _SPACE


_REGIONAL: Final = re.compile(f"[{chr(REGIONAL[0])}-{chr(REGIONAL[1])}]")
"""What is a letter or a flag."""

_FORMS: Final = _Memory(_form)
_FOLDED: Final = _Memory(_folded)


def _pattern(ranges: Ranges, more: str = "") -> str:
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges) + re.escape(more)


@functools.cache
def _letters() -> str:
    """Return the letters of rule 2d, for a character class."""
    return _pattern(alphabets(), "".join(map(chr, lookalikes())))


@functools.cache
def _spread() -> re.Pattern[str]:
    """Return what rule 2d needs somewhere: a symbol between letters, or four single letters with three like separators between.

    Signs and symbols are alike.
    """
    letter = _letters()
    sign = _pattern((*SIGNS, *SYMBOLS))
    rest = rf"[{letter}](?:\1[{letter}]){{2}}|[{sign}][{letter}](?:[{sign}][{letter}]){{2}}"
    between = rf"(?<![{letter}])[{letter}](?:([^{letter}]){rest})(?![{letter}])"
    return re.compile(rf"{between}|[{letter}][{_pattern(SYMBOLS)}][{letter}]")


@functools.cache
def _disguises() -> re.Pattern[str]:
    """Return the letters that rule 2c may replace, and a few of Hebrew and Arabic."""
    return re.compile(rf"(?![{_pattern(LATIN)}])[{_letters()}]")


@functools.cache
def _foreign() -> re.Pattern[str]:
    """Return all letters of rule 2c."""
    return re.compile(f"[{_letters()}{_pattern(OTHER_SCRIPTS)}]")


@functools.cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_pattern(tuple(span for ranges in UNSPACED.values() for span in ranges))}]+")


def meaning_words_of(text: str) -> Iterator[str]:
    """Return the meaning words of a text of any length, in order: runs of 1 to 16 letters in plain letters.

    Example:
        >>> from makers.meaning.words import meaning_words_of
        >>> list(meaning_words_of("Don't w-a-i-t: the Café opens at 20:24!!!"))
        ['don', 't', 'wait', 'the', 'cafe', 'opens', 'at', 'zo', 'za']
    """
    given = without_repeats(unicodedata.normalize("NFC", text))
    text = given.translate(_FORMS)
    if _REGIONAL.search(given) or _needs_reference(text):
        text = "".join(map(chr, visible_characters([ord(char) for char in given], _ENCODER)))
    return (word for word in text.translate(_FOLDED).split(_SPACE) if 0 < len(word) <= LONGEST_WORD)


def _needs_reference(text: str) -> bool:
    """Return whether rule 2c or 2d may change a text that rules 2a and 2b have read."""
    if _spread().search(text):
        return True
    if text.isascii() or not _disguises().search(text):
        return False
    # Rule 2c leaves texts of other scripts alone.
    return sum(weight_of(ord(char)) for char in _foreign().findall(text)) >= 0


def unspaced_letters(text: str) -> int:
    """Return how many characters of a text are of scripts without spaces between words."""
    return 0 if text.isascii() else sum(map(len, _unspaced().findall(text)))
