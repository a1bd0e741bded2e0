"""The test texts of the language detectors: words, pairs of words and sentences, clean and mistyped."""

import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from language_data import UNSPACED
from language_sources import words_of

from retvec_lite.data.typos import mistype_many

LENGTHS: Final = ("words", "pairs", "sentences")
RATES: Final = (0.0, 0.5, 1.0)
"""Shares of the words that are mistyped."""

_SAME: Final = {
    "zh-Hans": "zh", "zh-Hant": "zh", "zh-hans": "zh", "zh-hant": "zh", "zh-latn": "zh", "sr-Cyrl": "sr", "sr-Latn": "sr",
    "no": "nb", "tl": "fil", "iw": "he", "jw": "jv", "ji": "yi", "sh": "hr", "in": "id", "cmn": "zh",
}  # fmt: skip
"""What detectors call a language, in lower case -> what it is compared as."""


class Cut(NamedTuple):
    """Texts of one length.

    Attributes:
        texts: the texts.
        tags: the language of each.
    """

    texts: list[str]
    tags: list[str]


def plain(tag: str) -> str:
    """Return a tag as it is compared: no detector but ours and some of CLD's tell scripts.

    Example:
        >>> plain("zh-Hant"), plain("no"), plain("bg-Latn"), plain("de")
        ('zh', 'nb', 'bg', 'de')
    """
    return _SAME.get(tag) or _SAME.get(tag.lower()) or tag.partition("-")[0].lower()


def cuts(groups: Mapping[str, Sequence[str]], per_language: int, seed: int = 0) -> dict[str, Cut]:
    """Cut words, pairs and sentences out of sentences: one of each out of each.

    Args:
        groups: tag -> sentences.
        per_language: sentences of a language, at most.
        seed: of the choice.
    """
    rng = random.Random(seed)
    found = {length: Cut([], []) for length in LENGTHS}
    for tag in sorted(groups):
        sentences = sorted(groups[tag])
        for text in rng.sample(sentences, min(per_language, len(sentences))):
            for length, part in zip(LENGTHS, _parts(tag, text, rng), strict=True):
                if part:
                    found[length].texts.append(part)
                    found[length].tags.append(tag)
    return found


def _parts(tag: str, text: str, rng: random.Random) -> tuple[str, str, str]:
    """Return a word, a pair and the sentence; where there are no spaces, two and four characters stand for words."""
    if tag in UNSPACED:
        start = rng.randrange(max(1, len(text) - 3))
        return text[start : start + 2].strip(), text[start : start + 4].strip(), text
    words = words_of(text)
    start = rng.randrange(max(1, len(words) - 1))
    return (rng.choice(words), " ".join(words[start : start + 2]), text) if len(words) > 1 else ("", "", text)


def mistyped(cut: Cut, rate: float) -> list[str]:
    """Return the texts of a cut with a share of their words mistyped."""
    return mistype_many(cut.texts, rate, 1) if rate else cut.texts
