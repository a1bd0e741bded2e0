"""Weights that are finite and overflow in use: no path answers with NaN, and each says why in a sentence."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
from exported import EXPORTED
from spoiled import model_of, repacked

import retvec_lite as rl
from retvec_lite.converters.tflite import pack, read_model
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.trained import TrainedClassifier

TEXTS = ["where is my parcel?", ""]


def overflowing() -> TrainedModel:
    """A classifier whose weights are finite and whose logits are not."""
    model = load_trained_model(EXPORTED / "pool" / "reference.safetensors")
    weights = {
        name: np.full_like(value, 3e38) if name == "head/logits/kernel" else value
        for name, value in model.weights.items()
    }
    return dataclasses.replace(model, weights=weights)


def test_a_trained_folder_with_weights_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    TrainedClassifier(overflowing()).save(tmp_path / "huge")
    with pytest.raises(RetvecLiteError, match=r"head/logits/kernel contains NaN or infinity, or a number above 1e\+10"):
        rl.load(tmp_path / "huge")


def test_a_trained_classifier_never_answers_nan() -> None:
    classifier = TrainedClassifier(overflowing())
    for ask in (classifier.probabilities, classifier.predict):
        with pytest.raises(
            RetvecLiteError, match="This classifier cannot answer: its weights are damaged, or too large"
        ):
            ask(TEXTS)


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_an_exported_file_never_answers_nan(tmp_path: Path, value: float, isolated: bool) -> None:
    path = tmp_path / "huge.tflite"
    shutil.copy(EXPORTED / "pool" / "classifier-float32.tflite", path)
    edited = read_model(model_of(path))
    for buffer in edited.buffers:
        if buffer.data is not None and len(buffer.data) > 4_000 and len(buffer.data) % 4 == 0:
            buffer.data = np.full(len(buffer.data) // 4, value, np.float32).view(np.uint8)
    repacked(path, pack(edited))
    with pytest.raises(RetvecLiteError):
        rl.load(path, isolated=isolated).probabilities(TEXTS)


def test_an_export_of_such_a_classifier_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    with pytest.raises(RetvecLiteError, match="The weights of the classifier are too large to compute with"):
        TrainedClassifier(overflowing()).export(tmp_path / "dist", recipes=["float32"])
    assert not (tmp_path / "dist").exists()


def test_verify_finds_a_file_that_answers_nan(tmp_path: Path) -> None:
    shutil.copytree(EXPORTED / "pool", tmp_path / "dist")
    path = tmp_path / "dist" / "classifier-float32.tflite"
    edited = read_model(model_of(path))
    largest = max((b for b in edited.buffers if b.data is not None), key=lambda b: len(b.data))
    largest.data = np.full(len(largest.data) // 4, np.nan, np.float32).view(np.uint8)
    repacked(path, pack(edited))
    assert not rl.verify(path).ok
