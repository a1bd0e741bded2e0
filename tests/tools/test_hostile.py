"""Hostile files: they differ from sound ones in what they say, and whatever they say ends in an answer or in a sentence."""

import random

import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.runtime.artifact import read_artifact
from tools import hostile


def test_sound_files_of_the_generator_are_read(tmp_path) -> None:
    """Nothing but the hostile values keeps a file from being read: checksums are in order."""
    for model in hostile._trained():
        (tmp_path / "classifier.safetensors").write_bytes(
            hostile.safetensors(
                [(name, "F32", value) for name, value in model.weights.items()], hostile._metadata_of(model)
            )
        )
        assert load_trained_model(tmp_path / "classifier.safetensors").to_bytes() == model.to_bytes()
    draw, read = random.Random(5), 0
    for number in range(60):
        path = hostile.hostile_tail(draw).write(tmp_path / str(number))
        try:
            read_artifact(path)
            read += 1
        except RetvecLiteError as error:
            assert "no readable" not in str(error)  # the zip is sound
    assert 3 < read < 40


@pytest.mark.slow
def test_hostile_files_end_in_an_answer_or_a_sentence() -> None:
    before = hostile.peak()
    counts, faults = hostile.attack(300, seed=11)
    assert faults == []
    assert hostile.peak() - before < 300, "megabytes"
    assert counts.total() == 300 and min(counts.values()) > 3 and len(counts) == 4
