"""Heads on tables, with TensorFlow: trained, kept, converted, counted."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.data.sets import Corpus
from benchmarks.systems.vectorizers import TableSize, Whitespace
from retvec_lite.data.dataset import Dataset
from retvec_lite.training.plan import FitSettings

WORDS = {"food": ("bread", "cheese", "apple", "soup"), "play": ("music", "song", "radio", "guitar")}


def tiny_corpus() -> Corpus:
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(96):
        label = ("food", "play")[number % 2]
        texts.append(" ".join(rng.choice(["please", "now", *WORDS[label], *WORDS[label]], 6)))
        labels.append(label)
    data = Dataset(tuple(texts), tuple(labels), Path("tiny.csv"))
    return Corpus("tiny", data.select(range(64)), data.select(range(64, 80)), data.select(range(80, 96)))


SETTINGS = FitSettings(epochs=8, variants=2, batch_size=16, learning_rate=3e-3, dropout=0.1)
SIZE = TableSize(32, 8, lean=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", ["pool", "cnn"])
def test_a_table_learns_and_its_file_computes_what_was_trained(tmp_path: Path, head: str) -> None:
    from benchmarks.systems.table_network import TABLE, load_table_classifier, same_label_in_file, train_table

    corpus = tiny_corpus()
    vectorizer = Whitespace.learn(corpus.training.texts, SIZE)
    trained = train_table(corpus, vectorizer, head, SIZE.dimension, SETTINGS, lambda *_: None)
    found = trained.probabilities(corpus.test.texts)
    assert found.shape == (16, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    accuracy = np.mean(
        [trained.labels[row.argmax()] == label for row, label in zip(found, corpus.test.labels, strict=True)]
    )
    assert accuracy >= 0.9

    used = trained.save(tmp_path, "Whitespace")
    network, vocabulary = ((tmp_path / name).read_bytes() for name in ("network.tflite", "vocabulary"))
    assert used == len(network) + len(vocabulary)
    assert vocabulary == vectorizer.vocabulary()
    matrices = sum(value.size for name, value in trained.weights.items() if name.endswith("kernel") or name == TABLE)
    others = sum(value.size for value in trained.weights.values()) - matrices
    assert matrices <= len(network) <= matrices + 4 * others + 50_000  # a byte each or four, and the graph
    assert trained.parameters == sum(value.size for value in trained.weights.values())

    again = load_table_classifier(tmp_path)
    np.testing.assert_array_equal(again.probabilities(corpus.test.texts), found)
    for count in (1, 3):  # graphs of other sizes
        np.testing.assert_allclose(again.probabilities(corpus.test.texts[:count]), found[:count], atol=1e-5)
    assert same_label_in_file(again, tmp_path, corpus.test.texts) == 1.0
