"""What one label a text and several change in a training: targets, losses and their gradients, scores and their errors."""

import numpy as np
import pytest
import tensorflow as tf
from ngram_counts import count_ngrams
from scipy.optimize import approx_fprime
from scipy.special import expit
from tiny_data import QUICK, WORDS, tiny_dataset

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset, as_dataset
from retvec_lite.data.typos import Way
from retvec_lite.model.heads import PoolHead
from retvec_lite.ngrams import NgramConfig
from retvec_lite.training.examples import make_examples
from retvec_lite.training.label_scheme import ONE_LABEL, SEVERAL_LABELS, LabelScheme, best_micro_f1
from retvec_lite.training.linear_features import Features
from retvec_lite.training.linear_model import fit_linear
from retvec_lite.training.network_part import NetworkPart
from retvec_lite.training.plan import LINEAR, NETWORK, Plan
from retvec_lite.training.stacking import fit_mix

TEXTS, CLASSES = 40, 5
RNG = np.random.default_rng(0)
LOGITS: Floats = RNG.normal(0.0, 2.0, (TEXTS, CLASSES)).astype(np.float32)
TARGETS: dict[str, Ints] = {
    "one": RNG.integers(0, CLASSES, TEXTS).astype(np.int32),
    "several": (RNG.random((TEXTS, CLASSES)) < 0.3).astype(np.int32),
}
SCHEMES: dict[str, LabelScheme] = {"one": ONE_LABEL, "several": SEVERAL_LABELS}


def doubled() -> Dataset:
    """Texts of two labels, of one, and of none."""
    single = tiny_dataset(20)
    texts = [*single.texts, *(f"{one} {WORDS['music'][0]}" for one in single.texts[:30]), "please now the a"] * 2
    sets = [[label] for label in single.labels] + [[label, "music"] for label in single.labels[:30]] + [[]]
    return as_dataset(texts, sets * 2, multi_label=True)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_gradient_of_the_likelihood_is_that_of_its_value(name: str) -> None:
    scheme, targets = SCHEMES[name], TARGETS[name]

    def value(flat: Floats) -> float:
        return scheme.likelihood(flat.reshape(TEXTS, CLASSES), targets)[0]

    exact = LOGITS.astype(np.float64)
    slope = scheme.likelihood(exact, targets)[1]
    assert slope.reshape(-1) == pytest.approx(approx_fprime(exact.reshape(-1), value), abs=1e-6)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_loss_without_smoothing_is_the_likelihood(name: str) -> None:
    scheme, targets = SCHEMES[name], TARGETS[name]
    losses = scheme.losses(tf.constant(LOGITS), tf.constant(targets), tf.ones(CLASSES), 0.0).numpy()
    assert losses.shape == (TEXTS,)
    assert losses.mean() == pytest.approx(scheme.likelihood(LOGITS.astype(np.float64), targets)[0], rel=1e-5)


def test_smoothing_takes_the_same_share_from_every_right_label() -> None:
    scheme, wanted = SEVERAL_LABELS, tf.constant([[1, 1, 0, 0]])
    logits = tf.Variable([[1e-4, 1e-4, 1e-4, 1e-4]])  # at 0 itself the formula has a kink
    with tf.GradientTape() as tape:
        loss = scheme.losses(logits, wanted, tf.ones(4), 0.1)
    # The gradient at 0 is .5 - target: the targets sum to two labels, as before.
    targets = 0.5 - tape.gradient(loss, logits).numpy()[0]
    assert targets == pytest.approx([0.95, 0.95, 0.05, 0.05], abs=1e-3)


def test_probabilities_of_several_labels_do_not_compete() -> None:
    assert ONE_LABEL.probabilities(LOGITS).sum(axis=1) == pytest.approx(np.ones(TEXTS), abs=1e-5)
    assert SEVERAL_LABELS.probabilities(LOGITS) == pytest.approx(expit(LOGITS))


def test_targets_follow_the_order_of_the_labels() -> None:
    several = as_dataset(["x", "y", "z"], [["b", "c"], [], ["a"]], multi_label=True)
    assert SEVERAL_LABELS.targets(several, ("a", "b", "c")).tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    one = as_dataset(["x", "y"], ["b", "a"])
    assert ONE_LABEL.targets(one, ("a", "b")).tolist() == [1, 0]


def test_the_best_micro_f1_is_that_of_the_best_threshold() -> None:
    targets = TARGETS["several"] > 0
    every = [
        2 * (found & targets).sum() / (found.sum() + targets.sum())
        for found in (LOGITS >= limit for limit in LOGITS.reshape(-1))
    ]
    score, limit = best_micro_f1(LOGITS, TARGETS["several"])
    assert score == pytest.approx(max(every))
    found = limit <= LOGITS
    assert 2 * (found & targets).sum() / (found.sum() + targets.sum()) == pytest.approx(score)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_error_falls_with_the_root_of_the_texts(name: str) -> None:
    scheme = SCHEMES[name]
    few = scheme.error(LOGITS, TARGETS[name])
    many = scheme.error(np.tile(LOGITS, (16, 1)), np.concatenate([TARGETS[name]] * 16))
    assert 0.0 < many < few and few / many == pytest.approx(4.0, rel=0.3)


@pytest.mark.parametrize("name", SCHEMES)
def test_texts_that_are_all_right_do_not_prove_perfection(name: str) -> None:
    scheme, targets = SCHEMES[name], TARGETS[name]
    right = np.eye(CLASSES)[targets] if scheme.rank == 1 else targets
    logits = (20.0 * right - 10.0).astype(np.float32)
    assert scheme.score(logits, targets) == 1.0 and 0.5 / len(targets) < scheme.error(logits, targets) < 2 / len(
        targets
    )


def test_the_starting_bias_is_the_frequency_of_each_label() -> None:
    targets = np.zeros((98, 2), np.int32)
    targets[:48, 0] = 1
    assert expit(SEVERAL_LABELS.starting_bias(targets, 2)) == pytest.approx([0.49, 0.01])
    assert not ONE_LABEL.starting_bias(TARGETS["one"], CLASSES).any()


def test_factors_and_shift_are_found_again() -> None:
    one, other = RNG.normal(0.0, 1.0, (2, 20_000, 3)).astype(np.float32)
    truth = (RNG.random(one.shape) < expit(2.0 * one + 0.5 * other - 1.5)).astype(np.int32)
    mix = fit_mix({LINEAR: one, NETWORK: other}, truth, SEVERAL_LABELS, len(truth))
    assert tuple(mix.factors.values()) == pytest.approx((2.0, 0.5), abs=0.08) and mix.shift == pytest.approx(
        -1.5, abs=0.08
    )


def test_the_linear_part_learns_each_label_against_the_rest() -> None:
    data = doubled()
    config = NgramConfig(buckets=512)
    encoder = make_examples(data, data, variants=1, typo_rate=0.0, seed=0).config
    features = Features(count_ngrams(data.texts, encoder, config))
    targets = SEVERAL_LABELS.targets(data, data.classes)
    # A label without a text and one that every text has need no solver.
    padded = np.concatenate([targets, np.zeros_like(targets[:, :1]), np.ones_like(targets[:, :1])], axis=1)
    scores = fit_linear(features, padded, padded.shape[1], seed=0).scores(features)
    assert best_micro_f1(scores[:, :-2], targets)[0] > 0.97
    assert (scores[:, -2] < 0).all() and (scores[:, -1] > 0).all()


def test_a_network_learns_several_labels() -> None:
    data = doubled()
    prepared = make_examples(data, data, variants=2, typo_rate=0.2, seed=0)
    network = NetworkPart(Plan(prepared, PoolHead(), 0, {}, QUICK))
    best = network.fit(np.arange(len(prepared.clean)))
    logits = network.logits(Way.CLEAN, np.arange(len(prepared.held_out.truth)))
    assert prepared.scheme.score(logits, prepared.held_out.truth) > 0.95
    assert [epoch["score"] for epoch in best.history][-1] > best.history[0]["score"]
