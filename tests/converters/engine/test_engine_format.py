"""Exporting .retvec files, verifying them, and classifying with them from Python."""

import csv
import dataclasses
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from engine_cases import CASES
from few_edges import use_every_edge
from hostile_files import mended
from modeling_cases import random_classifier

import retvec_lite as rl
from retvec_lite import runtime as library
from retvec_lite.__main__ import main
from retvec_lite.converters.engine import RetvecFile, build_file, check_model
from retvec_lite.converters.export import export_model
from retvec_lite.converters.format import find_format
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.retvec_file import LANES, Layer, sections_of

MODEL = CASES["cnn"]
TEXTS = ("where is my parcle?", "cancel it 😀", "我的包裹在哪里", "see you tomorrow, or on Monday. And then? " * 5)

pytestmark = pytest.mark.usefixtures("engine_library")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, engine_library: Path) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    with open(folder / "texts.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "yes") for text in TEXTS)])
    export_model(MODEL, folder / "dist", formats="engine", data=folder / "texts.csv")
    return folder / "dist"


def test_what_is_exported_passes_verify(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_every_edge(monkeypatch.setattr)
    found = rl.verify(dist, data=dist.parent / "texts.csv")
    assert found.ok, str(found)
    assert [(row.recipe, row.runtime) for row in found.rows] == [("int8", "retvec-lite")]
    (artifact,) = found.artifacts
    checks = {check.name for check in artifact.runtimes[0].checks}
    assert {"words", "bits", "embedding", "text", "probabilities"} <= checks
    assert list(json.loads((dist / "golden.json").read_bytes())["tolerance"]) == ["engine-int8"]
    assert rl.info(dist / "classifier-int8.retvec").to_dict()["sizes"]["embedding"] > 0
    contents = RetvecFile(dist / "classifier-int8.retvec").contents()
    assert sum(contents.sizes.values()) == (dist / "classifier-int8.retvec").stat().st_size
    assert all(contents.sizes[part] > 0 for part in ("embedding", "head", "ngrams", "metadata"))


@pytest.mark.parametrize("section", ["head/block_0/depthwise", "ngrams/table"])
def test_other_weights_are_found_out(dist: Path, tmp_path: Path, section: str) -> None:
    content = bytearray((dist / "classifier-int8.retvec").read_bytes())
    end = bytes(content).index(sections_of(bytes(content))[section]) + len(sections_of(bytes(content))[section])
    if section.endswith("depthwise"):
        struct.pack_into("<f", content, end - 4, 3.0)
    else:
        # Not in the padding.
        content[end - LANES * 2] ^= 0x55
    for name in ("reference.safetensors", "labels.txt"):
        (tmp_path / name).write_bytes((dist / name).read_bytes())
    (tmp_path / "classifier-int8.retvec").write_bytes(mended(content))
    (found,) = rl.verify(tmp_path, data=dist.parent / "texts.csv").artifacts
    assert not found.ok
    assert [check.name for check in found.checks if not check.ok] == ["weights"]


def test_a_file_of_another_classifier_is_found_out(dist: Path, tmp_path: Path) -> None:
    (tmp_path / "reference.safetensors").write_bytes(CASES["linear"].to_bytes())
    (tmp_path / "a.retvec").write_bytes((dist / "classifier-int8.retvec").read_bytes())
    (found,) = rl.verify(tmp_path, data=dist.parent / "texts.csv").artifacts
    assert "must be" in str(found.problem)


def test_the_same_file_each_time(dist: Path) -> None:
    metadata = RetvecFile(dist / "classifier-int8.retvec").metadata
    assert build_file(MODEL, metadata) == (dist / "classifier-int8.retvec").read_bytes()


def test_layers_survive_their_bytes() -> None:
    rng = np.random.default_rng(0)
    for bits, adds_rows, rows, columns in ((8, False, 5, 33), (4, False, 3, 64), (4, True, 42, 7), (8, True, 21, 32)):
        most = 127 if bits == 8 else 7
        integers = rng.integers(-most, most + 1, (rows, columns)).astype(np.int8)
        numbers = rng.normal(size=(2, columns if adds_rows else rows)).astype(np.float32)
        found = Layer.from_bytes(Layer(integers, *numbers, adds_rows).to_bytes(), adds_rows)
        assert found.bits == bits
        np.testing.assert_array_equal(found.integers, integers)
        np.testing.assert_array_equal([found.scales, found.bias], numbers)


@pytest.mark.parametrize("label", ["", "a\0b", "a\nb", "\x1b[2J", "a\x9b", "\ud800"])
def test_labels_that_the_engine_refuses_are_not_written(label: str) -> None:
    with pytest.raises(RetvecLiteError, match=r"(is empty|has more than one line|holds .*)\. Rename it"):
        check_model(dataclasses.replace(MODEL, labels=(*MODEL.labels[:-1], label)))


def test_recipes_and_options_that_the_engine_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RetvecLiteError, match="The format engine has no recipe float32: choose int8"):
        export_model(MODEL, tmp_path / "dist", formats="engine", recipes="float32")
    source = tmp_path / "classifier.safetensors"
    source.write_bytes(CASES["pool"].to_bytes())
    assert main(["export", str(source), "--out", str(tmp_path / "dist"), "--format", "engine", "--embed"]) == 2
    assert "The option embed needs the format tflite" in capsys.readouterr().err
    assert not (tmp_path / "dist").exists()


def test_python_classifies_with_it(dist: Path) -> None:
    classifier = rl.load(dist / "classifier-int8.retvec", workers=2)
    assert isinstance(classifier, rl.Classifier)
    assert (classifier.runtime, classifier.labels) == ("retvec-lite", MODEL.labels)
    table = classifier.probabilities(list(TEXTS))
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
    many = [text for text in TEXTS for _ in range(50)]
    np.testing.assert_array_equal(classifier.probabilities(many), np.repeat(table, 50, axis=0))
    assert [found[0] for found in classifier.predict_many(many, top=1)][::50] == [
        classifier.predict(text, top=1)[0] for text in TEXTS
    ]
    assert [span.text for span in classifier.explain("where is it").spans] == ["where", "is", "it"]
    vectors = classifier.embed(list(TEXTS))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert classifier.embed_words("where is it")[0] == ["where", "is", "it"]
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.probabilities(list(TEXTS)), table)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"num_threads": 2}, "num_threads"), ({"runtime": "ai-edge-litert", "isolated": True}, "runtime")],
)
def test_options_of_litert_are_refused(dist: Path, options: dict, named: str) -> None:
    with pytest.raises(RetvecLiteError, match=f"Only a .tflite takes {named}: all else runs on an engine of its own"):
        rl.load(dist / "classifier-int8.retvec", **options)


def test_a_missing_library_is_a_sentence(dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    with pytest.raises(RetvecLiteError, match=r"The engine for \.retvec files is not built"):
        rl.load(dist / "classifier-int8.retvec")
    (tmp_path / library.LIBRARY).write_bytes(b"nothing")
    with pytest.raises(RetvecLiteError, match="cannot be loaded"):
        rl.load(dist / "classifier-int8.retvec")


def test_all_formats_leave_out_what_the_engine_does_not_compute() -> None:
    engine, int8 = find_format("engine"), find_recipe("int8")
    assert engine.offers(random_classifier(MODEL.head), [int8])
    assert not engine.offers(random_classifier(MODEL.head), [int8, find_recipe("float32")])
