"""A checkpoint belongs to its words, starting weights and settings; a damaged one is named."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_words import NAMES

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_default_embedding
from retvec_lite.pretraining.model import WordModel, build_model
from retvec_lite.pretraining.options import PretrainSettings
from retvec_lite.pretraining.pretrain import pretrain
from retvec_lite.pretraining.run_folder import CHECKPOINT, origin, read_checkpoint, write_checkpoint
from retvec_lite.pretraining.words import WordList, load_words

SETTINGS = PretrainSettings(steps=2, batch_size=8, warmup=0)


@pytest.fixture(scope="module")
def words(list_file: Path) -> WordList:
    return load_words([list_file])


@pytest.fixture(scope="module")
def run_dir(words: WordList, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after its first step."""
    folder = tmp_path_factory.mktemp("run")
    assert pretrain(words, SETTINGS, folder / "e.safetensors", run_dir=folder, stop_at=1) is None
    return folder


@pytest.fixture(scope="module")
def model() -> WordModel:
    return build_model(SETTINGS)


def test_other_words_are_refused(words: WordList, run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "others.txt").write_text("\n".join(NAMES[:-1]))
    others = load_words([tmp_path / "others.txt"])
    was, now = (origin(SETTINGS, each, None)["words"] for each in (words, others))
    with pytest.raises(RetvecLiteError) as caught:
        pretrain(others, SETTINGS, tmp_path / "e.safetensors", run_dir=run_dir)
    assert str(caught.value) == (
        f"The run in {run_dir} has words={was}. Resume it with the same settings, not words={now}, or name another folder with "
        "--resume."
    )
    assert not (tmp_path / "e.safetensors").exists()


def test_other_starting_weights_are_refused(words: WordList, run_dir: Path, tmp_path: Path) -> None:
    default = load_default_embedding()
    with pytest.raises(
        RetvecLiteError, match=r"has start_from=None\. Resume it with the same settings, not start_from=[0-9a-f]"
    ):
        pretrain(words, SETTINGS, tmp_path / "e.safetensors", run_dir=run_dir, initial=default)
    weights = dict(default.weights)
    weights["embedding/dense_0/bias"] = np.nextafter(weights["embedding/dense_0/bias"], np.float32(1))
    changed = dataclasses.replace(default, weights=weights)
    assert origin(SETTINGS, words, default)["start_from"] != origin(SETTINGS, words, changed)["start_from"]


def test_other_settings_are_refused_one_by_one(words: WordList, run_dir: Path, tmp_path: Path) -> None:
    changed = dataclasses.replace(SETTINGS, peak_rate=0.5, learned_clipping=False)
    with pytest.raises(
        RetvecLiteError, match=r"has peak_rate=0\.001, network\.learned_clipping=True\. .*not peak_rate=0\.5, network"
    ):
        pretrain(words, changed, tmp_path / "e.safetensors", run_dir=run_dir)


def test_a_checkpoint_of_an_earlier_release_goes_on(words: WordList, model: WordModel, tmp_path: Path) -> None:
    belongs_to = origin(SETTINGS, words, None)
    before = {**belongs_to, "decomposed_share": 0.0, "network.weight_bits": 4, "network.per_tensor": False}
    write_checkpoint(tmp_path, model, before, 1)
    assert read_checkpoint(tmp_path, model, belongs_to, SETTINGS.steps) == 1
    write_checkpoint(tmp_path, model, {**before, "decomposed_share": 0.1}, 1)
    with pytest.raises(RetvecLiteError, match=r"has decomposed_share=0\.1\. Resume"):
        read_checkpoint(tmp_path, model, belongs_to, SETTINGS.steps)


def damage(content: bytes) -> list[bytes]:
    """Ways in which a checkpoint may be damaged."""
    middle = len(content) // 2
    flipped = bytes([content[middle] ^ 1])
    return [
        b"",
        b"PK",
        content[:middle],
        content[:-1],
        content[:middle] + flipped + content[middle + 1 :],
        bytes(len(content)),
    ]


def test_a_damaged_checkpoint_is_one_sentence(words: WordList, run_dir: Path, tmp_path: Path, model: WordModel) -> None:
    path = tmp_path / CHECKPOINT
    for content in damage((run_dir / CHECKPOINT).read_bytes()):
        path.write_bytes(content)
        with pytest.raises(RetvecLiteError) as caught:
            read_checkpoint(tmp_path, model, origin(SETTINGS, words, None), SETTINGS.steps)
        message = str(caught.value)
        assert message.startswith(f"{path} is damaged (") and message.endswith("). Remove it to begin again.")
        assert "\n" not in message


@pytest.mark.parametrize(
    "changes",
    [
        {"step": np.asarray(3)},
        {"step": np.asarray(-1)},
        {"step": np.asarray("x")},
        {"settings": np.asarray("[]")},
        {"settings": np.asarray("{")},
        {"variable_0": np.zeros(3, np.float32)},
        {"variable_0": None},
    ],
    ids=repr,
)
def test_a_checkpoint_that_holds_something_else_is_one_sentence(
    words: WordList, run_dir: Path, tmp_path: Path, model: WordModel, changes: dict[str, Any]
) -> None:
    with np.load(run_dir / CHECKPOINT) as stored:
        arrays = {**stored, **changes}
    np.savez(tmp_path / CHECKPOINT, **{name: value for name, value in arrays.items() if value is not None})
    with pytest.raises(RetvecLiteError, match=r"checkpoint\.npz is damaged \("):
        read_checkpoint(tmp_path, model, origin(SETTINGS, words, None), SETTINGS.steps)


def test_a_checkpoint_of_python_objects_is_not_unpickled(words: WordList, tmp_path: Path, model: WordModel) -> None:
    np.savez(tmp_path / CHECKPOINT, settings=np.asarray({"a": 1}, object), step=np.asarray(1))
    with pytest.raises(RetvecLiteError, match="allow_pickle=False"):
        read_checkpoint(tmp_path, model, origin(SETTINGS, words, None), SETTINGS.steps)


def test_a_checkpoint_is_flushed_before_it_gets_its_name(
    words: WordList, tmp_path: Path, model: WordModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    done: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, name=name, real=real: (done.append(name), real(*args)))
    write_checkpoint(tmp_path, model, origin(SETTINGS, words, None), 1)
    assert done == ["fsync", "replace", "fsync"], "the file, its name, the folder"
