"""A trained system: its labels, a probability for each, its guesses, and how often they are right."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many

Guess = Callable[[Sequence[str]], Sequence[str]]
"""Texts -> the most likely label of each."""
Probabilities = Callable[[Sequence[str]], npt.NDArray[np.floating[Any]]]
"""Texts -> float `[texts, classes]`."""


@dataclass(frozen=True)
class Trained:
    """Called with texts, it returns the label of each: `guess`, or the most likely one.

    Attributes:
        labels: class names in the order of the columns.
        probabilities: one or more texts -> float `[texts, classes]`.
        facts: JSON-ready: `bytes` on a device, vocabulary included; `parameters`, None if unknown; what was chosen.
        folder: where the system is kept, if it is.
        guess: a system's own decision, where that is not the most likely label.
    """

    labels: tuple[str, ...]
    probabilities: Probabilities
    facts: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    guess: Guess | None = None

    def __call__(self, texts: Sequence[str]) -> Sequence[str]:
        if self.guess is not None:
            return self.guess(texts)
        found: list[str] = np.array(self.labels)[self.probabilities(texts).argmax(axis=1)].tolist()
        return found


def from_scikit_learn(fitted: Any, facts: Mapping[str, Any]) -> Trained:
    """Return a fitted pipeline from texts to labels.

    A model without probabilities, such as `LinearSVC`, gets the softmax of its decision function. With two labels that is one
    number, which counts for the second label and against the first.
    """
    from scipy.special import softmax

    def probabilities(texts: Sequence[str]) -> npt.NDArray[np.floating[Any]]:
        if hasattr(fitted, "predict_proba"):
            found = fitted.predict_proba(texts)
        else:
            scores = fitted.decision_function(texts)
            found = softmax(np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores, axis=1)
        return np.asarray(found)

    return Trained(tuple(map(str, fitted.classes_)), probabilities, facts)


def accuracy(guess: Guess, texts: Dataset, rate: float) -> float:
    """Return the share of right guesses with a share of the words mistyped."""
    return share_right(guess, mistype_many(texts.texts, rate, TYPO_SEED), texts.labels)


def accuracies(guess: Guess, texts: Dataset, rates: Sequence[float]) -> dict[str, float]:
    """Return the accuracy by the share of the words mistyped, JSON-ready."""
    return {f"{rate:g}": accuracy(guess, texts, rate) for rate in rates}


def share_right(guess: Guess, texts: Sequence[str], labels: Sequence[str]) -> float:
    """Return the share of right guesses."""
    return float((np.array(guess(texts)) == np.array(labels)).mean())


def fingerprint(texts: Sequence[str]) -> str:
    """Return a short digest of texts, which tells trainings on different rows apart."""
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return found.hexdigest()[:12]


def digest(weights: Mapping[str, Floats]) -> str:
    """Return what tells two embeddings apart, 12 hexadecimal digits."""
    found = hashlib.sha256()
    for name in sorted(weights):
        found.update(weights[name].tobytes())
    return found.hexdigest()[:12]
