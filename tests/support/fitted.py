"""Trainings by hand: of data as `rl.train` takes them; of a network on examples; what a cross-validated one leaves."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tiny_data import QUICK, tiny_dataset

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import Way
from retvec_lite.model.heads import HeadSpec, LinearHead
from retvec_lite.terminal import Progress, silent
from retvec_lite.training import train as trainer
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.meaning_reader import MeaningReader
from retvec_lite.training.network_part import NetworkPart
from retvec_lite.training.options import TrainArguments
from retvec_lite.training.plan import FitSettings, Plan
from retvec_lite.training.request import Request, read_request
from retvec_lite.training.train import Trained

Told = dict[str, list[tuple[int, int]]]
"""What a training told about its progress: (done, total) by what is going on."""


def asked(*data: Any, **options: Any) -> Request:
    """Return what `rl.train` asks for with some arguments; without data, some where only the options matter."""
    given = checked(TrainArguments)(*(data or [tiny_dataset(3)]), **options)
    return read_request(given.data, given.labels, given)


def train(
    training: Dataset,
    validation: Dataset | float | None = None,
    *,
    settings: FitSettings | None = None,
    progress: Progress = silent,
    **given: Any,
) -> Trained:
    """Train as `rl.train` does, but by default on RETVec-raw and without meaning, with settings of one's own."""
    options = {
        "validation": "auto" if validation is None else validation,
        "embedding": "raw",
        "meaning": "none",
        **given,
    }
    return trainer.fit_classifier(asked(training, **options), settings=settings, progress=progress)


@dataclasses.dataclass(frozen=True)
class Fitted:
    """The best epoch: its weights and its number; the history of all; logits of the held-out texts by way of writing."""

    weights: Mapping[str, Floats]
    epoch: int
    history: Sequence[Mapping[str, Any]]
    held_out: Mapping[Way, Floats]


def fit_held_out(data: TrainingData, head: HeadSpec, embedding: Mapping[str, Floats], settings: FitSettings) -> Fitted:
    network = NetworkPart(Plan(data, head, 0, embedding, settings))
    best = network.fit(np.arange(len(data.clean)))
    every = np.arange(len(data.held_out.truth))
    logits = {way: network.logits(way, every) for way in data.held_out.ids}
    return Fitted(best.weights, best.best, best.history, logits)


def linear_of(
    data: TrainingData,
    buckets: int = 256,
    settings: FitSettings = QUICK,
    meaning: MeaningReader | None = None,
    progress: Progress = silent,
) -> LinearPart:
    """The linear part of a plan without a network."""
    return LinearPart(Plan(data, LinearHead(), buckets, {}, settings, meaning), None, progress)


@dataclasses.dataclass(frozen=True)
class Crossed:
    """A cross-validated training of 48 texts, what it told of its progress, and the parts as it left them."""

    trained: Trained
    told: Told
    network: NetworkPart
    linear: LinearPart
