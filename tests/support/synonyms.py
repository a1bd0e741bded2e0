"""A file of meanings for the tiny data: words of a label mean the same, those of the texts and others that no text has."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from tiny_data import FILLERS, WORDS

from retvec_lite.model.meaning_file import WIDTH, MeaningFile

UNSEEN = {"alarm": "awaken", "music": "melody", "weather": "drizzle", "other, 🙂": "goodbye"}
"""A word for each label that is in no text."""


@functools.cache
def synonyms(language: str = "en") -> MeaningFile:
    """Return the file. A label's words have the same numbers, fillers none; a thousand other words share fifty others.

    So codes that fit texts are exact: there are fewer different words than codes, and than directions that are kept.
    """
    rng = np.random.default_rng(7)
    groups = [[UNSEEN[label], *(word for word in WORDS[label] if word.isascii())] for label in WORDS]
    others = ["".join(2 * "bcdfghjklm"[int(digit)] for digit in f"{place:04}") for place in range(1000)]
    words = [*FILLERS, *(word for group in groups for word in group), *others]
    codes = np.resize(rng.integers(8, 256, (50, 16)).astype(np.uint8), (len(words), 16))
    codes[: len(FILLERS)] = 0
    for number, group in enumerate(groups, start=1):
        codes[[words.index(word) for word in group]] = number
    codebooks = rng.integers(-126, 127, (16, 256, WIDTH // 16)).astype(np.float32)
    codebooks[0, 255, 0] = 127  # the scale is 1
    codebooks[:, 0] = 0
    return MeaningFile(tuple(words), codes, codebooks, language, "of tests", {"title": "for tests"})


def in_georgian(text: str) -> str:
    """Return a text with every Latin letter as a Georgian one: the same words in a language with letters of its own."""
    return "".join(chr(0x10D0 + ord(char) - ord("a")) if "a" <= char <= "z" else char for char in text.lower())


@functools.cache
def foreign(language: str = "ka", spell: Callable[[str], str] = in_georgian) -> MeaningFile:
    """Return the words of `synonyms`, spelled in another way: what they mean stays."""
    file = synonyms()
    return dataclasses.replace(file, words=tuple(map(spell, file.words)), language=language)
