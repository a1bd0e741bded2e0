"""Files that are not whole, not ours, or not of this version."""

import io
import json
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refusal
from tiny_artifact import LABELS, MODEL, tiny_artifact, tiny_metadata

import retvec_lite as rl
from retvec_lite.contract import CONTRACT_VERSION, EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import classify_signature, read_artifact

LABELS_TXT = "".join(f"{label}\n" for label in LABELS)
NEWER = CONTRACT_VERSION + 1
NEWER_ENCODER = {"contract_version": NEWER, "something_new": 1}


@pytest.fixture
def model_path(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    return path


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is not a .tflite model"),
        (b"TFL3", "is not a .tflite model"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not a .tflite model"),
        (MODEL, "did not export it"),
        (MODEL[:500], "is truncated"),
        (tiny_artifact()[:-10], "is truncated"),
        (tiny_artifact(members={"labels.txt": LABELS_TXT}), "did not export it"),
        (tiny_artifact(members={"retvec_lite.json": "{}", "labels.txt": "a\nb\n"}), "its format is not 'retvec-lite'"),
        (tiny_artifact(members={"retvec_lite.json": "{", "labels.txt": "a\nb\n"}), "retvec_lite.json"),
        (tiny_artifact(members={"retvec_lite.json": "[" * 100_000, "labels.txt": ""}), "retvec_lite.json"),
        (tiny_artifact(members={"retvec_lite.json": " " * 5_000_000, "labels.txt": ""}), "did not export it"),
        (tiny_artifact(format="other"), "its format is not 'retvec-lite'"),
        (
            tiny_artifact(contract_version=NEWER),
            f"The contract version is {NEWER}, but this retvec-lite reads version {CONTRACT_VERSION} only",
        ),
        (tiny_artifact(contract_version=NEWER, encoder=NEWER_ENCODER), f"version is {NEWER}"),
        (tiny_artifact(encoder={**EncoderConfig().to_dict(), "contract_version": NEWER}), f"version is {NEWER}"),
        (tiny_artifact(contract_version=2), "The contract version is 2, but"),
        (tiny_artifact(contract_version=None), "The contract version is None"),
        (tiny_artifact(encoder=None), "encoder config lacks"),
        (tiny_artifact(encoder={**EncoderConfig().to_dict(), "max_chars": -1}), "max_chars"),
        (tiny_artifact(labels=["a", "b", "c"]), "must list the same labels"),
        (tiny_artifact(labels=None), "must list the same labels"),
        (tiny_artifact(model_sha256=None), "SHA-256"),
        (tiny_artifact(model=MODEL[:-100] + bytes(100)), "SHA-256"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(content)
    message = refusal(rl.load, path)
    assert part in message and str(path) in message


@given(st.integers(0, len(tiny_artifact()) - 1), st.integers(1, 255))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_byte_is_refused_or_harmless(tmp_path: Path, at: int, change: int) -> None:
    content = bytearray(tiny_artifact())
    content[at] ^= change
    path = tmp_path / "flipped.tflite"
    path.write_bytes(content)
    try:
        artifact = read_artifact(path)
    except RetvecLiteError:
        return
    assert artifact.model == MODEL and artifact.labels == LABELS and dict(artifact.metadata) == tiny_metadata()


@given(st.integers(0, len(tiny_artifact()) - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "short.tflite"
    path.write_bytes(tiny_artifact()[:length])
    with pytest.raises(RetvecLiteError):
        read_artifact(path)


def test_a_zip_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path: Path) -> None:
    size = (64 << 20) + 0x123456
    tail = io.BytesIO()
    with zipfile.ZipFile(tail, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("retvec_lite.json", bytes(size))
        archive.writestr("labels.txt", "a\nb\n")
    declared = struct.pack("<I", size)
    assert tail.getvalue().count(declared) == 2
    path = tmp_path / "bomb.tflite"
    path.write_bytes(MODEL + tail.getvalue().replace(declared, struct.pack("<I", 100)))
    tracemalloc.start()
    try:
        with pytest.raises(RetvecLiteError, match="did not export it"):
            read_artifact(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_model_with_another_interface_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.tflite"
    other = EncoderConfig(max_chars=33, max_words=8)
    path.write_bytes(tiny_artifact(encoder=other.to_dict(), signatures=[classify_signature(other).to_dict()]))
    with pytest.raises(RetvecLiteError, match=r"\(1, 33\).*\(1, 32\)"):
        rl.load(path)


def test_the_metadata_survives_unzip_and_the_model_its_identifier(model_path: Path) -> None:
    """`unzip` reads the file as a zip archive, a runtime reads it as a flatbuffer."""
    content = model_path.read_bytes()
    assert content[4:8] == b"TFL3" and content[len(MODEL) :].startswith(b"PK\x03\x04")
    assert struct.unpack("<I", content[:4])[0] < len(MODEL)
    artifact = read_artifact(os.fspath(model_path))
    assert json.loads(json.dumps(dict(artifact.metadata))) == tiny_metadata()


def test_members_packed_in_another_way_are_refused(tmp_path: Path) -> None:
    """Broken LZMA raises an exception of its own."""
    tail = io.BytesIO()
    with zipfile.ZipFile(tail, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("retvec_lite.json", json.dumps(tiny_metadata()))
        archive.writestr("labels.txt", LABELS_TXT)
    content = bytearray(tail.getvalue())
    content[60:70] = bytes(10)
    (tmp_path / "m.tflite").write_bytes(MODEL + content)
    with pytest.raises(RetvecLiteError, match="did not export it"):
        rl.load(tmp_path / "m.tflite")
