"""Pictures of scores: reproducible PNG files."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.data.dataset import Dataset
from retvec_lite.data.outcome import Outcome, ReliabilityBin
from retvec_lite.data.plots import draw_reliability, draw_typo_curve
from retvec_lite.data.scores import evaluate, score
from retvec_lite.decision import Decision


@pytest.mark.parametrize(("values", "largest", "start"), [((0.94, 0.97), 0.86, 0.8), ((0.61, 0.75), 0.01, 0.0)])
def test_axes_start_where_data_and_the_share_of_the_largest_label_do_and_say_so(
    values: tuple[float, ...], largest: float, start: float
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    draw_typo_curve(axes, "model", list(zip((0.0, 0.5), values, strict=True)), "accuracy", largest)
    low, high = axes.get_ylim()
    assert low == start and low <= largest and high >= 1.0
    assert axes.get_ylabel() == ("accuracy (axis starts at 80%)" if start else "accuracy")
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told == ["model", f"always the largest label: {largest:.0%}"]


def test_a_reliability_diagram_starts_at_the_least_probability_or_accuracy() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    draw_reliability(axes, (ReliabilityBin(0.5, 10, 0.55, 0.64), ReliabilityBin(0.9, 30, 0.97, 1.0)), 0.02)
    assert axes.get_xlim() == axes.get_ylim() == pytest.approx((0.48, 1.02))
    assert axes.get_ylabel() == "accuracy (axis starts at 50%)"


def test_the_share_of_the_largest_label_is_that_of_the_texts() -> None:
    found = score(
        Outcome(["x"] * 4, np.array([0, 0, 1, 0]), np.eye(3, dtype=np.float32)[[0, 1, 1, 2]], ["a", "b", "c"])
    )
    assert found.largest_label == 0.75


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
