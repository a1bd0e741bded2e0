"""Eight bytes a word, chosen for the labels of a training: what tells them apart is kept best.

A classifier of few labels reads few directions of what a text means. Coded for these, words lose next to nothing; coded for all
directions alike, they cost ten news texts a label .010 of accuracy.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.meaning import DIMENSION, SUBSPACES
from retvec_lite.model.product_codes import Codes, balanced_order, codes_of, nearest_codebooks

_MOST_TEXTS: Final = 3_000
"""Texts that say which directions count: more say the same, and take longer."""
_LENGTH: Final = 0.7
_PENALTY: Final = 10.0
_STEPS: Final = 50
"""Length of what a text means, and C and steps of the logistic regression: as of the linear part of few texts."""
_OTHERS: Final = 0.2
"""How much every direction counts beside those of the regression, whose mean is 1."""


def text_meanings(words: Ints, vectors: Floats) -> Floats:
    """Return the sum of the vectors of each text's words, of length 1 or 0: float32 `[texts, 64]`.

    Args:
        words: ids, int32 `[texts, slots]`.
        vectors: by id, float32 `[ids, 64]`; zeros for words without a meaning.
    """
    rows, _ = used = np.nonzero(words)
    shape = (len(words), len(vectors))
    found: Floats = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, words[used])), shape) @ vectors
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-9))
    return found


def telling_directions(meanings: Floats, targets: Ints, seed: int) -> Floats:
    """Return directions and how much they tell of the labels, as a regression on texts says: float32 `[64, n]`; zeros where they tell nothing.

    Args:
        meanings: float32 `[texts, 64]`.
        targets: as of `LabelScheme.targets`.
        seed: draws the texts, where there are many.
    """
    from sklearn.linear_model import LogisticRegression

    rows = np.random.default_rng(seed).permutation(len(meanings))[:_MOST_TEXTS]
    read, targets = np.float32(_LENGTH) * meanings[rows], targets[rows]
    columns: Sequence[Ints] = [targets] if targets.ndim == 1 else list(targets.T)
    slopes = [np.zeros((1, DIMENSION))]
    for column in columns:
        if len(np.unique(column)) > 1:
            slopes.append(LogisticRegression(C=_PENALTY, max_iter=_STEPS).fit(read, column).coef_)
    found: Floats = np.concatenate(slopes).T.astype(np.float32)
    return found


def telling_codes(vectors: Floats, importance: Floats, directions: Floats, seed: int) -> tuple[Codes, Floats]:
    """Return codes uint8 `[words, 8]` and codebooks float32 `[8, 256, 8]`, whose space is turned.

    Args:
        vectors: float32 `[words, 64]`.
        importance: how much each word counts, float32 `[words]`.
        directions: see `telling_directions`.
        seed: of the first centres.
    """
    squares, axes = np.linalg.eigh((directions @ directions.T).astype(np.float64))
    weights = np.sqrt(np.maximum(squares, 0.0) / max(squares.mean(), 1e-12) + _OTHERS).astype(np.float32)
    turned = (vectors @ axes.astype(np.float32)) * weights
    order = balanced_order((np.square(turned) * importance[:, None]).mean(axis=0), SUBSPACES)
    turned = np.ascontiguousarray(turned[:, order])
    codebooks = nearest_codebooks(turned, importance, SUBSPACES, seed)
    return codes_of(turned, codebooks), codebooks / weights[order].reshape(SUBSPACES, 1, -1)
