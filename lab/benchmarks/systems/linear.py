"""Plain rivals of scikit-learn: SVMs on TF-IDF of any size, and hashed character n-grams below 1 MB under an SVM or naive Bayes.

Of hashed n-grams, a table of buckets times labels is all that a device would have to store. It is as large as 1 MB allows with a
byte a weight; the weights themselves are not rounded, which favours them. Everything is chosen by mean accuracy on clean and on half
mistyped texts: penalties of the large SVMs by cross-validation, settings of hashed n-grams (and whether to learn from mistyped copies
as well) on a held-out fifth. The hashed SVM chooses on 5,000 texts, because it is slow. Test texts choose nothing.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from benchmarks.data.sets import sampled
from benchmarks.systems.names import BAYES, LINEAR, SVM, SVM_WORDS
from benchmarks.systems.trained import Trained, from_scikit_learn, share_right
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many

TABLE_BYTES: Final = 990_000
"""What the table may take; the labels and a few numbers come on top."""
MOST_BUCKETS: Final = 1 << 18
STRENGTHS: Final = {LINEAR: (1.0, 0.1), BAYES: (0.1, 0.01)}
"""What C of the SVM, or the smoothing of naive Bayes, is chosen from."""
LONGEST: Final = (4, 5)
COPIES: Final = (0, 2)
TYPO_RATE: Final = 0.4
HELD_OUT: Final = 0.2
TUNING_TEXTS: Final = 5_000
HELD_OUT_RATES: Final = (0.0, 0.5)
CHOSEN: Final = ("longest", "copies", "strength", "validation")
"""What is chosen of hashed n-grams, and the held-out accuracy that it goes by."""

CHARACTERS: Final = {"analyzer": "char_wb", "ngram_range": (1, 4), "sublinear_tf": True}
WORD_PAIRS: Final = {"analyzer": "word", "ngram_range": (1, 2), "sublinear_tf": True, "token_pattern": r"(?u)\b\w+\b"}
SVMS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {SVM: (CHARACTERS,), SVM_WORDS: (CHARACTERS, WORD_PAIRS)}
"""SVM -> the options of its TF-IDF vectorizers."""
PENALTIES: Final = (1.0, 10.0, 0.1)
"""What C is chosen from, scikit-learn's default first: the first of equals is taken."""
FOLDS: Final = 3


def settings_of(system: str) -> dict[str, Any]:
    """Return what is chosen from, JSON-ready."""
    if system in SVMS:
        return {"vectorizers": list(map(dict, SVMS[system])), "penalties": PENALTIES, "folds": FOLDS}
    tuning = {"tuning_texts": TUNING_TEXTS} if system == LINEAR else {}
    return {"strengths": STRENGTHS[system], "longest": LONGEST, "copies": COPIES, "table_bytes": TABLE_BYTES, **tuning}


def train(system: str, texts: Dataset, chosen: Mapping[str, Any] | None = None) -> Trained:
    """Choose settings and train on all texts.

    Args:
        system: a key of `SVMS` or `STRENGTHS`.
        texts: to learn from.
        chosen: the facts of an earlier training on these texts: nothing is chosen again.
    """
    if system in SVMS:
        facts = {name: chosen[name] for name in ("C", "validation")} if chosen else choose_penalty(system, texts)
        return _fit_svm(system, texts, facts)
    facts = {name: chosen[name] for name in CHOSEN} if chosen else choose_settings(system, texts)
    found = fit_hashed(system, texts, facts["longest"], facts["copies"], facts["strength"])
    size = buckets_for(len(texts.classes)) * len(texts.classes)
    return Trained(found.labels, found.probabilities, {**facts, "bytes": size})


def buckets_for(labels: int) -> int:
    """Return how many buckets a table for so many labels has."""
    return min(TABLE_BYTES // labels, MOST_BUCKETS)


def choose_settings(system: str, texts: Dataset) -> dict[str, Any]:
    """Choose what `CHOSEN` names on a held-out fifth."""
    tuning = texts if system == BAYES else texts.select(sampled(len(texts), TUNING_TEXTS))
    training, held_out = tuning.split(HELD_OUT, 0)
    tests = [mistype_many(held_out.texts, rate, TYPO_SEED) for rate in HELD_OUT_RATES]
    best, chosen = -1.0, (0, 0, 0.0)
    for candidate in itertools.product(LONGEST, COPIES, STRENGTHS[system]):
        guess = fit_hashed(system, training, *candidate)
        score = float(np.mean([share_right(guess, test, held_out.labels) for test in tests]))
        if score > best:
            best, chosen = score, candidate
    return dict(zip(CHOSEN, (*chosen, best), strict=True))


def fit_hashed(system: str, drawn: Dataset, longest: int, copies: int, strength: float, seed: int = 0) -> Trained:
    """Train on the texts and so many mistyped copies of them."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    texts, labels = list(drawn.texts), list(drawn.labels)
    for copy in range(copies):
        texts += mistype_many(drawn.texts, TYPO_RATE, copy + 1)
        labels += drawn.labels
    buckets = buckets_for(len(drawn.classes))
    count = HashingVectorizer(
        n_features=buckets, analyzer="char_wb", ngram_range=(1, longest), alternate_sign=False, norm=None
    )
    model = LinearSVC(C=strength, random_state=seed) if system == LINEAR else MultinomialNB(alpha=strength)
    steps = [count, TfidfTransformer(sublinear_tf=True), model] if system == LINEAR else [count, model]
    return from_scikit_learn(make_pipeline(*steps).fit(texts, labels), {})


def choose_penalty(system: str, texts: Dataset) -> dict[str, Any]:
    """Choose C by cross-validation; it is 1 where a label has fewer texts than there are folds."""
    from sklearn.model_selection import StratifiedKFold

    penalty, found = PENALTIES[0], {}
    if min(Counter(texts.labels).values()) >= FOLDS:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(texts.texts, texts.labels)
        parts = [_fold_accuracies(system, texts.select(rows), texts.select(held_out)) for rows, held_out in folds]
        found = dict(zip(PENALTIES, np.mean(parts, axis=0).tolist(), strict=True))
        penalty = max(found, key=lambda candidate: found[candidate])
    return {"C": penalty, "validation": found}


def _fold_accuracies(system: str, training: Dataset, held_out: Dataset) -> list[float]:
    """Return the mean accuracy over `HELD_OUT_RATES` for each C."""
    vectorize = tfidf(SVMS[system])
    vectors = vectorize.fit_transform(training.texts)
    tests = [vectorize.transform(mistype_many(held_out.texts, rate, TYPO_SEED)) for rate in HELD_OUT_RATES]
    fitted = [_svm(penalty).fit(vectors, training.labels) for penalty in PENALTIES]
    return [float(np.mean([share_right(model.predict, test, held_out.labels) for test in tests])) for model in fitted]


def _fit_svm(system: str, texts: Dataset, facts: Mapping[str, Any]) -> Trained:
    from sklearn.pipeline import make_pipeline

    model = _svm(facts["C"])
    fitted = make_pipeline(tfidf(SVMS[system]), model).fit(texts.texts, texts.labels)
    return from_scikit_learn(fitted, {**facts, "parameters": int(model.coef_.size + model.intercept_.size)})


def tfidf(vectorizers: Sequence[Mapping[str, Any]]) -> Any:
    """Return TF-IDF vectorizers side by side, not yet fitted."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    return make_union(*(TfidfVectorizer(**options) for options in vectorizers))


def _svm(penalty: float) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=penalty, random_state=0)
