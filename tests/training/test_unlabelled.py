"""Texts without labels: the sure ones are learned from, under the choices that the labelled texts made; and what data are warned of."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fitted import train
from tiny_data import WORDS, tiny_dataset

from retvec_lite.classifier import Classifier
from retvec_lite.data.dataset import Dataset
from retvec_lite.training import trainer
from retvec_lite.training.trainer import Trained, label_texts

MORE = tiny_dataset(30, seed=5)


@pytest.fixture(scope="module")
def taught() -> Trained:
    return train(tiny_dataset(3), head="linear", max_words=8, unlabelled=MORE.texts, seed=1)


@pytest.fixture(scope="module")
def alone() -> Trained:
    return train(tiny_dataset(3), head="linear", max_words=8, seed=1)


def accuracy(trained: Trained) -> float:
    test = tiny_dataset(30, seed=9)
    best = Classifier(trained.model).probabilities(list(test.texts)).argmax(axis=1)
    return float(
        np.mean([trained.model.labels[place] == label for place, label in zip(best, test.labels, strict=True)])
    )


def test_unlabelled_texts_help(taught: Trained, alone: Trained) -> None:
    assert 0 < taught.model.training["unlabelled_texts"] <= len(MORE)
    assert taught.model.training["factors"] == alone.model.training["factors"]
    assert taught.model.training["validation"] == alone.model.training["validation"], "that of the labelled texts"
    assert not np.array_equal(taught.model.weights["ngrams/table"], alone.model.weights["ngrams/table"])
    assert accuracy(taught) >= accuracy(alone)


def test_only_sure_texts_are_labelled(monkeypatch: pytest.MonkeyPatch, alone: Trained) -> None:
    def predictor(model: Any) -> Any:
        table: npt.NDArray[np.float32] = np.array([[0.6, 0.2, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1], [0.0, 0.0, 0.5, 0.5]])
        return lambda texts: table

    monkeypatch.setattr(trainer, "predictor", predictor)
    known = tiny_dataset(1)
    found = label_texts(alone.model, ["one", "two", "three"], known)
    assert found.texts == (*known.texts, "one", "three")
    assert found.labels == (*known.labels, sorted(WORDS)[0], sorted(WORDS)[2])


def test_long_texts_are_labelled_by_all_of_their_windows(monkeypatch: pytest.MonkeyPatch, alone: Trained) -> None:
    def predictor(model: Any) -> Any:
        unsure, sure = [0.3, 0.3, 0.2, 0.2], [0.0, 0.0, 1.0, 0.0]
        return lambda texts: np.array([sure if "news" in text else unsure for text in texts], np.float32)

    monkeypatch.setattr(trainer, "predictor", predictor)
    long = "hi " * alone.model.encoder.max_chars + "news"
    found = label_texts(alone.model, ["hi", long], tiny_dataset(1))
    assert (found.texts[-1], found.labels[-1]) == (long, sorted(WORDS)[2]) and "hi" not in found.texts


def test_the_report_says_what_is_wrong_with_the_data() -> None:
    data = tiny_dataset(3)
    twice = Dataset((*data.texts, data.texts[0]), (*data.labels, "new"), data.path)
    trained = train(Dataset((*twice.texts, "x"), (*twice.labels, "new"), data.path), head="linear", max_words=8)
    several, few = trained.model.training["warnings"]
    assert several.startswith("1 text has several labels") and few.startswith("5 labels have fewer than 5 texts")
    printed = str(Classifier(trained.model, trained.validation))
    assert "Check your data:" in printed
