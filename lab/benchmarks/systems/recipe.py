"""The plain recipe, a rival to beat: one linear SVM on characters, words and the mean meaning of the words.

Without copies, a network, stacking or any choice. Of any size: nothing is hashed or rounded.
"""

import functools
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.systems.linear import CHARACTERS, WORD_PAIRS
from benchmarks.systems.trained import Guess
from retvec_lite.contract import Floats
from retvec_lite.meaning import LONGEST
from retvec_lite.model.meaning_file import packaged_meaning
from retvec_lite.training.languages import plain_words

WEIGHTS: Final = {"characters": 1.0, "words": 0.5, "meaning": 0.5}
"""How much each group adds to the product of two texts."""
_REPAIRED: Final = 20_000
"""The most frequent words, which are also found where they lack a letter."""
_SHORTEST: Final = 4
"""Letters of the shortest word in which a typo is looked for."""
_MARKED_END: Final = 0x530
"""Letters below it (Latin, Greek, Cyrillic) lose their marks; of others, a mark may be a vowel."""


def train_recipe(texts: Sequence[str], labels: Sequence[str], language: str) -> Guess:
    """Fit the recipe; words have a meaning where the package has a table of the language."""
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    counts = {
        name: TfidfVectorizer(**options).fit(plain(texts))
        for name, options in (("characters", CHARACTERS), ("words", WORD_PAIRS))
    }
    table = _table(language)
    middle = table.means(texts).mean(axis=0) if table else None

    def vectors(some: Sequence[str]) -> Any:
        parts = {name: count.transform(plain(some)) for name, count in counts.items()}
        if table:
            parts["meaning"] = sparse.csr_matrix(normalize(table.means(some) - middle))
        weighted = [part * (WEIGHTS[name] / 2) ** 0.5 for name, part in parts.items()]
        return sparse.hstack(weighted).tocsr()

    model = LinearSVC(random_state=0).fit(vectors(texts), labels)
    return lambda asked: model.predict(vectors(asked)).tolist()


def plain(texts: Sequence[str]) -> list[str]:
    """Return texts in lower case, letters of alphabets without their marks."""
    return ["".join(map(_without_marks, unicodedata.normalize("NFC", text.lower()))) for text in texts]


@functools.cache
def _without_marks(char: str) -> str:
    base = unicodedata.normalize("NFKD", char)[0]
    return base if ord(base) < _MARKED_END else char


class WordTable:
    """The mean meaning of texts by one language's table; a word is also found where one of its letters, or one of the table's, is lacking."""

    def __init__(self, words: Sequence[str], vectors: Floats) -> None:
        self._vectors = vectors
        self._places = {word: place for place, word in enumerate(words)}
        self._lacking: dict[str, int] = {}
        for place, word in enumerate(words[:_REPAIRED]):
            for less in _without_a_letter(word):
                self._lacking.setdefault(less, place)
        self._find = functools.cache(self._look_up)

    def means(self, texts: Sequence[str]) -> Floats:
        """Return the sum of each text's words at length 1, float32 `[texts, width]`; zeros where none is known."""
        found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, text in enumerate(texts):
            places = [self._find(word[:LONGEST]) for word in plain_words(text)]
            found[row] = self._vectors[[place for place in places if place is not None]].sum(axis=0)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        scaled: Floats = found / np.where(lengths > 0, lengths, 1)
        return scaled

    def _look_up(self, word: str) -> int | None:
        shorter = _without_a_letter(word)
        tried = [(self._places, [word]), (self._lacking, [word]), (self._places, shorter), (self._lacking, shorter)]
        return next((places[one] for places, ways in tried for one in ways if one in places), None)


def _without_a_letter(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))] if len(word) >= _SHORTEST else []


@functools.cache
def _table(language: str) -> WordTable | None:
    file = packaged_meaning(language)
    return WordTable(file.words, file.vectors) if file else None
