"""Pictures of scores, as PNG files: the same bytes for the same scores. matplotlib draws them."""

import contextlib
import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from retvec_lite.data.outcome import ReliabilityBin
from retvec_lite.data.rejection import Rejection
from retvec_lite.files import atomic_write

Points = Sequence[tuple[float, float]]


def axis_start(values: Iterable[float]) -> float:
    """Return where an axis of shares starts: a little below the least of some, at a tenth.

    Example:
        >>> from retvec_lite.data.plots import axis_start
        >>> axis_start([0.97, 0.86]), axis_start([0.81]), axis_start([0.04])
        (0.8, 0.7, 0.0)
    """
    return max(0, math.floor(10 * min(values) - 0.2)) / 10


def axis_name(name: str, start: float) -> str:
    """Return the name of an axis of shares, which says where it starts if that is not 0."""
    return f"{name} (axis starts at {start:.0%})" if start else name


def draw_typo_curve(axes: Any, name: str, points: Points, score: str, largest_label: float | None = None) -> None:
    """Draw a score over the share of mistyped words, from (share, score), and the share of the largest label."""
    axes.plot([rate for rate, _ in points], [value for _, value in points], marker="o", label=name)
    axes.set(xlabel="mistyped words", xlim=(-0.02, 1.02))
    _show_percent(axes.xaxis)
    _scale(axes, score, [value for _, value in points], largest_label)


def draw_reliability(axes: Any, bins: Sequence[ReliabilityBin], error: float) -> None:
    """Draw accuracy over probability; the area of a dot is the share of the texts."""
    texts = sum(part.texts for part in bins)
    places = [part.probability for part in bins], [part.accuracy for part in bins]
    start = axis_start([*places[0], *places[1]])
    axes.plot([start, 1], [start, 1], color="0.6", linewidth=1, label="calibrated")
    axes.scatter(*places, s=[12 + 300 * part.texts / texts for part in bins], color="C0", zorder=3)
    limits = (start - 0.02, 1.02)
    axes.set(xlabel=f"probability (calibration error {error:.3f})", ylabel=axis_name("accuracy", start))
    axes.set(xlim=limits, ylim=limits)
    for axis in (axes.xaxis, axes.yaxis):
        _show_percent(axis)
    axes.legend(loc="upper left")


def draw_coverage(axes: Any, found: Rejection) -> None:
    """Draw accuracy over the share of texts that are answered, and where the threshold is."""
    values = [point.accuracy for point in found.coverage]
    axes.plot([point.coverage for point in found.coverage], values)
    if found.answered < 1.0:
        axes.plot([found.answered], [found.answered_accuracy], "o", color="C1", label="as the file answers")
    axes.set(xlabel="texts answered, the surest first", xlim=(0, 1.02))
    _show_percent(axes.xaxis)
    _scale(axes, "accuracy", [*values, found.answered_accuracy])


def _scale(axes: Any, score: str, values: Sequence[float], largest_label: float | None = None) -> None:
    """Draw what always answering the largest label is worth, if that is known; start the axis where the data do, and say so."""
    if largest_label is not None:
        name = f"always the largest label: {largest_label:.0%}"
        axes.axhline(largest_label, color="0.5", linestyle="--", linewidth=1, label=name)
    start = axis_start([*values, *([] if largest_label is None else [largest_label])])
    axes.set(ylabel=axis_name(score, start), ylim=(start, 1.0 + 0.05 * (1.0 - start)))
    _show_percent(axes.yaxis)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best")


def _show_percent(axis: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0))


@contextlib.contextmanager
def png(path: str | os.PathLike[str], title: str, panels: int) -> Iterator[list[Any]]:
    """Yield axes to draw on, side by side; write the picture afterwards.

    Raises:
        RetvecLiteError: for a place that cannot be written.
        ModuleNotFoundError: when matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4 if panels == 1 else 5.0 * panels, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for part in axes:
        part.grid(alpha=0.3)
    figure.suptitle(title)
    yield axes
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    atomic_write(path, picture.getvalue())
