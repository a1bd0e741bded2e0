"""The archive of a ready-made classifier in a release: every format of it, and a Core ML package that was compared."""

import sys
import zipfile
from pathlib import Path

import pytest
from coreml_cases import import_coremltools, needs_coremltools, on_grid

from retvec_lite.converters.evaluator.package import read_package
from retvec_lite.converters.export import export_model
from retvec_lite.runtime.artifact import READY
from retvec_lite.version import __version__
from tools import ready_archive
from tools.ready_archive import MODELS, write


@needs_coremltools
@pytest.mark.slow
def test_an_archive_has_every_format_and_the_model_card(tmp_path: Path) -> None:
    import_coremltools()
    models = tmp_path / "models"
    export_model(on_grid("pool"), models, formats=["tflite", "engine"])
    for file, name in {
        "classifier-int8.tflite": "mood.tflite",
        "classifier-int8.retvec": "mood.retvec",
        "reference.safetensors": "mood.safetensors",
        "labels.txt": "mood.md",
    }.items():
        (models / file).rename(models / name)
    with zipfile.ZipFile(write(tmp_path / "dist", "mood", models)) as archive:
        names = archive.namelist()
        assert names[:3] == ["mood.md", "mood.tflite", "mood.retvec"] and names[-1] == "LICENSE"
        assert archive.read("mood.tflite") == (models / "mood.tflite").read_bytes()
        archive.extractall(tmp_path / "unpacked")
    read_package(tmp_path / "unpacked" / "mood.mlpackage")


def test_a_release_has_one_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pretend(folder: Path, name: str) -> Path:
        assert (MODELS / f"{name}.safetensors").is_file()
        file = folder / f"{name}-{__version__}.zip"
        file.write_bytes(b"")
        return file

    monkeypatch.setattr(ready_archive, "write", pretend)
    monkeypatch.setattr(sys, "argv", ["ready_archive", "--out", str(tmp_path)])
    ready_archive.main()
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}-{__version__}.zip" for name in READY}
