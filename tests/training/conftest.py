"""A training of the tiny data, made ready once."""

import pytest
from tiny_data import QUICK, TINY_CONFIG, tiny_dataset

from retvec_lite.training.examples import TrainingData, prepare


@pytest.fixture(scope="session")
def tiny_training_data() -> TrainingData:
    return prepare(
        tiny_dataset(),
        tiny_dataset(10, seed=1),
        copies=QUICK.copies,
        typo_rate=QUICK.typo_rate,
        seed=QUICK.seed,
        config=TINY_CONFIG,
    )
