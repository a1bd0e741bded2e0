"""The systems of `few_shot.py`: ours with its default options, two linear SVMs, hashed n-grams below 1 MB, and fastText.

SVMs and fastText may be of any size and learn from the texts as they are; hashed n-grams have a size limit and may learn from
mistyped copies. Each chooses its setting by accuracy on held-out texts
of its own draw, the mean of clean texts and of texts with half of the words mistyped. Test texts choose nothing.
"""

import importlib.util
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import retvec_lite as rl
from benchmarks.systems import hashed_ngrams
from benchmarks.systems.fasttext import FastTextClassifier, write_training_file
from benchmarks.systems.guesser import Guess, Guesser, from_scikit_learn
from benchmarks.systems.hashed_ngrams import HELD_OUT, HELD_OUT_RATES
from benchmarks.systems.networks import RECIPE, export_files
from benchmarks.systems.vectorizers import require
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.heads import HEADS

OURS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ours": {},
    "ours, linear": {"head": "linear"},
}
"""Our systems -> the options of `retvec_lite.train`."""

CHARACTERS: Final = {"analyzer": "char_wb", "ngram_range": (1, 4), "sublinear_tf": True}
WORD_PAIRS: Final = {
    "analyzer": "word",
    "ngram_range": (1, 2),
    "sublinear_tf": True,
    "token_pattern": r"(?u)\b\w+\b",
}
SVMS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "SVM, characters": (CHARACTERS,),
    "SVM, characters and word pairs": (CHARACTERS, WORD_PAIRS),
}
"""SVM -> the options of its TF-IDF vectorizers."""

PENALTIES: Final = (1.0, 10.0, 0.1)
"""What C is chosen from, scikit-learn's default first: the first of equals is taken."""
FOLDS: Final = 3

FASTTEXT: Final = "fastText"
FASTTEXT_OPTIONS: Final = {"wordNgrams": 2, "minn": 3, "maxn": 6, "epoch": 100}
LEARNING_RATES: Final = (0.5, 1.0)

SYSTEMS: Final = (*OURS, *SVMS, hashed_ngrams.LINEAR, hashed_ngrams.BAYES, FASTTEXT)


@dataclass(frozen=True)
class Trained:
    """A trained system.

    Attributes:
        guess: texts -> the most likely label of each; it has the probabilities too.
        facts: what was chosen and how large it is, JSON-ready.
    """

    guess: Guesser
    facts: Mapping[str, Any]


def available(systems: Sequence[str], *, asked_for: bool) -> list[str]:
    """Return the systems that can be built here; print the others to standard error.

    Args:
        systems: of `SYSTEMS`.
        asked_for: the user named these systems: leave none out, so that what is missing is an error later.
    """
    if asked_for:
        return list(systems)
    found = []
    for system in systems:
        head = OURS.get(system, {}).get("head")
        if head is not None and head not in HEADS:
            print(f"{system} is left out: there is no head {head!r}.", file=sys.stderr)
        elif system == FASTTEXT and importlib.util.find_spec("fasttext") is None:
            print(f"{system} is left out: install fasttext (see benchmarks/README.md).", file=sys.stderr)
        else:
            found.append(system)
    return found


def settings_of(system: str) -> dict[str, Any]:
    """Return how a system is trained, JSON-ready."""
    if system in OURS:
        return {"options": dict(OURS[system])}
    if system in SVMS:
        return {"vectorizers": list(map(dict, SVMS[system])), "penalties": PENALTIES, "folds": FOLDS}
    if system in hashed_ngrams.STRENGTHS:
        return hashed_ngrams.settings(system)
    return {**FASTTEXT_OPTIONS, "lr": LEARNING_RATES, "held_out": HELD_OUT}


def train(system: str, drawn: Dataset, seed: int = 0, chosen: Mapping[str, Any] | None = None) -> Trained:
    """Train a system on the drawn texts and nothing else.

    Args:
        system: one of `SYSTEMS`.
        drawn: the texts.
        seed: of our training; the others have fixed seeds.
        chosen: the facts of an earlier training on these texts, of an SVM or hashed n-grams: nothing is chosen again.

    Raises:
        SystemExit: fastText is not installed.
    """
    if system in OURS:
        return train_ours({**OURS[system], "seed": seed}, drawn)
    if system in SVMS:
        return _train_svm(SVMS[system], drawn, chosen)
    if system in hashed_ngrams.STRENGTHS:
        return Trained(*hashed_ngrams.train(system, drawn, chosen))
    return _train_fasttext(drawn)


def accuracy(guess: Guess, texts: Dataset, rate: float) -> float:
    """Return the share of right guesses with a share of the words mistyped."""
    guesses = guess(mistype_many(texts.texts, rate, TYPO_SEED))
    return float((np.array(guesses) == np.array(texts.labels)).mean())


def train_ours(options: Mapping[str, Any], drawn: Dataset) -> Trained:
    """Train with these options; classify with the exported file."""
    trained = rl.train(drawn, **options)
    with tempfile.TemporaryDirectory() as folder:
        trained.save(folder)
        file = export_files(Path(folder), [RECIPE])[RECIPE]
        size = file.stat().st_size
        classifier = rl.TextClassifier.load(file)
    return Trained(Guesser(classifier.labels, classifier.probabilities), {"bytes": size})


def _train_svm(vectorizers: Sequence[Mapping[str, Any]], drawn: Dataset, chosen: Mapping[str, Any] | None) -> Trained:
    from sklearn.pipeline import make_pipeline

    facts = {name: chosen[name] for name in ("C", "validation")} if chosen else _choose_penalty(vectorizers, drawn)
    vectorize, model = _vectorizer(vectorizers), _svm(facts["C"])
    fitted = make_pipeline(vectorize, model).fit(drawn.texts, drawn.labels)
    return Trained(from_scikit_learn(fitted), {**facts, "parameters": int(model.coef_.size + model.intercept_.size)})


def _choose_penalty(vectorizers: Sequence[Mapping[str, Any]], drawn: Dataset) -> dict[str, Any]:
    """Choose C by cross-validation; it is 1 where a label has fewer texts than there are folds."""
    from sklearn.model_selection import StratifiedKFold

    penalty, found = PENALTIES[0], {}
    if min(Counter(drawn.labels).values()) >= FOLDS:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(drawn.texts, drawn.labels)
        parts = [_fold_accuracies(vectorizers, drawn.select(rows), drawn.select(held_out)) for rows, held_out in folds]
        found = dict(zip(PENALTIES, np.mean(parts, axis=0).tolist(), strict=True))
        penalty = max(found, key=lambda candidate: found[candidate])
    return {"C": penalty, "validation": found}


def _fold_accuracies(vectorizers: Sequence[Mapping[str, Any]], training: Dataset, held_out: Dataset) -> list[float]:
    """Return the mean accuracy over `HELD_OUT_RATES` for each C."""
    vectorize = _vectorizer(vectorizers)
    vectors = vectorize.fit_transform(training.texts)
    tests = [vectorize.transform(mistype_many(held_out.texts, rate, TYPO_SEED)) for rate in HELD_OUT_RATES]
    found = []
    for penalty in PENALTIES:
        model = _svm(penalty).fit(vectors, training.labels)
        found.append(float(np.mean([(model.predict(test) == np.array(held_out.labels)).mean() for test in tests])))
    return found


def _vectorizer(vectorizers: Sequence[Mapping[str, Any]]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    return make_union(*(TfidfVectorizer(**options) for options in vectorizers))


def _svm(penalty: float) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=penalty, random_state=0)


def _train_fasttext(drawn: Dataset) -> Trained:
    """Choose the learning rate on a held-out fifth and train on all texts."""
    training, held_out = split(drawn, HELD_OUT, 0)
    found = {}
    for candidate in LEARNING_RATES:
        guess = fit_fasttext(training, candidate)
        found[candidate] = float(np.mean([accuracy(guess, held_out, share) for share in HELD_OUT_RATES]))
    chosen = max(found, key=lambda candidate: found[candidate])
    return Trained(fit_fasttext(drawn, chosen), {"lr": chosen, "validation": found})


def fit_fasttext(drawn: Dataset, learning_rate: float, seed: int = 0) -> Guesser:
    """Train fastText, any size; return what guesses labels."""
    number = {label: place for place, label in enumerate(drawn.classes)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        write_training_file(file, [drawn.texts], [number[label] for label in drawn.labels])
        model = require("fasttext").train_supervised(
            str(file), lr=learning_rate, thread=1, seed=seed, verbose=0, **FASTTEXT_OPTIONS
        )
    classifier = FastTextClassifier(drawn.classes, model, bytes=0)
    return Guesser(classifier.labels, classifier.probabilities)
