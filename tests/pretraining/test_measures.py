"""Numbers of embeddings whose answers are known by hand; the float32 embedding against the reference; rounded kernels."""

import numpy as np
import pytest
from modeling_cases import random_embedding

from retvec_lite import contract
from retvec_lite.contract import Ints
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import LAYERS, Embedding
from retvec_lite.pretraining import measures
from retvec_lite.pretraining.measures import Share, at_every_precision, embed, score
from retvec_lite.pretraining.retrieval import Queries, RetrievalSet
from retvec_lite.pretraining.words import word_rows

# Words of one letter and where they lie on the circle, in degrees.
ANGLES = {"a": 0, "б": 90, "c": 180, "1": 270, "x": 10, "y": 80, "z": 100, "w": 200}


def on_the_circle(_: Embedding, words: Ints) -> np.ndarray:
    angles = np.deg2rad([ANGLES[chr(code)] for code in words[:, 0]])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def circle_set() -> RetrievalSet:
    candidates, queries = word_rows(["a", "б", "c", "1"]), word_rows(["x", "y", "z", "w"])
    answers = np.array([0, 1, 2, 2])  # z lies nearer to б than to its right word c
    by_kind = {"insert": Queries(queries[:2], answers[:2]), "swap": Queries(queries[2:3], answers[2:3])}
    return RetrievalSet("xx", candidates, Queries(queries, answers), "list", by_kind)


def test_every_number_of_a_hand_made_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "embed", on_the_circle)
    scores = score(at_every_precision(random_embedding()), circle_set())
    assert scores.found == {name: Share(3, 4) for name in ("float32", "int8", "int4")}
    assert scores.kinds == {"insert": Share(2, 2), "swap": Share(0, 1)}
    assert scores.scripts == {"Latin": Share(2, 3), "Cyrillic": Share(1, 1)}
    degrees = np.cos(np.deg2rad([10, 10, 80, 20]))
    np.testing.assert_allclose(scores.pairs, degrees, atol=1e-6)
    # Half the list away: a with z, б with w, c with x, c with y.
    np.testing.assert_allclose(scores.randoms, np.cos(np.deg2rad([100, 110, 170, 100])), atol=1e-6)
    assert scores.gap == pytest.approx(degrees.mean() - scores.randoms.mean(), abs=1e-6)
    np.testing.assert_allclose(list(scores.cosine_to_float.values()), [1.0, 1.0], atol=1e-6)


def random_set(name: str, mistyped: bool, seed: int = 0) -> RetrievalSet:
    """Words of random letters; queries are the words themselves, or other random words, that nothing can find."""
    letters = np.random.default_rng(seed).integers(0x61, 0x7B, (600, 16), dtype=np.int32)
    letters[:, 9:] = 0
    queries = letters[400:500] if mistyped else letters[:100]
    answers = np.arange(100)
    return RetrievalSet(name, letters[:400], Queries(queries, answers), "list")


def test_words_that_are_not_mistyped_are_all_found_and_strangers_hardly_ever() -> None:
    rounded = at_every_precision(random_embedding())
    clean, strange = score(rounded, random_set("aa", False)), score(rounded, random_set("bb", True))
    assert clean.found["float32"].share == 1.0 and clean.pairs.min() > 0.9999 and clean.gap > 0.05
    assert strange.found["float32"].share <= 0.05 and abs(strange.gap) < 0.05


def test_rounding_costs_what_it_costs_and_nothing_on_the_grid() -> None:
    rounded = at_every_precision(random_embedding())
    scores = score(rounded, random_set("aa", False))
    assert 0.5 < scores.cosine_to_float["int4"] < scores.cosine_to_float["int8"] < 1
    snapped = score(at_every_precision(rounded["int4"]), random_set("aa", True))
    assert snapped.cosine_to_float == {"int8": 1.0, "int4": 1.0}
    assert len(set(snapped.found.values())) == 1


# --- the embedding and its roundings -------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(("precision", "most"), [("int8", 255), ("int4", 15)])
def test_rounded_kernels_have_as_many_values_as_the_integers(precision: str, most: int) -> None:
    embedding = random_embedding()
    rounded = at_every_precision(embedding)[precision]
    assert rounded is not embedding
    for kernel, before in zip(kernels(rounded), kernels(embedding), strict=True):
        assert max(len(np.unique(column)) for column in kernel.T) <= most
        assert np.abs(kernel - before).max() <= 0.52 * np.abs(before).max() / (most // 2)
    for layer in LAYERS:
        assert rounded.weights[f"embedding/{layer}/bias"] is embedding.weights[f"embedding/{layer}/bias"]


def test_a_file_on_its_four_bit_grid_stays_as_it_is_at_either_width() -> None:
    snapped = at_every_precision(random_embedding())["int4"]
    assert all(embedding is snapped for embedding in at_every_precision(snapped).values())
