"""The oracle's heads against sums worked out by hand, and against the properties that define them."""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from modeling_cases import SMALL_HEADS, random_classifier, random_head

from retvec_lite.heads import BertHead, CnnHead, HeadSpec, PoolHead, RnnHead
from retvec_lite.reference import codepoints, words
from retvec_lite.reference_heads import head_logits, probabilities

PHI = NormalDist().cdf
Weights = dict[str, npt.NDArray[np.float32]]

each_head = pytest.mark.parametrize("head", SMALL_HEADS, ids=lambda head: head.name)


def gelu(value: float) -> float:
    return value * PHI(value)


def sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def ones(head: HeadSpec, inputs: int, max_words: int) -> Weights:
    """All weights 1, all biases 0, two classes: the mean alone and the maximum alone."""
    weights = {
        name: np.full(shape, 0.0 if name.endswith("/bias") else 1.0, np.float32)
        for name, shape in head.shapes(inputs, 2, max_words).items()
    }
    half = weights["head/logits/kernel"].shape[0] // 2
    weights["head/logits/kernel"] = np.repeat(np.eye(2, dtype=np.float32), half, axis=0)
    return weights


def test_pool_is_the_mean_and_maximum_of_one_dense_layer() -> None:
    embeddings = np.array([[1.0], [-2.0], [9.0]], np.float32)
    logits = head_logits(embeddings, np.array([True, True, False]), PoolHead(hidden=1), ones(PoolHead(hidden=1), 1, 3))
    np.testing.assert_allclose(logits, [(gelu(1.0) + gelu(-2.0)) / 2, gelu(1.0)], rtol=1e-6)


def test_cnn_looks_at_neighbours_then_halves() -> None:
    head = CnnHead(filters=1, blocks=2)
    weights = ones(head, 1, 4)
    for block in range(2):
        weights[f"head/block_{block}/depthwise"] = np.array([[0.0], [1.0], [0.5]], np.float32)
    logits = head_logits(np.array([[1.0], [2.0], [3.0], [7.0]], np.float32), np.array([True] * 3 + [False]), head, weights)
    first = [gelu(1.0 + 2.0), gelu(1.0 + 2.0 + 3.0), gelu(2.0 + 3.0), 0.0]
    second = [here + gelu(here + 0.5 * behind) for here, behind in zip(first[:3], first[1:], strict=True)]
    halved = [max(second[:2]), second[2]]
    third = [halved[0] + gelu(halved[0] + 0.5 * halved[1]), halved[1] + gelu(halved[1])]
    np.testing.assert_allclose(logits, [sum(third) / 2, max(third)], rtol=1e-6)


def test_an_odd_number_of_words_is_halved_with_the_last_alone() -> None:
    head = CnnHead(filters=1, blocks=2)
    weights = ones(head, 1, 3)
    for name in weights:
        if "block" in name:
            weights[name][:] = 0.0
    weights["head/region/kernel"] = np.array([[0.0], [1.0], [0.0]], np.float32)
    logits = head_logits(np.array([[-3.0], [-1.0], [-2.0]], np.float32), np.ones(3, bool), head, weights)
    low, high = sorted((max(gelu(-3.0), gelu(-1.0)), gelu(-2.0)))
    np.testing.assert_allclose(logits, [(low + high) / 2, high], rtol=1e-6)


def test_rnn_is_an_lstm_with_the_gates_in_their_order() -> None:
    head = RnnHead(projection=1, units=1)
    weights = ones(head, 1, 2)
    weights["head/lstm/kernel"] = np.array([[1.0, 0.5, -1.0, 2.0]], np.float32)
    weights["head/lstm/recurrent_kernel"] = np.array([[0.25, -0.5, 1.5, 1.0]], np.float32)
    weights["head/lstm/bias"] = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    logits = head_logits(np.array([[1.0], [-2.0]], np.float32), np.ones(2, bool), head, weights)
    state = cell = 0.0
    outputs = []
    for value in (1.0, -2.0):
        entry = sigmoid(value + 0.25 * state + 0.1)
        forget = sigmoid(0.5 * value - 0.5 * state + 0.2)
        candidate = math.tanh(-value + 1.5 * state + 0.3)
        leave = sigmoid(2.0 * value + state + 0.4)
        cell = forget * cell + entry * candidate
        state = leave * math.tanh(cell)
        outputs.append(state)
    np.testing.assert_allclose(logits, [sum(outputs) / 2, max(outputs)], rtol=1e-6)


def test_bert_attends_to_the_words_in_use_alone() -> None:
    """Width 2, so that a normed word is (+1, -1) or (-1, +1); attention reads and writes the first number only."""
    head = BertHead(width=2, layers=1, attention_heads=1, feed_forward=1)
    weights = {name: np.zeros(shape, np.float32) for name, shape in head.shapes(2, 2, 3).items()}
    weights["head/projection/kernel"] = np.eye(2, dtype=np.float32)
    weights["head/positions"] = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]], np.float32)
    weights["head/layer_0/attention_norm/gain"] = weights["head/final_norm/gain"] = np.ones(2, np.float32)
    weights["head/layer_0/feed_forward_norm/gain"] = np.ones(2, np.float32)
    for part in ("query", "key", "value"):
        weights[f"head/layer_0/{part}/kernel"][0, 0] = 1.0
    weights["head/layer_0/output/kernel"][0, 0] = 4.0
    weights["head/layer_0/expand/kernel"][:, 0] = 1.0, 0.0
    weights["head/layer_0/contract/kernel"][0] = 0.0, 3.0
    weights["head/logits/kernel"] = np.array([[1, 0], [0, 0], [0, 0], [0, 1]], np.float32)
    embeddings = np.array([[2.0, 1.0], [0.0, 0.0], [9.0, 9.0]], np.float32)
    logits = head_logits(embeddings, np.array([True, True, False]), head, weights)

    def normed(word: list[float]) -> list[float]:
        mean = sum(word) / 2
        deviation = math.sqrt(sum((number - mean) ** 2 for number in word) / 2 + 1e-5)
        return [(number - mean) / deviation for number in word]

    hidden = [[2.0 + 1.0, 1.0 + 0.0], [0.0, 2.0]]
    firsts = [normed(word)[0] for word in hidden]
    for word, first in zip(hidden, firsts, strict=True):
        powers = [math.exp(first * other / math.sqrt(2)) for other in firsts]
        word[0] += 4.0 * sum(power * other for power, other in zip(powers, firsts, strict=True)) / sum(powers)
    for word in hidden:
        word[1] += 3.0 * gelu(normed(word)[0])
    final = [normed(word) for word in hidden]
    expected = [(final[0][0] + final[1][0]) / 2, max(final[0][1], final[1][1])]
    np.testing.assert_allclose(logits, expected, rtol=1e-5)


@each_head
def test_a_text_without_words_has_the_logits_of_nothing(head: HeadSpec) -> None:
    weights = random_head(head, 8, 3, 5)
    garbage = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32) * 100
    np.testing.assert_array_equal(head_logits(garbage, np.zeros(5, bool), head, weights), weights["head/logits/bias"])


@each_head
def test_what_stands_in_unused_slots_does_not_count(head: HeadSpec) -> None:
    rng = np.random.default_rng(1)
    weights = random_head(head, 8, 3, 5)
    embeddings = rng.normal(size=(5, 8)).astype(np.float32)
    mask = np.array([True, True, True, False, False])
    other = embeddings.copy()
    other[3:] = rng.normal(size=(2, 8)) * 1e3
    np.testing.assert_array_equal(head_logits(embeddings, mask, head, weights), head_logits(other, mask, head, weights))


def test_the_order_of_words_counts_for_all_heads_but_pool() -> None:
    embeddings = np.random.default_rng(2).normal(size=(5, 8)).astype(np.float32)
    for head in SMALL_HEADS:
        weights = random_head(head, 8, 3, 5)
        both = [head_logits(order, np.ones(5, bool), head, weights) for order in (embeddings, embeddings[::-1])]
        assert np.allclose(*both, atol=1e-5) == (head.name == "pool")


@each_head
def test_probabilities_are_a_softmax_of_all_of_it(head: HeadSpec) -> None:
    classifier = random_classifier(head)
    slots = words(codepoints("Hello wörld 你好", classifier.encoder.max_chars), classifier.encoder)
    found = probabilities(slots, head, classifier.weights)
    assert found.shape == (3,) and found.dtype == np.float32 and found.min() > 0
    assert found.sum() == pytest.approx(1.0, abs=1e-6)
    shifted = {**classifier.weights, "head/logits/bias": classifier.weights["head/logits/bias"] + np.float32(1000.0)}
    np.testing.assert_allclose(probabilities(slots, head, shifted), found, atol=1e-3)


def test_an_unknown_head_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="heads"):
        head_logits(np.zeros((1, 1), np.float32), np.ones(1, bool), HeadSpec(), {})
