"""The evaluator and coremltools' own value inference agree on saved packages."""

from pathlib import Path

import numpy as np
import pytest
import standin
from packages import packages, run_script

from retvec_lite.converters.coreml.format import evaluate
from retvec_lite.converters.evaluator import Program

PACKAGES = ("pool/classifier-float32", "pool/classifier-int8", "pool/classifier-int4", "cnn/classifier-int4")


@pytest.mark.exhaustive
def test_coremltools_own_inference_agrees_with_the_evaluator(tmp_path: Path) -> None:
    """The normal run compares both with the NumPy reference, each on packages or graphs of its own."""
    rows = standin.inputs()[:, 0]
    np.save(tmp_path / "rows.npy", rows)
    paths = [packages() / f"{name}.mlpackage" for name in PACKAGES]
    arguments = [part for path in paths for part in (str(path), str(tmp_path / "rows.npy"))]
    run_script("infer_values.py", str(tmp_path / "inferred.npz"), *arguments)
    with np.load(tmp_path / "inferred.npz") as stored:
        inferred = dict(stored)
    for number, path in enumerate(paths):
        program = Program(path)
        # Two ways to round to 16 bits may be that far apart.
        tolerance = 1e-5 if path.stem.endswith("float32") else 1.5e-2
        answers = evaluate(program, rows, standin.LABELS, ("words", "bits", "embedding"))
        for place in range(len(rows)):
            found = {key: values[place] for key, values in answers.items()}
            theirs = {key: inferred[f"{number}/{place}/{key}"] for key in found}
            for key in ("words", "bits"):
                np.testing.assert_array_equal(theirs[key][0], found[key], err_msg=f"{path} {place}")
            for key in ("embedding", "probabilities"):
                np.testing.assert_allclose(theirs[key][0], found[key], atol=tolerance, err_msg=f"{path} {place}")
