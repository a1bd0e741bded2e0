"""The loss against a slow implementation of its definition, pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

keras = pytest.importorskip("keras")

from retvec_lite.pretraining.similarity import multi_similarity_loss  # noqa: E402


def naive(classes: list[int], vectors: np.ndarray) -> float:
    """Multi-Similarity loss with loops, after the formula of Wang et al. (2019), against the other half of the batch."""
    total = 0.0
    half = len(vectors) // 2
    for i, anchor in enumerate(vectors):
        others = range(half, 2 * half) if i < half else range(half)
        cosines = {j: float(anchor @ vectors[j]) for j in others}
        positives = [s for j, s in cosines.items() if classes[j] == classes[i]]
        negatives = [s for j, s in cosines.items() if classes[j] != classes[i]]
        hard_positives = [s for s in positives if not negatives or s < max(negatives) + 0.1]
        hard_negatives = [s for s in negatives if not positives or s > min(positives) - 0.1]
        if not negatives:
            hard_positives = []
        if not positives:
            hard_negatives = []
        total += math.log(1 + sum(math.exp(-4 * (s - 0.5)) for s in hard_positives)) / 4
        total += math.log(1 + sum(math.exp(40 * (s - 0.5)) for s in hard_negatives)) / 40
    return total / len(vectors)


@pytest.mark.parametrize("spread", [0.05, 0.5, 3.0])
def test_loss_is_its_definition(spread: float) -> None:
    rng = np.random.default_rng(0)
    classes = [0, 1, 2, 3, 4, 4, 5, 0, 1, 2, 3, 4, 4, 5]  # pairs, and one word that came twice
    centers = rng.normal(size=(6, 8))
    vectors = centers[classes] + spread * rng.normal(size=(len(classes), 8))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    loss = float(multi_similarity_loss(np.asarray(classes, np.int32), keras.ops.convert_to_tensor(vectors)))
    assert loss == pytest.approx(naive(classes, vectors), rel=1e-4)


def test_perfect_vectors_cost_nothing_and_collapsed_ones_much() -> None:
    perfect = keras.ops.convert_to_tensor(np.tile(np.eye(4, dtype=np.float32), (2, 1)))
    collapsed = keras.ops.convert_to_tensor(np.ones((8, 4), np.float32) / 2)
    classes = np.tile(np.arange(4, dtype=np.int32), 2)
    assert float(multi_similarity_loss(classes, perfect)) == 0.0
    assert float(multi_similarity_loss(classes, collapsed)) > 0.5
