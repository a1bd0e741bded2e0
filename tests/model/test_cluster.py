"""Which machines train together: what `TF_CONFIG` may say. tests/model/test_cluster_training.py trains."""

import json
from pathlib import Path

import pytest
from command_line import Main

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import cluster


def config(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[list[str], int]:
    monkeypatch.setenv("TF_CONFIG", text)
    return cluster._config()


def test_the_chief_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {"cluster": {"worker": ["b:1", "c:1"], "chief": ["a:1"]}}
    assert config(monkeypatch, json.dumps({**workers, "task": {"type": "worker", "index": 1}})) == (
        ["a:1", "b:1", "c:1"],
        2,
    )
    assert config(monkeypatch, json.dumps({**workers, "task": {"type": "chief", "index": 0}}))[1] == 0
    assert cluster.cluster_size() == 3


@pytest.mark.parametrize("text", ["", " ", '{"cluster": {"worker": ["a:1"]}}', "{}"])
def test_one_worker_is_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    config(monkeypatch, text)
    assert cluster.cluster_size() == 1
    assert cluster.join_cluster.__wrapped__() is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("workers", "Expecting value: line 1 column 1 (char 0)"),
        ("[]", "the whole is no JSON object"),
        ('{"cluster": 3}', "cluster is no JSON object"),
        ('{"cluster": {"ps": ["a:1"]}}', "only chief and worker are known"),
        ('{"cluster": {"worker": "ab:1"}}', "'ab:1' is no list of addresses"),
        ('{"cluster": {"worker": ["a:1", "b"]}}', "'b' is no host:port"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}}', "task is missing"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}', "there is no worker x"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}', "there is no chief 0"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}}', "there is no worker 2"),
    ],
)
def test_anything_else_is_one_sentence(monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    with pytest.raises(RetvecLiteError) as caught:
        config(monkeypatch, text)
    assert str(caught.value) == (
        f"TF_CONFIG is not valid ({reason}): expected "
        '{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}.'
    )


@pytest.mark.parametrize("command", [("train", "starter"), ("pretrain", "--words", "words.txt", "--steps", "1")])
def test_the_commands_say_so(
    command: tuple[str, ...], main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("alarm\nclock\n")
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}}')
    cluster.join_cluster.cache_clear()  # earlier tests of this process joined none
    code, _, errors = main(*command, "--out", "out")
    assert code == 2 and errors.startswith("retvec-lite: error: TF_CONFIG is not valid (task is missing): expected {")
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]
