"""What a training chose, and what every part of a classifier does."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.model.heads import HeadSpec
from retvec_lite.model.pretrained_head import PretrainedHead
from retvec_lite.training.examples import Rows, TrainingData
from retvec_lite.training.meaning_part import MeaningPart
from retvec_lite.training.settings import FitSettings

HeldOutLogits = Mapping[float, Floats]
"""Logits of the held-out texts by the way they are written (see `HeldOut`), float32 `[texts, classes]`, each by a fit that has not seen it."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to fit to which texts.

    Attributes:
        data: what `make_examples` made of the texts.
        head: which head, with its sizes; `linear` has no network.
        buckets: how many buckets of n-grams; 0 for no linear part.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        settings: see `FitSettings`.
        meaning: what the linear part may read of what words mean; None for nothing.
        meaning_facts: what the report says of it, or why there is none.
        pretrained: the head to start from, or to fit the last layer of; None to train a network from random weights.
    """

    data: TrainingData
    head: HeadSpec
    buckets: int
    embedding: Mapping[str, Floats]
    settings: FitSettings
    meaning: MeaningPart | None = None
    meaning_facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pretrained: PretrainedHead | None = None


@dataclasses.dataclass
class Fit:
    """A fit of a part.

    Attributes:
        weights: of the best epoch, by name, float32.
        history: of each epoch: its number, loss, and mean validation score.
        best: number of the best epoch, counted from 1; 0 for a fit without epochs.
    """

    weights: Mapping[str, Floats] = dataclasses.field(default_factory=dict)
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    best: int = 0


class Part(Protocol):
    """What a classifier is made of: it answers by itself, and held-out texts say how much it counts beside others."""

    def fit(self, rows: Rows) -> Fit:
        """Learn from some of the training texts; with all of them, it is what the classifier is made of."""
        ...

    def logits(self, rate: float, rows: Rows) -> Floats:
        """Return what the last fit says of some held-out texts, float32 `[texts, classes]`; `rate` says how they are written."""
        ...


def held_out_logits(
    data: TrainingData,
    fit: Callable[[Rows], object],
    logits: Callable[[float, Rows], Floats],
    rates: Iterable[float] | None = None,
) -> HeldOutLogits:
    """Fit a part to each split of the texts, and return what it says of those that it is tested on, written in some ways or in all."""
    shape = len(data.held_out.truth), len(data.labels)
    found = {rate: np.zeros(shape, np.float32) for rate in rates or data.held_out.ids}
    for rows, others in data.splits:
        fit(rows)
        for rate, table in found.items():
            table[others] = logits(rate, others)
    return found
