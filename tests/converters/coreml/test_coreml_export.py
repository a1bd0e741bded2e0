import dataclasses
import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from coreml_cases import import_coremltools, needs_coremltools, on_grid
from exported import texts_csv
from patience import PATIENCE

from retvec_lite.__main__ import main
from retvec_lite.converters.coreml.format import CoreML, MLPackage
from retvec_lite.converters.export import export_model
from retvec_lite.converters.parity import Check, Difference
from retvec_lite.errors import RetvecLiteError

RECIPES = ("float32", "int8", "int4")


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    if importlib.util.find_spec("coremltools") is not None:
        import_coremltools()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A classifier and real texts."""
    texts_csv(tmp_path)
    about = {"name": "random", "card": {"note": "random weights, for tests of mechanics"}}
    spec = dataclasses.replace(on_grid("pool"), embedding=about, training={"note": "not trained"})
    (tmp_path / "classifier.safetensors").write_bytes(spec.to_bytes())
    return tmp_path


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All recipes of one export, for Core ML alone."""
    folder = tmp_path_factory.mktemp("coreml")
    texts_csv(folder)
    options = {"name": "router", "model_version": 7, "data": folder / "texts.csv"}
    export_model(on_grid("pool"), folder / "dist", formats=["coreml"], recipes=RECIPES, **options)
    return folder / "dist"


def leftovers(source: Path) -> list[str]:
    return sorted(path.name for path in source.iterdir() if path.name not in ("texts.csv", "classifier.safetensors"))


@needs_coremltools
def test_an_export_holds_what_an_app_needs(dist: Path) -> None:
    packages = {f"classifier-{recipe}.mlpackage" for recipe in RECIPES}
    others = {"README.md", "labels.txt", "golden.json", "manifest.json", "report.json", "reference.safetensors"}
    assert {path.name for path in dist.iterdir()} == packages | others
    report = json.loads((dist / "report.json").read_text(encoding="utf-8"))
    for artifact in report["artifacts"]:
        package = dist / artifact["file"]
        files = [path for path in package.rglob("*") if path.is_file()]
        assert artifact["bytes"] == sum(path.stat().st_size for path in files) == sum(artifact["sizes"].values())
        assert artifact["oldest_runtime"] == {"iOS": "16"}
        assert {"name": "classify", "version": 16, "count": 1} in artifact["operators"]
        lines = "".join(
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(package).as_posix()}\n"
            for path in sorted(files, key=lambda path: path.relative_to(package).as_posix())
        )
        assert artifact["sha256"] == hashlib.sha256(lines.encode()).hexdigest()
        assert all(run["correct"] for run in artifact["runtimes"])
    manifest = json.loads((dist / "manifest.json").read_text(encoding="utf-8"))
    assert [(file["bytes"], file["sha256"]) for file in manifest["files"]] == [
        (artifact["bytes"], artifact["sha256"]) for artifact in report["artifacts"]
    ]
    metadata = MLPackage(dist / "classifier-int8.mlpackage").metadata
    assert (metadata["name"], metadata["version"]) == ("router", "7")
    golden = json.loads((dist / "golden.json").read_text(encoding="utf-8"))
    assert set(golden["tolerance"]) == {f"coreml-{recipe}" for recipe in RECIPES}
    assert golden["tolerance"]["coreml-float32"] == 1e-5
    assert set(golden["cases"][0]["probabilities"]) == set(golden["tolerance"])


@needs_coremltools
def test_weights_on_the_grid_make_all_recipes_one_function(dist: Path) -> None:
    """Biases are rounded to half precision, so float32 is near, and the others are the same."""
    golden = json.loads((dist / "golden.json").read_text(encoding="utf-8"))
    for case in golden["cases"]:
        shares = {recipe: np.array(case["probabilities"][f"coreml-{recipe}"]) for recipe in RECIPES}
        np.testing.assert_array_equal(shares["int8"], shares["int4"])
        assert np.abs(shares["float32"] - shares["int8"]).max() < 2e-3


@needs_coremltools
@pytest.mark.skipif(sys.platform == "darwin", reason="here Core ML itself runs")
def test_the_report_says_that_core_ml_itself_did_not_run(dist: Path) -> None:
    text = (dist / "README.md").read_text(encoding="utf-8")
    assert "| iOS 16 or newer | coreml (evaluated) iOS16 |" in text
    assert "Not run on coreml." in text
    assert json.loads((dist / "report.json").read_text(encoding="utf-8"))["skipped_runtimes"] == ["coreml"]


@needs_coremltools
def test_a_package_that_computes_wrongly_is_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = CoreML.examine

    def wrong(self, examiner, path):
        result, table = real(self, examiner, path)
        worst = (Difference("a text", 0.5, "label 'one'"),)
        check = Check("probabilities", "computation", 0.5, 1.5e-2, texts=1, worst=worst)
        runs = tuple(dataclasses.replace(run, checks=(check,)) for run in result.runtimes)
        return dataclasses.replace(result, runtimes=runs), table

    monkeypatch.setattr(CoreML, "examine", wrong)
    with pytest.raises(RetvecLiteError, match=r"int8\.mlpackage is wrong on coreml .*off by 5\.0e-01 .*worst a text"):
        export_model(on_grid("pool"), source / "dist", formats=["coreml"], data=source / "texts.csv")
    assert leftovers(source) == []


def test_without_coremltools_the_extra_is_named(
    source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    missing = lambda name, package=None: None if name == "coremltools" else real(name, package)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", missing)
    assert main(["export", str(source), "--out", str(source / "dist"), "--format", "coreml"]) == 2
    hint = 'The package coremltools is not installed. Run `pip install ".[coreml]"'
    assert hint in capsys.readouterr().err
    assert leftovers(source) == []


def test_nothing_imports_coremltools_before_it_is_needed() -> None:
    program = (
        "import sys, retvec_lite, retvec_lite.converters.export, retvec_lite.converters.coreml\n"
        "print(sorted({'coremltools', 'tensorflow', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "[]", done.stderr
