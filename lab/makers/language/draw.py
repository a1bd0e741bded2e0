"""Draw the training texts of the language detector: words, pairs, phrases and sentences, as people type them."""

import random
import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from makers.command import ROOT
from makers.language.labels import LABELS, ROMANIZED, UNKNOWN, WEIGHTS
from makers.language.romanized import spelled
from makers.language.sources import Source, compose, words_of
from retvec_lite.data.typos import mistype

_RATES: Final = ((0.0, 0.36), (0.2, 0.08), (0.5, 0.20), (1.0, 0.36))
"""Share of the words that are mistyped, and the share of the texts with so many."""

_WORDS, _PAIRS, _PHRASES, _SENTENCES = 4000, 2200, 1600, 3200
"""Texts of a language of weight 1, by length."""

_UPPER, _TITLE, _BARE = 0.04, 0.10, 0.05
"""Shares of the texts in upper case, in title case and without diacritics."""

_NAMED: Final = 0.04
"""Share of the texts with a site or a product behind them, in every language alike: neither says anything about a language."""

_FLATTEN: Final = 0.8
"""Words are drawn by this power of their frequency, or hardly any but the most frequent would be."""

_EVERYDAY: Final = 1000
"""The most frequent words of a language, which people send alone (hi, oui, tschüss)."""

_BRIEF: Final = 24
"""Code points of the longest sentences that people send every day (ja klar, god morgon)."""

_SAID: Final = 60
"""How often each text of everyday.txt is drawn, for a language of weight 1."""

_MADE: Final = 300
UNKNOWN_TEXTS: Final = 8000
EVERYDAY_TEXTS: Final = 750

UNSPACED: Final = frozenset(("ja", "zh-Hans", "zh-Hant", "yue", "wuu", "th", "lo", "km", "my", "bo"))
"""Languages without spaces: their phrases are pieces of sentences."""


class Drawn(NamedTuple):
    """Texts with labels.

    Attributes:
        texts: composed.
        labels: places in `LABELS`, int16 `[texts]`.
    """

    texts: list[str]
    labels: "np.typing.NDArray[np.int16]"


def draw(
    sources: Mapping[str, Source], seed: int, share: float = 1.0, nothing: int = UNKNOWN_TEXTS, everyday: int = 0
) -> Drawn:
    """Draw the training texts.

    Args:
        sources: tag -> its words and sentences.
        seed: of everything random.
        share: of the usual number of texts.
        nothing: the usual number of texts in no language.
        everyday: how many frequent words and brief sentences are added, for a language of weight 1, without typos.
    """
    texts: list[str] = []
    labels: list[int] = []
    for place, tag in enumerate(LABELS):
        rng = random.Random(f"{seed} {tag}")
        found = _nothing(rng, int(share * nothing)) if tag == UNKNOWN else _of_language(tag, sources[tag], rng, share)
        before = len(texts)
        texts += found
        count = int(share * everyday * WEIGHTS.get(tag, 1.0))
        texts += rng.choices(_PRODUCTS, k=count) if tag == UNKNOWN else _everyday(sources[tag], rng, count)
        labels += [place] * (len(texts) - before)
    order = np.random.default_rng(seed).permutation(len(texts))
    said = list(_said(share))
    texts = [texts[at] for at in order] + [text for text, _ in said]
    places = np.array([LABELS.index(tag) for _, tag in said], np.int16)
    return Drawn(texts, np.concatenate([np.array(labels, np.int16)[order], places]))


def _said(share: float) -> Iterator[tuple[str, str]]:
    """Yield what is said every day, and its language, many times."""
    for line in (Path(__file__).parent / "everyday.txt").read_text(encoding="utf-8").splitlines():
        native, _, found = line.partition(": ")
        texts = [compose(text) for text in found.split("; ")]
        for tag in (native, *(tag for tag, language in ROMANIZED.items() if language == native)):
            copies = int(share * _SAID * WEIGHTS.get(tag, 1.0) ** 0.5) if tag in LABELS else 0
            if tag in ROMANIZED:
                yield from ((spelling, tag) for _, spelling in spelled(tag, texts, copies))
            else:
                yield from ((text, tag) for text in texts for _ in range(copies))


def _of_language(tag: str, source: Source, rng: random.Random, share: float) -> Iterator[str]:
    weight = WEIGHTS.get(tag, 1.0)
    words = list(source.words)
    frequencies = [source.words[word] ** _FLATTEN for word in words]
    counts = (_WORDS * weight, _PAIRS * weight**0.7, _PHRASES * weight**0.5, _SENTENCES * weight**0.3)
    singles, pairs, phrases, whole = (int(share * count) for count in counts)
    # Without sentences (Odia), words in any order stand in.
    train = source.train or [" ".join(rng.choices(words, frequencies, k=rng.randint(3, 9))) for _ in range(_MADE)]
    for word in rng.choices(words, frequencies, k=singles):
        yield _typed(word, rng)
    if tag in UNSPACED:
        for text in rng.choices(train, k=pairs + phrases):
            length = rng.randint(2, 12)
            start = rng.randrange(max(1, len(text) - length))
            yield _typed(text[start : start + length].strip() or text, rng)
    else:
        made = rng.choices(words, frequencies, k=pairs)
        for at in range(0, pairs // 2):
            yield _typed(f"{made[2 * at]} {made[2 * at + 1]}", rng)
        cut = [words_of(text) for text in train]
        cut = [parts for parts in cut if len(parts) > 1] or [made[:2]]
        for _ in range(pairs - pairs // 2):
            yield _typed(_piece(rng.choice(cut), 2, rng), rng)
        for _ in range(phrases):
            yield _typed(_piece(rng.choice(cut), rng.randint(3, 5), rng), rng)
    for text in rng.choices(train, k=whole):
        yield _typed(text, rng)


def _everyday(source: Source, rng: random.Random, count: int) -> list[str]:
    """Draw brief sentences, and frequent words by the root of their frequency: a greeting stands alone more often than an article."""
    brief = [text for text in source.train if len(text) <= _BRIEF]
    most = sorted(source.words.items(), key=lambda item: -item[1])[:_EVERYDAY]
    drawn = rng.choices([word for word, _ in most], [share**0.5 for _, share in most], k=count)
    return [compose(word) for word in drawn] + (rng.choices(brief, k=count // 2) if brief else [])


def _piece(parts: Sequence[str], length: int, rng: random.Random) -> str:
    start = rng.randrange(max(1, len(parts) - length + 1))
    return " ".join(parts[start : start + length])


def _typed(text: str, rng: random.Random) -> str:
    """Return a text as somebody types it: other case, no diacritics, typos."""
    form = rng.random()
    if form < _UPPER:
        text = text.upper()
    elif form < _UPPER + _TITLE:
        text = text.title()
    elif form < _UPPER + _TITLE + _BARE and text[:1] < "\u0250":
        text = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    rate = rng.choices([rate for rate, _ in _RATES], [share for _, share in _RATES])[0]
    text = mistype(text, rate, rng) if rate else text
    if rng.random() < _NAMED:
        text += f" {_site(rng) if rng.random() < 0.5 else rng.choice(_PRODUCTS)}"
    return compose(text)


def _nothing(rng: random.Random, count: int) -> Iterator[str]:
    """Yield texts in no language: times, sites, code, identifiers, abbreviations, products and keys hit at random."""
    code = _lines_of_code()
    identifiers = sorted({name for line in code for name in re.findall("[A-Za-z]+[a-z][A-Z][A-Za-z]+", line)})
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"{rng.randrange(24)}:{rng.randrange(60):02}",
        lambda: _site(rng),
        lambda: _site(rng),
        lambda: "".join(rng.choices("0123456789abcdef", k=rng.choice((8, 16, 32, 40)))),
        lambda: "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(10, 24))),
        lambda: "".join(rng.choices(string.ascii_lowercase, k=rng.randint(5, 12))),
        lambda: "".join(rng.choices(_CONSONANTS, k=rng.randint(2, 5))),
        lambda: "".join(rng.choices(_CONSONANTS, k=rng.randint(2, 5))),
        lambda: rng.choice(code),
        lambda: rng.choice(code),
        lambda: rng.choice(identifiers),
        lambda: f"{_name(rng)}-{_name(rng)}{rng.choice(['', '.py', '.txt', '.jpg', '.pdf', '()'])}",
        lambda: rng.choice(_PRODUCTS),
        lambda: f"{rng.choice(_PRODUCTS)} {rng.choice(_PRODUCTS)}",
    )
    for _ in range(count):
        yield compose(rng.choice(kinds)())


def _site(rng: random.Random) -> str:
    return f"{rng.choice(['www.', ''])}{_name(rng)}.{rng.choice(_DOMAINS)}"


_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_DOMAINS: Final = ("com", "org", "net", "io", "de", "fr", "co.uk", "example", "dev", "ru", "jp")

_NAMES: Final = (
    "iPhone, iPad, MacBook, iMac, AirPods, Apple Watch, Samsung Galaxy, Galaxy, Google Pixel, Xiaomi Redmi, Huawei, Nokia, Motorola, OnePlus, "
    "PlayStation, PS5, Xbox, Nintendo Switch, Steam Deck, GameBoy, Kindle, GoPro, ThinkPad, Raspberry Pi, Arduino, GeForce RTX, Radeon, Ryzen, "
    "Intel Core, Snapdragon, WhatsApp, Facebook, Instagram, YouTube, TikTok, Twitter, Snapchat, Telegram, Discord, Skype, Zoom, Slack, Netflix, "
    "Spotify, Amazon, eBay, PayPal, AliExpress, Uber, Airbnb, Google, Gmail, Chrome, Firefox, Safari, Windows, Microsoft, Outlook, Excel, "
    "PowerPoint, Photoshop, Linux, Ubuntu, Debian, Android, iOS, macOS, GitHub, GitLab, Docker, Kubernetes, Python, JavaScript, TypeScript, "
    "Kotlin, SQLite, PostgreSQL, MySQL, TensorFlow, PyTorch, NumPy, Bitcoin, Ethereum, Visa, Mastercard, Lego, Ikea, Adidas, Nike, Puma, "
    "Coca Cola, Pepsi, Nutella, Nescafé, Red Bull, Toyota, Honda, Hyundai, Volkswagen, BMW, Audi, Mercedes Benz, Tesla, Ferrari, Porsche, "
    "Minecraft, Fortnite, Pokémon, Roblox, Canon EOS, Nikon, Sony, Bosch, Philips, USB, HDMI, WLAN, WiFi, Bluetooth, PDF, GPS, SMS, SIM, DVD, "
    "GG, ggwp, lol, xd, haha, hahaha, hmm, wow, ok, brb, afk, btw, omg, DHL, UPS, FedEx"
)
_PRODUCTS: Final = tuple(_NAMES.split(", "))
"""Names of products, and what people write in any language."""


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase + "0123456789", [4] * 26 + [1] * 10, k=rng.randint(2, 9)))


def _lines_of_code() -> list[str]:
    """Return lines of this project's own Python, Kotlin, Swift and JavaScript, without those that are sentences."""
    lines: list[str] = []
    for folder, pattern in (
        ("retvec_lite", "*.py"),
        ("android", "*.kt"),
        ("android_demo", "*.kt"),
        ("swift", "*.swift"),
        ("web_demo", "*.js"),
    ):
        for path in sorted((ROOT / folder).rglob(pattern)):
            lines += [compose(line) for line in path.read_text(encoding="utf-8").splitlines()]
    signs = frozenset("=()[]{}<>;_")
    return sorted({line for line in lines if len(signs & set(line)) >= 2 and line[0] not in "#*/\"'"})
