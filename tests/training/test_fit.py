"""Training itself: it learns, it repeats itself to the bit, it stops early, and it gives the best epoch back."""

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from modeling_cases import SMALL_HEADS, random_embedding
from tiny_data import QUICK, WORDS, tiny_dataset

from retvec_lite.contract import BITS, EncoderConfig
from retvec_lite.converters.tflite.quantize import to_grid
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HeadSpec, PoolHead
from retvec_lite.training import fit as fit_module
from retvec_lite.training.batches import Batch
from retvec_lite.training.fit import VALIDATION_RATES, FitResult, fit
from retvec_lite.training.network import Network, class_weights, cosine_schedule
from retvec_lite.training.settings import FitSettings

CONFIG = EncoderConfig(max_chars=64, max_words=8)
LABELS = tuple(sorted(WORDS))
EMBEDDING = random_embedding(dimension=64)


def run(head: HeadSpec = SMALL_HEADS[0], **changes: Any) -> FitResult:
    arguments: dict[str, Any] = {"embedding": EMBEDDING.weights, "fine_tune": False, "settings": QUICK, **changes}
    training, validation = tiny_dataset(), tiny_dataset(10, seed=1)
    return fit(training, validation, LABELS, CONFIG, head, **arguments)


def accuracy(result: FitResult, rate: float = 0.0) -> float:
    truth = [LABELS.index(label) for label in tiny_dataset(10, seed=1).labels]
    return float((result.validation_logits[rate].argmax(axis=1) == truth).mean())


def same(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


Progress = dict[str, list[tuple[int, int]]]


@pytest.fixture(scope="module")
def progress() -> Progress:
    """What the run of `frozen` reported."""
    return {}


@pytest.fixture(scope="module")
def frozen(progress: Progress) -> FitResult:
    return run(report=lambda what, done, total: progress.setdefault(what, []).append((done, total)))


# --- weights of the classes, learning rate ----------------------------------------------------------------------------


def test_rare_classes_weigh_more_by_the_root() -> None:
    labels = np.array([0] * 90 + [1] * 10, np.int32)
    weights = class_weights(labels, 3)
    assert weights.dtype == np.float32 and np.isfinite(weights).all()
    assert weights[1] / weights[0] == pytest.approx(3.0)
    assert weights[labels].mean() == pytest.approx(1.0)


def test_the_schedule_warms_up_and_comes_down() -> None:
    rate = cosine_schedule(0.1, 100, 10)(0.5)
    found = [float(rate(step)) for step in (0, 5, 10, 55, 100, 200)]
    np.testing.assert_allclose(found, [0.0, 0.025, 0.05, 0.05 * 0.51, 0.05 * 0.02, 0.05 * 0.02], rtol=1e-4, atol=1e-9)


# --- training ---------------------------------------------------------------------------------------------------------


def test_it_learns(frozen: FitResult) -> None:
    assert accuracy(frozen) > 0.9
    assert set(frozen.validation_logits) == set(VALIDATION_RATES)
    assert frozen.history[-1]["loss"] < frozen.history[0]["loss"]
    assert [entry["epoch"] for entry in frozen.history] == list(range(1, len(frozen.history) + 1))


def test_a_frozen_embedding_comes_back_as_it_was(frozen: FitResult) -> None:
    embedding = {name: value for name, value in frozen.weights.items() if name.startswith("embedding/")}
    assert same(embedding, EMBEDDING.weights)
    head = {name: value.shape for name, value in frozen.weights.items() if name.startswith("head/")}
    assert head == SMALL_HEADS[0].shapes(EMBEDDING.dimension, len(LABELS), CONFIG.max_words)


def test_the_same_seed_gives_the_same_bits(frozen: FitResult) -> None:
    again = run()
    assert same(again.weights, frozen.weights) and again.history == frozen.history
    assert all(
        np.array_equal(again.validation_logits[rate], frozen.validation_logits[rate]) for rate in VALIDATION_RATES
    )


@pytest.mark.slow
@pytest.mark.parametrize("head", SMALL_HEADS[1:], ids=lambda head: head.name)
def test_every_head_learns(head: HeadSpec) -> None:
    settings = FitSettings(**{**vars(QUICK), "epochs": 30, "patience": 30})
    assert accuracy(run(head, settings=settings)) > 0.9


def test_fine_tuning_changes_the_embedding() -> None:
    result = run(fine_tune=True)
    assert accuracy(result) > 0.9
    for name, value in EMBEDDING.weights.items():
        assert result.weights[name].shape == value.shape and not np.array_equal(result.weights[name], value), name


def test_fine_tuning_learns_character_features_when_asked_to() -> None:
    """They find the classes by themselves: the embedding under them is all zeros."""
    nothing = {name: np.zeros_like(value) for name, value in EMBEDDING.weights.items()}
    settings = dataclasses.replace(QUICK, character_filters=16, embedding_rate=0.0)
    result = run(embedding=nothing, fine_tune=True, settings=settings)
    assert result.weights["characters/kernel"].shape == (3 * BITS, 16)
    assert result.weights["head/word/kernel"].shape[0] == EMBEDDING.dimension + 16
    assert accuracy(result) > 0.9


def test_raw_bits_of_imbalanced_classes_are_enough_to_find_them_all() -> None:
    counts = dict(zip(WORDS, (90, 20, 8, 4), strict=True))
    validation = tiny_dataset(10, seed=1)
    result = fit(
        tiny_dataset(counts=counts), validation, LABELS, CONFIG, PoolHead(hidden=24), {},
        fine_tune=False, settings=QUICK,
    )  # fmt: skip
    assert all(name.startswith("head/") for name in result.weights)
    guess = [LABELS[place] for place in result.validation_logits[0.0].argmax(axis=1)]
    for label in LABELS:
        recall = np.mean(
            [found == label for found, right in zip(guess, validation.labels, strict=True) if right == label]
        )
        assert recall > 0.5, f"{label}: {recall}"


@pytest.mark.parametrize(("scores", "best", "epochs"), [((0.5, 0.75, 0.25, 0.5, 1.0), 2, 4), ((0.25, 0.5, 0.75, 0.75, 0.5), 3, 5), ((0.5, 0.25, 0.25, 1.0), 1, 3)])  # fmt: skip
def test_training_stops_early_and_gives_the_best_epoch_back(
    monkeypatch: pytest.MonkeyPatch, scores: tuple[float, ...], best: int, epochs: int
) -> None:
    """A network that is right as often as the script says: patience 2, the first of equals counts."""
    truth = np.array([LABELS.index(label) for label in tiny_dataset(1, seed=1).labels])

    class Scripted:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.predictions = 0

        def train(self, batch: Any, labels: Any, count: int) -> float:
            return 1.0

        def logits(self, ids: Any, classes: int, batch_size: int) -> npt.NDArray[np.float32]:
            share = scores[min(self.predictions // len(VALIDATION_RATES), len(scores) - 1)]
            self.predictions += 1
            guess = np.where(np.arange(4) < share * 4, truth, (truth + 1) % 4)
            return np.eye(4, dtype=np.float32)[guess] * self.predictions

        def weights(self) -> dict[str, npt.NDArray[np.float32]]:
            return {"head/epoch": np.array([self.predictions / len(VALIDATION_RATES)], np.float32)}

        def load(self, weights: dict[str, npt.NDArray[np.float32]]) -> None:
            self.predictions = round((float(weights["head/epoch"][0]) - 1) * len(VALIDATION_RATES))

    monkeypatch.setattr(fit_module, "Network", Scripted)
    settings = FitSettings(**{**vars(QUICK), "epochs": 5, "patience": 2})
    result = fit(
        tiny_dataset(4), tiny_dataset(1, seed=1), LABELS, CONFIG, SMALL_HEADS[0], {}, fine_tune=False, settings=settings
    )
    assert result.best_epoch == best and len(result.history) == epochs
    assert result.weights["head/epoch"] == best
    assert result.validation_logits[0.0].max() == (best - 1) * len(VALIDATION_RATES) + 1
    assert [entry["score"] for entry in result.history] == list(scores[:epochs])


def test_a_loss_that_is_no_number_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([1.0, np.inf, 1.0, 1.0])

    class Broken:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        def train(self, batch: Any, labels: Any, count: int) -> float:
            return next(losses)

        def weights(self) -> dict[str, npt.NDArray[np.float32]]:
            return {}

    monkeypatch.setattr(fit_module, "Network", Broken)
    with pytest.raises(RetvecLiteError, match="to converge, received a loss of inf in epoch 1: "):
        fit(tiny_dataset(4), tiny_dataset(1), LABELS, CONFIG, SMALL_HEADS[0], {}, fine_tune=False, settings=QUICK)


def test_progress_is_reported_to_the_end(frozen: FitResult, progress: Progress) -> None:
    assert list(progress) == ["encoding texts", "embedding words", "training"]
    for what, steps in progress.items():
        done = [count for count, _ in steps]
        assert done == sorted(done)
        assert steps[-1][0] == steps[-1][1] or (what == "training" and len(frozen.history) < QUICK.epochs)


# --- the network ------------------------------------------------------------------------------------------------------


def test_earlier_weights_can_be_loaded_and_predict_alike() -> None:
    rng = np.random.default_rng(0)
    words = np.zeros((40, 16), np.int32)
    words[1:, 0] = range(0x61, 0x61 + 39)
    head = SMALL_HEADS[0]
    weights = head.initial_weights(rng, 5, 4, 8)
    vectors = rng.normal(size=(40, 5)).astype(np.float16)
    network = Network(
        head, weights, vectors, words, np.ones(4, np.float32), cosine_schedule(0.1, 10, 0),
        label_smoothing=0.1, dropout=0.5, embedding_rate=1.0, weight_decay=0.0, seed=2**31 - 1, levels=7,
    )  # fmt: skip
    ids = rng.integers(0, 40, (6, 8)).astype(np.int32)
    ids = np.take_along_axis(ids, np.argsort(ids == 0, axis=1, kind="stable"), axis=1)
    weights = network.weights()
    network.load(weights)
    before = network.logits(ids, 4, 4)
    assert same(network.weights(), weights), "what lies on its grid stays there"
    assert network.train(Batch(np.arange(6), ids), np.array([0, 1, 2, 3, 0, 1], np.int32), 1) > 0
    assert not np.allclose(network.logits(ids, 4, 4), before)
    network.load(weights)
    np.testing.assert_array_equal(network.logits(ids, 4, 4), before)
    np.testing.assert_allclose(network.logits(ids[::-1], 4, 4)[::-1], before, atol=1e-6)


def test_matrices_end_on_their_four_bit_grid(frozen: FitResult) -> None:
    """So that a float32, an int8 and an int4 file of one classifier are the same function."""
    matrices = {name: value for name, value in frozen.weights.items() if name.startswith("head/") and value.ndim == 2}
    assert matrices
    for name, value in matrices.items():
        for bits in (8, 4):
            integers, scales = to_grid(value.T, bits, 0)
            np.testing.assert_array_equal((integers * scales[:, None]).T, value, err_msg=f"{name} in {bits} bits")


def test_a_fine_tuned_classifier_ends_on_an_eight_bit_grid() -> None:
    settings = FitSettings(**{**vars(QUICK), "epochs": 2, "character_filters": 8})
    result = run(fine_tune=True, settings=settings)
    matrices = {name: value for name, value in result.weights.items() if name.endswith("/kernel")}
    assert {name.split("/")[0] for name in matrices} == {"embedding", "characters", "head"}
    for name, value in matrices.items():
        integers, scales = to_grid(value.T, 8, 0)
        np.testing.assert_array_equal((integers * scales[:, None]).T, value, err_msg=name)


def test_training_a_classifier_needs_nothing_of_the_pretrain_extra() -> None:
    code = (
        "import sys, retvec_lite.training.train, retvec_lite.training.train_report\n"
        "print([name for name in ('wordfreq', 'babel', 'confusable_homoglyphs', 'regex') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
