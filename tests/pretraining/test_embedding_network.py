"""The fast float32 embedding against the oracle, and kernels rounded as files store them."""

import math

import numpy as np
import pytest
from modeling_cases import random_embedding

from retvec_lite import contract
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import LAYERS, Embedding
from retvec_lite.pretraining import evaluation_network as network
from retvec_lite.pretraining.evaluation_network import embed, quantized, same_function
from retvec_lite.pretraining.words import encode_words

WORDS = ["hello", "мир", "学校", "🙂x", "\U0010ffff\U000fffff", "a" * 16, "", *(f"word{n}" for n in range(1200))]


def kernels(embedding: Embedding) -> list[np.ndarray]:
    return [embedding.weights[f"embedding/{layer}/kernel"] for layer in LAYERS]


@pytest.mark.parametrize(("word_length", "dimension"), [(16, 20), (20, 8), (9, 12)])
def test_embed_agrees_with_the_oracle(word_length: int, dimension: int) -> None:
    embedding = random_embedding(word_length, dimension)
    words = encode_words(WORDS)
    fitted = encode_words([word[:16] for word in WORDS], word_length)
    expected = reference_network.embed(contract.bits(fitted), embedding.weights)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = embed(embedding, words)
    assert found.dtype == np.float32 and found.shape == (len(WORDS), dimension)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_gelu_is_exact_to_float32() -> None:
    values = np.concatenate([np.linspace(-9, 9, 2001), [-80.0, 80.0, 0.0, -0.0]]).astype(np.float32)
    expected = [value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in values.tolist()]
    # The tanh form that is often used instead is off by up to 5e-4.
    np.testing.assert_allclose(network._gelu(values), expected, atol=6e-7)


@pytest.mark.parametrize(("precision", "most"), [("int8", 255), ("int4", 15)])
def test_rounded_kernels_have_as_many_values_as_the_integers(precision: str, most: int) -> None:
    embedding = random_embedding()
    rounded = quantized(embedding, network.PRECISIONS[precision])
    assert not same_function(rounded, embedding)
    for kernel, before in zip(kernels(rounded), kernels(embedding), strict=True):
        assert max(len(np.unique(column)) for column in kernel.T) <= most
        assert np.abs(kernel - before).max() <= 0.52 * np.abs(before).max() / (most // 2)
    for layer in LAYERS:
        assert rounded.weights[f"embedding/{layer}/bias"] is embedding.weights[f"embedding/{layer}/bias"]


def test_a_file_on_its_four_bit_grid_stays_as_it_is_at_either_width() -> None:
    snapped = quantized(random_embedding(), 7)
    for levels in (7, 127):
        assert same_function(quantized(snapped, levels), snapped)
