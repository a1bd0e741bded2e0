"""In which encoding a line that is not UTF-8 may be written: what others make of it is shown, since only its reader knows what it says."""

import itertools
import re
import unicodedata
from typing import Final

_OTHERS: Final = (
    *("GB18030", "BIG5", "CP932", "EUC-JP", "CP949"),
    *("CP1252", "MACINTOSH", "CP1250", "CP1251", "KOI8-R", "CP1253", "CP1254", "CP1255", "CP1256", "CP874", "CP850"),
    *("CP852", "CP866", "CP1257", "ISO8859-2", "ISO8859-5"),
)
"""What Python and iconv call the encodings that were usual before UTF-8."""

_PIECE: Final = re.compile(r"[^\s,;:\"'\ud800-\udc7f]*[\udc80-\udcff][^\s,;:\"'\ud800-\udc7f]*")
"""A word with an invalid byte. Where it ends, no encoding has the second byte of a letter."""
_PIECES: Final = 8
"""Words of a line that are looked at."""
_LONGEST: Final = 20
"""Letters of a word that are shown."""

_HIGH: Final = re.compile("[^\0-\x7f]{2,}")
_TAKEN_FOR: Final = {"CP1252": 2, "LATIN-1": 2, "CP1251": 4}
"""What UTF-8 is often taken for, and how many signs in a row tell it: two Cyrillic ones may be a word."""

_EAST: Final = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
"""Scripts that stand in one word."""
_ODD: Final = re.compile("[\x80-\x9f\xad\u02b0-\u02ff\u2200-\u22ff\u2500-\u25ff\u200e\u200f\ue000-\uf8ff\uff61-\uff9f]")
"""Controls, signs and letters that wrong encodings make of letters."""


def readings(line: str) -> dict[str, str]:
    r"""Return what other encodings make of the longest word of a line with an invalid byte, by their names, each reading once.

    Args:
        line: a text in which an invalid byte is U+DC00 plus its value.

    Example:
        >>> from retvec_lite.data.wrong_encoding import readings
        >>> readings("Gr\udcfc\udcdfe")
        {'CP1252': 'Grüße'}
    """
    pieces = [found[0].encode("utf-8", "surrogateescape") for found in _PIECE.finditer(line)][:_PIECES]
    found: dict[str, str] = {}
    for name in _OTHERS:
        try:
            words = [piece.decode(name) for piece in pieces]
        except UnicodeDecodeError:
            continue
        if words and all(map(_is_word, words)):
            found.setdefault(max(words, key=len)[:_LONGEST], name)
    return {name: word for word, name in sorted(found.items(), key=lambda item: item[0].isupper())}


def encoding_hint(line: str) -> str:
    """Return in words what to do about a line that is not UTF-8, see `readings`."""
    found = readings(line)
    save = "save it as UTF-8 where it is shown right (in Excel: CSV UTF-8)"
    if not found:
        return f"No other encoding makes words of it: {save}, if it is a text ({', '.join(_OTHERS)} were tried)"
    tried = ", ".join(f"{name} {word!r}" for name, word in found.items())
    return f"Other encodings make of it: {tried}. Convert the file from the one that is right (iconv -f NAME -t UTF-8), or {save}"


def is_garbled(text: str) -> bool:
    """Return whether a text was UTF-8 and has been read as another encoding.

    Example:
        >>> from retvec_lite.data.wrong_encoding import is_garbled
        >>> is_garbled("GrÃ¼ÃŸe"), is_garbled("Grüße")
        (True, False)
    """
    return not text.isascii() and any(
        len(run) >= fewest and _is_utf8(run, name) for run in _HIGH.findall(text) for name, fewest in _TAKEN_FOR.items()
    )


def _is_utf8(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding).decode("utf-8")
    except UnicodeError:
        return False
    return True


def _is_word(text: str) -> bool:
    """Return whether a word is of one script, without signs between its letters, and without a capital behind a small letter."""
    marked = [unicodedata.category(character)[0] in "LM" for character in text]
    letters = [character for character, is_letter in zip(text, marked, strict=True) if is_letter]
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in letters}
    inside = "".join("L" if is_letter else character for character, is_letter in zip(text, marked, strict=True))
    return (
        unicodedata.category(text[0])[0] != "M"
        and len({"CJK" if script in _EAST else script for script in scripts}) < 2
        and not _ODD.search(text)
        and not re.search(r"L[^L\s\d.’'/&@_·\-–—\u3000-\u303f\uff00-\uff60]+L", inside)
        and not any(one.islower() and other.isupper() for one, other in itertools.pairwise(letters))
    )
