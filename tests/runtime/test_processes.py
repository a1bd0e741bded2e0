"""A `Classifier` in many processes: pickled, in pools, and after `fork()` while other threads predict."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import many_processes
import pytest
from patience import PATIENCE
from tiny_artifact import tiny_artifact

from retvec_lite.runtime.interpreters import RUNTIMES

ANSWERS = {
    many_processes.without_its_file: 1,
    many_processes.concurrent_futures: 4,
    many_processes.forked_pool: 4,
    many_processes.fork_while_threads_predict: 12,
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("way", ANSWERS)
def test_every_process_answers(tmp_path: Path, runtime: str, way: object) -> None:
    if importlib.util.find_spec(RUNTIMES[runtime]) is None:
        pytest.skip(f"{runtime} is not installed")
    name = getattr(way, "__name__", "")
    if "fork" in name and not hasattr(os, "fork"):
        pytest.skip("this system has no fork()")
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    done = subprocess.run(
        [sys.executable, many_processes.__file__, str(path), runtime, name],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.stdout == f"{ANSWERS[way]}\n", done.stderr  # type: ignore[index]
