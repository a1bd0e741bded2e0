"""What changes a word or a text: disguises of letters, padding, markup. ways.py names what is measured."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from benchmarks.experiments.letters import EMOJI, NEUTRAL_EMOJI, UPSIDE_DOWN
from benchmarks.experiments.surroundings import NEUTRAL

_WORD: Final = re.compile(r"\w+")


_VALUES: Final = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_NUMERALS: Final = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")

Draw = Callable[[], float]
Way = Callable[[str, Draw], str]
"""A text or a word, and random numbers -> the way it is written."""


def in_words(change: Way, share: float = 1.0) -> Way:
    """Return what changes a share of a text's words; a fraction of a word is rounded at random."""

    def write(text: str, draw: Draw) -> str:
        words = list(_WORD.finditer(text))
        wanted = int(share * len(words) + draw())
        chosen = sorted(sorted(range(len(words)), key=lambda _: draw())[:wanted])
        pieces, end = [], 0
        for word in (words[place] for place in chosen):
            pieces += [text[end : word.start()], change(word.group(), draw)]
            end = word.end()
        return "".join([*pieces, text[end:]])

    return write


def replacing(table: Mapping[str, str], share: float = 1.0) -> Way:
    """Return what replaces a share of the letters of a word that are in the table, at least one."""

    def change(word: str, draw: Draw) -> str:
        places = [place for place, letter in enumerate(word) if letter in table or letter.lower() in table]
        characters = list(word)
        for place in _some(places, share, draw):
            characters[place] = pick(table.get(word[place]) or table[word[place].lower()], draw)
        return "".join(characters)

    return change


def inserting(characters: str, share: float = 0.5) -> Way:
    """Return what inserts characters into a share of the gaps between the letters of a word, into at least one."""

    def change(word: str, draw: Draw) -> str:
        chosen = _some(range(1, len(word)), share, draw)
        return "".join((pick(characters, draw) if at in chosen else "") + letter for at, letter in enumerate(word))

    return change


def joining(*gaps: str) -> Way:
    """Return what sets the letters of a word apart by one and the same gap: "f.r.e.e"."""
    return lambda word, draw: pick(gaps, draw).join(word)


def spreading(inside: str, between: str) -> Way:
    """Return what sets the letters of all words apart by one gap, and the words by another."""
    return lambda text, draw: between.join(map(inside.join, text.split()))


def spacing(gap: str) -> Way:
    """Return what sets the words apart by a gap."""
    return lambda text, draw: gap.join(text.split())


def marking(marks: str, count: int = 1) -> Way:
    """Return what puts so many combining marks on every letter of a word."""
    return lambda word, draw: "".join(letter + _many(marks, count, draw) for letter in word)


def adding(*endings: str) -> Way:
    """Return what adds one of the endings to a text."""
    return lambda text, draw: text + pick(endings, draw)


def prefixing(*beginnings: str) -> Way:
    """Return what puts one of the beginnings in front of a text."""
    return lambda text, draw: pick(beginnings, draw) + text


def padding(characters: str, count: int, *, front: bool = False) -> Way:
    """Return what puts so many of the characters behind a text or in front of it."""

    def pad(text: str, draw: Draw) -> str:
        added = _many(characters, count, draw)
        return f"{added} {text}" if front else f"{text} {added}"

    return pad


def telling(words: int, *, front: bool = False) -> Way:
    """Return what puts neutral sentences of so many words behind a text or in front of it."""

    def tell(text: str, draw: Draw) -> str:
        added: list[str] = []
        while len(added) < words:
            added += pick(NEUTRAL, draw).split()
        story = " ".join(added[:words]).rstrip(",.") + "."
        return f"{story} {text}" if front else f"{text} {story}"

    return tell


def around(before: str, behind: str) -> Way:
    """Return what puts markup around a word or a text."""
    return lambda word, draw: before + word + behind


def spelling(form: str) -> Way:
    """Return what writes the code of every letter of a word: "&#102;"."""
    return lambda word, draw: "".join(form.format(ord(letter)) for letter in word)


def reversed_word(word: str, draw: Draw) -> str:
    """Reverse a word under a right-to-left override, which displays it forwards."""
    return f"\u202e{word[::-1]}\u202c" if len(word) > 1 else word


def emoji_inside(word: str, draw: Draw) -> str:
    """Insert one emoji between two letters."""
    at = 1 + int(draw() * (len(word) - 1))
    return word[:at] + pick(EMOJI, draw) + word[at:] if len(word) > 1 else word


def stretched(word: str, draw: Draw) -> str:
    """Write one letter three to five times: "plllease"."""
    at = int(draw() * len(word))
    return word[:at] + word[at] * (2 + int(draw() * 3)) + word[at:]


def glued(text: str, draw: Draw) -> str:
    """Write the words in pairs, without a blank between the two."""
    words = text.split()
    return " ".join("".join(words[at : at + 2]) for at in range(0, len(words), 2))


def emoji_between(text: str, draw: Draw) -> str:
    """Write an emoji between all words."""
    first, *others = text.split() or [""]
    return "".join([first, *(f" {pick(NEUTRAL_EMOJI, draw)} {word}" for word in others)])


def alternating(text: str, draw: Draw) -> str:
    """Write every second letter as a capital: "pLeAsE"."""
    return "".join(letter.upper() if at % 2 else letter.lower() for at, letter in enumerate(text))


def split_words(text: str, draw: Draw) -> str:
    """Write a blank inside every word of four letters or more."""

    def split(word: re.Match[str]) -> str:
        at = 2 + int(draw() * (len(word.group()) - 3))
        return f"{word.group()[:at]} {word.group()[at:]}"

    return re.sub(r"\w{4,}", split, text)


def with_one(letters: str) -> Way:
    """Return what writes one of the letters for an inner one of every word of four letters or more: "f?ee"."""

    def change(word: str, draw: Draw) -> str:
        at = 1 + int(draw() * (len(word) - 2))
        return word[:at] + pick(letters, draw) + word[at + 1 :] if len(word) > 3 else word

    return change


def upside_down(text: str, draw: Draw) -> str:
    """Write the text upside down, last letter first."""
    return "".join(UPSIDE_DOWN.get(letter, letter) for letter in reversed(text.lower()))


def roman(word: str, draw: Draw) -> str:
    """Write Roman numerals for a whole number up to 3,999."""
    left, found = int(word) if word.isdecimal() and len(word) < 5 else 0, ""
    if not 0 < left < 4000:
        return word
    for value, numeral in zip(_VALUES, _NUMERALS, strict=True):
        found += left // value * numeral
        left %= value
    return found


def typed_on_a_keyboard(text: str, draw: Draw) -> str:
    """Mistype a third of the words as on one of the twelve keyboards of `multypo`, one that has the most letters of the text."""
    from multypo import MultiTypoGenerator
    from multypo.keyboards import KEYBOARDS, LANGUAGES

    keys = {language: set("".join(map("".join, KEYBOARDS[code]))) for language, code in LANGUAGES.items()}
    known = {language: sum(letter in own for letter in text.lower()) for language, own in keys.items()}
    fitting = [language for language in sorted(known) if known[language] >= 0.9 * max(known.values())]
    random.seed(f"{draw()}")  # multypo draws from Python's own random numbers
    return MultiTypoGenerator(pick(fitting, draw)).insert_typos(text, 1 / 3)


def _many(characters: Sequence[str], count: int, draw: Draw) -> str:
    return "".join(pick(characters, draw) for _ in range(count))


def _some(places: Sequence[int], share: float, draw: Draw) -> set[int]:
    return set(sorted(places, key=lambda _: draw())[: max(1, round(share * len(places)))])


def pick(choices: Sequence[str], draw: Draw) -> str:
    return choices[int(draw() * len(choices))]
