"""Vectors of words such that a sentence means what its translation means, by ridge regression.

The vector of a word is one of its own plus those of its n-grams: what inflected forms share is learned once, and words that no
translation has get a vector too. The n-grams are gone afterwards; a word takes eight bytes, whatever it was made of.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.meaning import DIMENSION
from retvec_lite.pretraining.meaning.neighbors import weights_of
from retvec_lite.pretraining.meaning.translations import Translations, count_rows
from retvec_lite.terminal import Progress

SHORTEST: Final = 3
LONGEST: Final = 5
"""Characters of the n-grams of a word, its two ends included."""
LEAST_WORDS: Final = 2
"""Words that share an n-gram which has a vector."""

RIDGE: Final = 3.0
"""What the squared length of a vector costs, against the squared error of a pair whose translation has length 1."""
STEPS: Final = 20
"""Steps of conjugate gradients."""
LENGTH_POWER: Final = 1.5
"""A pair counts by its translation's length to the power of minus this: 2 would make long and short ones count alike."""

SCALE: Final = 1.35
"""A text's vector is scaled to length 1, so all vectors may be longer: then the codebooks, made for vectors that no ridge has shortened, fit."""
EVENNESS: Final = 0.35
"""How far lengths go from those of the regression (0), short for unsure words, to those of the words' frequencies (1)."""

_TINY: Final = 1e-12


def align(found: Translations, progress: Progress) -> Floats:
    """Return a vector for each word: float32 `[words, 64]`.

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
    return even_lengths(features @ vectors, found)


def word_features(words: Sequence[str]) -> Any:
    """Return the parts of each word, itself first: sparse float32 `[words, words + n-grams]`."""
    from scipy import sparse

    parts = [_ngrams(word) for word in words]
    counts: dict[str, int] = {}
    for part in parts:
        for name in set(part):
            counts[name] = counts.get(name, 0) + 1
    shared = count_rows(parts, [name for name, count in counts.items() if count >= LEAST_WORDS])
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
    """Solve a symmetric positive system for all columns at once, each with steps of its own: float32 `[n, 64]`.

    Preconditioned conjugate gradients (Saad 2003, Iterative Methods for Sparse Linear Systems, algorithm 9.1).

    Args:
        product: the matrix times something of the shape of `right`.
        right: float32 `[n, 64]`.
        diagonal: of the matrix, about; float32 `[n, 1]`.
        progress: told after each step.
    """
    found, rest = np.zeros((len(right), DIMENSION), np.float32), right.copy()
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


def even_lengths(vectors: Floats, found: Translations) -> Floats:
    """Return vectors of lengths that suit the codebooks: float32 `[words, 64]`."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(_TINY))
    wanted = weights_of(found.shares / found.shares.sum())[:, None]
    evened: Floats = vectors * np.float32(SCALE) * (wanted / lengths) ** np.float32(EVENNESS)
    return evened
