"""What users import needs NumPy alone: proven in processes of their own."""

from light import loaded_after

MODULES = ("", ".contract", ".errors", ".model.reference_network", ".model.heads", ".model.weight_files", ".runtime.artifact", ".runtime.interpreters", ".runtime.text_classifier", ".data.typos", ".data.dataset", ".data.scores", ".data.texts", ".files", ".__main__")  # fmt: skip


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
