import json
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.export import find_android_files, write_android_assets
from retvec_lite.converters.parity.golden import check_golden, golden_bytes, golden_texts
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.errors import RetvecLiteError

CONFIG = EncoderConfig(max_chars=24, max_words=4)
LABELS = ("one", "two")


def golden(*recipes: str) -> bytes:
    texts = golden_texts(CONFIG)
    table = np.random.default_rng(3).random((len(texts), 2), np.float32)
    return golden_bytes(
        CONFIG, LABELS, texts, {recipe: (table, RECIPES[recipe].parity_tolerance) for recipe in recipes}
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    module = tmp_path / "project/app/src/main"
    module.mkdir(parents=True)
    (module / "AndroidManifest.xml").write_text("<manifest/>")
    return tmp_path / "project"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "classifier-int8.tflite").write_bytes(b"model of int8")
    (folder / "classifier-float32.tflite").write_bytes(b"model of float32")
    (folder / "golden.json").write_bytes(golden("int8", "float32"))
    return folder


def test_the_model_becomes_an_asset_and_golden_a_test_resource(project: Path, dist: Path) -> None:
    write_android_assets(dist, "int8", find_android_files(project, ["int8", "int8"]))
    assert (project / "app/src/main/assets/classifier.tflite").read_bytes() == b"model of int8"
    written = (project / "app/src/test/resources/golden.json").read_bytes()
    # As if that recipe alone had been exported, byte for byte.
    assert written == golden("int8")
    check_golden(written, golden("int8"))


def test_a_module_may_be_named_itself(project: Path, dist: Path) -> None:
    write_android_assets(dist, "float32", find_android_files(project / "app", ["float32"]))
    assert (project / "app/src/main/assets/classifier.tflite").read_bytes() == b"model of float32"


def test_nothing_is_replaced_without_force(project: Path, dist: Path) -> None:
    write_android_assets(dist, "int8", find_android_files(project, ["int8"]))
    with pytest.raises(RetvecLiteError, match=r"classifier\.tflite already exists.*--force"):
        find_android_files(project, ["float32"])
    (project / "app/src/main/assets/classifier.tflite").unlink()
    with pytest.raises(RetvecLiteError, match=r"golden\.json already exists.*--force"):
        find_android_files(project, ["float32"])
    write_android_assets(dist, "float32", find_android_files(project, ["float32"], force=True))
    assert (project / "app/src/main/assets/classifier.tflite").read_bytes() == b"model of float32"
    assert list(json.loads((project / "app/src/test/resources/golden.json").read_bytes())["tolerance"]) == ["float32"]


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


@pytest.mark.parametrize("lost", ["classifier-int8.tflite", "golden.json"])
def test_an_export_that_lacks_a_file_changes_nothing(project: Path, dist: Path, lost: str) -> None:
    (dist / lost).unlink()
    with pytest.raises(RetvecLiteError, match=rf"{lost} does not exist: export the recipe int8 again"):
        write_android_assets(dist, "int8", find_android_files(project, ["int8"]))
    assert sorted(path.name for path in project.rglob("*") if path.is_file()) == ["AndroidManifest.xml"]


def test_a_project_that_cannot_be_written_is_one_sentence(project: Path, dist: Path) -> None:
    files = find_android_files(project, ["int8"])
    (project / "app/src/test").write_text("a file where a folder belongs")
    with pytest.raises(RetvecLiteError, match=r"Cannot write .*golden\.json"):
        write_android_assets(dist, "int8", files)
    assert not files.model.exists()
