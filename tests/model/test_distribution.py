"""Workers that train together: what `TF_CONFIG` may say, sums over two processes, and a pre-training that is killed."""

import json
from pathlib import Path

import pytest
import tensorflow as tf
import together
from command_line import Main

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.distribution import join_workers

SUPPORT = Path(__file__).parents[1] / "support"


def test_one_machine_is_its_own_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    workers = join_workers()
    assert (workers.index, workers.count, workers.is_chief) == (0, 1, True)
    assert workers.total([1, 2]) == [1, 2] and workers.mean(0.5) == 0.5 and workers.rows_of(7) == slice(0, 7)
    workers.agree("anything", object())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("workers", "Expecting value: line 1 column 1 (char 0)"),
        ('{"cluster": 3}', "`cluster` must be a dictionary"),
        ('{"cluster": {"worker": "ab:1"}}', "must be a list"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}}', "you must also specify `task_type` and `task_id`"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}', "invalid literal for int"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}}', "exceeds the maximum id"),
    ],
)
def test_a_bad_tf_config_is_one_sentence(monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(RetvecLiteError) as caught:
        join_workers()
    assert reason in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith("The workers cannot be connected: ")
    assert str(caught.value).endswith(
        'TF_CONFIG must look like {"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}.'
    )


def test_a_strategy_of_several_devices_in_one_process_is_refused() -> None:
    class Mirrored(tf.distribute.Strategy):
        cluster_resolver = None
        num_replicas_in_sync = 2

        def __init__(self) -> None:
            """Start no devices."""

    with pytest.raises(RetvecLiteError, match="MultiWorkerMirroredStrategy of one device a process"):
        join_workers(Mirrored())


def test_the_command_says_so(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("alarm\nclock\n")
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}}')
    code, _, errors = main("pretrain", "--words", "words.txt", "--steps", "1", "--out", "out")
    assert code == 2 and errors.startswith("retvec-lite: error: The workers cannot be connected: ")
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.slow
def test_two_processes_add_up_and_hear_of_a_difference() -> None:
    for index, done in enumerate(together.run(str(SUPPORT / "adding_worker.py"), 2)):
        assert done.returncode == 1, done.stderr[-3000:]
        rows = [[0, 2], [2, 5]][index]
        assert json.loads(done.stdout) == [[3.0, 30.0], [[3.0]], [0.5, 1.5], rows, index == 0]
        assert done.stderr.splitlines()[-1].startswith("The workers have different files. Start all of them with the ")


@pytest.mark.exhaustive
def test_a_pretraining_goes_on_after_a_kill(tmp_path: Path) -> None:
    script = str(SUPPORT / "pretraining_worker.py")
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = [json.loads(done.stdout) for done in together.run(script, 2, tmp_path / "whole", 60)]
    assert whole[0] == whole[1] and len(whole[0]) == 60 and whole[0]["60"] < 0.85 * whole[0]["1"]
    # One is killed: the other ends with a sentence. Both go on from step 30, to the same file.
    first = together.run(script, 2, tmp_path / "killed", 60, 35)
    assert {one.returncode for one in first} == {1, -9}
    left = next(one for one in first if one.returncode == 1)
    assert left.stderr.splitlines()[-1].startswith("Another worker is gone. Start all workers again")
    again = [json.loads(done.stdout) for done in together.run(script, 2, tmp_path / "killed", 60, 35)]
    assert again[0] == again[1] == {step: loss for step, loss in whole[0].items() if int(step) > 30}
    files = [(tmp_path / name / "out.safetensors").read_bytes() for name in ("whole", "killed")]
    assert files[0] == files[1]
