"""The pre-trained head learns what sentences mean, and goes on after an interruption."""

from pathlib import Path

import numpy as np
import pytest

from makers import teacher
from makers.sentences.learn import HeadTrainer, learn_head
from makers.teacher import Lesson, Lessons
from retvec_lite.contract import Floats
from retvec_lite.model.pretrained_head import PretrainedHead
from retvec_lite.model.weight_files import load_default_embedding

TOPICS = ("the soup and the bread", "a train to the airport", "rain and wind today", "my bank account")
SENTENCES = [f"{TOPICS[number % 4]} {number}" for number in range(800)]


def embed(sentences: list[str]) -> Floats:
    """A vector of its own for each topic."""
    return np.eye(8, dtype=np.float32)[[int(text.split()[-1]) % 4 for text in sentences]]


@pytest.mark.slow
def test_a_visit_brings_sentences_nearer_to_their_vectors() -> None:
    lesson = Lesson(SENTENCES[:512], embed(SENTENCES[:512]), np.arange(512, dtype=np.int32))
    trainer = HeadTrainer(dict(load_default_embedding().weights), 8, 200)
    before, losses = trainer.cosine(lesson, 0.5), [trainer.visit(lesson, number) for number in range(30)]
    assert losses[-1] < losses[0] / 2 and trainer.steps == 60
    assert trainer.cosine(lesson, 0.0) > 0.8 and trainer.cosine(lesson, 0.5) > before + 0.3


@pytest.mark.exhaustive
def test_an_interrupted_run_ends_with_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher, "HELD_OUT", 256)
    monkeypatch.setattr("makers.sentences.learn._CHECKPOINT", 1)
    lessons = Lessons(SENTENCES, tmp_path / "vectors", embed)
    whole = learn_head(lessons, tmp_path / "whole.npz")
    visit = HeadTrainer.visit

    def interrupted(self: HeadTrainer, lesson: Lesson, number: int) -> float:
        if number == 1:
            raise KeyboardInterrupt
        return visit(self, lesson, number)

    monkeypatch.setattr(HeadTrainer, "visit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn_head(lessons, tmp_path / "parts.npz")
    monkeypatch.setattr(HeadTrainer, "visit", visit)
    learn_head(lessons, tmp_path / "parts.npz").save(tmp_path / "parts.safetensors")
    whole.save(tmp_path / "whole.safetensors")
    assert (tmp_path / "parts.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()
    assert "800 open English sentences" in PretrainedHead.load(tmp_path / "parts.safetensors").card["texts"]
