"""How much the network and the linear part of a classifier count, learned from texts that neither has seen."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.training.tasks import Task

_LEAST: Final = 0.01

LINEAR, NETWORK = "linear", "network"
"""Names of the parts."""

_USUAL: Final = {LINEAR: 6.0, NETWORK: 0.5}
"""Factors that suit most data with few texts."""

_PRIOR: Final = 8.0
"""How many texts' likelihood a factor that is e times the usual one must be worth. With few texts, the factor of highest
likelihood is often far off; with thousands, the prior decides nothing."""


class Mix(NamedTuple):
    """How the logits of the parts are added up.

    Attributes:
        factors: one for each part, by its name, 0.01 at least: a part that knows nothing of other texts still says which label comes first.
        shift: what is added to the logits of all labels; 0 where a text has one label, since a softmax does not see it.
    """

    factors: Mapping[str, float]
    shift: float = 0.0


def fit_mix(parts: Mapping[str, Floats], truth: Ints, task: Task, texts: int) -> Mix:
    """Return the sum of the parts' logits that gives the right labels the highest likelihood; with few texts, near a usual one.

    The logarithm of each factor has a normal distribution as its prior. The factors also calibrate the probabilities, as
    temperature scaling does (Guo et al. 2017, https://arxiv.org/abs/1706.04599); with the shift, as Platt scaling does
    (Platt 1999).

    Args:
        parts: by `LINEAR` and `NETWORK`, logits, float32 `[rows, classes]` each, of texts that the parts were not trained on.
        truth: the targets of the rows.
        task: one label a text, or several.
        texts: how many different texts there are; the other rows are mistyped copies of them.
    """
    stacked = np.stack(list(parts.values())).astype(np.float64)
    usual = np.log([_USUAL[name] for name in parts])
    free = 1 if task.multi_label else 0

    def loss(values: Floats) -> tuple[float, Floats]:
        factors, shift = np.exp(values[: len(parts)]), values[len(parts) :].sum()
        value, slope = task.likelihood(np.tensordot(factors, stacked, axes=1) + shift, truth)
        away = values[: len(parts)] - usual
        slopes = [(slope * part).sum() for part in stacked] * factors + 2 * _PRIOR / texts * away
        return value + _PRIOR / texts * np.square(away).sum(), np.array([*slopes, *[slope.sum()] * free])

    start = np.array([*usual, *[0.0] * free])
    bounds = [(np.log(_LEAST), None)] * len(parts) + [(None, None)] * free
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    factors = np.exp(found[: len(parts)])
    return Mix(dict(zip(parts, factors.tolist(), strict=True)), float(found[len(parts) :].sum()))
