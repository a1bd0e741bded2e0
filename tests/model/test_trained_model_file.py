"""The file of a trained model: reproducible bytes, exact round trip, and refusal of weights that do not fit."""

import dataclasses
import hashlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from modeling_cases import LABELS, SMALL_HEADS, random_classifier, random_embedding
from refusals import refusal

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import weight_files
from retvec_lite.model.heads import HeadSpec
from retvec_lite.model.weight_files import CLASSIFIER_FILE as FILE_NAME
from retvec_lite.model.weight_files import TrainedModel, load_trained_model, read_safetensors, safetensors_bytes
from retvec_lite.ngrams import NgramConfig
from retvec_lite.trained import TrainedClassifier

safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed: no weights to read")

HEAD = SMALL_HEADS[0]
CLASSIFIER = random_classifier(HEAD)


def refused(path: Path) -> str:
    message = refusal(load_trained_model, path)
    assert str(path) in message
    return message


def test_a_folder_without_a_trained_model_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no"):
        assert "no classifier.safetensors" in refused(path) and "retvec-lite train" in refused(path)
    exported = tmp_path / "classifier-int8.tflite"
    exported.touch()
    message = refused(tmp_path)
    assert "this needs the trained classifier" in message and str(tmp_path) in message


@pytest.mark.parametrize(
    "kind",
    [{}, {"raw": True}, {"ngrams": NgramConfig(buckets=50)}, {"meaning": True}],
    ids=["dense", "raw", "ngrams", "meaning"],
)
@pytest.mark.parametrize("head", SMALL_HEADS, ids=lambda head: head.name)
def test_round_trip(tmp_path: Path, head: HeadSpec, kind: dict[str, Any]) -> None:
    classifier = random_classifier(head, **kind)
    (tmp_path / FILE_NAME).write_bytes(classifier.to_bytes())
    for path in (tmp_path, str(tmp_path / FILE_NAME)):
        again = load_trained_model(path)
        assert again.to_bytes() == classifier.to_bytes()
        for field in ("encoder", "head", "labels", "embedding", "training", "ngrams", "meaning"):
            assert getattr(again, field) == getattr(classifier, field)
        assert set(again.weights) == set(classifier.weights)
        for name, value in again.weights.items():
            assert value.dtype == np.float32
            np.testing.assert_array_equal(value, classifier.weights[name])


def test_the_weights_alone_say_what_a_trained_folder_is(tmp_path: Path) -> None:
    """What lies beside them is for people and other programs: a copy that nothing reads cannot mislead."""
    classifier = TrainedClassifier(dataclasses.replace(CLASSIFIER, training={"epochs": 3}))
    classifier.save(tmp_path, force=True)
    for path in tmp_path.iterdir():
        if path.name != "classifier.safetensors":
            path.write_bytes(b"[" * 100_000)
    assert load_trained_model(tmp_path).to_bytes() == classifier.model.to_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_the_weights_of_a_trained_folder_are_not_waited_for_or_too_large(tmp_path: Path) -> None:
    name = "classifier.safetensors"
    TrainedClassifier(CLASSIFIER).save(tmp_path, force=True)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert str(tmp_path) in refused(tmp_path)
    (tmp_path / name).unlink()
    with (tmp_path / name).open("wb") as file:
        file.truncate(3 << 30)
    assert "has 3,221,225,472 bytes or more, but at most" in refused(tmp_path)


def test_a_tensor_of_more_dimensions_than_numpy_has_is_refused(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1] * 70, "data_offsets": [0, 4]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    assert "is not a readable safetensors file" in refused(tmp_path / "a.safetensors")


def test_a_changed_byte_is_refused_by_name_or_harmless(tmp_path: Path) -> None:
    content = CLASSIFIER.to_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    path = tmp_path / FILE_NAME
    # Every byte of the header, and a sample of the weights.
    for place in (*range(header), *range(header, len(content), max(1, (len(content) - header) // 200))):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            again = load_trained_model(path)
        except RetvecLiteError as error:
            assert str(path) in str(error)
        else:
            # Blanks behind the header, or the name of the checksum itself.
            assert place < header and again.to_bytes() == content


def test_a_changed_weight_is_refused_by_its_checksum(tmp_path: Path) -> None:
    content = bytearray(CLASSIFIER.to_bytes())
    content[-2] ^= 1
    (tmp_path / FILE_NAME).write_bytes(content)
    assert "was changed since it was written (wrong SHA-256). Copy it again, or train again." in refused(
        tmp_path / FILE_NAME
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [({"embedding": {"name": 7}}, "name must be a string, not 7"), ({"labels": ("a", "b", "c", "d", "e")}, "head/")],
)
def test_what_another_version_wrote_is_to_be_trained_again(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    (tmp_path / FILE_NAME).write_bytes(dataclasses.replace(CLASSIFIER, **change).to_bytes())
    told = refused(tmp_path / FILE_NAME)
    assert told.startswith(f"{tmp_path / FILE_NAME}") and why in told
    assert told.endswith(". It was made by another version of retvec-lite: train it again.")


def test_bytes_are_the_same_in_every_process() -> None:
    """The safetensors library orders metadata by a hash that differs from process to process."""
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); from modeling_cases import *;"
        "print(hashlib.sha256(random_classifier(SMALL_HEADS[0]).to_bytes() + random_embedding().to_bytes()).hexdigest())"
    )
    here = str(Path(__file__).parents[1] / "support")
    digests = {
        subprocess.run([sys.executable, "-c", code, here], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(3)
    }
    assert digests == {hashlib.sha256(CLASSIFIER.to_bytes() + random_embedding().to_bytes()).hexdigest()}


def test_the_order_of_weights_does_not_matter() -> None:
    backwards = TrainedModel(**{**vars(CLASSIFIER), "weights": dict(reversed(CLASSIFIER.weights.items()))})
    assert backwards.to_bytes() == CLASSIFIER.to_bytes()


def test_other_tools_read_the_file() -> None:
    data = CLASSIFIER.to_bytes()
    assert set(safetensors_numpy.load(data)) == set(CLASSIFIER.weights)
    length = int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["classifier"])
    assert about["labels"] == list(LABELS) and about["head"]["name"] == "pool"
    assert (8 + length) % 8 == 0, "data is aligned as the format wants it"


def described_weights(weights: dict[str, Any], about: dict[str, Any]) -> bytes:
    """A file whose checksum is right, whatever it holds."""
    text = json.dumps(about)
    return safetensors_bytes(weights, {"classifier": text, "sha256": weight_files._checksum(text, weights)})


@pytest.mark.parametrize(
    "content",
    [
        *(CLASSIFIER.to_bytes()[:length] for length in (0, 1, 7, 8, 9, 300, -1, -4)),
        *(b"PK\x03\x04" + bytes(500), b"TFL3" * 100, b"\xff" * 64, b"text,label\n" * 10),
    ],
    ids=len,
)
def test_a_file_that_is_truncated_or_of_another_kind(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    assert "safetensors" in refused(path)


@pytest.mark.parametrize(
    ("metadata", "part"),
    [
        ({}, "its format is None"),
        ({"classifier": "{"}, "the description is not valid JSON"),
        ({"classifier": "[]"}, "its format is None"),
        ({"classifier": "[" * 100_000}, "the description is not valid JSON: it is nested too deep"),
        ({"format": "pt"}, "its format is None"),
    ],
)
def test_a_safetensors_file_of_another_tool(tmp_path: Path, metadata: dict[str, str], part: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(safetensors_bytes({"w": np.zeros(3, np.float32)}, metadata))
    assert part in refused(path)


def test_an_embedding_is_no_classifier(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(random_embedding().to_bytes())
    assert "retvec-lite-classifier" in refused(path)


def without(name: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda about, weights: weights.pop(name)


def replaced(name: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda about, weights: weights.update({name: np.asarray(value, np.float32)})


def described(**fields: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda about, weights: about.update(fields)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (described(format="other"), "its format is 'other'"),
        (described(version=2), "its version 2"),
        (described(encoder=None), "no valid encoder"),
        (described(encoder={"contract_version": 3}), "The encoder config lacks drop_invisible, han_piece"),
        (described(head="pool"), "no valid head"),
        (described(labels="no"), "no valid labels"),
        (described(labels=["a", "a", "b"]), "different labels"),
        (described(labels=["a"]), "at least 2"),
        (described(labels=[1, 2, 3]), "labels"),
        (described(labels=["a", "b"]), "head/logits/bias needs the shape (2,), but has (3,)"),
        (described(head={"name": "pool", "hidden": 25}), "head/"),
        (described(head={"name": "pool", "hidden": 1, "blocks": 1}), "head/block_0/depthwise"),
        (described(head={"name": "gru"}), "'gru'"),
        (without("head/word/kernel"), "lacks the weights head/word/kernel."),
        (without("embedding/dense_1/bias"), "lacks the weights dense_1/bias."),
        (replaced("head/other", [1.0]), "unknown weights head/other."),
        (replaced("other", [1.0]), "unknown weights other."),
        (replaced("head/logits/bias", np.zeros((3, 1))), "head/logits/bias needs the shape (3,), but has (3, 1)"),
        (replaced("head/logits/bias", [0.0, np.nan, 0.0]), "head/logits/bias contains NaN or infinity"),
        (replaced("embedding/dense_0/bias", [np.inf] * 28), "dense_0 contains NaN or infinity"),
        (
            replaced("embedding/dense_0/kernel", np.zeros((315, 28))),
            "writes 16 characters per word, but the embedding reads 15",
        ),
        (replaced("embedding/dense_0/kernel", [1.0] * 5), "21 rows per character, but has 5 rows"),
        (
            described(ngrams={"buckets": 50, "longest": 4, "shortest": 1}),
            "lacks the weights ngrams/bias, ngrams/squares, ngrams/table.",
        ),
        (
            described(ngrams={"buckets": 5, "longest": 4, "shortest": 1}),
            "buckets of the n-grams must be an integer from 16 to 65521",
        ),
        (replaced("ngrams/bias", np.zeros(3)), "unknown weights ngrams/bias."),
        (
            described(meaning={"words": 2, "rows": 9, "displacements": 4}),
            "lacks the weights meaning/codebooks, meaning/",
        ),
        (described(meaning={"words": 2, "rows": 9}), "The meaning needs the fields displacements, rows, words"),
        (described(meaning={"words": 0, "rows": 9, "displacements": 4}), "words of the meaning must be an integer"),
        (replaced("meaning/projection", np.zeros((64, 3))), "unknown weights meaning/projection."),
    ],
)
def test_what_does_not_fit_together(tmp_path: Path, change: Callable[[Any, Any], None], part: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(CLASSIFIER.to_bytes())
    weights, metadata = read_safetensors(path)
    about = json.loads(metadata["classifier"])
    change(about, weights)
    path.write_bytes(described_weights(weights, about))
    message = refused(path)
    assert part in message and message.startswith(str(path))


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("rows", np.zeros((9, 3)), "meaning/rows needs the shape ("),
        ("projection", np.zeros((64, 4)), "meaning/projection needs the shape (64, 3)"),
        ("codes", 0.5, "meaning/codes needs whole numbers from 0 to 255"),
    ],
)
def test_a_table_of_meaning_that_does_not_fit(tmp_path: Path, name: str, value: Any, part: str) -> None:
    classifier = random_classifier(SMALL_HEADS[-1], meaning=True)
    shape = classifier.weights[f"meaning/{name}"].shape
    damaged = np.full(shape, value, np.float32) if np.isscalar(value) else value.astype(np.float32)
    weights = {**classifier.weights, f"meaning/{name}": damaged}
    (tmp_path / FILE_NAME).write_bytes(dataclasses.replace(classifier, weights=weights).to_bytes())
    assert part in refused(tmp_path)


def test_another_contract_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    about = {
        "format": "retvec-lite-classifier",
        "version": 1,
        "head": {},
        "labels": [],
        "embedding": {},
        "training": {},
    }
    about["encoder"] = {"contract_version": 4, "new": 1}
    path.write_bytes(described_weights({"w": np.zeros(3, np.float32)}, about))
    with pytest.raises(RetvecLiteError, match="contract version is 4, but"):
        load_trained_model(path)
