"""The sentence network in a training: what it says of texts, who starts from it, and that files compute what the training measured."""

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from fitted import asked, train
from light import loaded_after, run_python
from modeling_cases import random_embedding
from sklearn.metrics import roc_auc_score
from tiny_data import FILLERS, WORDS

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Floats, bits
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import Way
from retvec_lite.evaluating import evaluate
from retvec_lite.model import reference_network
from retvec_lite.model.reference_network import Reference, embed, head_logits
from retvec_lite.model.sentence_network import packaged_sentences
from retvec_lite.trained import TrainedClassifier
from retvec_lite.training import network_part, plan, sentences
from retvec_lite.training import train as trainer
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.plan import FitSettings, Plan
from retvec_lite.training.reading import TextReader
from retvec_lite.training.sentences import SentenceReader, embed_words
from retvec_lite.training.train import Trained


def test_word_vectors_are_the_reference_s(monkeypatch: pytest.MonkeyPatch, tiny_training_data: TrainingData) -> None:
    monkeypatch.setattr(sentences, "WORDS_AT_ONCE", 8)
    words = tiny_training_data.words[:30]
    seen: list[int] = []
    weights = random_embedding().weights
    vectors = embed_words(words, weights, lambda what, done, total: seen.append(done))
    assert vectors.dtype == np.float16 and len(vectors) == 30 and seen == [8, 16, 24, 30]
    assert not vectors[0].any()
    expected = reference_network.embed(contract.bits(words), weights)
    np.testing.assert_allclose(vectors[1:], expected[1:], atol=6e-4)  # float16 below 1: half a step is 2.4e-4
    np.testing.assert_array_equal(embed_words(words, {}), contract.bits(words))


def test_gelu_is_that_of_the_reference_at_any_size() -> None:
    values = np.concatenate([np.linspace(-9, 9, 3600), [0, 1e-30, 1e30, -1e30]]).astype(np.float32).reshape(901, 4)
    np.testing.assert_allclose(sentences.gelu(values), reference_network.gelu(values), rtol=1e-6, atol=1e-6)


TRAININGS = """
import gc, sys
import retvec_lite as rl

texts = [f"{word} number {row} please" for word in ("alarm", "music", "parcel") for row in range(8)]
labels = [text.split()[0] for text in texts]
held = []
for _ in range(5):
    rl.train(texts, labels, head="linear", meaning="none")
    gc.collect()
    with open("/proc/self/statm") as file:
        held.append(int(file.read().split()[1]) * 4096)
print(held[-1] - held[1], "tensorflow" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory a process holds in /proc")
def test_trainings_of_the_linear_head_leave_nothing_behind_and_need_no_tensorflow() -> None:
    """Each graph that TensorFlow compiles stays: 11 MB a training once."""
    done = run_python(TRAININGS)
    assert done.returncode == 0, done.stderr
    grown, loaded = done.stdout.split()
    assert int(grown) < 15_000_000 and loaded == "False"


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
DATA = Dataset(FOOD + TRAVEL, ("food",) * len(FOOD) + ("travel",) * len(TRAVEL))
UNSEEN = Dataset(UNSEEN_FOOD + UNSEEN_TRAVEL, ("food",) * len(UNSEEN_FOOD) + ("travel",) * len(UNSEEN_TRAVEL))


# --- what it says -----------------------------------------------------------------------------------------------------


def generated_texts() -> list[str]:
    """Texts of every number of words that fits and of more, in many scripts, among empty ones."""
    rng, words = (
        np.random.default_rng(4),
        [*FILLERS, *(word for group in WORDS.values() for word in group), "🙂", "x" * 40],
    )
    texts = [" ".join(rng.choice(words, count)) for count in range(12) for _ in range(3)]
    return ["", " ", "\n", *texts, "wake", *[""] * 5]


@pytest.mark.parametrize("at_once", [3, 4096], ids=["in parts", "together"])
def test_it_says_what_the_reference_does(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(sentences, "WORDS_AT_ONCE", at_once)
    monkeypatch.setattr(sentences, "_TEXTS_AT_ONCE", at_once)
    network, texts = packaged_sentences(), generated_texts()
    reader = TextReader(texts, EncoderConfig(max_chars=64, max_words=8))
    ids, told = reader.word_ids(texts), []
    assert (ids > 0).sum(axis=1).tolist().count(0) >= 8 and (ids > 0).all(axis=1).any()
    head = dataclasses.replace(network.head, vector=16)
    read = SentenceReader(network, head, reader.words, ids[:9], lambda *step: told.append(step))
    found = read.vectors(ids)
    weights = {**network.weights, **read.weights, "head/logits/kernel": np.eye(16), "head/logits/bias": np.zeros(16)}
    words = embed(bits(reader.words), weights)
    expected = np.stack([head_logits(words[row], row > 0, head, weights) for row in ids])
    assert found.dtype == np.float32 and np.abs(expected).max() > 0.5
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
    assert {what for what, _, _ in told} == {"embedding words"} and told[-1][1:] == (len(reader.words),) * 2


def test_no_texts_have_no_vectors() -> None:
    reader = TextReader(["wake me"], EncoderConfig())
    network, ids = packaged_sentences(), reader.word_ids(["wake me"])
    head = dataclasses.replace(network.head, vector=8)
    found = SentenceReader(network, head, reader.words, ids).vectors(ids[:0])
    assert found.shape == (0, 8)


# --- few texts --------------------------------------------------------------------------------------------------------


def usual(data: Dataset = DATA, validation: Dataset | None = None, **options: Any) -> Trained:
    """Train with the embedding of the package, unless another one is asked for."""
    return train(data, validation, **{"embedding": "default", **options})


@pytest.fixture(scope="module")
def measured() -> dict[Way, Floats]:
    """What the training of `trained` measured: the logits of its validation texts by way of writing."""
    return {}


@pytest.fixture(scope="module")
def trained(measured: dict[Way, Floats]) -> Trained:
    plain = trainer.decide

    def decide(logits: Mapping[Way, Floats], *others: Any) -> Any:
        measured.update(logits)
        return plain(logits, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "decide", decide)
        patch.setattr(network_part, "NetworkPart", lambda *_: pytest.fail("no network may be trained"))
        return usual(validation=UNSEEN)


def test_few_texts_train_no_network(trained: Trained) -> None:
    model, known = trained.model, packaged_sentences()
    facts = model.training
    assert facts["sentences"] and facts["epochs"] == facts["best_epoch"] == 0 and set(facts["factors"]) == {"linear"}
    assert model.head == dataclasses.replace(known.head, vector=64) and model.embedding == {
        "name": "sentences",
        "card": known.card,
    }
    for name, value in known.weights.items():
        np.testing.assert_array_equal(model.weights[name], value, name)
    told = str(TrainedClassifier(model))
    assert "\nNext: " in told and "epochs" not in told


def test_it_knows_words_that_no_text_has(trained: Trained) -> None:
    travel = TrainedClassifier(trained.model).probabilities(UNSEEN.texts)[:, 1]
    assert roc_auc_score([label == "travel" for label in UNSEEN.labels], travel) >= 0.8


def test_answers_are_those_that_the_training_measured(trained: Trained, measured: dict[Way, Floats]) -> None:
    """But for rounding: the last layer is multiplied with that of the sentence network, and lies on a grid of 8 bits."""
    expected = measured[Way.CLEAN] - measured[Way.CLEAN].mean(axis=1, keepdims=True)
    assert np.abs(expected).max() > 0.5
    reference, engine = Reference(trained.model), TrainedClassifier(trained.model)
    for answers in (reference.probabilities, engine.probabilities):
        logits = np.log(answers(list(UNSEEN.texts)))
        np.testing.assert_allclose(logits - logits.mean(axis=1, keepdims=True), expected, atol=0.05)
    assert trained.held_out.validation[0.0].accuracy == evaluate(engine, UNSEEN, typos=()).accuracy


def test_few_texts_load_no_tensorflow() -> None:
    code = f"""
import retvec_lite as rl
classifier = rl.train({list(DATA.texts)!r}, {list(DATA.labels)!r}, meaning="none")
assert classifier.predict("Fresh tomatoes and cheese", top=1)[0].label == "food"
"""
    assert not {"tensorflow", "keras", "ai_edge_litert"} & set(loaded_after(code))


# --- who starts from it -----------------------------------------------------------------------------------------------


def planned(data: Dataset = DATA, **options: Any) -> Plan:
    return trainer.make_plan(asked(data, meaning="none", **options))[0]


def test_texts_start_from_it_unless_another_network_is_asked_for() -> None:
    found = planned()
    assert found.sentences is packaged_sentences()
    assert found.head == dataclasses.replace(found.sentences.head, vector=64)
    assert planned(max_kb=2_000).sentences


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 2},
        {"head": "pool"},
        {"head": "cnn"},
        {"head": "linear"},
        {"embedding": "raw"},
        {"ngram_kb": 0},
        {"max_kb": 430},
    ],
    ids=str,
)
def test_who_asks_for_another_network_gets_one(options: dict[str, Any]) -> None:
    found, without = planned(**options), packaged_sentences()
    assert found.sentences is None
    assert found.head != without.head
    assert not any(np.array_equal(value, without.weights[name]) for name, value in found.embedding.items())


def test_texts_with_several_labels_train_their_own() -> None:
    several = Dataset(DATA.texts, ("food|late", *DATA.labels[1:-1], "late"), multi_label=True)
    assert planned(several).sentences is None


def test_more_texts_are_read_with_mistyped_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for texts in (2 * len(DATA), len(DATA), len(DATA) // 2, 1):
        monkeypatch.setattr(plan, "_TEXTS_A_VARIANT", texts)
        found.append(planned().settings.linear_variants)
    assert found == [0, 1, 2, FitSettings.linear_variants]
    assert planned(ngram_kb=0).settings.variants == FitSettings.variants, "a network reads as many as ever"
