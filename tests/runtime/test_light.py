"""The light path imports NumPy and a LiteRT runtime only. Each test uses a new process."""

from pathlib import Path

import pytest
from light import loaded_after, run_python

import retvec_lite

GOLDEN = Path(__file__).parents[2] / "golden"
MODULES = ("", ".contract", ".errors", ".model.reference_network", ".model.heads", ".model.weight_files", ".runtime.artifact", ".runtime.interpreters", ".runtime.pool", ".data.typos", ".data.dataset", ".data.scores", ".data.calibration", ".data.plots", ".decision", ".runtime.answers", ".classifier", ".api", ".data.texts", ".files", ".__main__")  # fmt: skip


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_after("; ".join(f"import retvec_lite{module}" for module in MODULES)) == []


def test_the_oracle_classifies_with_numpy_alone() -> None:
    code = """
import numpy as np
from retvec_lite.contract import BITS, EncoderConfig, codepoints, words
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.reference_network import probabilities
config = EncoderConfig(max_chars=8, max_words=2)
weights = PoolHead().initial_weights(np.random.default_rng(0), 16 * BITS, 3, 2)
assert abs(probabilities(words(codepoints("a b", 8), config), PoolHead(), weights).sum() - 1) < 1e-6
"""
    assert loaded_after(code) == []


def test_the_list_of_heavy_packages_can_be_seen_at_all() -> None:
    assert loaded_after("import rich") == ["rich"]


def test_importing_the_package_imports_nothing() -> None:
    done = run_python("import sys, retvec_lite; print('numpy' in sys.modules, retvec_lite.__version__)")
    assert done.stdout == f"False {retvec_lite.__version__}\n", done.stderr


def test_classifying_imports_numpy_and_one_runtime_alone(tiny_model: str) -> None:
    loaded = loaded_after(f"import retvec_lite; retvec_lite.load({tiny_model!r}).predict('a')")
    assert loaded in (["ai_edge_litert"], ["tflite_runtime"])


def test_a_retvec_says_what_it_is_with_numpy_alone() -> None:
    blocked = "import sys; sys.modules |= dict.fromkeys(('flatbuffers', 'safetensors', 'ai_edge_litert', 'tflite_runtime', 'onnx'))"
    done = run_python(f"{blocked}; import retvec_lite; print(retvec_lite.info(sys.argv[1]))", GOLDEN / "plain.retvec")
    assert done.returncode == 0 and "alarm" in done.stdout, done.stderr


def test_the_public_names_are_there() -> None:
    assert set(retvec_lite.__all__) <= set(dir(retvec_lite))
    for name in retvec_lite.__all__:
        assert getattr(retvec_lite, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = retvec_lite.nothing_like_it
