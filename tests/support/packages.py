"""Core ML packages for tests, built by scripts in processes of their own.

coremltools and the runtimes of .tflite files disturb each other in one process.
"""

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from exported import EXPORTED, texts_csv
from scripts import once, run_quietly

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
    run_quietly("-c", _WITHOUT_TENSORFLOW, str(folder), str(folder / name), *arguments)


def run_command(*arguments: str) -> None:
    """Run `retvec-lite` in a process of its own."""
    run_quietly("-m", "retvec_lite", *arguments)


def _once(name: str, make: Callable[[Path], object]) -> Path:
    if importlib.util.find_spec("coremltools") is None:
        pytest.skip("coremltools is not installed: nothing can be exported")
    return once(name, make)


def packages() -> Path:
    """A folder with what export wrote for each of `ORDERS`, `<folder>.safetensors` and texts.csv."""

    def make(folder: Path) -> None:
        texts_csv(folder)
        run_script("build_packages.py", str(folder), *ORDERS)

    return _once("packages", make)


def both_formats() -> Path:
    """The kept export of `pool` as int8, and a package of the same weights beside it."""

    def make(folder: Path) -> None:
        texts_csv(folder)
        shutil.copy(EXPORTED / "pool" / "reference.safetensors", folder / "built.safetensors")
        run_script("build_packages.py", str(folder), "built=int8")
        shutil.copy(EXPORTED / "pool" / "classifier-int8.tflite", folder / "built")

    return _once("formats", make) / "built"


def mil_programs() -> Path:
    """A folder with what `mil_programs.py` saves: tiny programs that owe nothing to our converter."""
    return _once("mil", lambda folder: run_script("mil_programs.py", str(folder)))


def blobs(package: Path) -> list[tuple[int, int]]:
    """Start and length of the data of every array in a package's weight file, found by their descriptions' sentinels."""
    data = (package / WEIGHTS).read_bytes()
    words = np.frombuffer(data[: len(data) // 64 * 64], "<u4").reshape(-1, 16)
    places = [int(row) for row in np.flatnonzero(words[:, 0] == 0xDEADBEEF)]
    return [(int(words[place, 4]), int(words[place, 2])) for place in places]


WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"
MODEL = "Data/com.apple.CoreML/model.mlmodel"
