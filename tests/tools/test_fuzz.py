"""The attack on the reader of exported files: mutations that mutate, and a short run that finds nothing."""

import random

import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import installed_runtimes
from tools import fuzz


@pytest.fixture(scope="module")
def victim() -> fuzz.Victim:
    return fuzz._victim(fuzz.VICTIMS[1], list(installed_runtimes())[:1])


@pytest.mark.parametrize("name", fuzz.MUTATIONS)
def test_a_mutation_changes_the_file_and_mends_what_it_says(victim: fuzz.Victim, tmp_path, name: str) -> None:
    mutation, draw = fuzz.MUTATIONS[name], random.Random(0)
    path, read, changed = tmp_path / "m.tflite", 0, 0
    for _ in range(60):
        path.write_bytes(mutation.mutate(victim, draw))
        changed += path.read_bytes() != victim.content
        try:
            read += bool(read_artifact(path))
        except RetvecLiteError:
            continue
    assert changed > 50
    # A mended file gets past the checksum.
    assert read == 60 if name == "int32" else read < 60


def test_the_weights_are_left_out(victim: fuzz.Victim) -> None:
    shipped = fuzz._victim(fuzz.VICTIMS[0], [])
    assert 0.01 < len(shipped.graph) * 4 / len(shipped.artifact.model) < 0.5
    assert len(victim.graph) * 4 / len(victim.artifact.model) > 0.5


@pytest.mark.slow
def test_a_short_attack_finds_nothing() -> None:
    counts, faults = fuzz.attack(120, seed=1)
    assert faults == []
    assert sum(sum(found.values()) for found in counts.values()) == 120
    assert counts["bytes"]["other answer"] == counts["zip"]["other answer"] == 0
