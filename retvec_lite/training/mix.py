"""How much each part of a classifier counts, as held-out texts say."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.training.label_scheme import LabelScheme

LINEAR, NETWORK = "linear", "network"
"""Names of the parts of a classifier."""

USUAL_FACTORS: Final = {LINEAR: 8.0, NETWORK: 0.5}
"""Factors that suit most data, of a support vector machine and a network."""
USUAL_OF_SOFTMAX: Final = {LINEAR: 1.5, NETWORK: 0.35}
"""Factors of a softmax regression, whose logits are larger, and of a network."""
USUAL_OF_PRETRAINED: Final = {LINEAR: 1.5, NETWORK: 0.8}
"""Factors of the same regression and of a pre-trained head, whose last layer is a softmax regression as well."""

_LEAST: Final = 0.01

_PRIOR: Final = 8.0
"""How many texts' likelihood a factor that is e times the usual one must be worth. With few texts, the factor of highest
likelihood is often far off; with thousands, the prior decides nothing."""


class Mix(NamedTuple):
    """How the logits of the parts are added up.

    Attributes:
        factors: one for each part, by its name, 0.01 at least: a part that knows nothing of other texts still says which label comes first.
        loss: the mean negative log likelihood of the right labels, and how far the factors are from the usual ones.
        shift: what is added to the logits of all labels; 0 where a text has one label, since a softmax does not see it.
    """

    factors: Mapping[str, float]
    loss: float
    shift: float = 0.0


def mix_held_out(
    parts: Mapping[str, Mapping[float, Floats]],
    truth: Ints,
    scheme: LabelScheme,
    usual: Mapping[str, float],
) -> Mix:
    """Return `fit_mix` of logits of held-out texts, float32 `[texts, classes]` by part and share of mistyped words."""
    together = {name: np.concatenate(list(logits.values())) for name, logits in parts.items()}
    rates = max(len(logits) for logits in parts.values())
    return fit_mix(together, np.concatenate([truth] * rates), scheme, len(truth), usual)


def fit_mix(
    parts: Mapping[str, Floats],
    truth: Ints,
    scheme: LabelScheme,
    texts: int,
    usual: Mapping[str, float] = USUAL_FACTORS,
) -> Mix:
    """Return the sum of the parts' logits that gives the right labels the highest likelihood; with few texts, the factors stay near the `usual` ones.

    The logarithm of each factor has a normal distribution as its prior, of the strength `_PRIOR`. The factors also calibrate the probabilities, as
    temperature scaling does (Guo et al. 2017, https://arxiv.org/abs/1706.04599); with the shift, as Platt scaling does
    (Platt 1999).

    The logits, float32 `[rows, classes]` by the name of the part, are of texts that the parts were not trained on; there are so many
    different `texts`, and the other rows are mistyped copies of them.
    """
    stacked = np.stack(list(parts.values())).astype(np.float64)
    expected = np.log([usual[name] for name in parts])
    free = 1 if scheme.multi_label else 0

    def loss(values: Floats) -> tuple[float, Floats]:
        factors, shift = np.exp(values[: len(parts)]), values[len(parts) :].sum()
        value, slope = scheme.likelihood(np.tensordot(factors, stacked, axes=1) + shift, truth)
        away = values[: len(parts)] - expected
        slopes = [(slope * part).sum() for part in stacked] * factors + 2 * _PRIOR / texts * away
        return value + _PRIOR / texts * np.square(away).sum(), np.array([*slopes, *[slope.sum()] * free])

    start = np.array([*expected, *[0.0] * free])
    bounds = [(np.log(_LEAST), None)] * len(parts) + [(None, None)] * free
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    found, factors = solved.x, np.exp(solved.x[: len(parts)])
    return Mix(dict(zip(parts, factors.tolist(), strict=True)), float(solved.fun), float(found[len(parts) :].sum()))
