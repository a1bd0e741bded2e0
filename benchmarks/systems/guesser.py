"""A trained classifier of texts as the benchmarks use it: its labels, a probability for each, and its guesses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Guess = Callable[[Sequence[str]], Sequence[str]]
"""Texts -> the most likely label of each."""
Probabilities = Callable[[Sequence[str]], npt.NDArray[np.floating[Any]]]
"""Texts -> float `[texts, classes]`."""


@dataclass(frozen=True)
class Guesser:
    """Called with texts, it returns the most likely label of each.

    Attributes:
        labels: class names in the order of the columns.
        probabilities: one or more texts -> float `[texts, classes]`.
    """

    labels: tuple[str, ...]
    probabilities: Probabilities

    def __call__(self, texts: Sequence[str]) -> list[str]:
        found: list[str] = np.array(self.labels)[self.probabilities(texts).argmax(axis=1)].tolist()
        return found


def from_scikit_learn(fitted: Any) -> Guesser:
    """Return the guesser of a fitted pipeline from texts to labels.

    A model without probabilities, such as `LinearSVC`, gets the softmax of its decision function. With two labels that is one
    number, which counts for the second label and against the first.
    """
    from scipy.special import softmax

    def probabilities(texts: Sequence[str]) -> npt.NDArray[np.floating[Any]]:
        found: npt.NDArray[np.floating[Any]]
        if hasattr(fitted, "predict_proba"):
            found = fitted.predict_proba(texts)
            return found
        scores = fitted.decision_function(texts)
        found = softmax(np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores, axis=1)
        return found

    return Guesser(tuple(map(str, fitted.classes_)), probabilities)
