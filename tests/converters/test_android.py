from pathlib import Path

import pytest

from retvec_lite.converters.export import find_android_files, write_android_files
from retvec_lite.errors import RetvecLiteError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    module = tmp_path / "project/app/src/main"
    module.mkdir(parents=True)
    (module / "AndroidManifest.xml").write_text("<manifest/>")
    return tmp_path / "project"


def test_the_model_becomes_an_asset_and_golden_a_test_resource(project: Path) -> None:
    write_android_files(find_android_files(project, ["int8", "int8"]), b"model", b"golden")
    assert (project / "app/src/main/assets/classifier.tflite").read_bytes() == b"model"
    assert (project / "app/src/test/resources/golden.json").read_bytes() == b"golden"


def test_a_module_may_be_named_itself(project: Path) -> None:
    write_android_files(find_android_files(project / "app", ["float32"]), b"model", b"golden")
    assert (project / "app/src/main/assets/classifier.tflite").read_bytes() == b"model"


def test_nothing_is_replaced_without_force(project: Path) -> None:
    write_android_files(find_android_files(project, ["int8"]), b"model", b"golden")
    with pytest.raises(RetvecLiteError, match=r"classifier\.tflite already exists.*--force"):
        find_android_files(project, ["float32"])
    (project / "app/src/main/assets/classifier.tflite").unlink()
    with pytest.raises(RetvecLiteError, match=r"golden\.json already exists.*--force"):
        find_android_files(project, ["float32"])
    write_android_files(find_android_files(project, ["float32"], force=True), b"other model", b"other golden")
    assert (project / "app/src/main/assets/classifier.tflite").read_bytes() == b"other model"
    assert (project / "app/src/test/resources/golden.json").read_bytes() == b"other golden"


@pytest.mark.parametrize("recipes", [["int8", "float32"], []])
def test_an_app_opens_one_model(project: Path, recipes: list[str]) -> None:
    with pytest.raises(RetvecLiteError, match=r"choose one recipe out of (int8, float32|none)\."):
        find_android_files(project, recipes)


def test_another_folder_is_refused(tmp_path: Path, project: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path, project / "app/src"):
        with pytest.raises(
            RetvecLiteError, match=r"is not an Android project: app/src/main/AndroidManifest\.xml is not in it"
        ):
            find_android_files(folder, ["int8"])


def test_a_project_that_cannot_be_written_is_one_sentence(project: Path) -> None:
    files = find_android_files(project, ["int8"])
    (project / "app/src/test").write_text("a file where a folder belongs")
    with pytest.raises(RetvecLiteError, match=r"Cannot write .*golden\.json"):
        write_android_files(files, b"model", b"golden")
    assert not files[0].exists()
