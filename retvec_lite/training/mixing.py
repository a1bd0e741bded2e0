"""How much the network and the linear part of a classifier count, learned from texts that neither has seen."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.training.tasks import Task

_LEAST: Final = 0.01


def fit_factors(parts: Sequence[Floats], truth: Ints, task: Task) -> list[float]:
    """Return the factors under which the sum of the parts' logits gives the right labels the highest likelihood.

    The problem is convex. The factors also calibrate the probabilities, as temperature scaling does (Guo et al. 2017,
    https://arxiv.org/abs/1706.04599).

    Args:
        parts: logits, float32 `[texts, classes]` each, of texts that the parts were not trained on.
        truth: the targets of the texts.
        task: one label a text, or several.

    Returns:
        One factor for each part, 0.01 at least: a part that knows nothing of other texts still says which label comes first.
    """
    stacked = np.stack(parts).astype(np.float64)

    def loss(factors: Floats) -> tuple[float, Floats]:
        value, slope = task.likelihood(np.tensordot(factors, stacked, axes=1), truth)
        return value, np.array([(slope * part).sum() for part in stacked])

    start = np.ones(len(parts))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(_LEAST, None)] * len(parts))
    return [float(factor) for factor in found.x]
