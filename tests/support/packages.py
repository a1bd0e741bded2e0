"""Core ML packages for tests, built once a process by scripts in processes of their own.

coremltools and the runtimes of .tflite files disturb each other in one process.
"""

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
from exported import built_exports, texts_csv
from patience import PATIENCE

ORDERS = ("pool=float32,int8,int4", "vector=int8", "blocks=float32", "cnn=int4", "raw=float32")
"""Head, then the recipes: every head and every recipe once."""

_WITHOUT_TENSORFLOW = (
    # coremltools imports both where it can, which takes ten seconds, and needs neither to build a graph.
    "import runpy, sys; sys.modules.update(tensorflow=None, sklearn=None); "
    "sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


def run_script(name: str, *arguments: str) -> None:
    """Run a script of this folder, without TensorFlow."""
    folder = Path(__file__).parent
    _run("-c", _WITHOUT_TENSORFLOW, str(folder), str(folder / name), *arguments)


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
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def _folder(name: str, *needed: str) -> Path:
    """A temporary folder; skips the test where a needed package is missing."""
    for package in needed:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: nothing can be exported")
    folder = Path(tempfile.mkdtemp(prefix=f"retvec-lite-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def packages() -> Path:
    """A folder with what export wrote for each of `ORDERS`, `<folder>.safetensors` and texts.csv."""
    folder = _folder("packages", "coremltools")
    texts_csv(folder)
    run_script("build_packages.py", str(folder), *ORDERS)
    return folder


@functools.cache
def both_formats() -> Path:
    """An export of `pool` as int8, and a package of the same weights beside it."""
    folder = _folder("formats", "coremltools")
    made = built_exports((("pool", "int8"),)) / "pool"
    texts_csv(folder)
    shutil.copy(made / "reference.safetensors", folder / "built.safetensors")
    run_script("build_packages.py", str(folder), "built=int8")
    shutil.copy(made / "classifier-int8.tflite", folder / "built")
    return folder / "built"


@functools.cache
def mil_programs() -> Path:
    """A folder with what `mil_programs.py` saves: tiny programs that owe nothing to our converter."""
    folder = _folder("mil", "coremltools")
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
