"""Training itself: it learns, it stops early, it gives the best epoch back, and its weights are on their grid."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fitted import Fitted, fit_held_out
from modeling_cases import SMALL_HEADS, random_embedding
from tiny_data import QUICK, TINY_CONFIG, WORDS, tiny_dataset

from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.grid import to_grid
from retvec_lite.model.heads import HeadSpec, LinearHead, PoolHead
from retvec_lite.training import network_part
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.label_scheme import ONE_LABEL

EMBEDDING = random_embedding(dimension=64)


def accuracy(data: TrainingData, result: Fitted) -> float:
    return float((result.held_out[Way.CLEAN].argmax(axis=1) == data.held_out.truth).mean())


def same(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


# --- training ---------------------------------------------------------------------------------------------------------


def test_it_learns(tiny_training_data: TrainingData, frozen: Fitted) -> None:
    assert accuracy(tiny_training_data, frozen) > 0.9
    assert set(frozen.held_out) == {*Way} - {Way.TRANSLATED}
    assert frozen.history[-1]["loss"] < frozen.history[0]["loss"]
    assert [entry["epoch"] for entry in frozen.history] == list(range(1, len(frozen.history) + 1))


def test_a_frozen_embedding_comes_back_as_it_was(tiny_training_data: TrainingData, frozen: Fitted) -> None:
    embedding = {name: value for name, value in frozen.weights.items() if name.startswith("embedding/")}
    assert same(embedding, EMBEDDING.weights)
    head = {name: value.shape for name, value in frozen.weights.items() if name.startswith("head/")}
    assert head == PoolHead().shapes(EMBEDDING.dimension, len(tiny_training_data.labels), 8)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "head", [head for head in SMALL_HEADS[1:] if head.name != LinearHead.name], ids=lambda head: head.name
)
def test_every_head_learns(tiny_training_data: TrainingData, head: HeadSpec) -> None:
    settings = dataclasses.replace(QUICK, epochs=30, patience=30)
    result = fit_held_out(tiny_training_data, head, EMBEDDING.weights, settings)
    assert accuracy(tiny_training_data, result) > 0.9


def test_raw_bits_of_imbalanced_classes_are_enough_to_find_them_all() -> None:
    counts = dict(zip(WORDS, (90, 20, 8, 4), strict=True))
    validation = tiny_dataset(10, seed=1)
    data = make_examples(tiny_dataset(counts=counts), validation, variants=2, typo_rate=0.2, seed=3, config=TINY_CONFIG)
    result = fit_held_out(data, PoolHead(hidden=24), {}, QUICK)
    assert all(name.startswith("head/") for name in result.weights)
    guess = result.held_out[Way.CLEAN].argmax(axis=1)
    for place, label in enumerate(data.labels):
        recall = np.mean(guess[data.held_out.truth == place] == place)
        assert recall > 0.5, f"{label}: {recall}"


def test_matrices_end_on_their_four_bit_grid(frozen: Fitted) -> None:
    """So that a float32, an int8 and an int4 file of one classifier are the same function."""
    matrices = {name: value for name, value in frozen.weights.items() if name.startswith("head/") and value.ndim == 2}
    assert matrices
    for name, value in matrices.items():
        for bits in (8, 4):
            integers, scales = to_grid(value.T, bits, 0)
            np.testing.assert_array_equal((integers * scales[:, None]).T, value, err_msg=f"{name} in {bits} bits")


# --- epochs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few_texts() -> TrainingData:
    return make_examples(
        tiny_dataset(4), tiny_dataset(1, seed=1), variants=2, typo_rate=0.2, seed=3, config=TINY_CONFIG
    )


@pytest.mark.parametrize(("scores", "best", "epochs"), [((0.5, 0.75, 0.25, 0.5, 1.0), 2, 4), ((0.25, 0.5, 0.75, 0.75, 0.5), 3, 5), ((0.5, 0.25, 0.25, 1.0), 1, 3)])  # fmt: skip
def test_training_stops_early_and_gives_the_epoch_back(
    monkeypatch: pytest.MonkeyPatch, few_texts: TrainingData, scores: tuple[float, ...], best: int, epochs: int
) -> None:
    """A network that is right as often as the script says: patience 2, the first of equals counts."""
    truth = few_texts.held_out.truth

    class Scripted:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.predictions = 0

        def train(self, batch: Any, labels: Any, count: int, weights: Any = None) -> float:
            return 1.0

        scheme = ONE_LABEL

        def logits(self, ids: Any, classes: int, batch_size: int) -> npt.NDArray[np.float32]:
            share = scores[min(self.predictions // len(few_texts.held_out.ids), len(scores) - 1)]
            ways = len(ids) // len(truth)
            self.predictions += ways
            guess = np.where(np.arange(4) < share * 4, truth, (truth + 1) % 4)
            return np.eye(4, dtype=np.float32)[np.tile(guess, ways)] * self.predictions

        def weights(self) -> dict[str, npt.NDArray[np.float32]]:
            return {"head/epoch": np.array([self.predictions / len(few_texts.held_out.ids)], np.float32)}

        def load(self, weights: dict[str, npt.NDArray[np.float32]]) -> None:
            self.predictions = round((float(weights["head/epoch"][0]) - 1) * len(few_texts.held_out.ids))

    monkeypatch.setattr(network_part, "TrainableNetwork", Scripted)
    settings = dataclasses.replace(QUICK, epochs=5, patience=2)
    result = fit_held_out(few_texts, SMALL_HEADS[0], {}, settings)
    assert result.epoch == best and len(result.history) == epochs
    assert result.weights["head/epoch"] == best
    assert result.held_out[Way.CLEAN].max() == (best - 1) * len(few_texts.held_out.ids) + 1
    assert [entry["score"] for entry in result.history] == list(scores[:epochs])


def test_a_loss_that_is_no_number_ends_training(monkeypatch: pytest.MonkeyPatch, few_texts: TrainingData) -> None:
    losses = iter([1.0, np.inf, 1.0, 1.0])

    class Broken:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        def train(self, batch: Any, labels: Any, count: int, weights: Any = None) -> float:
            return next(losses)

        def weights(self) -> dict[str, npt.NDArray[np.float32]]:
            return {}

    monkeypatch.setattr(network_part, "TrainableNetwork", Broken)
    with pytest.raises(RetvecLiteError, match=r"broke down in epoch 1 \(loss inf\)"):
        fit_held_out(few_texts, SMALL_HEADS[0], {}, QUICK)
