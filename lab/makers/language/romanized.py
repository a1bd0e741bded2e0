"""Hindi, Japanese, Greek and Russian in Latin letters, spelled as people spell them in chats: in many ways.

Nobody follows one standard, so every text is spelled by a choice of its own among the usual spellings.
"""

import functools
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from makers.language.labels import ROMANIZED

Writer = Callable[[str], str]

_PEOPLE: Final = 200
"""Writers of a language, each with spellings of their own."""

_RUSSIAN: Final = (
    "а:a б:b в:v г:g д:d е:e,e,e,ye ё:yo,e,jo,io ж:zh,zh,j,g з:z и:i й:y,y,j,i к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:h,h,kh,x "
    "ц:ts,ts,c ч:ch ш:sh щ:sch,shch,sh ъ:, ы:y,y,i ь:,,' э:e ю:yu,yu,u,ju я:ya,ya,ia,ja"
)
_RUSSIAN_ENDINGS: Final = "ый:yi,iy,y,yj ий:iy,y,i,ij"

_GREEK: Final = (
    "ου:ou,ou,ou,u αι:ai,ai,e ει:ei,ei,i οι:oi,oi,i αυ:au,av,af ευ:eu,ev,ef μπ:mp,b ντ:nt,nt,d γκ:gk,g γγ:gg,ng τσ:ts τζ:tz "
    "α:a β:v,v,b γ:g δ:d ε:e ζ:z η:i,i,h θ:th ι:i κ:k λ:l μ:m ν:n ξ:x,ks ο:o π:p ρ:r σ:s τ:t υ:y,i,u φ:f,f,ph χ:x,x,h,ch "
    "ψ:ps ω:o,o,w"
)

_HINDI: Final = (
    "क:k ख:kh ग:g घ:gh ङ:n च:ch छ:chh,ch ज:j झ:jh ञ:n ट:t ठ:th ड:d ढ:dh ण:n त:t थ:th द:d ध:dh न:n प:p फ:ph,f ब:b भ:bh म:m य:y र:r ल:l "
    "व:v,w श:sh ष:sh स:s ह:h ळ:l क़:q,k ख़:kh ग़:g,gh ज़:z,z,j ड़:d,r ढ़:dh,rh फ़:f "
    "अ:a आ:aa,a इ:i ई:ee,i उ:u ऊ:oo,u ऋ:ri ए:e ऐ:ai ओ:o औ:au ऑ:o ऍ:e ा:aa,a,a ि:i ी:i,i,ee ु:u ू:u,oo ृ:ri े:e ै:ai,ai,e ो:o ौ:au "
    "ॉ:o ॅ:e ं:n ँ:n,n, ः:h ॐ:om"
)
_HINDI_WORDS: Final = (
    "यह:yeh,ye,yah वह:woh,wo,vo ये:ye,yeh वे:ve,we में:mein,me,mai,main मैं:main,mai,me नहीं:nahi,nahin,nhi है:hai,h,he हैं:hain,hai हूँ:hoon,hun,hu "
    "हूं:hoon,hun,hu बहुत:bahut,bohot,bhut हाँ:haan,han,ha हां:haan,han,ha ठीक:theek,thik रहा:raha,rha रही:rahi,rhi रहे:rahe,rhe ज्ञान:gyan "
    "अच्छा:acha,achha,accha अच्छी:achi,achhi क्यों:kyun,kyu,kyon पर:par,pe कुछ:kuch,kuchh कृपया:kripya पता:pata"
)

_JAPANESE_WORDS: Final = {"watakushi": "watashi", "konnichiha": "konnichiwa", "konbanha": "konbanwa", "asu": "ashita"}
"""Readings of the dictionary that hardly anybody means."""

_JAPANESE: Final = (
    ("ou", "o", 0.3),
    ("uu", "u", 0.3),
    ("oo", "o", 0.3),
    ("shi", "si", 0.06),
    ("tsu", "tu", 0.06),
    ("chi", "ti", 0.03),
    (" wo ", " o ", 0.5),
)
"""A syllable, how it is also spelled, and in which share of the texts."""

_DEVANAGARI: Final = re.compile("[\u0900-\u0963\u0970-\u097f]+")
_SCHWA: Final = "\u0259"


def writer(tag: str, rng: random.Random) -> Writer:
    """Return somebody who writes a language in Latin letters: keeps to one spelling of each letter, and leaves other scripts alone.

    Args:
        tag: the label, of `ROMANIZED`.
        rng: chooses the spellings.

    Example:
        >>> writer("ru-Latn", random.Random(0))("Добрый вечер")
        'Dobriy vecher'
    """
    return _WRITERS[ROMANIZED[tag]](rng)


def spelled(tag: str, texts: Iterable[str], times: int) -> Iterator[tuple[str, str]]:
    """Yield each text with its spelling by so many writers; those that still have letters of another script are left out."""
    rng = random.Random(tag)
    writers = [writer(tag, rng) for _ in range(_PEOPLE)]
    for text in texts:
        for write in rng.choices(writers, k=times):
            found = write(text)
            if found and not any(char.isalpha() and char > "\u024f" for char in found):
                yield text, found


def _russian(rng: random.Random) -> Writer:
    return _replace(_chosen(f"{_RUSSIAN_ENDINGS} {_RUSSIAN}", rng))


def _greek(rng: random.Random) -> Writer:
    letters = _replace(_chosen(_GREEK, rng))

    def write(text: str) -> str:
        # A diaeresis keeps two vowels apart.
        apart = unicodedata.normalize("NFD", re.sub("([αο])ϊ", "\\1·i", text))
        bare = "".join(char for char in apart if not unicodedata.combining(char))
        return letters(bare.replace("ς", "σ")).replace("·", "")

    return write


def _hindi(rng: random.Random) -> Writer:
    letters, words = {**_chosen(_HINDI, rng), _SCHWA: "a"}, _chosen(_HINDI_WORDS, rng)

    def word(found: re.Match[str]) -> str:
        whole = words.get(found[0])
        return whole or "".join(letters.get(sound, "") for sound in _without_schwas(_sounds(found[0])))

    return lambda text: _DEVANAGARI.sub(word, text).replace("।", ".")


def _japanese(rng: random.Random) -> Writer:
    reader = _reader()
    ways = [(usual, other) for usual, other, share in _JAPANESE if rng.random() < share]

    def write(text: str) -> str:
        found = " ".join(_JAPANESE_WORDS.get(word, word) for word in reader.romaji(text, capitalize=False).split())
        for usual, other in ways:
            found = found.replace(usual, other)
        return found

    return write


@functools.cache
def _reader() -> Any:
    """Return what reads kanji, the package cutlet with the dictionary unidic-lite."""
    import cutlet

    return cutlet.Cutlet(use_foreign_spelling=False)


_WRITERS: Final[Mapping[str, Callable[[random.Random], Writer]]] = {
    "el": _greek, "hi": _hindi, "ja": _japanese, "ru": _russian,
}  # fmt: skip


def _sounds(word: str) -> list[str]:
    """Return the letters of a Hindi word, and the vowels that its consonants imply."""
    sounds: list[str] = []
    # Composed text has a dot below as a code point of its own.
    chars = re.findall("[^\u094d]\u093c?|\u094d", unicodedata.normalize("NFC", word))
    for char, follows in zip(chars, [*chars[1:], ""], strict=True):
        if char == "\u094d":
            continue
        sounds.append(char)
        if "\u0915" <= char[0] <= "\u0939" and not "\u093e" <= follows <= "\u094d":
            sounds.append(_SCHWA)
    return sounds


def _without_schwas(sounds: list[str]) -> list[str]:
    """Drop the implied vowels that nobody speaks: the last, and one between a vowel and a consonant and a consonant and a vowel.

    This is the rule of Ohala (1983), from the right to the left, without its morphology.
    """
    kept = list(sounds)

    def is_vowel(place: int) -> bool:
        char = kept[place]
        return char == _SCHWA or "\u0904" <= char <= "\u0914" or "\u093e" <= char <= "\u094c"

    if len(kept) > 2 and kept[-1] == _SCHWA:
        kept.pop()
    for place in range(len(kept) - 3, 1, -1):
        around = (place - 2, place - 1, place + 1, place + 2)
        if kept[place] == _SCHWA and [is_vowel(at) for at in around] == [True, False, False, True]:
            del kept[place]
    return kept


def _chosen(table: str, rng: random.Random) -> dict[str, str]:
    """Return one spelling for each entry of a table."""
    entries = [entry.partition(":") for entry in unicodedata.normalize("NFC", table).split()]
    return {source: rng.choice(spellings.split(",")) for source, _, spellings in entries}


def _replace(chosen: Mapping[str, str]) -> Writer:
    """Return what replaces letters, the longest first; a capital becomes one at the front."""
    pattern = re.compile("|".join(sorted(chosen, key=len, reverse=True)), re.IGNORECASE)

    def letter(found: re.Match[str]) -> str:
        # Other characters, such as the micro sign, equal a letter where case does not count.
        spelling = chosen.get(found[0].lower(), found[0])
        return spelling if found[0].islower() else spelling.capitalize()

    return lambda text: pattern.sub(letter, text)
