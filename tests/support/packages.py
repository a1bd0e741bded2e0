"""Exported Core ML packages of stand-ins, built once for all test files that ask, in a process of their own."""

import atexit
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from exported import texts_csv

ORDERS = (
    "pool=float32,float16,int8,int4",
    "cnn=float16,int4",
    "rnn=float32,int8,int4",
    "bert=float16,int4",
    "raw=float32,int8",
    "pool/17=float16",
    "pool/18=int8,int4",
    "pool+tflite=int8",
)
"""Head, the oldest iOS if it is not 16, and whether the .tflite is wanted as well; then the recipes."""


def run_script(name: str, *arguments: str) -> None:
    """Run a script of this folder in a process of its own."""
    _run(str(Path(__file__).with_name(name)), *arguments)


def run_command(*arguments: str) -> None:
    """Run `retvec-lite` in a process of its own."""
    _run("-m", "retvec_lite", *arguments)


def _run(*arguments: str) -> None:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        env={**os.environ, **quiet, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@functools.cache
def packages() -> Path:
    """A folder with what export wrote for each of `ORDERS` (`/` and `+` become `-`), and `<folder>.safetensors`."""
    for name in ("coremltools", "tensorflow"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: nothing can be exported")
    folder = Path(tempfile.mkdtemp(prefix="retvec-lite-packages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    texts_csv(folder)
    run_script("build_packages.py", str(folder), *ORDERS)
    return folder


@functools.cache
def mil_programs() -> Path:
    """A folder with what `mil_programs.py` saves: tiny programs that the converter has no part in."""
    if importlib.util.find_spec("coremltools") is None:
        pytest.skip("coremltools is not installed: no package can be built")
    folder = Path(tempfile.mkdtemp(prefix="retvec-lite-mil-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run_script("mil_programs.py", str(folder))
    return folder


def blobs(package: Path) -> list[tuple[int, int]]:
    """Start and length of the data of every array in a package's weight file, found by their descriptions' sentinels."""
    data = (package / WEIGHTS).read_bytes()
    words = np.frombuffer(data[: len(data) // 64 * 64], "<u4").reshape(-1, 16)
    places = [int(row) for row in np.flatnonzero(words[:, 0] == 0xDEADBEEF)]
    return [(int(words[place, 4]), int(words[place, 2])) for place in places]


WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"
MODEL = "Data/com.apple.CoreML/model.mlmodel"
