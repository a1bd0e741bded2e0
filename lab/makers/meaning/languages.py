"""Words of another language in the space of the English ones: vectors such that a sentence means what its translation means.

The vector of a word is one of its own plus those of its n-grams: what inflected forms share is learned once, and words that no
translation has get a vector too. The n-grams are gone afterwards; a word takes 16 bytes, whatever it was made of.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from makers.meaning.biases import NOT_FOR
from makers.meaning.codes import coded, importance
from makers.meaning.lexicon import SOURCES, learn_lexicon
from makers.meaning.translations import Translations, count_rows, read_translations, translation_files
from retvec_lite.contract import Floats
from retvec_lite.model.meaning_file import WORD_BYTES, MeaningFile, packaged_meaning
from retvec_lite.terminal import Progress
from retvec_lite.version import __version__

LANGUAGES: Final = (
    "de", "es", "fr", "it", "pt", "nl", "sv", "da", "no", "pl", "cs",
    "ru", "uk", "ro", "hu", "tr", "el", "id", "vi", "ar", "hi", "ko",
)  # fmt: skip
WORDS: Final = 10_000
"""Words of a language that are kept."""

SOURCES_OF_PAIRS: Final = (
    "Pairs: everyday sentences of Tatoeba by way of OPUS-MT and LASER (CC BY 2.0 FR); phrases of Thunderbird and Wikipedia for Android "
    "(Apache-2.0), OpenStreetMap's editor (ISC), mozilla.org (MPL-2.0), Electron (MIT), Home Assistant and tldr pages (CC BY 4.0), "
    "the documentation of TensorFlow (CC BY 4.0; es, ko, pt) and Python (CC0 and PSF; es); names of CLDR (Unicode-3.0); XQuAD (CC BY-SA "
    "4.0), TICO-19 (CC0), translated Wikipedia (CC BY-SA 3.0; hi). Dictionaries: English Wiktionary by way of "
    "open-dsl-dict/wiktionary-dict (CC BY-SA; none for ru, uk). Frequent words: wordfreq (CC BY-SA 4.0)."
)

MOST_SENTENCES: Final = 300_000
"""Pairs that words are paired by: a gigabyte of memory for a hundred thousand sentences."""

LEAST_WORDS: Final = 3
"""Words on both sides of a pair that words are paired by: sentences only, so that no dictionary is copied."""

FREQUENCY_POWER: Final = 0.6
"""Words kept are those of the largest share to the power of this times the length of their vector: frequent ones that say much."""

SHORTEST: Final = 3
LONGEST: Final = 5
"""Characters of the n-grams of a word, its two ends included."""
LEAST_SHARING: Final = 2
"""Words that share an n-gram which has a vector."""

RIDGE: Final = 3.0
"""What the squared length of a vector costs, against the squared error of a pair whose translation has length 1."""
STEPS: Final = 20
"""Steps of conjugate gradients."""
LENGTH_POWER: Final = 1.5
"""A pair counts by its translation's length to the power of minus this: 2 would make long and short ones count alike."""

_TINY: Final = 1e-12


def learn_language(language: str, folder: Path, progress: Progress) -> MeaningFile:
    """Learn the words of a language in the space of the packaged English ones.

    Args:
        language: its tag.
        folder: of translations, see `translation_files`.
        progress: told of each stage.

    Raises:
        RetvecLiteError: for translations that cannot be read or do not suffice.
    """
    space = packaged_meaning("en")
    assert space is not None
    files = translation_files(folder, language)
    found = read_translations(files, space, language, progress)
    vectors = align(found, progress)
    kept = choose_words(found, vectors, WORDS)
    words = tuple(found.words[place] for place in kept.tolist())
    progress("pairing words", 0, 1)
    sentences = [pair for pair in found.sentences[:MOST_SENTENCES] if min(map(len, pair)) >= LEAST_WORDS]
    lexicon = learn_lexicon(sentences, space.words[:SOURCES], words)
    progress("pairing words", 1, 1)
    frequent = ", and of wordfreq's list" if found.frequent else ""
    card = {
        "biases": "Not measured. The vectors repeat the prejudices of the translations, and of the English words they lead to.",
        "counts": f"{found.pairs:,} translations; {len(found.words):,} words of theirs{frequent}; {len(words):,} kept",
        "created_by": f"retvec-lite {__version__}, makers.meaning",
        "files": ", ".join(file.name for file in files),
        "method": "ridge regression: the words of a sentence add up to what those of its translation add up to",
        "not_for": NOT_FOR,
        "sources": SOURCES_OF_PAIRS,
    }
    codes, codebooks = coded(vectors[kept], importance(found.shares[kept]), WORD_BYTES[0])
    return MeaningFile(words, codes, codebooks, language, space.space, card, lexicon)


def choose_words(found: Translations, vectors: Floats, count: int) -> npt.NDArray[np.int64]:
    """Return the places of the words to keep, the most frequent first: int64 `[count]` or fewer."""
    worth = found.shares**FREQUENCY_POWER * np.linalg.norm(vectors, axis=1)
    kept = np.sort(np.argsort(-worth, kind="stable")[:count])
    return kept[np.argsort(-found.shares[kept], kind="stable")]


def align(found: Translations, progress: Progress) -> Floats:
    """Return a vector for each word: float32 `[words, 128]`.

    Args:
        found: the translations.
        progress: told after each step.
    """
    features = word_features(found.words)
    texts, back, spread = found.texts, found.texts.T.tocsr(), features.T.tocsr()
    weights = np.linalg.norm(found.targets, axis=1, keepdims=True) ** np.float32(-LENGTH_POWER)

    def curvature(vectors: Floats) -> Floats:
        product: Floats = spread @ (back @ (weights * (texts @ (features @ vectors)))) + np.float32(RIDGE) * vectors
        return product

    # The diagonal as if the words of a text had no n-gram in common: near enough to start each step in a good direction.
    diagonal = spread.power(2) @ (back.power(2) @ weights) + np.float32(RIDGE)
    vectors = conjugate_gradients(curvature, spread @ (back @ (weights * found.targets)), diagonal, progress)
    aligned: Floats = features @ vectors
    return aligned


def word_features(words: Sequence[str]) -> Any:
    """Return the parts of each word, itself first: sparse float32 `[words, words + n-grams]`."""
    from scipy import sparse

    parts = [_ngrams(word) for word in words]
    counts: dict[str, int] = {}
    for part in parts:
        for name in set(part):
            counts[name] = counts.get(name, 0) + 1
    shared = count_rows(parts, [name for name, count in counts.items() if count >= LEAST_SHARING])
    return sparse.hstack([sparse.identity(len(words), np.float32, "csr"), shared], "csr")


def _ngrams(word: str) -> list[str]:
    marked = f"<{word}>"
    return [
        marked[start : start + length]
        for length in range(SHORTEST, LONGEST + 1)
        for start in range(len(marked) - length + 1)
    ]


def conjugate_gradients(
    product: Callable[[Floats], Floats], right: Floats, diagonal: Floats, progress: Progress
) -> Floats:
    """Solve a symmetric positive system for all columns at once, each with steps of its own: float32 `[n, width]`.

    Preconditioned conjugate gradients (Saad 2003, Iterative Methods for Sparse Linear Systems, algorithm 9.1).

    Args:
        product: the matrix times something of the shape of `right`.
        right: float32 `[n, width]`.
        diagonal: of the matrix, about; float32 `[n, 1]`.
        progress: told after each step.
    """
    found, rest = np.zeros_like(right), right.copy()
    scaled = rest / diagonal
    direction, size = scaled.copy(), np.sum(rest * scaled, axis=0)
    for step in range(STEPS):
        progress("aligning words", step, STEPS)
        image = product(direction)
        length = size / np.maximum(np.sum(direction * image, axis=0), _TINY)
        found += length * direction
        rest -= length * image
        scaled = rest / diagonal
        before, size = size, np.sum(rest * scaled, axis=0)
        direction = scaled + direction * (size / np.maximum(before, _TINY))
    progress("aligning words", STEPS, STEPS)
    return found
