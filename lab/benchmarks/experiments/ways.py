"""Ways of writing a text that people read without effort: disguises of its letters, padding, markup, and what stands around it.

`WAYS` has them all. They share no code with training, whose own disguises have other rare letters, emoji and links; common lookalikes
are the same. A way changes every word unless its name says a third of them.
"""

import html
import importlib.util
import random
import re
from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.experiments.disguises import (
    Way,
    adding,
    alternating,
    around,
    emoji_between,
    emoji_inside,
    glued,
    in_words,
    inserting,
    joining,
    marking,
    padding,
    pick,
    prefixing,
    replacing,
    reversed_word,
    roman,
    spacing,
    spelling,
    split_words,
    spreading,
    stretched,
    telling,
    typed_on_a_keyboard,
    upside_down,
    with_one,
)
from benchmarks.experiments.letters import (
    ACCENTS,
    ANY_MARKS,
    ETHIOPIC,
    FORMS,
    INVISIBLE,
    LEET,
    LOOKALIKES,
    MARKS,
    NEUTRAL_EMOJI,
    RUNES,
    SCRIPTS,
)
from benchmarks.experiments.surroundings import FOREIGN, GREETINGS, SIGNATURES

THIRD: Final = ", a third of the words"
_DIGITS: Final = dict(
    zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], strict=True)
)
_ASCII_WORD: Final = re.compile(r"[A-Za-z]{3,}")

_SPAM: Final[Mapping[str, Way]] = {
    "lookalikes, mixed": replacing(LOOKALIKES["mixed"], 0.5),
    "leetspeak": replacing(LEET),
    "zero-width characters": inserting(INVISIBLE["zero-width characters"]),
    "direction marks": inserting(INVISIBLE["direction marks"]),
    "right-to-left override": reversed_word,
    "spaces between letters": joining(" "),
    "one of . - _ * between letters": joining(*".-_*"),
    "emoji inside words": emoji_inside,
}
MIXED: Final = "spam's disguises, mixed"

ENDINGS: Final = "endings"
LINK: Final = "a link"
KEYBOARD: Final = "a third of the words mistyped on a keyboard"
GROUPS: Final[Mapping[str, Mapping[str, Way]]] = {
    "invisible characters": {
        **{name: in_words(inserting(characters)) for name, characters in INVISIBLE.items()},
        "zero-width space in every gap": in_words(joining("\u200b")),
    },
    "other forms of letters": {name: in_words(replacing(table)) for name, table in FORMS.items()},
    "struck through, underlined": {
        "struck through": in_words(marking("\u0336")),
        "underlined": in_words(marking("\u0332")),
    },
    "accents on vowels": {name: in_words(replacing(table)) for name, table in ACCENTS.items()},
    "lookalikes in every word": {
        f"lookalikes, {name}": in_words(replacing(table, 0.5)) for name, table in LOOKALIKES.items()
    },
    "lookalikes for every letter": {
        f"lookalikes for every letter, {name}": in_words(replacing(table)) for name, table in LOOKALIKES.items()
    },
    "lookalikes in a third of the words": {
        f"lookalikes, {name}{THIRD}": in_words(replacing(table, 0.5), 1 / 3) for name, table in LOOKALIKES.items()
    },
    "leetspeak": {"leetspeak": in_words(_SPAM["leetspeak"]), f"leetspeak{THIRD}": in_words(_SPAM["leetspeak"], 1 / 3)},
    "signs between letters": {
        "dots between letters": in_words(joining(".")),
        "hyphens between letters": in_words(joining("-")),
        "one of . - _ * between letters": in_words(joining(*".-_*")),
    },
    "spaces between letters": {
        "spaces between letters": in_words(joining(" ")),
        "spaces between letters, three between words": lambda text, draw: "   ".join(map(" ".join, text.split())),
    },
    "repeated letters": {"repeated letters": in_words(stretched)},
    "words glued in pairs": {"words glued in pairs": glued},
    "capitals": {"upper case": lambda text, draw: text.upper(), "alternating case": alternating},
    "emoji": {"emoji between words": emoji_between, "emoji inside words": in_words(emoji_inside)},
    "several at once": {
        "right-to-left override": in_words(reversed_word),
        MIXED: in_words(lambda word, draw: pick(tuple(_SPAM.values()), draw)(word, draw)),
    },
    ENDINGS: {
        "!!!": adding("!!!"),
        "???": adding(" ???"),
        "...": adding("..."),
        "emoji at the end": adding(" 🙃", " 🥐🥐", " 🌻🐙🧃"),
        "a time": adding(" 17:45", " 8:05 am", " 23h10"),
        "a number": adding(" 4711", " 12.50", " 3"),
        LINK: adding(" https://kiosk.test/p/83?s=1", " www.maple-fern.test", " qr.test/x4Rk"),
        "a mention": adding(" @mira_k", " @Tom.Vega"),
        "a hashtag": adding(" #monday", " #NoFilter2"),
    },
    "padding": {
        "100 dots behind": padding(".", 100),
        "100 dots in front": padding(".", 100, front=True),
        "20 dots between words": spacing(f" {'.' * 20} "),
        "100 emoji behind": padding(NEUTRAL_EMOJI, 100),
        "100 emoji in front": padding(NEUTRAL_EMOJI, 100, front=True),
        "50 times one digit behind": adding(*(f" {digit * 50}" for digit in "0123456789")),
        "50 digits behind": padding("0123456789", 50),
        "100 times one letter behind": adding(*(f" {letter * 100}" for letter in "hmoxz")),
        ".- 60 times behind": adding(f" {'.-' * 60}"),
        "100 mixed signs behind": padding("~=+|{}^$;:,!", 100),
        "100 dots with spaces behind": adding(" ." * 100),
    },
    "blanks": {
        "300 spaces between words": spacing(" " * 300),
        "20 spaces between words": spacing(" " * 20),
        "40 new lines between words": spacing("\n" * 40),
        "300 spaces in front": prefixing(" " * 300),
    },
    "wide gaps between letters": {
        "two spaces between letters": spreading("  ", "    "),
        "two spaces between letters and between words": spreading("  ", "  "),
        "three spaces between letters": spreading("   ", "       "),
        "two signs between letters": in_words(joining("..", "--", "-.", "*_")),
        "a hyphen and two spaces between letters": in_words(joining(" - ")),
    },
    "invisible padding": {
        "400 invisible characters behind": padding(INVISIBLE["zero-width characters"], 400),
        "400 invisible characters in front": padding(INVISIBLE["zero-width characters"], 400, front=True),
        "10 invisible characters between letters": in_words(joining("\u200b" * 10, "\u2060\u200d" * 5)),
    },
    "marks of other scripts": {f"marks of {name}": in_words(marking(marks)) for name, marks in MARKS.items()},
    "many marks a letter": {f"{count} marks a letter": in_words(marking(ANY_MARKS, count)) for count in (1, 5, 20)},
    "markup": {
        "<b> around words": in_words(around("<b>", "</b>")),
        "<span> around words": in_words(around('<span style="x=1">', "</span>")),
        "<i> inside words": in_words(joining("<i></i>")),
        "an HTML page": lambda text, draw: (
            f'<html><head><meta charset="utf-8"></head><body><div class="m"><p>{html.escape(text)}</p></div></body></html>'
        ),
        "**bold** words": in_words(around("**", "**")),
        "_underlined_ words": in_words(around("_", "_")),
        "links around words": in_words(around("[", "](https://kiosk-news.com/p/83)")),
    },
    "encodings": {
        "&nbsp; for spaces": spacing("&nbsp;"),
        "&#102; for letters": in_words(spelling("&#{};")),
        "&#x66; for letters": in_words(spelling("&#x{:x};")),
        "%20 for spaces": spacing("%20"),
        "percent-encoded": lambda text, draw: "".join(f"%{byte:02X}" for byte in text.encode()),
        "\\u0066 for letters": in_words(
            lambda word, draw: "".join(f"\\u{unit:04x}" for unit in memoryview(word.encode("utf-16-le")).cast("H"))
        ),
        "slashes for spaces": spacing("/"),
    },
    "long texts": {
        "20 neutral words in front": telling(20, front=True),
        "200 neutral words behind": telling(200),
        "200 neutral words in front": telling(200, front=True),
        "another language three times behind": adding(*(f" {sentence}" * 3 for sentence in FOREIGN)),
    },
    "a greeting, a signature": {
        "a greeting in front": prefixing(*GREETINGS),
        "a signature and disclaimer behind": adding(*SIGNATURES),
    },
    "ways of people": {
        "vowels as *": lambda text, draw: _ASCII_WORD.sub(lambda word: re.sub("[aeiouAEIOU]", "*", word.group()), text),
        "vowels dropped": lambda text, draw: _ASCII_WORD.sub(
            lambda word: word.group()[0] + re.sub("[aeiouAEIOU]", "", word.group()[1:]), text
        ),
        "words split in two": split_words,
        "doubled letters": in_words(
            lambda word, draw: "".join(2 * letter if letter.isalpha() else letter for letter in word)
        ),
        "words for digits": lambda text, draw: re.sub("[0-9]", lambda digit: f" {_DIGITS[digit.group()]} ", text),
        "Roman numerals": in_words(roman),
    },
    "other scripts": {
        **{name: in_words(replacing(table)) for name, table in SCRIPTS.items()},
        "regional indicators": in_words(
            lambda word, draw: "\u200b".join(
                chr(0x1F1A5 + ord(letter)) if "A" <= letter <= "Z" else letter for letter in word.upper()
            )
        ),
        "keycaps": in_words(
            lambda word, draw: "".join(f"{sign}\ufe0f\u20e3" if sign.isdecimal() else sign for sign in word)
        ),
        "upside down": upside_down,
    },
    "letters in no list": {
        "one letter of each word as ?": in_words(with_one("?")),
        "one letter of each word Ethiopic": in_words(with_one(ETHIOPIC)),
        "half of the letters runes": in_words(replacing(RUNES, 0.5)),
    },
    "twelve keyboards": {KEYBOARD: typed_on_a_keyboard},
    f"{LINK}, ordinary site": {
        f"{LINK}, ordinary site": adding(" https://kiosk-news.com/p/83?s=1", " www.maple-fern.org", " qr-eu.net/x4Rk")
    },
}
"""Kind of disguise -> its ways."""
WAYS: Final[Mapping[str, Way]] = {name: way for ways in GROUPS.values() for name, way in ways.items()}


def can_write(name: str) -> bool:
    """Return whether the package that a way needs is installed."""
    return name != KEYBOARD or importlib.util.find_spec("multypo") is not None


def write_all(texts: Sequence[str], name: str, seed: int = 0) -> list[str]:
    """Write texts in the way of this name; each has random numbers of its own, whatever the other texts are."""
    return [WAYS[name](text, random.Random(f"{seed} {name} {text}").random) for text in texts]
