from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scripts import Outputs, Run, once, run_script

from retvec_lite import runtime as library
from retvec_lite.runtime.interpreters import RUNTIMES
from tools.build_engine import build, compiler


@pytest.fixture(scope="session")
def built() -> Path:
    """A folder of float32 models, converted in one process."""
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be converted")
    names = ["pool", "vector", "blocks", "cnn", "raw", "conv", "raw-export", "refusals"]
    return once("built", lambda folder: run_script("build_standins.py", str(folder), *names))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run models on a runtime in a process of its own: name -> outputs, or the sentence with which it was refused."""

    def run_models(runtime: str, models: dict[str, tuple[bytes, np.ndarray]]) -> dict[str, Outputs | str]:
        package = RUNTIMES[runtime]
        for name, (model, values) in models.items():
            (tmp_path / f"{name}.tflite").write_bytes(model)
            np.save(tmp_path / f"{name}.inputs.npy", values)
        run_script("run_models.py", package, str(tmp_path), *models)
        found: dict[str, Outputs | str] = {}
        for name in models:
            refused = tmp_path / f"{name}.{package}.txt"
            if refused.exists():
                found[name] = refused.read_text(encoding="utf-8")
                continue
            with np.load(tmp_path / f"{name}.{package}.npz") as stored:
                found[name] = dict(stored)
        return found

    return run_models


@pytest.fixture(scope="session")
def present_engine() -> Path:
    cc = compiler()
    if cc is None:
        pytest.skip("no C compiler")
    folder = once("present-engine", lambda place: build(cc, place / library.LIBRARY, "-O1"))
    return folder / library.LIBRARY


@pytest.fixture(scope="module")
def engine_library(present_engine: Path) -> Iterator[Path]:
    """The engine of the present source in the place of the package's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "FOLDER", present_engine.parent)
        yield present_engine
