"""Pictures of scores, as PNG files: the same bytes for the same scores. matplotlib draws them."""

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from typing import Any

from retvec_lite.data.calibration import Rejection, ReliabilityBin
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write

Points = Sequence[tuple[float, float]]


def plot_learning_curve(points: Points, path: str | os.PathLike[str], title: str = "", score: str = "accuracy") -> None:
    """Draw a score over the number of training texts, from (texts, score); raises as `png`."""
    with png(path, title) as (axes,):
        axes.plot([texts for texts, _ in points], [value for _, value in points], marker="o")
        for texts, value in points:
            axes.annotate(f"{value:.3f}", (texts, value), xytext=(0, 8), textcoords="offset points", ha="center")
        most = max(value for _, value in points)
        axes.set(xlabel="training texts", ylabel=score, xlim=(0, None), ylim=(0.0, min(1.0, most + 0.15)))


def draw_typo_curve(axes: Any, name: str, points: Points, score: str) -> None:
    """Draw a score over the share of mistyped words, from (share, score)."""
    axes.plot([100 * rate for rate, _ in points], [value for _, value in points], marker="o", label=name)
    axes.set(xlabel="mistyped words (%)", ylabel=score, ylim=(0.0, 1.0), xlim=(-2, 102))
    axes.legend(loc="lower left")


def draw_reliability(axes: Any, bins: Sequence[ReliabilityBin], error: float) -> None:
    """Draw accuracy over probability; the area of a dot is the share of the texts."""
    texts = sum(part.texts for part in bins)
    places = [part.probability for part in bins], [part.accuracy for part in bins]
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="calibrated")
    axes.plot(*places, color="C0", linewidth=1)
    axes.scatter(*places, s=[12 + 300 * part.texts / texts for part in bins], color="C0", zorder=3)
    axes.set(xlabel=f"probability (calibration error {error:.3f})", xlim=(0.0, 1.02), ylim=(0.0, 1.02))
    axes.legend(loc="lower right")


def draw_coverage(axes: Any, found: Rejection) -> None:
    """Draw accuracy over the share of texts that are answered, and where the threshold is."""
    axes.plot([100 * point.coverage for point in found.coverage], [point.accuracy for point in found.coverage])
    if found.answered < 1.0:
        axes.plot([100 * found.answered], [found.answered_accuracy], "o", color="C1", label="as the file answers")
        axes.legend(loc="lower left")
    least = min(point.accuracy for point in found.coverage)
    axes.set(xlabel="texts answered, the surest first (%)", xlim=(0, 102), ylim=(max(0.0, least - 0.1), 1.01))


@contextlib.contextmanager
def png(path: str | os.PathLike[str], title: str, panels: int = 1) -> Iterator[list[Any]]:
    """Yield axes to draw accuracy on, side by side; write the picture afterwards.

    Raises:
        RetvecLiteError: for a name that does not end in `.png`, or a place that cannot be written.
        ModuleNotFoundError: when matplotlib is not installed.
    """
    if not os.fspath(path).lower().endswith(".png"):
        raise RetvecLiteError(f"A plot is a PNG file: {os.fspath(path)!r} must end in .png.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4 if panels == 1 else 5.0 * panels, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for part in axes:
        part.set(ylabel="accuracy")
        part.grid(alpha=0.3)
    if panels == 1:
        axes[0].set(title=title)
    else:
        figure.suptitle(title)
    yield axes
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    atomic_write(path, picture.getvalue())
