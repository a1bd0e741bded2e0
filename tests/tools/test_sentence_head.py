"""The tool that makes the pre-trained head: which sentences it draws, that it learns, and that it goes on after an interruption."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_default_embedding
from tools.sentence_head.learn import HELD_OUT, HeadTrainer, Lesson, Sentences
from tools.sentence_head.sentences import draw_sentences

TOPICS = ("the soup and the bread", "a train to the airport", "rain and wind today", "my bank account")


def write(folder: Path, name: str, lines: list[str]) -> Path:
    file = folder / name
    file.write_bytes(bz2.compress("\n".join(lines).encode()))
    return file


def test_sentences_are_distinct_short_and_the_same_every_time(tmp_path: Path) -> None:
    lines = [f"This is line {number}. It has words. Yes." for number in range(200)] + ["word " * 60, "many " * 30]
    files = [write(tmp_path, "irc.txt.bz2", lines), write(tmp_path, "books.txt.bz2", lines)]
    found = draw_sentences(files)
    assert found == draw_sentences(files[::-1])
    assert len(set(found)) == len(found) and "This is line 7." in found and "Yes." not in found
    lengths = {sentence.split()[0]: len(sentence.split()) for sentence in found}
    assert lengths["many"] in (24, 30) and lengths.get("word", 48) == 48


def test_a_file_that_nobody_weighted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"only books, .* are known"):
        draw_sentences([write(tmp_path, "other.txt.bz2", ["one two"])])


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    """Sentences of four topics, each with a vector of its own."""
    sentences = [f"{TOPICS[number % 4]} {number}" for number in range(512)]
    return Lesson(sentences, np.eye(8, dtype=np.float32)[np.arange(512) % 4])


def test_a_visit_brings_sentences_nearer_to_their_vectors(lesson: Lesson) -> None:
    trainer = HeadTrainer(dict(load_default_embedding().weights), 8, 200)
    before, losses = trainer.cosine(lesson, 0.5), [trainer.visit(lesson, number) for number in range(30)]
    assert losses[-1] < losses[0] / 2 and trainer.steps == 60
    assert trainer.cosine(lesson, 0.0) > 0.8 and trainer.cosine(lesson, 0.5) > before + 0.3


def test_a_visit_never_shows_held_out_sentences_and_a_round_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.sentence_head.learn.PART", HELD_OUT + 2)
    sentences = [str(number) for number in range(2 * HELD_OUT + 4)]
    for part in range(2):
        np.save(
            tmp_path / f"{part:03d}.npy", np.random.default_rng(part).normal(size=(HELD_OUT + 2, 4)).astype(np.float16)
        )
    found = Sentences(sentences, tmp_path)
    seen = [*found.visit(0).sentences, *found.visit(1).sentences]
    assert sorted(seen) == sorted(sentences[HELD_OUT:]) and list(found.held_out.sentences) == sentences[:HELD_OUT]
    np.testing.assert_allclose(np.linalg.norm(found.visit(2).vectors, axis=1), 1.0, atol=1e-5)


def test_an_interrupted_run_ends_with_the_same_weights(lesson: Lesson, tmp_path: Path) -> None:
    weights = dict(load_default_embedding().weights)
    whole, first, second = (HeadTrainer(weights, 8, 6) for _ in range(3))
    for number in range(2):
        whole.visit(lesson, number)
    first.visit(lesson, 0)
    first.save(tmp_path / "checkpoint.npz", 1)
    assert second.restore(tmp_path / "checkpoint.npz") == 1
    second.visit(lesson, 1)
    for name, value in whole.weights().items():
        np.testing.assert_array_equal(second.weights()[name], value, name)
    with pytest.raises(RetvecLiteError, match="has steps=6"):
        HeadTrainer(weights, 8, 7).restore(tmp_path / "checkpoint.npz")
