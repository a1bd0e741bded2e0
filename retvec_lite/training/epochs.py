"""Epochs over augmented copies, a look at validation after each, and the weights of the best one."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.training.batches import epoch
from retvec_lite.training.network import Network, Schedule, cosine_schedule
from retvec_lite.training.settings import FitSettings

Report = Callable[[str, int, int], None]
"""Called with (what is going on, done, of how many)."""

PREDICTION_BATCH: Final = 256
"""Texts a call where nothing is learned."""


@dataclasses.dataclass(frozen=True)
class Examples:
    """What a network learns from.

    Attributes:
        copies: ids of each augmented copy of the texts; the epochs take turns with them.
        targets: int32 `[texts]`, the place of each text's label.
        classes: number of labels.
    """

    copies: Sequence[Ints]
    targets: npt.NDArray[np.int32]
    classes: int


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """What stopping looks at.

    Attributes:
        ids: int32 `[texts, slots]` of the validation texts by the share of mistyped words.
        truth: int32 `[texts]`, the place of each text's label.
    """

    ids: Mapping[float, Ints]
    truth: npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class Best:
    """The best epoch.

    Attributes:
        weights: by name, float32.
        epoch: its number, counted from 1.
        history: an entry for each epoch that ran: loss, validation accuracies, their mean.
    """

    weights: Mapping[str, Floats]
    epoch: int
    history: Sequence[Mapping[str, Any]]


def batch_size_for(texts: int, settings: FitSettings) -> int:
    """Texts a step: as set, or a quarter of very few texts."""
    return min(settings.batch_size, max(1, texts // 4))


def steps_for(texts: int, settings: FitSettings) -> int:
    """Optimizer steps of all epochs."""
    return settings.epochs * max(1, texts // batch_size_for(texts, settings))


def schedule_for(texts: int, settings: FitSettings) -> Schedule:
    """The learning rate over all epochs: a twentieth of the steps, 500 at most, to warm up."""
    steps = steps_for(texts, settings)
    return cosine_schedule(settings.learning_rate, steps, min(steps // 20, 500))


def run_epochs(
    network: Network,
    examples: Examples,
    held_out: HeldOut,
    settings: FitSettings,
    rng: np.random.Generator,
    report: Report = lambda what, done, total: None,
) -> Best:
    """Train until validation has not improved for `settings.patience` epochs, or to the last one.

    Args:
        network: is left with the weights of the last epoch.
        examples: what to learn from.
        held_out: what decides which epoch is the best: the mean of its accuracies.
        settings: epochs, patience and batch size of them.
        rng: the order of the texts.
        report: receives progress.

    Raises:
        RetvecLiteError: when the loss is no longer finite.
    """
    texts = len(examples.targets)
    batch_size, steps = batch_size_for(texts, settings), steps_for(texts, settings)
    best_score, best_weights, best_epoch = -math.inf, network.weights(), 0
    history: list[dict[str, Any]] = []
    count = 0
    for number in range(settings.epochs):
        losses = []
        for batch in epoch(examples.copies[number % len(examples.copies)], batch_size, rng):
            losses.append(network.train(batch, examples.targets[batch.rows], count))
            count += 1
            report("training", min(count, steps), steps)
        broken = [loss for loss in losses if not math.isfinite(loss)]
        if broken:
            raise RetvecLiteError(
                f"Expected training to converge, received a loss of {broken[0]} in epoch {number + 1}: "
                "the data or the embedding holds something extreme."
            )
        accuracies = {
            rate: float(
                (network.logits(ids, examples.classes, PREDICTION_BATCH).argmax(axis=1) == held_out.truth).mean()
            )
            for rate, ids in held_out.ids.items()
        }
        score = float(np.mean(list(accuracies.values())))
        history.append({"epoch": number + 1, "loss": float(np.mean(losses)), "accuracy": accuracies, "score": score})
        if score > best_score:
            best_score, best_weights, best_epoch = score, network.weights(), number
        elif number - best_epoch >= settings.patience:
            break
    return Best(best_weights, best_epoch + 1, history)
