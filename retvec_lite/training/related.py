"""Texts made of words that are related to what a label is called and means: from them n-grams and sums of words learn more than the few words given.

Related are the words whose meaning lies in the direction in which a label differs from the others.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.equal_rows import products
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.training.background import common_words
from retvec_lite.training.described import Described, Origin
from retvec_lite.training.languages import directions, plain_words

_RELATED: Final = 60
"""Words of a label."""
_RARE: Final = 0.05
"""What the logarithm of a word's rank costs against its cosine: rare words are seldom written."""
_TEXTS: Final = 20
_MOST: Final = 1_000
"""Texts of a label without any, and of all labels together. Real texts soon say more: one leaves half of them, ten leave one. All of them
would also decide in which directions sentences differ, which cost spam of ten texts a label three points."""
_DRAWN: Final = 4
"""Related words of a text; it has as many common ones, as sentences do."""


def with_related(
    described: Described, labels: Sequence[str], counts: Mapping[str, int], file: MeaningFile, seed: int
) -> Described:
    """Return names, descriptions, and behind them texts of related words for each label with a known word and few texts.

    `counts` says how many texts labels have.
    """
    prototypes = _prototypes(described, labels, file)
    known = np.flatnonzero(prototypes.any(axis=1))
    if len(known) < 2:
        return described
    away = prototypes[known] - prototypes[known].mean(axis=0)
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    likeness = products(away, directions(file))
    cost = (_RARE * np.log1p(np.arange(likeness.shape[1]))).astype(np.float32)
    rng, texts, of_labels = random.Random(seed), [], []
    for place, near in zip(known.tolist(), likeness, strict=True):
        best = np.argsort(cost - near, kind="stable")[:_RELATED].tolist()
        for _ in range(min(_TEXTS, max(1, _MOST // len(known))) // (1 + counts.get(labels[place], 0))):
            drawn = [file.words[word] for word in rng.choices(best, k=_DRAWN)] + common_words(file, rng, _DRAWN)
            rng.shuffle(drawn)
            texts.append(" ".join(drawn))
            of_labels.append(labels[place])
    origins = (*described.origins, *[Origin.RELATED] * len(texts))
    return Described((*described.texts, *texts), (*described.labels, *of_labels), origins)


def _prototypes(described: Described, labels: Sequence[str], file: MeaningFile) -> Floats:
    """Return what each label is said to mean: the sum over its texts, each of length 1, float32 `[labels, width]` of length 1 or 0."""
    places = {word: place for place, word in enumerate(file.words)}
    number = {label: place for place, label in enumerate(labels)}
    vectors = file.vectors
    found = np.zeros((len(labels), vectors.shape[1]), np.float32)
    for text, label in zip(described.texts, described.labels, strict=True):
        known = [places[word] for word in plain_words(text) if word in places]
        said = vectors[known].sum(axis=0)
        found[number[label]] += said / max(float(np.linalg.norm(said)), 1e-6)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6)
    return found
