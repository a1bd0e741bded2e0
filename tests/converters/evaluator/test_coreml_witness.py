from pathlib import Path

import numpy as np
import pytest
import standin
from packages import packages, run_script

from retvec_lite.converters.evaluator import load_package
from retvec_lite.converters.parity.coreml import evaluate

PACKAGES = (
    ("pool/classifier-float32", 1e-5),
    ("pool/classifier-float16", 1.5e-2),
    ("pool/classifier-int8", 1.5e-2),
    ("pool/classifier-int4", 1.5e-2),
    ("pool-17/classifier-float16", 1.5e-2),
    ("pool-18/classifier-int4", 1.5e-2),
    ("cnn/classifier-float16", 1.5e-2),
    ("bert/classifier-int4", 1.5e-2),
)
"""And how far two ways to round may be apart. There is no inference of LSTMs in coremltools."""


@pytest.mark.slow
def test_coremltools_own_inference_agrees_with_the_evaluator(tmp_path: Path) -> None:
    folder, rows = packages(), standin.inputs()[:, 0]
    # Of the hostile inputs, those that coremltools' own lookups survive: all.
    np.save(tmp_path / "rows.npy", rows)
    names = [str(folder / f"{name}.mlpackage") for name, _ in PACKAGES]
    arguments = [part for name in names for part in (name, str(tmp_path / "rows.npy"))]
    run_script("infer_values.py", str(tmp_path / "inferred.npz"), *arguments)
    with np.load(tmp_path / "inferred.npz") as stored:
        inferred = dict(stored)
    for number, (name, tolerance) in enumerate(PACKAGES):
        program = load_package(folder / f"{name}.mlpackage")
        for place, row in enumerate(rows):
            found = evaluate(program, row, standin.LABELS, ("words", "bits", "embedding"))
            theirs = {key: inferred[f"{number}/{place}/{key}"] for key in found}
            for key in ("words", "bits"):
                np.testing.assert_array_equal(theirs[key][0], found[key], err_msg=f"{name} {place}")
            for key in ("embedding", "probabilities"):
                np.testing.assert_allclose(theirs[key][0], found[key], atol=tolerance, err_msg=f"{name} {place}")
