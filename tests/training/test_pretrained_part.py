"""Few English texts get the pre-trained head: when they do, what it knows, and that the file computes what the training did."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fitted import asked, train
from sklearn.metrics import roc_auc_score

from retvec_lite.data.dataset import Dataset
from retvec_lite.model.head_graph import scan_lstm
from retvec_lite.model.network_graph import classify
from retvec_lite.model.pretrained_head import packaged_head
from retvec_lite.model.weight_files import load_default_embedding
from retvec_lite.runtime.interpreters import codepoint_rows
from retvec_lite.training import stacking
from retvec_lite.training import train as trainer
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.plan import FitSettings, Plan
from retvec_lite.training.pretrained_part import PretrainedPart
from retvec_lite.training.stacking import Mix
from retvec_lite.training.train import Outcome

FOOD = (
    "I would like a pizza",
    "The soup needs salt",
    "She bakes bread every morning",
    "Fresh tomatoes and cheese",
    "What is for dinner?",
)
TRAVEL = (
    "My flight was late",
    "The train leaves at noon",
    "We booked a hotel in Rome",
    "Where is the airport?",
    "A bus ticket please",
)
UNSEEN_FOOD = (
    "a bowl of noodles with chicken",
    "the steak is overcooked",
    "pour me some orange juice",
    "chocolate cake recipe",
)
UNSEEN_TRAVEL = (
    "the ferry to the island was cancelled",
    "our luggage got lost",
    "visit Paris next summer",
    "rent a car for the trip",
)
TEXTS, LABELS = FOOD + TRAVEL, ("one",) * len(FOOD) + ("two",) * len(TRAVEL)
UNSEEN = UNSEEN_FOOD + UNSEEN_TRAVEL


EVERY = np.arange(len(TEXTS))


def prepared(texts: tuple[str, ...] = TEXTS, labels: tuple[str, ...] = LABELS) -> TrainingData:
    dataset = Dataset(texts, labels)
    return make_examples(dataset, dataset, copies=2, typo_rate=0.2, seed=0)


def fitter(data: TrainingData) -> PretrainedPart:
    pretrained = packaged_head("en")
    assert pretrained is not None
    return PretrainedPart(
        Plan(data, pretrained.head, 0, load_default_embedding().weights, FitSettings(), pretrained=pretrained)
    )


def usual(texts: tuple[str, ...] = TEXTS, labels: tuple[str, ...] = LABELS, **options: Any) -> Outcome:
    """Train with the embedding and the table of meaning of the package, unless others are asked for."""
    return train(Dataset(texts, labels), **{"embedding": "default", "meaning": "auto", **options})


def network_logits(model: Any, texts: tuple[str, ...]) -> Any:
    """The logits of the network of a trained model, but for a number that all labels share."""
    weights = {name: value for name, value in model.weights.items() if not name.startswith(("ngrams/", "meaning/"))}
    alone = dataclasses.replace(model, weights=weights, ngrams=None, meaning=None)
    rows = codepoint_rows(texts, alone.encoder.max_chars)
    found = np.log(classify(rows, alone, alone.weights, scan_lstm).probabilities.numpy())
    return found - found.mean(axis=1, keepdims=True)


@contextlib.contextmanager
def chosen(layers: str) -> Iterator[None]:
    """Let the held-out texts prefer that only the last layer is fitted, or all: the first and the second way that are tried."""
    ways, real = iter(("last", "all") * 2), stacking.mix_held_out

    def mix(*args: Any) -> Mix:
        return real(*args)._replace(loss=float(next(ways) != layers))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacking, "mix_held_out", mix)
        yield


@pytest.fixture(scope="module")
def trained() -> Outcome:
    with chosen("last"):
        return usual()


def test_it_knows_words_that_no_text_has() -> None:
    data = prepared(TEXTS + UNSEEN, LABELS + ("one",) * len(UNSEEN_FOOD) + ("two",) * len(UNSEEN_TRAVEL))
    found = fitter(data)
    found.fit(np.arange(len(TEXTS)))
    travel = np.diff(found.logits(0.0, np.arange(len(TEXTS), len(data.clean))), axis=1)[:, 0]
    assert roc_auc_score([0] * len(UNSEEN_FOOD) + [1] * len(UNSEEN_TRAVEL), travel) >= 0.9


def assert_only_the_last_layer_was_fitted(trained: Outcome) -> None:
    known, facts = packaged_head("en"), trained.model.training
    assert facts["pretrained_head"] == {"language": "en", "layers_fitted": "last"} and facts["epochs"] == 0
    assert known is not None and trained.model.head == known.head
    for name, value in known.weights.items():
        np.testing.assert_array_equal(trained.model.weights[name], value, name)


def test_the_last_layer_is_fitted_to_few_english_texts(trained: Outcome) -> None:
    assert_only_the_last_layer_was_fitted(trained)


def test_all_layers_are_where_held_out_texts_say_so() -> None:
    with chosen("all"):
        found = usual(settings=FitSettings(epochs=3, copies=2, batch_size=4)).model
    assert found.training["pretrained_head"]["layers_fitted"] == "all" and found.training["epochs"] == 3
    known = packaged_head("en")
    assert known is not None
    before, after = known.weights["head/word/kernel"], found.weights["head/word/kernel"]
    assert 0.8 < np.corrcoef(before.ravel(), after.ravel())[0, 1] < 1.0


@pytest.mark.parametrize("layers", ["last", "all"])
def test_validation_texts_of_ones_own_choose_as_well(layers: str) -> None:
    own = Dataset(UNSEEN, ("one",) * len(UNSEEN_FOOD) + ("two",) * len(UNSEEN_TRAVEL))
    with chosen(layers):
        found = usual(validation=own, settings=FitSettings(epochs=2, copies=2, batch_size=4)).model.training
    assert found["folds"] == 0 and found["pretrained_head"]["layers_fitted"] == layers


def test_the_model_computes_what_was_fitted(trained: Outcome) -> None:
    plan = trainer.make_plan(asked(Dataset(TEXTS, LABELS)))
    assert plan.pretrained is not None
    found = PretrainedPart(plan)
    found.fit(EVERY)
    ours = found.logits(0.0, EVERY) * trained.model.training["factors"]["network"]
    theirs = network_logits(trained.model, TEXTS)
    # The kernel is rounded to its grid before and after it is multiplied by the factor.
    np.testing.assert_allclose(theirs, ours - ours.mean(axis=1, keepdims=True), atol=0.02)
    assert np.abs(ours).max() > 0.3


def planned(
    texts: tuple[str, ...] = TEXTS, labels: tuple[str, ...] = LABELS, multi_label: bool = False, **given: Any
) -> Any:
    """Return what a training plans to start from."""
    request = asked(Dataset(texts, labels, multi_label=multi_label), **given)
    return trainer.make_plan(request, FitSettings(copies=1)).pretrained


def test_few_english_texts_start_from_it() -> None:
    assert planned().language == "en"


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 2},
        {"head": "bert"},
        {"head": "cnn"},
        {"ngram_kb": 0},
        {"head": "linear"},
        {"embedding": "raw"},
        {"meaning": "none"},
        {"max_kb": 430},
        {"multi_label": True},
    ],
    ids=str,
)
def test_who_asks_for_another_network_gets_one(options: dict[str, Any]) -> None:
    assert planned(**options) is None


def test_many_texts_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "FEW", 5)
    assert planned() is None


def test_texts_of_other_languages_do_without() -> None:
    german = (
        "Ich hätte gern eine Pizza",
        "Die Suppe braucht Salz",
        "Mein Flug war verspätet",
        "Der Zug fährt am Mittag",
    )
    assert planned(german, ("one", "one", "two", "two")) is None


def test_a_label_that_a_fold_lacks_gets_a_low_score() -> None:
    found = fitter(prepared((*TEXTS, "a single text"), (*LABELS, "~7")))
    found.fit(np.arange(len(TEXTS)))
    logits = found.logits(0.0, EVERY)
    assert logits.shape == (len(TEXTS), 3) and (logits[:, 2] < logits[:, :2].min(axis=1)).all()


def test_names_of_labels_that_mean_what_their_texts_do_are_learned_from() -> None:
    named = fitter(prepared(TEXTS, ("food",) * len(FOOD) + ("travel",) * len(TRAVEL)))
    plain = fitter(prepared(TEXTS, ("1",) * len(FOOD) + ("2",) * len(TRAVEL)))
    logits = []
    for each in (named, plain):
        each.fit(EVERY)
        logits.append(each.logits(0.0, EVERY))
    assert not np.allclose(*logits, atol=1e-3)


def test_texts_that_weigh_nothing_teach_nothing() -> None:
    data = prepared()
    wrong = np.where(np.arange(len(TEXTS)) < 2, 1 - data.examples.targets, data.examples.targets).astype(np.int32)
    weights = np.where(np.arange(len(TEXTS)) < 2, 0.0, 1.0).astype(np.float32)
    examples = dataclasses.replace(data.examples, targets=wrong, weights=weights)
    found = fitter(dataclasses.replace(data, examples=examples))
    found.fit(EVERY)
    assert found.logits(0.0, EVERY)[:2].argmax(axis=1).tolist() == [0, 0]
