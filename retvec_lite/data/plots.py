"""Pictures of scores, as PNG files: the same bytes for the same scores."""

import contextlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retvec_lite.data.calibration import Rejection, ReliabilityBin
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write

if TYPE_CHECKING:
    from retvec_lite.data.scores import Evaluation, TypoPoint


def plot_evaluation(evaluation: "Evaluation", path: str | os.PathLike[str], name: str = "model") -> None:
    """Draw what an evaluation found, side by side: typo curve, reliability diagram, and accuracy against coverage.

    Args:
        evaluation: the scores.
        path: the file to write.
        name: what the legend calls the classifier.

    Raises:
        RetvecLiteError: for a name that does not end in `.png`, or a place that cannot be written.
        ModuleNotFoundError: when matplotlib is not installed.
    """
    curves = bool(evaluation.typos)
    with _png(path, evaluation.source, curves + 1 + (evaluation.rejection is not None)) as axes:
        if curves:
            _typo_curves(axes[0], {name: evaluation.typos})
        _reliability(axes[int(curves)], evaluation.reliability, evaluation.calibration_error)
        if evaluation.rejection is not None:
            _coverage(axes[-1], evaluation.rejection)


def plot_typo_curves(
    curves: Mapping[str, "Sequence[TypoPoint]"], path: str | os.PathLike[str], title: str = ""
) -> None:
    """Draw accuracy over the share of mistyped words, one line for each named curve; raises as `plot_evaluation`."""
    with _png(path, title) as (axes,):
        _typo_curves(axes, curves)


def plot_learning_curve(
    points: Sequence[tuple[int, float]], path: str | os.PathLike[str], title: str = "", score: str = "accuracy"
) -> None:
    """Draw a score over the number of training texts; raises as `plot_evaluation`.

    Args:
        points: (training texts, score).
        path: the file to write.
        title: above the picture.
        score: the name of the score.
    """
    with _png(path, title) as (axes,):
        axes.plot([texts for texts, _ in points], [accuracy for _, accuracy in points], marker="o")
        for texts, accuracy in points:
            axes.annotate(f"{accuracy:.3f}", (texts, accuracy), xytext=(0, 8), textcoords="offset points", ha="center")
        most = max(accuracy for _, accuracy in points)
        axes.set(xlabel="training texts", ylabel=score, xlim=(0, None), ylim=(0.0, min(1.0, most + 0.15)))


def _typo_curves(axes: Any, curves: Mapping[str, "Sequence[TypoPoint]"]) -> None:
    for name, points in curves.items():
        values = [point.accuracy if point.micro_f1 is None else point.micro_f1 for point in points]
        axes.plot([100 * point.rate for point in points], values, marker="o", label=name)
        if any(point.micro_f1 is not None for point in points):
            axes.set(ylabel="micro F1")
    axes.set(xlabel="mistyped words (%)", ylim=(0.0, 1.0), xlim=(-2, 102))
    axes.legend(loc="lower left")


def _reliability(axes: Any, bins: Sequence[ReliabilityBin], error: float) -> None:
    """Draw accuracy over probability; the area of a dot is the share of the texts."""
    texts = sum(part.texts for part in bins)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="calibrated")
    axes.plot([part.probability for part in bins], [part.accuracy for part in bins], color="C0", linewidth=1)
    sizes = [12 + 300 * part.texts / texts for part in bins]
    axes.scatter([part.probability for part in bins], [part.accuracy for part in bins], s=sizes, color="C0", zorder=3)
    axes.set(xlabel=f"probability (calibration error {error:.3f})", xlim=(0.0, 1.02), ylim=(0.0, 1.02))
    axes.legend(loc="upper left")


def _coverage(axes: Any, found: Rejection) -> None:
    """Draw accuracy over the share of texts that are answered, and where the threshold is."""
    axes.plot([100 * point.coverage for point in found.coverage], [point.accuracy for point in found.coverage])
    if found.answered < 1.0:
        axes.plot([100 * found.answered], [found.answered_accuracy], "o", color="C1", label="as the file answers")
        axes.legend(loc="lower left")
    least = min(point.accuracy for point in found.coverage)
    axes.set(xlabel="texts answered, the surest first (%)", xlim=(0, 102), ylim=(max(0.0, least - 0.1), 1.01))


@contextlib.contextmanager
def _png(path: str | os.PathLike[str], title: str, panels: int = 1) -> Iterator[list[Any]]:
    """Yield axes to draw accuracy on, side by side; write the picture afterwards."""
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
