"""Which machines train together: what `TF_CONFIG` may say. tests/model/test_cluster_training.py trains."""

import json

import pytest

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
        ('{"cluster": {"ps": ["a:1"]}}', "only chief and worker are known"),
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
