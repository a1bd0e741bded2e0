"""Numbers of embeddings whose answers are known by hand; the float32 embedding against the reference; rounded kernels."""

import csv
import math

import numpy as np
import pytest
from modeling_cases import random_embedding

from retvec_lite import contract
from retvec_lite.contract import Ints
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import LAYERS, Embedding
from retvec_lite.pretraining import measures
from retvec_lite.pretraining.augment import AUGMENTATIONS
from retvec_lite.pretraining.measures import (
    PRECISIONS,
    Measured,
    Share,
    embed,
    projector_files,
    quantized,
    same_function,
)
from retvec_lite.pretraining.tasks import Task, word_sources, word_task
from retvec_lite.pretraining.words import word_rows

# Words of one letter and where they lie on the circle, in degrees.
ANGLES = {"a": 0, "б": 90, "c": 180, "1": 270, "x": 10, "y": 80, "z": 100, "w": 200}


def on_the_circle(_: Embedding, words: Ints) -> np.ndarray:
    angles = np.deg2rad([ANGLES[chr(code)] for code in words[:, 0]])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def circle_task() -> Task:
    candidates, queries = word_rows(["a", "б", "c", "1"]), word_rows(["x", "y", "z", "w"])
    answers = np.array([0, 1, 2, 2])  # z lies nearer to б than to its right word c
    kinds = np.array([3, 3, 5])
    return Task("xx", "list", candidates, queries, answers, queries[:3], answers[:3], kinds)


def test_every_number_of_a_hand_made_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "embed", on_the_circle)
    scores = Measured("circle", random_embedding()).score(circle_task())
    assert scores.found == {name: Share(3, 4) for name in ("float32", "int8", "int4")}
    assert scores.kinds == {AUGMENTATIONS[3]: Share(2, 2), AUGMENTATIONS[5]: Share(0, 1)}
    assert scores.scripts == {"Latin": Share(2, 3), "Cyrillic": Share(1, 1)}
    degrees = np.cos(np.deg2rad([10, 10, 80, 20]))
    np.testing.assert_allclose(scores.pairs, degrees, atol=1e-6)
    # Half the list away: a with z, б with w, c with x, c with y.
    np.testing.assert_allclose(scores.randoms, np.cos(np.deg2rad([100, 110, 170, 100])), atol=1e-6)
    assert scores.gap == pytest.approx(degrees.mean() - scores.randoms.mean(), abs=1e-6)
    np.testing.assert_allclose(list(scores.cosine_to_float.values()), [1.0, 1.0], atol=1e-6)


def random_task(name: str, mistyped: bool, seed: int = 0) -> Task:
    """Words of random letters; queries are the words themselves, or other random words, that nothing can find."""
    letters = np.random.default_rng(seed).integers(0x61, 0x7B, (600, 16), dtype=np.int32)
    letters[:, 9:] = 0
    queries = letters[400:500] if mistyped else letters[:100]
    answers = np.arange(100)
    return Task(name, "list", letters[:400], queries, answers, queries[:4], answers[:4], np.arange(4))


def test_words_that_are_not_mistyped_are_all_found_and_strangers_hardly_ever() -> None:
    measured = Measured("random", random_embedding())
    clean, strange = measured.score(random_task("aa", False)), measured.score(random_task("bb", True))
    assert clean.found["float32"].share == 1.0 and clean.pairs.min() > 0.9999 and clean.gap > 0.05
    assert strange.found["float32"].share <= 0.05 and abs(strange.gap) < 0.05


def test_rounding_costs_what_it_costs_and_nothing_on_the_grid() -> None:
    embedding = random_embedding()
    scores = Measured("random", embedding).score(random_task("aa", False))
    assert 0.5 < scores.cosine_to_float["int4"] < scores.cosine_to_float["int8"] < 1
    snapped = Measured("snapped", quantized(embedding, 7)).score(random_task("aa", True))
    assert snapped.cosine_to_float == {"int8": 1.0, "int4": 1.0}
    assert len(set(snapped.found.values())) == 1


# --- the embedding in NumPy -------------------------------------------------------------------------------------------

WORDS = ["hello", "мир", "学校", "🙂x", "\U0010ffff\U000fffff", "a" * 16, "", *(f"word{n}" for n in range(1200))]


def kernels(embedding: Embedding) -> list[np.ndarray]:
    return [embedding.weights[f"embedding/{layer}/kernel"] for layer in LAYERS]


@pytest.mark.parametrize(("word_length", "dimension"), [(16, 20), (20, 8), (9, 12)])
def test_embed_agrees_with_the_oracle(word_length: int, dimension: int) -> None:
    embedding = random_embedding(word_length, dimension)
    words = word_rows(WORDS)
    fitted = word_rows([word[:16] for word in WORDS], word_length)
    expected = reference_network.embed(contract.bits(fitted), embedding.weights)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = embed(embedding, words)
    assert found.dtype == np.float32 and found.shape == (len(WORDS), dimension)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_gelu_is_exact_to_float32() -> None:
    values = np.concatenate([np.linspace(-9, 9, 2001), [-80.0, 80.0, 0.0, -0.0]]).astype(np.float32)
    expected = [value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in values.tolist()]
    # The tanh form that is often used instead is off by up to 5e-4.
    np.testing.assert_allclose(measures._gelu(values), expected, atol=6e-7)


@pytest.mark.parametrize(("precision", "most"), [("int8", 255), ("int4", 15)])
def test_rounded_kernels_have_as_many_values_as_the_integers(precision: str, most: int) -> None:
    embedding = random_embedding()
    rounded = quantized(embedding, PRECISIONS[precision])
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


# --- the projector ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_the_projector_shows_words_beside_their_mistyped_forms() -> None:
    tasks = [word_task(source, seed=0, queries=60) for source in word_sources(None)]
    embedding = random_embedding()
    texts = projector_files(embedding, [task for task in tasks if task], seed=0)
    metadata = list(csv.reader(texts["metadata.tsv"].splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert metadata[0] == ["word", "original", "language", "typo kind"]
    vectors = np.array([line.split("\t") for line in texts["tensors.tsv"].splitlines()], np.float32)
    assert len(vectors) == len(metadata) - 1 and vectors.shape[1] == embedding.dimension
    assert {row[2] for row in metadata[1:]} == {"el", "en"}
    originals = [row for row in metadata[1:] if row[3] == "none"]
    assert len(originals) == 50 and all(row[0] == row[1] for row in originals)
    assert 150 < len(metadata) <= 251
    for word, original, _, kind in metadata[1:]:
        assert kind == "none" or (kind in AUGMENTATIONS and word != original)
    expected = embed(embedding, word_rows([row[0] for row in metadata[1:]]))
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    for line in ('tensor_path: "tensors.tsv"', 'metadata_path: "metadata.tsv"'):
        assert line in texts["projector_config.pbtxt"]
