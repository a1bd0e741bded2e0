"""The tool that makes what words mean in requests: they add up to the vectors of sentences, beside what they meant before."""

from pathlib import Path

import numpy as np
import pytest

from makers import teacher
from makers.meaning.codes import on_grid
from makers.meaning.requests import WordTrainer, learn, main_directions, word_numbers
from retvec_lite.model.meaning_file import MeaningFile, codes_of, nearest_codebooks

TOPICS = (("soup", "bread", "cheese"), ("train", "airport", "ticket"), ("rain", "wind", "cloud"))
WORDS = ("the", *(word for topic in TOPICS for word in topic), *(f"z{letter}" for letter in "abcdefghijklmnopqrst"))


def sentences(count: int) -> tuple[list[str], np.ndarray]:
    """Return sentences, and a vector for each that says its topic."""
    rng = np.random.default_rng(0)
    topics = rng.integers(0, len(TOPICS), count)
    texts = [" ".join(["The", *rng.choice(TOPICS[topic], 2), "unheard"]) for topic in topics]
    return texts, np.eye(8, dtype=np.float32)[topics]


def start() -> MeaningFile:
    vectors = np.random.default_rng(1).normal(size=(len(WORDS), 64)).astype(np.float32)
    books = on_grid(nearest_codebooks(vectors, np.ones(len(WORDS), np.float32), 8, seed=0))
    codes = codes_of(vectors, books)
    return MeaningFile(WORDS, codes, books, "en", {"sources": "made up", "method": "drawn", "settings": "none"})


def test_words_learn_to_add_up_to_vectors_of_sentences() -> None:
    texts, vectors = sentences(256)
    ids, trainer = word_numbers(texts, WORDS), WordTrainer(start().vectors, 8, 200)
    before, losses = trainer.cosine(ids, vectors), [trainer.step(ids, vectors) for _ in range(200)]
    assert losses[-1] < losses[0] / 3 and trainer.cosine(ids, vectors) > max(0.9, before + 0.3)
    words = trainer.vectors()
    likeness = words @ words.T / np.outer(*2 * [np.linalg.norm(words, axis=1)])
    assert likeness[1, 2] > 0.8 and likeness[1, 4] < 0.5, "soup, bread and train"


def test_both_meanings_are_kept_one_at_half_the_length() -> None:
    rng = np.random.default_rng(2)
    learned, before = (rng.normal(size=(30, 64)).astype(np.float32) for _ in range(2))
    learned[:, 20:], before[:, :44] = 0, 0
    found = main_directions(learned, before, rng.integers(1, 31, (3000, 5)).astype(np.int32))
    products = found @ found.T
    own, other = learned @ learned.T, before @ before.T
    shares = np.linalg.lstsq(np.stack([own.ravel(), other.ravel()], axis=1), products.ravel(), rcond=None)[0]
    np.testing.assert_allclose(shares[0] * own + shares[1] * other, products, atol=1e-3)
    assert shares[1] * np.trace(other) / (shares[0] * np.trace(own)) == pytest.approx(0.25, rel=0.1)


def test_a_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher, "HELD_OUT", 20)
    texts, vectors = sentences(300)
    lessons = teacher.Lessons(texts, tmp_path, lambda part: vectors[: len(part)])
    found = learn(lessons, start(), {"cheese": 1.0, "rain": -1.0})
    assert found.words == WORDS and found.codes.shape == (len(WORDS), 16) and found.language == "en"
    assert found.card["sources"] == "made up" and "drawn" in found.card["method"] and "settings" not in found.card
    assert "300 open sentences" in found.card["method"]
    again = learn(lessons, start(), {"cheese": 1.0, "rain": -1.0})
    assert again.to_bytes() == found.to_bytes()
