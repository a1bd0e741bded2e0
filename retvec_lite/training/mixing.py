"""How much the network and the linear part of a classifier count, learned from texts that neither has seen."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.training.tasks import Task

_LEAST: Final = 0.01


class Mix(NamedTuple):
    """How the logits of the parts are added up.

    Attributes:
        factors: one for each part, 0.01 at least: a part that knows nothing of other texts still says which label comes first.
        shift: what is added to the logits of all labels; 0 where a text has one label, since a softmax does not see it.
    """

    factors: tuple[float, ...]
    shift: float = 0.0


def fit_mix(parts: Sequence[Floats], truth: Ints, task: Task) -> Mix:
    """Return the sum of the parts' logits that gives the right labels the highest likelihood.

    The problem is convex. The factors also calibrate the probabilities, as temperature scaling does (Guo et al. 2017,
    https://arxiv.org/abs/1706.04599); with the shift, as Platt scaling does (Platt 1999).

    Args:
        parts: logits, float32 `[texts, classes]` each, of texts that the parts were not trained on.
        truth: the targets of the texts.
        task: one label a text, or several.
    """
    stacked = np.stack(parts).astype(np.float64)
    free = 1 if task.multi_label else 0

    def loss(values: Floats) -> tuple[float, Floats]:
        factors, shift = values[: len(parts)], values[len(parts) :].sum()
        value, slope = task.likelihood(np.tensordot(factors, stacked, axes=1) + shift, truth)
        return value, np.array([*((slope * part).sum() for part in stacked), *[slope.sum()] * free])

    start = np.array([1.0] * len(parts) + [0.0] * free)
    bounds = [(_LEAST, None)] * len(parts) + [(None, None)] * free
    found = [float(value) for value in minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x]
    return Mix(tuple(found[: len(parts)]), sum(found[len(parts) :]))
