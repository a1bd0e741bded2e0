"""Two workers learn as one does, and go on after a kill. Each is a process of its own."""

import json
import subprocess
from pathlib import Path
from typing import Any

import cluster_train
import pytest
from together import run

pytestmark = pytest.mark.exhaustive


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("head", ["pool", "tuned"])
def test_training(head: str, tmp_path: Path) -> None:
    """Two workers take the same steps, and learn as well as one; dropout makes them others than those of one."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (alone,) = run(cluster_train.__file__, 1, tmp_path / "one", head)
    first, second = (told(worker) for worker in run(cluster_train.__file__, 2, tmp_path / "two", head))
    assert first == second and len(first["losses"]) == len(told(alone)["losses"]) > 20
    assert first["losses"][-1] == pytest.approx(told(alone)["losses"][-1], rel=0.15) and first["losses"][-1] < 2.8
    assert first["accuracy"] == pytest.approx(told(alone)["accuracy"], abs=0.1)
    assert (tmp_path / "two" / "trained" / "classifier.safetensors").exists()


def test_training_goes_on_after_a_kill(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = run(cluster_train.__file__, 2, tmp_path / "whole", "pool")
    first = run(cluster_train.__file__, 2, tmp_path / "killed", "pool", 17)
    assert {one.returncode for one in first} == {1, -9}
    left = next(one for one in first if one.returncode == 1)
    assert left.stderr.splitlines()[-1].startswith("Another worker is gone. Start all workers again")
    again = [told(worker) for worker in run(cluster_train.__file__, 2, tmp_path / "killed", "pool", 17)]
    assert again[0]["losses"] == again[1]["losses"] == told(whole[0])["losses"][17:]
    files = [(tmp_path / name / "trained/classifier.safetensors").read_bytes() for name in ("whole", "killed")]
    assert files[0] == files[1]
