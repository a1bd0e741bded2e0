"""What users import needs NumPy alone: proven in processes of their own."""

import subprocess
import sys

HEAVY = ("tensorflow", "keras", "coremltools", "ai_edge_quantizer", "ai_edge_litert", "tflite_runtime", "safetensors", "matplotlib", "rich", "scipy")  # fmt: skip

MODULES = ("", ".config", ".errors", ".reference", ".reference_heads", ".heads", ".classifier_file", ".embedding_file", ".signatures", ".artifact", ".engine", ".runtime", ".typos", ".dataset", ".evaluation", ".files", ".cli")  # fmt: skip


def loaded_after(code: str) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after running `code`."""
    report = f"import sys; print(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_after("; ".join(f"import retvec_lite{module}" for module in MODULES)) == []


def test_the_oracle_classifies_with_numpy_alone() -> None:
    code = """
import numpy as np
from retvec_lite.config import BITS, EncoderConfig
from retvec_lite.heads import PoolHead
from retvec_lite.reference import codepoints, words
from retvec_lite.reference_heads import probabilities
config = EncoderConfig(max_chars=8, max_words=2)
weights = PoolHead().initial_weights(np.random.default_rng(0), 16 * BITS, 3, 2)
assert abs(probabilities(words(codepoints("a b", 8), config), PoolHead(), weights).sum() - 1) < 1e-6
"""
    assert loaded_after(code) == []


def test_the_list_of_heavy_packages_can_be_seen_at_all() -> None:
    assert loaded_after("import rich") == ["rich"]
