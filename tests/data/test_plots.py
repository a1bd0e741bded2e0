"""Pictures of scores: reproducible PNG files."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.data.dataset import Dataset
from retvec_lite.data.plots import plot_learning_curve
from retvec_lite.data.scores import evaluate
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError


def test_a_learning_curve_is_a_reproducible_png(tmp_path: Path) -> None:
    points = [(8, 0.5), (16, 0.75), (32, 1.0)]
    plot_learning_curve(points, tmp_path / "a.png", "title")
    plot_learning_curve([list(point) for point in points], tmp_path / "b.png", "title")
    plot_learning_curve(points[:2], tmp_path / "c.png", "title")
    one, again, other = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert one.startswith(b"\x89PNG\r\n\x1a\n") and one == again != other


def test_a_plot_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"\.png"):
        plot_learning_curve([(8, 0.5)], tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_an_evaluation_has_three_panels_and_two_without_typos(tmp_path: Path) -> None:
    dataset = Dataset(("a one", "b two", "c") * 9, ("a", "b", "oos") * 9, Path("d.csv"))

    def classify(texts: list[str]) -> np.ndarray:
        return np.array([[0.7, 0.3] if "a" in text else [0.2, 0.8] for text in texts], np.float32)

    found = evaluate(
        classify, ("a", "b"), dataset, decision=Decision(threshold=0.75), unknown_label="oos", typos=(0, 1.0)
    )
    found.plot(tmp_path / "three.png", name="int8")
    found.plot(tmp_path / "again.png", name="int8")
    dataclasses.replace(found, typos=()).plot(tmp_path / "two.png")
    three, again, two = ((tmp_path / f"{name}.png").read_bytes() for name in ("three", "again", "two"))
    assert three.startswith(b"\x89PNG\r\n\x1a\n") and three == again
    widths = [int.from_bytes(picture[16:20], "big") for picture in (three, two)]
    assert widths[0] == pytest.approx(1.5 * widths[1], abs=2)
