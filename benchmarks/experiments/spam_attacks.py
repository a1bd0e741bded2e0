"""The disguises of spam: words that people can read and filters cannot. They need no queries.

Each disguise changes a word and leaves it readable; `disguise` applies one to a share of a text's words. They share no code
with the typos of training and pre-training, so that nothing is measured on the data it was trained for.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import Final

_WORD: Final = re.compile(r"\w+")

_HOMOGLYPH_LISTS: Final = (
    "aаɑａ bЬｂ cсϲｃ dԁｄ eеｅ gɡｇ hһｈ iіｉ jјｊ kｋ lӏｌ mｍ nոｎ oоοօｏ pрρｐ qԛｑ rгｒ sѕｓ tｔ uսυｕ vѵνｖ wԝｗ xхｘ yуγｙ zｚ "
    "AАΑＡ BВΒＢ CСＣ EЕΕＥ HНΗＨ IІΙＩ JЈＪ KКΚＫ MМΜＭ NΝＮ OОΟＯ PРΡＰ SЅＳ TТΤＴ XХΧＸ YΥＹ ZΖＺ"
)
_HOMOGLYPHS: Final = {letters[0]: letters[1:] for letters in _HOMOGLYPH_LISTS.split()}
"""Latin letter -> lookalikes: Cyrillic, Greek and Armenian letters that UTS 39 calls confusable, and full-width ones."""
_LEET: Final = {
    letters[0]: letters[1:] for letters in ["a4@", "b8", "e3", "g9", "i1!", "l1|", "o0", "s5$", "t7+", "z2"]
}
_ZERO_WIDTH: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_BIDI_MARKS: Final = "\u200e\u200f\u061c"
_RIGHT_TO_LEFT, _END_OF_OVERRIDE = "\u202e", "\u202c"
_EMOJI: Final = "🔥💰🎁✅⭐😀👉💯🚀❗"

Draw = Callable[[], float]


def homoglyphs(word: str, draw: Draw) -> str:
    """Replace half of the letters that have a lookalike, at least one."""
    return _replaced(word, _HOMOGLYPHS, 0.5, draw)


def leet(word: str, draw: Draw) -> str:
    """Replace every letter that has a lookalike digit or sign: "fr33 m0n3y"."""
    return _replaced(word, _LEET, 1.0, draw)


def zero_width(word: str, draw: Draw) -> str:
    """Insert zero-width spaces, joiners and soft hyphens into half of the gaps between letters, at least one."""
    return _between(word, _ZERO_WIDTH, 0.5, draw)


def bidi_marks(word: str, draw: Draw) -> str:
    """Insert invisible direction marks into half of the gaps between letters, at least one."""
    return _between(word, _BIDI_MARKS, 0.5, draw)


def bidi_reversal(word: str, draw: Draw) -> str:
    """Reverse the letters under a right-to-left override, which displays them forwards. Not random."""
    return f"{_RIGHT_TO_LEFT}{word[::-1]}{_END_OF_OVERRIDE}" if len(word) > 1 else word


def spaced_out(word: str, draw: Draw) -> str:
    """Insert a space between all letters: "f r e e". Not random."""
    return " ".join(word)


def dotted(word: str, draw: Draw) -> str:
    """Insert the same sign between all letters: "f.r.e.e", "f-r-e-e"."""
    return _pick(".-_*", draw).join(word)


def emoji_inside(word: str, draw: Draw) -> str:
    """Insert one emoji between two letters."""
    if len(word) < 2:
        return word
    at = 1 + int(draw() * (len(word) - 1))
    return word[:at] + _pick(_EMOJI, draw) + word[at:]


DISGUISES: Final[Mapping[str, Callable[[str, Draw], str]]] = {
    "homoglyphs": homoglyphs,
    "LEET": leet,
    "zero-width characters": zero_width,
    "bidi marks": bidi_marks,
    "bidi reversal": bidi_reversal,
    "spaced-out letters": spaced_out,
    "dotted letters": dotted,
    "emoji inside": emoji_inside,
}
MIXED: Final = "all of them mixed"
NAMES: Final = (*DISGUISES, MIXED)


def disguise(text: str, name: str, rate: float, draw: random.Random) -> str:
    """Disguise a share of a text's words.

    Args:
        text: any text.
        name: one of `NAMES`; the mixed one draws a disguise for each word.
        rate: share of the words, 0 to 1; a fraction of a word is rounded at random.
        draw: random numbers; only `random()` is used.

    Returns:
        The disguised text. A word that the disguise cannot change stays as it is.
    """
    words = list(_WORD.finditer(text))
    wanted = int(rate * len(words) + draw.random())
    chosen = sorted(sorted(range(len(words)), key=lambda _: draw.random())[:wanted])
    pieces, end = [], 0
    for place in chosen:
        word = words[place]
        disguises = list(DISGUISES.values())
        change = disguises[int(draw.random() * len(disguises))] if name == MIXED else DISGUISES[name]
        pieces += [text[end : word.start()], change(word.group(), draw.random)]
        end = word.end()
    return "".join([*pieces, text[end:]])


def _replaced(word: str, table: Mapping[str, str], share: float, draw: Draw) -> str:
    places = [place for place, letter in enumerate(word) if letter in table or letter.lower() in table]
    count = min(len(places), max(1, round(share * len(places))))
    characters = list(word)
    for place in sorted(places, key=lambda _: draw())[:count]:
        letter = word[place]
        characters[place] = _pick(table.get(letter) or table[letter.lower()], draw)
    return "".join(characters)


def _between(word: str, characters: str, share: float, draw: Draw) -> str:
    gaps = list(range(1, len(word)))
    count = min(len(gaps), max(1, round(share * len(gaps))))
    chosen = set(sorted(gaps, key=lambda _: draw())[:count])
    return "".join(_pick(characters, draw) + letter if place in chosen else letter for place, letter in enumerate(word))


def _pick(characters: str, draw: Draw) -> str:
    return characters[int(draw() * len(characters))]
