"""A training that ends in the middle goes on from its checkpoint, to the same weights; one of another training is refused."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cluster_train
import numpy as np
import pytest
from command_line import Main
from fitted import Crossed, train
from modeling_cases import random_embedding
from patience import PATIENCE
from tiny_data import QUICK, tiny_dataset

from retvec_lite.__main__ import INTERRUPTED
from retvec_lite.errors import RetvecLiteError
from retvec_lite.training import checkpoint
from retvec_lite.training.network import TrainableNetwork
from retvec_lite.training.trainer import Trained

SLOTS = 8

Stop = Callable[[str, int, int], None]


class Killed(BaseException):
    """Stands for a kill: nothing handles it."""


def stop_at(part: str, step: int) -> Stop:
    """Return a progress callback that ends the training after a step of one of its fits."""

    def progress(what: str, done: int, total: int) -> None:
        if what == part and done == step:
            raise Killed

    return progress


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)


def cross(path: Path, **options: Any) -> Trained:
    """The training of the fixture `crossed`, with a checkpoint."""
    given = {"embedding": random_embedding(dimension=64), "max_words": SLOTS, "settings": QUICK, **options}
    return train(tiny_dataset(12), checkpoint=path, **given)


def same(one: Trained, other: Trained) -> bool:
    weights, others = one.model.weights, other.model.weights
    return weights.keys() == others.keys() and all(np.array_equal(weights[name], others[name]) for name in weights)


@pytest.mark.usefixtures("every_step")
def test_it_goes_on_in_each_fit(crossed: Crossed, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    steps = list(range(1, crossed.told["training"][0][1] + 1))
    fold = (len(steps) - QUICK.steps(len(tiny_dataset(12)))) // 3
    trained: list[int] = []

    def noted(stop: Stop) -> Stop:
        def progress(what: str, done: int, total: int) -> None:
            if what == "training":
                trained.append(done)
            stop(what, done, total)

        return progress

    for step in (fold + 5, 3 * fold + 3, steps[-1] - 2):
        with pytest.raises(Killed):
            cross(path, progress=noted(stop_at("training", step)))
        assert path.exists()
    done = cross(path, progress=noted(lambda *_: None))
    assert same(done, crossed.trained)
    # The step that was killed was not in the file yet; each start tells again where its fits are; nothing else was repeated.
    assert trained[: fold + 5] == steps[: fold + 5]
    again = [step for step in steps if trained.count(step) > 1]
    assert set(steps) == set(trained)
    assert set(again) <= {step + more for step in (fold, 2 * fold, 3 * fold, fold + 5, 3 * fold + 3, steps[-1] - 2) for more in (-1, 0)}  # fmt: skip


@pytest.mark.usefixtures("every_step")
def test_early_stopping_goes_on(trained: Trained, tmp_path: Path) -> None:
    def again(progress: Stop) -> Trained:
        options: dict[str, Any] = {"embedding": random_embedding(dimension=64), "max_words": SLOTS, "settings": QUICK}
        data = tiny_dataset(), tiny_dataset(10, seed=1)
        return train(*data, checkpoint=tmp_path / "c.npz", progress=progress, **options)

    # In the middle of an epoch, and right behind the last step of one.
    for step in (31, 70):
        with pytest.raises(Killed):
            again(stop_at("training", step))
    done = again(lambda *_: None)
    assert same(done, trained)
    facts, before = done.model.training, trained.model.training
    assert (facts["epochs"], facts["best_epoch"]) == (before["epochs"], before["best_epoch"])


def test_a_short_training_writes_none(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        cross(tmp_path / "c.npz", progress=stop_at("training", 8))
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("every_step")
def test_of_another_training(crossed: Crossed, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    with pytest.raises(Killed):
        cross(path, progress=stop_at("training", 3))
    with pytest.raises(RetvecLiteError) as caught:
        cross(path, head="cnn", max_words=9)
    assert str(caught.value) == (
        f"{path} is the checkpoint of a training that differs in head, max_words. Repeat its command to go on with it, or begin "
        "again with --force (in Python: force=True)."
    )
    with pytest.raises(RetvecLiteError, match="differs in embedding"):
        cross(path, embedding=random_embedding(dimension=64, seed=5))
    with pytest.raises(RetvecLiteError, match="differs in data"):
        train(
            tiny_dataset(13), checkpoint=path, embedding=random_embedding(dimension=64), max_words=SLOTS, settings=QUICK
        )
    content = path.read_bytes()
    for damaged in (b"", content[:-9], content[:5000] + bytes(9) + content[5009:]):
        path.write_bytes(damaged)
        with pytest.raises(RetvecLiteError, match=r"^\S+c.npz is damaged \(.+\)\. Remove it to begin again\.$"):
            cross(path)
    assert same(cross(path, force=True), crossed.trained)


@pytest.mark.usefixtures("every_step")
def test_the_command(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = tiny_dataset(12)
    rows = [f'"{text}","{label}"' for text, label in zip(data.texts, data.labels, strict=True)]
    Path("data.csv").write_text("\n".join(["text,label", *rows]))
    command = ["train", "data.csv", "--out", "trained", "--head", "pool", "--ngram-kb", "0"]
    honest = TrainableNetwork.train

    def stops(self, batch, targets, count, weights):
        if count == 9:
            raise KeyboardInterrupt
        return honest(self, batch, targets, count, weights)

    with monkeypatch.context() as patch:
        patch.setattr(TrainableNetwork, "train", stops)
        assert main(*command, "--epochs", "8")[0] == INTERRUPTED
    kept = Path(".trained.retvec-lite/kept/checkpoint.npz")
    assert kept.exists() and not Path("trained").exists()
    content = kept.read_bytes()
    code, _, errors = main(*command, "--epochs", "7")
    assert code == 2 and errors.splitlines()[-1] == (
        f"retvec-lite: error: {kept.resolve()} is the checkpoint of a training that differs in epochs. Repeat its command to go on "
        "with it, or begin again with --force (in Python: force=True)."
    )
    assert kept.read_bytes() == content
    assert main(*command, "--epochs", "7", "--force")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "trained"]


@pytest.mark.exhaustive
def test_kill_9(tmp_path: Path) -> None:
    """The public function, in a process of its own."""

    def ended(folder: str, *stop: str) -> int:
        (tmp_path / folder).mkdir(exist_ok=True)
        command = [sys.executable, cluster_train.__file__, str(tmp_path / folder), "pool", *stop]
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, timeout=PATIENCE).returncode

    assert ended("whole") == 0
    assert ended("killed", "17") == -9
    assert [entry.name for entry in (tmp_path / "killed").iterdir() if entry.is_dir()] == [".trained.retvec-lite"]
    assert ended("killed", "17") == 0
    files = [(tmp_path / name / "trained/classifier.safetensors").read_bytes() for name in ("whole", "killed")]
    assert files[0] == files[1]
    assert {entry.name for entry in (tmp_path / "killed").iterdir()} == {"killed", "trained"}
