"""Seeded disguises and endings for training texts: how people write what they do not type plainly.

A disguise changes how a text is written, an ending what stands behind or before it. Neither says what a text is about, so training
draws both in the same proportions for every label. What the normal form of the contract undoes in every word, such as fullwidth letters,
is not here.

The rare letters, emoji, links and names below are for training alone. Measure with others, or you measure what was learned by heart;
what is common (`!!!`, digits as letters, Cyrillic lookalikes) cannot be held out. As with typos, the only source of randomness is
`random.Random.random`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Draw = Callable[[], float]


def _table(lists: str) -> dict[str, str]:
    """Return letter -> what is written for it; upper case too where all of that has an upper case of one code point."""
    found = {letters[0]: letters[1:] for letters in lists.split()}
    capitals = {letter.upper(): "".join(filter(str.isupper, others.upper())) for letter, others in found.items()}
    return {**found, **{letter: others for letter, others in capitals.items() if others}}


_ACCENTED: Final = _table(
    "aáàâäãåāăąǎ bḃ cçćčĉċ dďḋ eéèêëēėęěĕ fḟ gğĝġģǧ hĥḣḧ iíìîïĩīĭį jĵ kǩķḱ lĺļľ mḿṁ nñńňņǹ oóòôöõōőŏǒ pṕṗ rŕřŗṙ sśšşŝṡș tťţțṫ "
    "uúùûüũūůŭűų vṽ wŵẁẃẅẇ xẋẍ yýÿŷỳẏ zźžż"
)
"""Accents above most letters, the cedilla and the ogonek, common ones first; not the dots, hooks and lines of Vietnamese and of
transliterations."""

_LEET: Final = _table("a444@ b8 c( e3 g9 h# i111! l1| o0 s555$ t777+ z2")
"""What is usual stands there several times."""

_LOOKALIKES: Final = _table(
    "aαаɐ bьƀ cсς dԁđɖ eеєəɛ fƒ gɠǥ hнħɦ iіɨı jјɉ kкκƙ lłɭ mмɱ nпηɲ oоσøө pрρƥ qԛɋ rгяɍ sѕʂ tтτŧ uυцʉ vνѵʋ wωшɯ xхχ yуүɏ zʐƶ"
)
"""Letters of other alphabets and Latin ones with strokes and hooks. The normal form undoes a part of them."""

_EMOJI: Final = "🙂😉😍😎🤔😭😡🤗😴🥳🤣😅👍👎👏🙌💪🤝✌👌❤💔💕💙🌹🌈🌞🌙⚡🎉🎂🎈🎶🎵📷📱💻📌📎✏📚🏠🚗🚌🛒🍕🍺☕🍎⚽🏀🐶🐱🐻🌍🇩🇫🇪🇧🔔❌➡⏰☀☔"
_MARKS: Final = ("!", "!!", "!!!", "!!!!!", "?", "??", "???", "?!", "!?!", ".", "..", "...", "....", "…", "~", ";", ":)", ":-)", ";)", ":(", "xD")  # fmt: skip
_DOMAINS: Final = (
    *("com", "com", "com", "com", "org", "net", "io", "co", "me", "ly", "info", "app", "dev", "shop", "biz", "xyz"),
    *("de", "fr", "es", "it", "nl", "pl", "ru", "ua", "tr", "jp", "cn", "in", "br", "uk"),
    *("example", "test", "test", "invalid"),
)
"""Common domains and those reserved for examples, in which written data often have all links."""
_FOREIGN: Final = "ыюљњӌӹԃԅԇԉԋԏԕԗԙɒɔɘɚɜɞɤʒʔʤʦʧაბგდვზთლმნრსტფშხ"
"""Letters that stand for any letter: what a word says without them is to be read."""
_VOWELS: Final = frozenset("aeiouáàâäãåéèêëíìîïóòôöõúùûüаеёиоуыэюяαεηιουω")
_WORD: Final = re.compile(r"[^\s!-/:-@\[-`{-~¡¿…]+")


def _pick(choices: str | tuple[str, ...], draw: Draw) -> str:
    return choices[int(draw() * len(choices))]


def accents(word: str, draw: Draw) -> str:
    """Put an accent on every letter that has one, rather a common one: "frëë"."""
    return "".join(
        _ACCENTED[letter][int(draw() * draw() * len(_ACCENTED[letter]))] if letter in _ACCENTED else letter
        for letter in word
    )


def leet(word: str, draw: Draw) -> str:
    """Write digits and signs for letters, each letter alike: "fr33"."""
    table = {letter: _pick(others, draw) for letter, others in _LEET.items()}
    return "".join(table.get(letter.lower(), letter) for letter in word)


def lookalikes(word: str, draw: Draw) -> str:
    """Write letters of other alphabets for a share of the letters, drawn for each word."""
    share = draw()
    return "".join(
        _pick(_LOOKALIKES[letter], draw) if letter in _LOOKALIKES and draw() <= share else letter for letter in word
    )


def foreign(word: str, draw: Draw) -> str:
    """Write any foreign letters for up to two letters in three."""
    share = draw() / 1.5
    return "".join(_pick(_FOREIGN, draw) if letter in _LOOKALIKES and draw() <= share else letter for letter in word)


def repeats(word: str, draw: Draw) -> str:
    """Repeat one letter or all of them: "freee", "ffrreeee"."""
    if draw() < 0.25:
        return "".join(2 * letter for letter in word)
    at = int(draw() * len(word))
    return word[:at] + word[at] * (2 + int(draw() * 4)) + word[at + 1 :]


def separated(word: str, draw: Draw) -> str:
    """Put a sign between letters, at each place or at some: "f.r.e.e", "fr*ee"."""
    sign, share = _pick(".--..-_* ,/+~", draw), max(0.2, 2 * draw())
    return word[:1] + "".join(sign + letter if draw() <= share else letter for letter in word[1:])


def upper_case(word: str, draw: Draw) -> str:
    """Write capitals. Not random."""
    return word.upper()


def starred(word: str, draw: Draw) -> str:
    """Write one sign for the vowels, or for most of them: "fr**"."""
    sign, share = _pick("****#~.", draw), 0.5 + draw()
    return "".join(sign if letter.lower() in _VOWELS and draw() <= share else letter for letter in word)


def without_vowels(word: str, draw: Draw) -> str:
    """Leave out the vowels but the first letter: "msg". Not random."""
    return word[:1] + "".join(letter for letter in word[1:] if letter.lower() not in _VOWELS)


def halved(word: str, draw: Draw) -> str:
    """Put a space into a word of four letters and more: "mon ey"."""
    at = 2 + int(draw() * (len(word) - 3))
    return f"{word[:at]} {word[at:]}" if len(word) > 3 else word


def backwards(word: str, draw: Draw) -> str:
    """Write the word backwards, as under a right-to-left override, which shows it forwards. Not random."""
    return word[::-1]


OF_WORDS: Final[Mapping[str, Callable[[str, Draw], str]]] = {
    "accents": accents,
    "leet": leet,
    "lookalikes": lookalikes,
    "repeats": repeats,
    "foreign": foreign,
    "separated": separated,
    "upper case": upper_case,
    "backwards": backwards,
    "starred": starred,
    "without vowels": without_vowels,
    "halved": halved,
}
"""Disguises of a word, by name."""


def glued(text: str, draw: Draw) -> str:
    """Leave out every second space, or all of them, as the normal form does where spaces set letters apart."""
    words = text.split()
    size = 2 if draw() < 0.7 else len(words)
    return " ".join("".join(words[start : start + size]) for start in range(0, len(words), size or 1))


def emoji_between(text: str, draw: Draw) -> str:
    """Put emoji between words, and often behind the last one."""
    return "".join(word + (f" {_pick(_EMOJI, draw)} " if draw() < 0.8 else " ") for word in text.split()).strip()


def thinned(text: str, draw: Draw) -> str:
    """Leave out up to half of the words, whichever: no word alone is to carry a label."""
    share = draw() / 2
    return " ".join(word for word in text.split() if draw() >= share) or text


OF_TEXTS: Final[Mapping[str, Callable[[str, Draw], str]]] = {
    "glued": glued,
    "emoji between": emoji_between,
    "thinned": thinned,
}
"""Disguises of a text as a whole, by name."""


def _marks(draw: Draw) -> str:
    return _pick(_MARKS, draw)


def _emoji(draw: Draw) -> str:
    return _pick(_EMOJI, draw) * (1 + int(draw() * 3)) if draw() < 0.5 else _pick(_EMOJI, draw) + _pick(_EMOJI, draw)


def _time(draw: Draw) -> str:
    return f"{int(draw() * 24)}{_pick(':.h', draw)}{int(draw() * 60):02d}"


def _number(draw: Draw) -> str:
    return str(int(10 ** (1 + 6 * draw())))


def _name(draw: Draw) -> str:
    return "".join(_pick("bcdfghjklmnprstvwz", draw) + _pick("aeiouy", draw) for _ in range(2 + int(draw() * 3)))


def _link(draw: Draw) -> str:
    path = f"/{_name(draw)}{int(draw() * 1000) if draw() < 0.5 else ''}" if draw() < 0.5 else ""
    start = _pick(("https://", "https://www.", "http://", "www.", ""), draw)
    # Names reserved for examples stand in written data where people have any name.
    host = _name(draw) if draw() < 0.7 else "example"
    return start + host + "." + _pick(_DOMAINS, draw) + path


def _mention(draw: Draw) -> str:
    return f"@{_name(draw)}{int(draw() * 100) if draw() < 0.3 else ''}"


def _hashtag(draw: Draw) -> str:
    return f"#{_name(draw)}"


_WAYS: Final = (*OF_WORDS, *OF_TEXTS, "separated", "foreign", "backwards", "glued")
"""What `disguise` draws from: the hardest ways twice."""

ENDINGS: Final[Mapping[str, Callable[[Draw], str]]] = {
    "marks": _marks,
    "emoji": _emoji,
    "time": _time,
    "number": _number,
    "link": _link,
    "mention": _mention,
    "hashtag": _hashtag,
}
"""What may stand behind a text, by name."""

_ENDINGS: Final = (*ENDINGS, "link", "marks", "time")
"""What `add_ending` draws from: links, marks and times twice, since some labels often have them."""

_BEFORE: Final = 0.15
"""Share of the endings, marks aside, that stand before the text."""

_MOST_AROUND: Final = 40
"""Words that stand before a text, or behind it."""


def disguise(text: str, draw: Draw) -> str:
    """Disguise a text in one way, drawn from `OF_WORDS` and `OF_TEXTS`; half of the time all of its words, else a share of them."""
    name = _pick(_WAYS, draw)
    if name in OF_TEXTS:
        return OF_TEXTS[name](text, draw)
    share, change = (1.0 if draw() < 0.5 else draw()), OF_WORDS[name]
    return _WORD.sub(lambda word: change(word.group(), draw) if draw() < share else word.group(), text)


def add_ending(text: str, draw: Draw) -> str:
    """Put one to three endings behind a text, or one before it."""
    for _ in range(1 + int(draw() * draw() * 3)):
        name = _pick(_ENDINGS, draw)
        ending = ENDINGS[name](draw)
        if name == "marks":
            text = text.rstrip(".!?") + ending if draw() < 0.7 else f"{text} {ending}"
        else:
            text = f"{ending} {text}" if draw() < _BEFORE else f"{text} {ending}"
    return text


def surrounded(text: str, words: Sequence[str], draw: Draw) -> str:
    """Put words before a text, behind it, or both: rather few, and rather the first of some words."""

    def some() -> str:
        count = int(_MOST_AROUND ** draw())
        return " ".join(words[int(len(words) ** draw()) - 1] for _ in range(count))

    place = draw()
    before, behind = place < 0.6, place >= 0.4
    return " ".join([some()] * before + [text] + [some()] * behind)
