"""The core answers texts with NumPy and a runtime, and knows nothing of trainings. What a test imports, a new process does."""

import pkgutil
import sys
from pathlib import Path

import pytest
from light import loaded_after, run_python

import retvec_lite

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
MOST = 32
MODULES = ("", ".cli", ".contract", ".errors", ".model.reference_network", ".model.heads", ".model.weight_files", ".runtime.artifact", ".runtime.interpreters", ".runtime.pool", ".data.typos", ".data.dataset", ".data.scores", ".data.outcome", ".data.plots", ".decision", ".runtime.answers", ".classifier", ".api", ".data.texts", ".files", ".playground", ".__main__")  # fmt: skip
DOORS = ("retvec_lite", "retvec_lite.data", "retvec_lite.loading")
"""What `load` goes through on its way into the core."""


def _sides() -> tuple[list[str], list[str]]:
    """The modules of the core, and those that it may not import; a package stands for all in it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (core,) = (contract for contract in contracts if contract["name"].startswith("the core knows"))
    return core["source_modules"], core["forbidden_modules"]


def _is_in(module: str, names: list[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _imported_by(code: str) -> list[str]:
    """What a fresh process imports for some code, but for the standard library."""
    # Cython leaves modules without a file.
    now = "{name for name, module in sys.modules.items() if getattr(module, '__spec__', None)}"
    done = run_python(f"import sys; before = {{*sys.modules}}; {code}\nprint(*sorted({now} - before))", ROOT)
    assert done.returncode == 0, done.stderr
    return [name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names]


ANSWERING = (
    "c.predict('a b'); c.explain('a b'); c.embed('a b'); c.teach('a b', 'new'); c.predict('a b'); c.forget('a b')"
)


@pytest.mark.parametrize("more", ["", ANSWERING], ids=["load", "answers"])
def test_a_file_is_loaded_and_asked_in_the_core(more: str) -> None:
    found = _imported_by(f"import retvec_lite; c = retvec_lite.load(sys.argv[1] + '/golden/plain.retvec'); {more}")
    ours = [name for name in found if name.partition(".")[0] == "retvec_lite"]
    assert {name.partition(".")[0] for name in found} - {"retvec_lite"} == {"numpy"}
    core, _ = _sides()
    assert [name for name in ours if name not in DOORS and not _is_in(name, core)] == []
    assert len(ours) <= MOST, ours


def test_every_module_is_on_one_side() -> None:
    core, others = _sides()
    names = [name for _, name, _ in pkgutil.walk_packages(retvec_lite.__path__, "retvec_lite.")]
    sides = {name: (_is_in(name, core), _is_in(name, others)) for name in names if name != "retvec_lite.data"}
    assert [name for name, (is_core, is_other) in sides.items() if is_core == is_other] == []


def test_a_classifier_is_one_class_and_a_trained_one_adds_to_it() -> None:
    assert retvec_lite.Classifier.__mro__ == (retvec_lite.Classifier, object)
    assert retvec_lite.TrainedClassifier.__mro__ == (retvec_lite.TrainedClassifier, *retvec_lite.Classifier.__mro__)


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
    done = run_python(
        f"{blocked}; import retvec_lite; print(retvec_lite.info(sys.argv[1]))", ROOT / "golden" / "plain.retvec"
    )
    assert done.returncode == 0 and "alarm" in done.stdout, done.stderr
