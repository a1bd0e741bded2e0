"""Languages of a few hundred made-up words in place of wordfreq's."""

import functools

import numpy as np

from makers.embedding.substitutes import Doubles
from makers.embedding.word_typos import word_lengths
from makers.embedding.words import WordList, held_out, word_rows
from retvec_lite.contract import Ints

SYLLABLES = ("ka", "ro", "mi", "tun", "les", "vo")
NAMES = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]

LETTERS = {"en": "abcdefgiklmnoprstu", "el": "αβγδεζηικλμνοπρστ", "ar": "ابتثجحخدذرزسشصضطظع"}


def made_up(language: str, count: int, seed: int = 0) -> list[str]:
    """Distinct words of five to nine letters."""
    return list(_made_up(language, count, seed))


@functools.cache
def _made_up(language: str, count: int, seed: int) -> tuple[str, ...]:
    rng = np.random.default_rng((seed, ord(language[0]), ord(language[1])))
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choice(list(LETTERS[language]), rng.integers(5, 10)).tolist())] = None
    return tuple(words)


def tiny_wordfreq(language: str) -> tuple[Ints, Doubles]:
    """Stands in for `wordfreq_words`: enough words that some 140 of them are held out."""
    rows = word_rows(made_up(language, 7000))
    return rows, np.ones(len(rows))


def tiny_training(names: object = ()) -> WordList:
    """Stands in for `load_words`: all words of English but the held-out ones."""
    rows, _ = tiny_wordfreq("en")
    rows = rows[~held_out(rows) & (word_lengths(rows) > 0)]
    return WordList(rows, np.arange(1, len(rows) + 1) / len(rows), {"en": (0, len(rows))}, "made up")


def decode_word(row: Ints) -> str:
    """The word of one row."""
    return "".join(chr(code) for code in row.tolist() if code)
