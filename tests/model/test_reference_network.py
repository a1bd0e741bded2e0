"""The reference heads against results worked out by hand and against the properties that define them."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from modeling_cases import SMALL_HEADS, random_classifier, random_head

from retvec_lite.contract import codepoints, words
from retvec_lite.model.heads import CnnHead, HeadSpec, LinearHead, PoolHead
from retvec_lite.model.reference_network import Reference, head_logits, probabilities, sentence_vector

PHI = NormalDist().cdf
Weights = dict[str, npt.NDArray[np.float32]]

each_head = pytest.mark.parametrize("head", SMALL_HEADS, ids=lambda head: head.name)


def gelu(value: float) -> float:
    return value * PHI(value)


def sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def ones(head: HeadSpec, inputs: int, max_words: int) -> Weights:
    """All weights 1, all biases 0; one logit is the mean, the other the maximum."""
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
    head = CnnHead(hidden=1, filters=1, blocks=2)
    weights = ones(head, 1, 4)
    for block in range(2):
        weights[f"head/block_{block}/depthwise"] = np.array([[0.0], [1.0], [0.5]], np.float32)
    logits = head_logits(
        np.array([[1.0], [2.0], [3.0], [7.0]], np.float32), np.array([True] * 3 + [False]), head, weights
    )
    one, two, three = (gelu(value) for value in (1.0, 2.0, 3.0))
    first = [gelu(one), gelu(two), gelu(three), 0.0]
    second = [here + gelu(here + 0.5 * behind) for here, behind in itertools.pairwise(first)]
    halved = [max(second[:2]), second[2]]
    third = [halved[0] + gelu(halved[0] + 0.5 * halved[1]), halved[1] + gelu(halved[1])]
    np.testing.assert_allclose(logits, [sum(third) / 2, max(third)], rtol=1e-6)


def test_pool_with_a_block_is_cnn_without_its_second_layer() -> None:
    head = PoolHead(hidden=1, blocks=1)
    weights = ones(head, 1, 4)
    weights["head/block_0/depthwise"] = np.array([[0.25], [1.0], [0.5]], np.float32)
    logits = head_logits(
        np.array([[1.0], [2.0], [3.0], [7.0]], np.float32), np.array([True] * 3 + [False]), head, weights
    )
    one, two, three = (gelu(value) for value in (1.0, 2.0, 3.0))
    mixed = [one + 0.5 * two, 0.25 * one + two + 0.5 * three, 0.25 * two + three]
    read = [here + gelu(value) for here, value in zip((one, two, three), mixed, strict=True)]
    np.testing.assert_allclose(logits, [sum(read) / 3, max(read)], rtol=1e-6)


def test_the_logits_are_made_of_the_vector_and_the_vector_of_mean_and_max() -> None:
    head = PoolHead(hidden=1, vector=2)
    weights = ones(head, 1, 3) | {
        "head/vector/kernel": np.array([[1.0, -2.0], [3.0, 0.5]], np.float32),
        "head/vector/bias": np.array([0.25, -4.0], np.float32),
    }
    embeddings, mask = np.array([[1.0], [2.0], [7.0]], np.float32), np.array([True, True, False])
    mean, most = (gelu(1.0) + gelu(2.0)) / 2, gelu(2.0)
    right = [mean + 3 * most + 0.25, -2 * mean + most / 2 - 4]
    np.testing.assert_allclose(sentence_vector(embeddings, mask, head, weights), right, rtol=1e-6)
    np.testing.assert_allclose(head_logits(embeddings, mask, head, weights), right, rtol=1e-6)
    # A text without words has no vector.
    assert not sentence_vector(embeddings, np.zeros(3, bool), head, weights).any()


def test_an_odd_number_of_words_is_halved_with_the_last_alone() -> None:
    head = CnnHead(hidden=1, filters=1, blocks=2)
    weights = ones(head, 1, 3)
    for name in weights:
        if "block" in name:
            weights[name][:] = 0.0
    logits = head_logits(np.array([[-3.0], [-1.0], [-2.0]], np.float32), np.ones(3, bool), head, weights)
    first, second, third = (gelu(gelu(value)) for value in (-3.0, -1.0, -2.0))
    low, high = sorted((max(first, second), third))
    np.testing.assert_allclose(logits, [(low + high) / 2, high], rtol=1e-6)


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


def test_the_order_of_words_counts_for_all_heads_but_linear_and_pool_without_blocks() -> None:
    embeddings = np.random.default_rng(2).normal(size=(5, 8)).astype(np.float32)
    for head in SMALL_HEADS:
        weights = random_head(head, 8, 3, 5)
        both = [head_logits(order, np.ones(5, bool), head, weights) for order in (embeddings, embeddings[::-1])]
        assert np.allclose(*both, atol=1e-5) == (isinstance(head, LinearHead) or head == PoolHead(hidden=24))


@each_head
def test_probabilities_are_a_softmax_of_all_of_it(head: HeadSpec) -> None:
    classifier = random_classifier(head)
    slots = words(codepoints("Hello wörld 你好", classifier.encoder.max_chars), classifier.encoder)
    found = probabilities(slots, head, classifier.weights)
    assert found.shape == (3,) and found.dtype == np.float32 and found.min() > 0
    assert found.sum() == pytest.approx(1.0, abs=1e-6)
    shifted = {**classifier.weights, "head/logits/bias": classifier.weights["head/logits/bias"] + np.float32(1000.0)}
    np.testing.assert_allclose(probabilities(slots, head, shifted), found, atol=1e-3)


def test_what_was_read_is_not_composed_again() -> None:
    """Condensing drops what stood between letters that compose, as between these of Hangul."""
    classifier = random_classifier(PoolHead())
    row = np.zeros(classifier.encoder.max_chars, np.int32)
    row[:2] = 0x1100, 0x1161
    slots = words(row, classifier.encoder)
    found = Reference(classifier).probabilities(["\u1100\u1161"])[0]
    np.testing.assert_array_equal(found, probabilities(slots, classifier.head, classifier.weights))


def test_an_unknown_head_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="Unknown head"):
        head_logits(np.zeros((1, 1), np.float32), np.ones(1, bool), HeadSpec(), {})
