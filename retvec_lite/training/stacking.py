"""The parts of a classifier, fitted side by side, and how much each counts, as held-out texts say: stacking.

Wolpert 1992, https://doi.org/10.1016/S0893-6080(05)80023-1.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import LinearHead
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.beside import Beside
from retvec_lite.training.examples import Rows, TrainingData
from retvec_lite.training.label_scheme import LabelScheme
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.network import embed_words
from retvec_lite.training.network_part import NetworkPart
from retvec_lite.training.plan import MANY, Fit, HeldOutLogits, Part, Plan, held_out_logits
from retvec_lite.training.pretrained_part import PretrainedPart

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


class Stack(NamedTuple):
    """The parts of a classifier, fitted and added up.

    Attributes:
        logits: of the held-out texts, each by parts that had not seen it, added up.
        weights: of the whole classifier by name, each part's logits multiplied by its factor, matrices on their grid.
        linear: the linear part; None without one.
        reads_meaning: whether the linear part reads what words mean.
        facts: what the report of the training says of the parts.
    """

    logits: HeldOutLogits
    weights: Mapping[str, Floats]
    linear: LinearPart | None
    reads_meaning: bool
    facts: Mapping[str, Any]


def fit_parts(plan: Plan, progress: Progress = silent) -> Stack:
    """Fit network and linear part as a plan says, decide by held-out texts how much each counts, and add them up.

    With a pre-trained head there are two networks to choose from: one whose last layer alone is fitted, and one that goes on from there.
    """
    data, is_linear = plan.data, isinstance(plan.head, LinearHead)
    everything = np.arange(len(data.clean))
    # A second core fits n-grams. Of many texts, these take longer than the network, and must not wait for it.
    beside = Beside(progress, gives_way=len(data.clean) < MANY and not is_linear)
    vectors = embed_words(data.words, plan.embedding, progress) if is_linear else None
    start = PretrainedPart(plan, beside.tell) if plan.pretrained else None
    network = None if is_linear else NetworkPart(plan, beside.tell, start)
    networks: list[Part] = [part for part in (start, network) if part]
    linear = LinearPart(plan, vectors, beside.report) if plan.buckets else None

    # What each part says of texts that it has not seen. Cross-validated, where no choice is left, the network learns from all meanwhile.
    with beside.run(lambda: linear.learn() if linear else None) as fitted:
        answers = [_answers(part, data) for part in networks]
        if data.folds:
            answers = [(logits, networks[0].fit(everything) if len(networks) == 1 else None) for logits, _ in answers]
        of_linear = fitted()

    # How much each part counts, and which network there is.
    said = {LINEAR: of_linear} if of_linear is not None else {}
    usual = USUAL_OF_SOFTMAX if linear and linear.is_softmax else USUAL_FACTORS
    tried: list[tuple[Mix, dict[str, HeldOutLogits], Part | None, Fit | None]] = []
    for part, (logits, fit) in zip(networks, answers, strict=True):
        parts = {**said, NETWORK: logits}
        of_part = USUAL_OF_PRETRAINED if isinstance(part, PretrainedPart) else usual
        tried.append((mix_held_out(parts, data.held_out.truth, data.scheme, of_part), parts, part, fit))
    if not tried:
        tried = [(mix_held_out(said, data.held_out.truth, data.scheme, usual), said, None, None)]
    (factors, _, shift), parts, chosen, whole = min(tried, key=lambda found: found[0].loss)
    together = {
        rate: np.sum([factors[name] * found[rate] for name, found in parts.items()], axis=0) + shift
        for rate in data.held_out.ids
    }
    if chosen and whole is None:
        whole = chosen.fit(everything)
    if network and network is not chosen:
        network.end()

    # One file: the last layers add up.
    weights = dict(plan.embedding)
    if whole:
        weights |= whole.weights
        factor = np.float32(factors[NETWORK])
        kernel, bias = weights["head/logits/kernel"], weights["head/logits/bias"]
        weights["head/logits/kernel"] = snap((kernel * factor).astype(np.float32), FOUR_BITS)
        weights["head/logits/bias"] = (bias * factor).astype(np.float32)
    reads_meaning = linear is not None and linear.reads_meaning
    if linear:
        weights |= linear.model.scaled(factors[LINEAR]).weights
        weights |= plan.meaning.weights if plan.meaning and reads_meaning else {}
    shifted = "ngrams/bias" if linear else "head/logits/bias"
    weights[shifted] = weights[shifted] + np.float32(shift)

    left_out = plan.meaning is not None and not reads_meaning
    fitted_layers = "last" if isinstance(chosen, PretrainedPart) else "all"
    facts = {
        "learning_curve": linear.curve if linear else [],
        "factors": {name: round(factor, 4) for name, factor in factors.items()},
        "epochs": len(whole.history) if whole else 0,
        "best_epoch": whole.best if whole else 0,
        "meaning": {"used": reads_meaning, **plan.meaning_facts}
        | ({"left_out": "held-out texts are better off without"} if left_out else {}),
        "pretrained_head": {"language": plan.pretrained.language, "layers_fitted": fitted_layers}
        if plan.pretrained
        else None,
    }
    return Stack(together, weights, linear, reads_meaning, facts)


def _answers(part: Part, data: TrainingData) -> tuple[HeldOutLogits, Fit | None]:
    """Return what a part says of texts that it has not seen, and its last fit."""
    fits: list[Fit] = []

    def fit(rows: Rows) -> None:
        fits.append(part.fit(rows))

    return held_out_logits(data, fit, part.logits), fits[-1]


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
