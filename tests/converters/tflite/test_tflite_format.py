import dataclasses
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import standin
from exported import EXPORTED
from tflite_metadata import read_metadata

from retvec_lite.contract import CONTRACT_VERSION
from retvec_lite.converters.format import About
from retvec_lite.converters.tflite import format as tflite_format
from retvec_lite.converters.tflite import read_model
from retvec_lite.converters.tflite.format import attach_files, attach_metadata
from retvec_lite.converters.tflite.graph import data_of, flatbuffer_size, sizes
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import classify_signature, read_artifact

ABOUT = About(
    name="Trips", description="Was möchte er?", version="1.2", author="A. Uthor", license="MIT", output="Shares"
)
LABELS = ["one", 'two, "2"', "drei", "四", "😀 five"]


def details() -> dict[str, Any]:
    return {
        "format": "retvec-lite",
        "contract_version": CONTRACT_VERSION,
        "encoder": standin.LONG.to_dict(),
        "labels": LABELS,
        "recipe": "int8",
        "signatures": [classify_signature(standin.LONG).to_dict()],
    }


@pytest.fixture(scope="module")
def model() -> bytes:
    """A graph that has other metadata, to be replaced."""
    return read_artifact(EXPORTED / "raw" / "classifier-int8.tflite").model


@pytest.fixture(scope="module")
def artifact(model: bytes) -> bytes:
    return attach_files(attach_metadata(model, ABOUT, LABELS), LABELS, details())


def test_standard_metadata_round_trip(artifact: bytes) -> None:
    parsed = read_model(artifact)
    (entry,) = parsed.metadata
    assert entry.name == "TFLITE_METADATA"
    assert read_metadata(data_of(parsed, entry)) == {
        "about": ["Trips", "Was möchte er?", "1.2", "A. Uthor", "MIT"],
        "min_parser_version": "1.0.0",
        # The schema allows several graphs, but its readers take only files with one that is described.
        "graphs": 1,
        "inputs": [("codepoints", [])],
        "outputs": [("probabilities", [("labels.txt", True)])],
        "files": ["retvec_lite.json"],
    }


def test_file_is_a_zip_of_its_labels_and_contract(artifact: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(artifact)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["retvec_lite.json", "labels.txt"]
        assert archive.read("labels.txt").decode() == "\n".join(LABELS) + "\n"
        found = json.loads(archive.read("retvec_lite.json"))
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    digest = found.pop("model_sha256")
    assert found == details()
    assert digest == hashlib.sha256(artifact[: flatbuffer_size(artifact)]).hexdigest()


def test_runtime_accepts_it(artifact: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(artifact)
    read = read_artifact(tmp_path / "model.tflite")
    assert read.labels == tuple(LABELS)
    assert read.config == standin.LONG
    assert read.metadata["recipe"] == "int8"


def test_metadata_changes_nothing_else(model: bytes, artifact: bytes) -> None:
    before, after = (sizes(data, read_model(data)) for data in (model, artifact))
    assert sum(after.values()) == len(artifact)
    for part in ("encoder", "embedding", "head"):
        assert after[part] == before[part]
    assert after["metadata"] > 500


def test_deterministic_and_replaceable(artifact: bytes) -> None:
    assert attach_files(attach_metadata(artifact, ABOUT, LABELS), LABELS, details()) == artifact


@pytest.mark.parametrize("label", ["two\nlines", "", "carriage\r", "a\u2028b"])
def test_labels_are_lines(model: bytes, label: str) -> None:
    with pytest.raises(RetvecLiteError, match="is empty or has a line break"):
        attach_metadata(model, ABOUT, [*LABELS[:-1], label])


def test_a_classifier_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The .onnx of an export is made of the graph of its .tflite."""
    pytest.importorskip("tensorflow")
    from retvec_lite.converters.tflite import convert

    made: list[bytes] = []

    def to_tflite(entries: Any) -> bytes:
        made.append(b"graph %d" % len(made))
        return made[-1]

    monkeypatch.setattr(convert, "entries", lambda model, embeds: [])
    monkeypatch.setattr(convert, "to_tflite", to_tflite)
    one, other = standin.classifier("pool"), dataclasses.replace(standin.classifier("pool"))
    found = [tflite_format.convert(*call) for call in ((one,), (one, False), (one, True), (other,), (one,))]
    assert found == [b"graph 0", b"graph 0", b"graph 1", b"graph 2", b"graph 3"]
