"""The pre-trained network: files hold what it computed with, its numbers are the reference's, its loss is its definition."""

import math

import keras
import numpy as np
import pytest
from tiny_words import NAMES

from makers.embedding.model import WordModel, bits_of, multi_similarity_loss
from makers.embedding.train import Round
from makers.embedding.words import word_rows


@pytest.mark.parametrize("learned_clipping", [True, False])
def test_files_hold_what_the_network_computed_with(learned_clipping: bool) -> None:
    model = WordModel(Round(steps=1, learned_clipping=learned_clipping))
    rows = word_rows(NAMES[:50])
    model.embed_words(rows)
    model.use_grid(True)
    computed = model.embed_words(rows)
    arrays = model.arrays(snapped=True)
    for index, layer in enumerate(model.dense_layers):
        kernel = arrays[f"dense_{index}/kernel"]
        assert all(len(np.unique(column)) <= 15 for column in kernel.T)
        layer.kernel.assign(kernel)
    model.use_grid(False)
    stored = model.embed_words(rows)
    cosine = (computed * stored).sum(1) / np.linalg.norm(computed, axis=1) / np.linalg.norm(stored, axis=1)
    assert cosine.min() > 0.99  # scales are rounded up to 8 binary digits on the way into the file


def test_bits_and_embedding_are_those_of_the_reference() -> None:
    rows = word_rows(["hello", "🙂\U0010ffff", "東京"])
    expected = (rows[..., None] >> np.arange(20, -1, -1)) & 1
    assert (np.asarray(bits_of(rows)) == expected).all()
    model = WordModel(Round(steps=1))
    got = model.embed_words(rows)
    arrays = model.arrays(snapped=False)
    values = expected.reshape(3, -1).astype(np.float64)
    erf = np.vectorize(math.erf)
    for index in range(3):
        values = values @ arrays[f"dense_{index}/kernel"] + arrays[f"dense_{index}/bias"]
        values = np.tanh(values) if index == 2 else values * 0.5 * (1 + erf(values / np.sqrt(2)))
    assert np.abs(got - values).max() < 1e-5


# --- the loss ---------------------------------------------------------------------------------------------------------


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
