"""The tiny data made ready, and trained on: with validation texts by `train` and by hand, cross-validated, and without a network."""

from collections.abc import Callable
from typing import Any

import pytest
from fitted import Crossed, Fitted, Told, fit_held_out, train
from modeling_cases import random_embedding
from synonyms import synonyms
from tiny_data import QUICK, TINY_CONFIG, tiny_dataset

from retvec_lite.model.heads import PoolHead
from retvec_lite.training import network_part, stacking
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.languages import common_words, language_shares
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.meaning_reader import MeaningReader, make_reader
from retvec_lite.training.network_part import NetworkPart
from retvec_lite.training.train import Trained


@pytest.fixture(scope="session")
def tiny_training_data() -> TrainingData:
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    words = common_words(language_shares(training.texts, QUICK.seed))
    return make_examples(training, validation, **QUICK.typos, common_words=words)


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
        if total:  # no sentence
            told.setdefault(what, []).append((done, total))

    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    embedding = random_embedding(dimension=64)
    return train(training, validation, embedding=embedding, head="pool", settings=QUICK, progress=progress)


@pytest.fixture(scope="session")
def crossed() -> Crossed:
    told: Told = {}
    made: dict[str, Any] = {}

    def progress(what: str, done: int, total: int) -> None:
        if total:  # no sentence
            told.setdefault(what, []).append((done, total))

    def keep(kind: type) -> Callable[..., Any]:
        def make(*arguments: Any, **options: Any) -> Any:
            assert kind.__name__ not in made, "one fitter for all folds"
            return made.setdefault(kind.__name__, kind(*arguments, **options))

        return make

    with pytest.MonkeyPatch.context() as patch:
        for module, kind in ((network_part, NetworkPart), (stacking, LinearPart)):
            patch.setattr(module, kind.__name__, keep(kind))
        embedding = random_embedding(dimension=64)
        found = train(tiny_dataset(12), embedding=embedding, head="pool", settings=QUICK, progress=progress)
    return Crossed(found, dict(told), made["NetworkPart"], made["LinearPart"])


@pytest.fixture(scope="session")
def linear_alone() -> Trained:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_part, "NetworkPart", lambda *args, **kwargs: pytest.fail("no network may be fitted"))
        return train(tiny_dataset(12), head="linear", embedding=random_embedding(dimension=64), settings=QUICK)


@pytest.fixture(scope="session")
def synonym_data() -> TrainingData:
    """Texts whose words `synonyms` knows."""
    training = tiny_dataset(12)
    return make_examples(training, training, variants=2, typo_rate=0.2, seed=0, config=TINY_CONFIG)


@pytest.fixture(scope="session")
def synonym_reader(synonym_data: TrainingData) -> MeaningReader:
    return make_reader(synonyms(), synonym_data, 25)[0]
