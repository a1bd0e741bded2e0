"""Run a script of this folder in a process of its own, as models on a runtime are; what takes long to make is made once in a run of the tests."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from patience import PATIENCE

HERE = Path(__file__).parent
Outputs = dict[str, np.ndarray]
Run = Callable[[str, dict[str, tuple[bytes, np.ndarray]]], dict[str, Outputs | str]]


def run_script(name: str, *arguments: str) -> None:
    run_quietly(str(HERE / name), *arguments)


def run_quietly(*arguments: str) -> None:
    """Run Python; a failure shows the end of what it told."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        env={**os.environ, **quiet, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]


_VARIABLE: Final = "RETVEC_LITE_TESTS"
"""Environment variable that tells the processes of a run the folder of what was made."""

if _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="retvec-lite-tests-")
    atexit.register(shutil.rmtree, os.environ[_VARIABLE], ignore_errors=True)


def once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder that `make` filled; what it raises, a skip too, is raised in every process that asks."""
    done = Path(os.environ[_VARIABLE], name)
    making, ends = done.with_suffix(".making"), time.monotonic() + PATIENCE
    while not done.exists():
        try:
            making.mkdir()
        except FileExistsError:
            assert time.monotonic() < ends, f"{making} is never finished"
            time.sleep(0.1)
            continue
        try:
            make(making)
            making.rename(done)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return done
