"""Plain rivals below 1 MB: hashed character n-grams under a linear SVM and under naive Bayes, tuned on held-out texts.

A table of buckets times labels is all that a device would have to store. It is as large as 1 MB allows with a byte a weight;
the weights themselves are not rounded, which favours them. Features, penalty or smoothing, and whether to learn from mistyped
copies of the texts as well are chosen by mean accuracy on clean and on half mistyped texts of a held-out fifth. The SVM
chooses on 5,000 texts, because it is slow.
"""

import itertools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from benchmarks.data.sets import sampled
from benchmarks.systems.guesser import Guesser, from_scikit_learn
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many

TABLE_BYTES: Final = 990_000
"""What the table may take; the labels and a few numbers come on top."""
MOST_BUCKETS: Final = 1 << 18

LINEAR: Final = "hashed n-grams, linear SVM"
BAYES: Final = "hashed n-grams, naive Bayes"
STRENGTHS: Final = {LINEAR: (1.0, 0.1), BAYES: (0.1, 0.01)}
"""Rival -> what C of the SVM, or the smoothing of naive Bayes, is chosen from."""
LONGEST: Final = (4, 5)
COPIES: Final = (0, 2)
TYPO_RATE: Final = 0.4
HELD_OUT: Final = 0.2
TUNING_TEXTS: Final = 5_000
HELD_OUT_RATES: Final = (0.0, 0.5)
CHOSEN: Final = ("longest", "copies", "strength", "validation")
"""What `train` chooses, and the held-out accuracy that it goes by."""


def settings(kind: str) -> dict[str, Any]:
    """Return what is chosen from, JSON-ready."""
    tuning = {"tuning_texts": TUNING_TEXTS} if kind == LINEAR else {}
    return {"strengths": STRENGTHS[kind], "longest": LONGEST, "copies": COPIES, "table_bytes": TABLE_BYTES, **tuning}


def buckets_for(labels: int) -> int:
    """Return how many buckets a table for so many labels has."""
    return min(TABLE_BYTES // labels, MOST_BUCKETS)


def train(kind: str, drawn: Dataset, chosen: Mapping[str, Any] | None = None) -> tuple[Guesser, dict[str, Any]]:
    """Choose by held-out texts and train on all; return what guesses labels, and what was chosen.

    Args:
        kind: a key of `STRENGTHS`.
        drawn: the texts.
        chosen: what was chosen by an earlier training on these texts; None to choose.
    """
    facts = _choose(kind, drawn) if chosen is None else {name: chosen[name] for name in CHOSEN}
    guess = fit(kind, drawn, facts["longest"], facts["copies"], facts["strength"])
    return guess, {**facts, "bytes": buckets_for(len(drawn.classes)) * len(drawn.classes)}


def _choose(kind: str, drawn: Dataset) -> dict[str, Any]:
    tuning = drawn if kind == BAYES else drawn.select(sampled(len(drawn), TUNING_TEXTS))
    training, held_out = split(tuning, HELD_OUT, 0)
    truth = np.array(held_out.labels)
    tests = [mistype_many(held_out.texts, rate, TYPO_SEED) for rate in HELD_OUT_RATES]
    best, chosen = -1.0, (0, 0, 0.0)
    for candidate in itertools.product(LONGEST, COPIES, STRENGTHS[kind]):
        guess = fit(kind, training, *candidate)
        score = float(np.mean([(np.array(guess(texts)) == truth).mean() for texts in tests]))
        if score > best:
            best, chosen = score, candidate
    return dict(zip(CHOSEN, (*chosen, best), strict=True))


def fit(kind: str, drawn: Dataset, longest: int, copies: int, strength: float, seed: int = 0) -> Guesser:
    """Train on the texts and so many mistyped copies of them; return what guesses labels."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    texts, labels = list(drawn.texts), list(drawn.labels)
    for copy in range(copies):
        texts += mistype_many(drawn.texts, TYPO_RATE, copy + 1)
        labels += drawn.labels
    count = HashingVectorizer(
        n_features=buckets_for(len(drawn.classes)),
        analyzer="char_wb",
        ngram_range=(1, longest),
        alternate_sign=False,
        norm=None,
    )
    model = LinearSVC(C=strength, random_state=seed) if kind == LINEAR else MultinomialNB(alpha=strength)
    steps = [count, TfidfTransformer(sublinear_tf=True), model] if kind == LINEAR else [count, model]
    return from_scikit_learn(make_pipeline(*steps).fit(texts, labels))
