import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parents[1] / "support"
RUNTIMES = {"tflite-runtime": "tflite_runtime", "ai-edge-litert": "ai_edge_litert"}
Outputs = dict[str, np.ndarray]


def run_script(name: str, *arguments: str) -> None:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(HERE / name), *arguments],
        check=False,
        env={**os.environ, **quiet, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of float32 models, converted in one process."""
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be converted")
    folder = tmp_path_factory.mktemp("built")
    names = ["pool", "cnn", "rnn", "bert", "raw", "conv", "raw-export", "refusals"]
    run_script("build_standins.py", str(folder), *names)
    return folder


@pytest.fixture(params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> str:
    """Each runtime's distribution name."""
    if importlib.util.find_spec(RUNTIMES[request.param]) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


Run = Callable[[str, dict[str, tuple[bytes, np.ndarray]]], dict[str, Outputs | str]]


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
