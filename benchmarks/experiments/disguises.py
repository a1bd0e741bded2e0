"""Ways of writing a text that people read without effort: disguises of its letters, and what people add at its end.

`WAYS` has them all. They share no code with training, whose own disguises have other rare letters, emoji and links; common lookalikes
are the same (docs/robustness.md has their numbers). A way changes every word unless its name says a third of them.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

_WORD: Final = re.compile(r"\w+")
THIRD: Final = ", a third of the words"


def _pairs(listed: str) -> dict[str, str]:
    """Read "aаɑ bЬ" as letter -> what stands for it."""
    return {letters[0]: letters[1:] for letters in listed.split()}


def _alphabet(upper: int, lower: int, **others: str) -> dict[str, str]:
    """Return letter -> its form, of alphabets that begin at these code points, with the letters that stand elsewhere."""
    rows = ((65, upper), (97, lower))
    return {chr(row + at): chr(start + at) for row, start in rows for at in range(26)} | others


LOOKALIKES: Final[Mapping[str, Mapping[str, str]]] = {
    "Cyrillic": _pairs("aа bь cс eе iі jј kк mм nип oо pр rг sѕ tт uи xх yу AА BВ CС EЕ HН IІ KК MМ OО PР SЅ TТ XХ YУ"),
    "Greek": _pairs("aα bβ eε iι kκ nη oο pρ sς tτ uυ vν wω xχ yγ AΑ BΒ EΕ HΗ IΙ KΚ MΜ NΝ OΟ PΡ TΤ XΧ YΥ ZΖ"),
    "Armenian": _pairs("aա dժ fք gց hհ lլ nռո oօ qզ uս wա LԼ OՕ SՏ UՍ"),
    "mixed": _pairs(
        "aаɑａ bЬｂ cсϲｃ dԁｄ eеｅ gɡｇ hһｈ iіｉ jјｊ kｋ lӏｌ mｍ nոｎ oоοօｏ pрρｐ qԛｑ rгｒ sѕｓ tｔ uսυｕ vѵνｖ wԝｗ xхｘ yуγｙ zｚ "
        "AАΑＡ BВΒＢ CСＣ EЕΕＥ HНΗＨ IІΙＩ JЈＪ KКΚＫ MМΜＭ NΝＮ OОΟＯ PРΡＰ SЅＳ TТΤＴ XХΧＸ YΥＹ ZΖＺ"
    ),
    "unlisted": _pairs("aдλ bъб cҁҫ dδ eз hђћ iї kҟҡ lӆ mӎ nҥѝ oθ pҏ rґ sҙ tҭ uӵ wщ xҳӿ yчұ AД BБ EЗ NЙ OΘ WЩ XҲ YЧҰ"),
    "hooks and strokes": _pairs("aⱥ bɓ cƈȼ dɗ eɇ fʄ gꞡ hɧⱨ iᶖ jʝ kⱪ lⱡɫ mᶆ nɳ oɵ pᵽ qʠ rɽ sȿ tƭʈ uᶙ vⱱ wⱳ xᶍ yƴ zȥⱬ"),
}
"""Name -> Latin letter -> lookalikes. The mixed ones are Cyrillic, Greek, Armenian and fullwidth letters, all of them in Unicode's
list of confusables (UTS 39); of the unlisted ones, Cyrillic and Greek, and of Latin letters with hooks and strokes, it has none."""
_LEET: Final = _pairs("a4@ b8 e3 g9 i1! l1| o0 s5$ t7+ z2")
_CAPITALS: Final = dict(zip("abcdefghijklmnopqrstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", strict=True))
FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "fullwidth": {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)},
    "mathematical bold": _alphabet(0x1D400, 0x1D41A),
    "mathematical script": _alphabet(0x1D4D0, 0x1D4EA),
    "double-struck": _alphabet(0x1D538, 0x1D552, C="ℂ", H="ℍ", N="ℕ", P="ℙ", Q="ℚ", R="ℝ", Z="ℤ"),
    "circled": _alphabet(0x24B6, 0x24D0),
    "squared": _alphabet(0x1F130, 0x1F130),
    "small capitals": _CAPITALS,
}
_INVISIBLE: Final = {
    "zero-width characters": "\u200b\u200c\u200d\u2060\ufeff\u00ad",
    "direction marks": "\u200e\u200f\u061c",
    "joiners and selectors": "\u034f\ufe00\ufe0e\ufe0f\U000e0100",
    "tag characters": "\U000e0061\U000e0065\U000e006f\U000e0020",
    "invisible letters": "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b\u180e\u206a\u206f",
    "invisible, but symbols to Unicode": "\u2800\U0001d159",
}
_ACCENTS: Final = {
    "accents on vowels": _pairs("aàâãåă eèêěę iìîĩį oòôõő uùûũů yỳŷ"),
    "accents of Vietnamese on vowels": _pairs("aạảậ eẹẻệ iịỉ oọỏộ uụủự yỵỷ"),
}
_EMOJI: Final = "🔥💰🎁✅⭐😀👉💯🚀❗"
_NEUTRAL_EMOJI: Final = "🦊🌵🧩🧃🥐🙃🌻🐙🤷🪴"

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
            characters[place] = _pick(table.get(word[place]) or table[word[place].lower()], draw)
        return "".join(characters)

    return change


def inserting(characters: str, share: float = 0.5) -> Way:
    """Return what inserts characters into a share of the gaps between the letters of a word, into at least one."""

    def change(word: str, draw: Draw) -> str:
        chosen = _some(range(1, len(word)), share, draw)
        return "".join((_pick(characters, draw) if at in chosen else "") + letter for at, letter in enumerate(word))

    return change


def joining(signs: str) -> Way:
    """Return what sets the letters of a word apart by one and the same sign: "f.r.e.e"."""
    return lambda word, draw: _pick(signs, draw).join(word)


def marking(mark: str) -> Way:
    """Return what puts a combining mark on every letter of a word."""
    return lambda word, draw: "".join(letter + mark for letter in word)


def adding(*endings: str) -> Way:
    """Return what adds one of the endings to a text."""
    return lambda text, draw: text + _pick(endings, draw)


def reversed_word(word: str, draw: Draw) -> str:
    """Reverse a word under a right-to-left override, which displays it forwards."""
    return f"\u202e{word[::-1]}\u202c" if len(word) > 1 else word


def emoji_inside(word: str, draw: Draw) -> str:
    """Insert one emoji between two letters."""
    at = 1 + int(draw() * (len(word) - 1))
    return word[:at] + _pick(_EMOJI, draw) + word[at:] if len(word) > 1 else word


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
    return "".join([first, *(f" {_pick(_NEUTRAL_EMOJI, draw)} {word}" for word in others)])


def alternating(text: str, draw: Draw) -> str:
    """Write every second letter as a capital: "pLeAsE"."""
    return "".join(letter.upper() if at % 2 else letter.lower() for at, letter in enumerate(text))


def _some(places: Sequence[int], share: float, draw: Draw) -> set[int]:
    return set(sorted(places, key=lambda _: draw())[: max(1, round(share * len(places)))])


def _pick(choices: Sequence[str], draw: Draw) -> str:
    return choices[int(draw() * len(choices))]


_SPAM: Final[Mapping[str, Way]] = {
    "lookalikes, mixed": replacing(LOOKALIKES["mixed"], 0.5),
    "leetspeak": replacing(_LEET),
    "zero-width characters": inserting(_INVISIBLE["zero-width characters"]),
    "direction marks": inserting(_INVISIBLE["direction marks"]),
    "right-to-left override": reversed_word,
    "spaces between letters": joining(" "),
    "one of . - _ * between letters": joining(".-_*"),
    "emoji inside words": emoji_inside,
}
MIXED: Final = "spam's disguises, mixed"
SPAM_ATTACKS: Final = (*_SPAM, MIXED)
"""The disguises that spam uses, which filters have to see through."""

ENDINGS: Final = "endings"
LINK: Final = "a link"
GROUPS: Final[Mapping[str, Mapping[str, Way]]] = {
    "invisible characters": {
        **{name: in_words(inserting(characters)) for name, characters in _INVISIBLE.items()},
        "zero-width space in every gap": in_words(joining("\u200b")),
    },
    "other forms of letters": {name: in_words(replacing(table)) for name, table in FORMS.items()},
    "struck through, underlined": {
        "struck through": in_words(marking("\u0336")),
        "underlined": in_words(marking("\u0332")),
    },
    "accents on vowels": {name: in_words(replacing(table)) for name, table in _ACCENTS.items()},
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
        "one of . - _ * between letters": in_words(joining(".-_*")),
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
        MIXED: in_words(lambda word, draw: _pick(tuple(_SPAM.values()), draw)(word, draw)),
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
    f"{LINK}, ordinary site": {
        f"{LINK}, ordinary site": adding(" https://kiosk-news.com/p/83?s=1", " www.maple-fern.org", " qr-eu.net/x4Rk")
    },
}
"""Kind of disguise -> its ways."""
WAYS: Final[Mapping[str, Way]] = {name: way for ways in GROUPS.values() for name, way in ways.items()}


def write_all(texts: Sequence[str], name: str, seed: int = 0) -> list[str]:
    """Write texts in the way of this name; each has random numbers of its own, whatever the other texts are."""
    return [WAYS[name](text, random.Random(f"{seed} {name} {text}").random) for text in texts]
