"""The tiny data made ready, and trained on once through `train` and once through `prepare` and `NetworkFitter`."""

import pytest
from fitted import Fitted, fit_held_out
from modeling_cases import random_embedding
from tiny_data import QUICK, tiny_dataset

from retvec_lite.model.heads import PoolHead
from retvec_lite.training.examples import TrainingData, prepare
from retvec_lite.training.trainer import Trained, train

SLOTS = 8
"""Enough for the tiny texts, all but those with a Japanese word: one length of batches, so that XLA compiles one step."""

Told = dict[str, list[tuple[int, int]]]


@pytest.fixture(scope="session")
def tiny_training_data() -> TrainingData:
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    return prepare(
        training, validation, copies=QUICK.copies, typo_rate=QUICK.typo_rate, seed=QUICK.seed, max_words=SLOTS
    )


@pytest.fixture(scope="session")
def frozen(tiny_training_data: TrainingData) -> Fitted:
    embedding = random_embedding(dimension=64).weights
    return fit_held_out(tiny_training_data, PoolHead(), embedding, QUICK)


@pytest.fixture(scope="session")
def told() -> Told:
    """What the training of `trained` told about its progress."""
    return {}


@pytest.fixture(scope="session")
def trained(told: Told) -> Trained:
    def progress(what: str, done: int, total: int) -> None:
        told.setdefault(what, []).append((done, total))

    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    embedding = random_embedding(dimension=64)
    return train(training, validation, embedding=embedding, max_words=SLOTS, settings=QUICK, progress=progress)
