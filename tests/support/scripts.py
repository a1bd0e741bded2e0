"""Run a script of this folder in a process of its own; models on a runtime are run so."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from patience import PATIENCE

HERE = Path(__file__).parent
RUNTIMES = {"tflite-runtime": "tflite_runtime", "ai-edge-litert": "ai_edge_litert"}
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
