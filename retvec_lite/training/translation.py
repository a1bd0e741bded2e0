"""Texts in words of other languages: each word becomes one that stands for it in translations, or else one that means the same.

So what reads letters learns words of languages that no text is in. The order of the words stays, and so do words that no table has.
"""

import functools
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.meaning import is_meaning_letter
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.ngrams import folded_letters

_NEIGHBORS: Final = 5
"""Most words that a word may become."""
_SLACK: Final = 0.2
"""How much worse than the best one another may be."""
_LEAST: Final = 0.4
"""Cosine from which words mean the same."""
_RARE: Final = 0.05
"""What the logarithm of a word's rank costs: many rare words share the codes of a frequent one."""
_AT_ONCE: Final = 512


class Translation:
    """Puts words of other languages in place of those of one.

    Example:
        >>> from retvec_lite.model.meaning_file import packaged_meaning
        >>> from retvec_lite.training.translation import Translation
        >>> english = packaged_meaning("en")
        >>> len(Translation(english, [english]).copies(["wake me up"], 2, seed=0))
        2
    """

    def __init__(self, source: MeaningFile, targets: Sequence[MeaningFile]) -> None:
        self._source = source
        self._targets = targets
        self._vocabularies = [frozenset(source.words), *(frozenset(file.words) for file in targets)]
        self._found: list[Mapping[str, Sequence[str]]] = [{} for _ in targets]

    def copies(self, texts: Sequence[str], count: int, seed: int) -> list[list[str]]:
        """Return so many copies of the texts, each text in a language that chance alone decides, whatever the label.

        Texts that are rather in one of the other languages stay as they are.
        """
        words = {word for text in texts for word in plain_words(text)}
        self._found = [
            {**similar_words(self._source, target, sorted(words)), **self._translations(target)}
            for target in self._targets
        ]
        draw = random.Random(seed).random
        return [[self._translate(text, draw) for text in texts] for _ in range(count)]

    def _translations(self, target: MeaningFile) -> Mapping[str, Sequence[str]]:
        """Return each word's translations, as often as their share says; they are of the language whose space it is, which has none."""
        if self._source.translations:
            return {}
        return {
            word: [other for other, share in shares.items() for _ in range(share)]
            for word, shares in target.translations.items()
        }

    def _translate(self, text: str, draw: Callable[[], float]) -> str:
        words = plain_words(text)
        known = [sum(word in vocabulary for word in words) for vocabulary in self._vocabularies]
        if known[0] < max(known):
            return text
        return translate(text, self._found[int(draw() * len(self._found))], draw)


def translate(text: str, words: Mapping[str, Sequence[str]], draw: Callable[[], float]) -> str:
    """Return the text with every known word replaced by one of `words`, drawn by numbers from 0 to 1.

    Example:
        >>> from retvec_lite.training.translation import translate
        >>> translate("Wake me!", {"wake": ["weck"], "me": ["mich"]}, lambda: 0.5)
        'weck mich!'
    """
    parts = []
    for part, word in _parts(text):
        choice = words.get(word, ())
        parts.append(choice[int(draw() * len(choice))] if choice else part)
    return "".join(parts)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in plain letters, digits left out."""
    return [word for _, word in _parts(text) if word]


def similar_words(source: MeaningFile, target: MeaningFile, words: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return for each of some words of one language those of another that mean the same, if any."""
    places = {word: place for place, word in enumerate(source.words)}
    known = [word for word in words if word in places]
    vectors, others = directions(source)[[places[word] for word in known]], directions(target)
    cost = (_RARE * np.log1p(np.arange(len(others)))).astype(np.float32)
    most = min(_NEIGHBORS, len(others))
    found: dict[str, Sequence[str]] = {}
    for start in range(0, len(known), _AT_ONCE):
        cosines = vectors[start : start + _AT_ONCE] @ others.T
        scores = np.where(cosines >= _LEAST, cosines - cost, -np.inf)
        best = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        for word, row, columns in zip(known[start : start + _AT_ONCE], scores, best, strict=True):
            least = max(row[columns].max() - _SLACK, np.finfo(np.float32).min)
            chosen = [target.words[column] for column in np.sort(columns) if row[column] >= least]
            if chosen:
                found[word] = chosen
    return found


def directions(file: MeaningFile) -> Floats:
    """Return the vectors of a file's words at length 1, float32 `[words, 64]`."""
    vectors = file.vectors
    found: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return found


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the runs of letters and of others, each with the word in plain letters that it is, or nothing."""
    folded = folded_letters(True)
    runs = ((is_word, "".join(run)) for is_word, run in itertools.groupby(text, _is_letter))
    return [
        (part, "".join(chr(folded.get(ord(char), ord(char))) for char in part) if is_word else "")
        for is_word, part in runs
    ]


@functools.cache
def _is_letter(char: str) -> bool:
    """Return whether a character is a letter as it stands, and not a digit that is read as one."""
    return (char.isalpha() or not char.isascii()) and is_meaning_letter(folded_letters(True).get(ord(char), ord(char)))
