"""The default file beside published figures."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import common
from benchmarks.experiments import published
from benchmarks.experiments.few_shot import ALL
from benchmarks.systems.trained import Trained
from retvec_lite.data.dataset import Dataset


def row(data: str, shots: int, accuracy: float) -> dict[str, Any]:
    measured = {"accuracy": {"0": accuracy}, "settings": {"test_texts": 100}}
    return {"data": data, "system": "default file", "shots": shots, "seed": 0, **measured}


def test_ours_stands_beside_what_others_publish(tmp_path: Path) -> None:
    rows = [row("CR", 8, 0.7), row("CR", 64, 0.8), row("SST-2", ALL, 0.83)]
    assert published.few_table(rows).splitlines()[2:] == [
        "| CR | 8 | .700 | .716 | .885 |",
        "| CR | 64 | .800 | - | .904 |",
    ]
    (tmp_path / "published.json").write_text(json.dumps(rows))
    (tmp_path / "few_shot.json").write_text(json.dumps([row("AG News", ALL, 0.9), row("AG News", 5, 0.1)]))
    assert published.all_table(tmp_path).splitlines()[2:] == [
        "| SST-2 | .830 | .837 | .849 |",
        "| AG News | .900 | .914 | .923 |",
    ]


def test_the_command_draws_so_many_texts_of_each_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "cr"
    folder.mkdir(parents=True)
    lines = "".join(f"good {number},positive\nbad {number},negative\n" for number in range(9))
    for name in ("train", "test"):
        (folder / f"{name}.csv").write_text("text,label\n" + lines)
    calls = []

    def probabilities(texts: Sequence[str]) -> np.ndarray:
        return np.eye(2)[[int("good" in text) for text in texts]]

    def train(_: str, drawn: Dataset, seed: int) -> Trained:
        calls.append((len(drawn), seed))
        return Trained(("negative", "positive"), probabilities)

    monkeypatch.setattr(published, "train", train)
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    published.main(["--data", str(folder.parent), "--set", "CR", "--shots", "8", "0", "--draws", "0", "1"])
    assert calls == [(16, 0), (16, 0)]  # all texts of CR stand in no table
    assert "| CR | 8 | 1.000 |" in (tmp_path / "published.md").read_text()
