import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import standin

from retvec_lite.contract import CONTRACT_VERSION
from retvec_lite.converters.tflite.metadata import About, attach_metadata, read_metadata
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.converters.tflite.reading import flatbuffer_size, read_model, sizes
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import read_artifact

ABOUT = About(name="Trips", description="Was möchte der Kunde?", version="1.2", author="A. Uthor", license="Apache-2.0")
LABELS = ["one", 'two, "2"', "drei", "四", "😀 five"]
TINY = Path(__file__).parents[2] / "data" / "tiny.tflite"


def details() -> dict[str, Any]:
    return {
        "format": "retvec-lite",
        "contract_version": CONTRACT_VERSION,
        "encoder": standin.CONFIG.to_dict(),
        "labels": LABELS,
        "recipe": "int8",
    }


@pytest.fixture(scope="module")
def model(built: Path) -> bytes:
    return quantize((built / "pool.tflite").read_bytes(), "int8")


@pytest.fixture(scope="module")
def artifact(model: bytes) -> bytes:
    return attach_metadata(model, ABOUT, LABELS, details())


def test_standard_metadata_round_trip(artifact: bytes) -> None:
    metadata = read_metadata(artifact)
    assert metadata.about == ABOUT
    assert metadata.min_parser_version == "1.0.0"
    assert [tensor.name for tensor in metadata.inputs] == ["codepoints"]
    assert [tensor.name for tensor in metadata.outputs] == ["probabilities"]
    assert metadata.outputs[0].files == (("labels.txt", True),)
    assert metadata.files == ("retvec_lite.json",)
    buffer = bytes(read_model(artifact).metadata["TFLITE_METADATA"])
    assert buffer[4:8] == b"M001"


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
    assert read.config == standin.CONFIG
    assert read.metadata["recipe"] == "int8"


def test_metadata_changes_nothing_else(model: bytes, artifact: bytes) -> None:
    before, after = sizes(model), sizes(artifact)
    assert sum(after.values()) == len(artifact)
    for part in ("encoder", "embedding", "head"):
        assert after[part] == before[part]
    assert after["metadata"] > 500


def test_deterministic_and_replaceable(model: bytes, artifact: bytes) -> None:
    assert attach_metadata(model, ABOUT, LABELS, details()) == artifact
    assert attach_metadata(artifact, ABOUT, LABELS, details()) == artifact


@pytest.mark.parametrize("label", ["two\nlines", "", "carriage\r", "a\u2028b"])
def test_labels_are_lines(model: bytes, label: str) -> None:
    with pytest.raises(RetvecLiteError, match="labels of one line"):
        attach_metadata(model, ABOUT, [*LABELS[:-1], label], details())


def test_as_many_labels_as_outputs(model: bytes) -> None:
    with pytest.raises(RetvecLiteError, match="Expected 5 labels, one for each output, received 4"):
        attach_metadata(model, ABOUT, LABELS[:-1], details())


def test_model_without_metadata(model: bytes) -> None:
    with pytest.raises(RetvecLiteError, match="TFLITE_METADATA"):
        read_metadata(model)
