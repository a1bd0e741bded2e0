"""How good a classifier is: accuracy, F1, confusions, and what remains of them when words are mistyped."""

import contextlib
import dataclasses
import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, refuse_existing
from retvec_lite.terminal import Progress, silent

Classify = Callable[[Sequence[str]], Floats]
"""Texts -> probabilities float32 `[texts, classes]`."""

TYPO_RATES: Final = (0.0, 0.1, 0.2, 0.5, 1.0)
"""The shares of mistyped words of a typo curve."""

TYPO_SEED: Final = 0
"""The seed of every published typo curve, so that figures can be compared."""

_CHUNK: Final = 512
"""Texts between two reports of progress."""

_SHOWN: Final = 10
"""Classes and confusions that the tables show; `to_dict` has them all."""


class ClassScore(NamedTuple):
    """One class: precision, recall, their harmonic mean, and its number of texts."""

    label: str
    precision: float
    recall: float
    f1: float
    texts: int


class Confusion(NamedTuple):
    """`texts` texts of the class `expected` were taken for `predicted`."""

    expected: str
    predicted: str
    texts: int


class TypoPoint(NamedTuple):
    """Accuracy and macro F1 with the share `rate` (0 to 1) of the words mistyped."""

    rate: float
    accuracy: float
    macro_f1: float


@dataclass(frozen=True)
class Evaluation:
    """How good a classifier is on labelled texts. `print(evaluation)` shows tables.

    Attributes:
        texts: how many were scored.
        accuracy: share of texts whose most probable label is right.
        macro_f1: mean F1 over the classes that are in the data or were predicted.
        classes: a score for each of them, in the order of the labels.
        confusions: the mistakes, the most frequent first.
        typos: accuracy and macro F1 at each share of mistyped words that was asked for.
        source: where the texts came from.

    Example:
        >>> import retvec_lite as rl
        >>> evaluation = rl.load("classifier-int8.tflite").evaluate(["wake me up at six"], ["alarm"], typos=(0, 0.5))
        >>> evaluation.texts, [point.rate for point in evaluation.typos]
        (1, [0.0, 0.5])
    """

    texts: int
    accuracy: float
    macro_f1: float
    classes: tuple[ClassScore, ...]
    confusions: tuple[Confusion, ...]
    typos: tuple[TypoPoint, ...] = ()
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            **dataclasses.asdict(self),
            "classes": [row._asdict() for row in self.classes],
            "confusions": [row._asdict() for row in self.confusions],
            "typos": [point._asdict() for point in self.typos],
        }

    def __str__(self) -> str:
        from retvec_lite.terminal import Table, draw

        source = f" of {self.source}" if self.source else ""
        parts: list[str | Table] = [
            f"{self.texts:,} texts{source}: accuracy {self.accuracy:.4f}, macro F1 {self.macro_f1:.4f}"
        ]
        numbers = frozenset({"share", "accuracy", "macro F1", "texts", "precision", "recall", "F1"})
        if self.typos:
            curve = [(f"{100 * rate:g} %", f"{accuracy:.4f}", f"{f1:.4f}") for rate, accuracy, f1 in self.typos]
            parts.append(Table("Mistyped words", ("share", "accuracy", "macro F1"), curve, numbers))
        weakest = sorted(self.classes, key=lambda row: row.f1)[:_SHOWN]
        is_all = len(weakest) == len(self.classes)
        title = "Classes" if is_all else f"The {_SHOWN} weakest of {len(self.classes)} classes"
        rows = [(c.label, f"{c.texts:,}", f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}") for c in weakest]
        parts.append(Table(title, ("label", "texts", "precision", "recall", "F1"), rows, numbers))
        if self.confusions:
            mistakes = [(row.expected, row.predicted, f"{row.texts:,}") for row in self.confusions[:_SHOWN]]
            parts.append(Table("Most frequent confusions", ("expected", "predicted", "texts"), mistakes, numbers))
        return draw(*parts)

    def plot(self, path: str | os.PathLike[str], *, name: str = "model", force: bool = False) -> None:
        """Draw the typo curve as a PNG file.

        Args:
            path: the file.
            name: what the legend calls the classifier.
            force: replace the file if it exists.

        Raises:
            RetvecLiteError: for a name that does not end in `.png`, a file that exists, or a place that cannot be written.
        """
        refuse_existing(path, force)
        plot_typo_curves({name: self.typos}, path, self.source)


def evaluate(
    classify: Classify,
    labels: Sequence[str],
    dataset: Dataset,
    *,
    typos: Sequence[float] = TYPO_RATES,
    seed: int = TYPO_SEED,
    progress: Progress = silent,
) -> Evaluation:
    """Score a classifier on clean texts and at each share of mistyped words.

    Args:
        classify: the classifier.
        labels: its classes, in the order of its columns.
        dataset: texts whose labels it knows.
        typos: shares of mistyped words, 0 to 1; empty for clean texts alone.
        seed: of the typos; the same seed gives the same typos.
        progress: receives the number of texts done.

    Raises:
        RetvecLiteError: for labels that the classifier does not know, or a share outside 0 to 1.
    """
    rates = sorted({float(rate) for rate in typos})
    wrong = [rate for rate in rates if not 0.0 <= rate <= 1.0]
    if wrong:
        raise RetvecLiteError(f"The shares of mistyped words (typos) lie between 0 and 1, not at {wrong[0]:g}.")
    check_labels(dataset, labels)
    mistyped = [rate for rate in rates if rate]
    total, done = len(dataset) * (1 + len(mistyped)), 0

    def watched(texts: Sequence[str]) -> Floats:
        nonlocal done
        parts = []
        for start in range(0, len(texts), _CHUNK):
            parts.append(classify(texts[start : start + _CHUNK]))
            done += len(parts[-1])
            progress("classifying", done, total)
        return np.concatenate(parts)

    clean = score(dataset.labels, watched(dataset.texts), labels)
    curve = typo_curve(watched, labels, dataset, mistyped, seed)
    if 0.0 in rates:
        curve = (TypoPoint(0.0, clean.accuracy, clean.macro_f1), *curve)
    return dataclasses.replace(clean, typos=curve, source=dataset.path.name)


def check_labels(dataset: Dataset, labels: Sequence[str]) -> None:
    """Make sure that a classifier knows every label of some data.

    Raises:
        RetvecLiteError: names the labels that it does not know.
    """
    unknown = [label for label in dataset.classes if label not in set(labels)]
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        known = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise RetvecLiteError(
            f"The classifier does not know these labels in {dataset.path}: {', '.join(map(repr, unknown[:5]))}{more} "
            f"(it knows: {known})."
        )


def score(expected: Sequence[str], probabilities: npt.NDArray[np.floating[Any]], labels: Sequence[str]) -> Evaluation:
    """Compare probabilities with the right labels.

    Args:
        expected: the right label of each text, all of them in `labels`.
        probabilities: float `[texts, classes]`; of equal ones the first counts.
        labels: the classes, in the order of the columns.

    Raises:
        RetvecLiteError: for no texts, or a table of another shape.
    """
    if not expected or probabilities.shape != (len(expected), len(labels)):
        raise RetvecLiteError(
            f"The probabilities have the shape {probabilities.shape}, but {len(expected)} texts and {len(labels)} labels "
            "need one row a text and one column a label, and at least one text."
        )
    number = {label: index for index, label in enumerate(labels)}
    truth = np.array([number[label] for label in expected])
    guess = probabilities.argmax(axis=1)
    table = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(table, (truth, guess), 1)
    right, truths, guesses = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    classes = tuple(
        ClassScore(
            label,
            float(right[index] / guesses[index]) if guesses[index] else 0.0,
            float(right[index] / truths[index]) if truths[index] else 0.0,
            float(2 * right[index] / (truths[index] + guesses[index])),
            int(truths[index]),
        )
        for index, label in enumerate(labels)
        if truths[index] or guesses[index]
    )
    mistakes = Counter(zip(truth[truth != guess].tolist(), guess[truth != guess].tolist(), strict=True))
    confusions = tuple(
        Confusion(labels[pair[0]], labels[pair[1]], count)
        for pair, count in sorted(mistakes.items(), key=lambda item: (-item[1], item[0]))
    )
    macro_f1 = sum(row.f1 for row in classes) / len(classes)
    return Evaluation(len(expected), float(np.mean(truth == guess)), macro_f1, classes, confusions)


def typo_curve(
    classify: Classify,
    labels: Sequence[str],
    dataset: Dataset,
    rates: Sequence[float] = TYPO_RATES,
    seed: int = TYPO_SEED,
) -> tuple[TypoPoint, ...]:
    """Score the texts of `dataset` again at each share of mistyped words; the same seed gives the same typos.

    Args:
        classify: the classifier.
        labels: its classes, in the order of its columns.
        dataset: texts with labels that it knows.
        rates: shares of the words, 0 to 1.
        seed: of the typos.

    Raises:
        RetvecLiteError: for a rate out of range.
    """
    points = []
    for rate in rates:
        texts = mistype_many(dataset.texts, rate, seed)
        result = score(dataset.labels, classify(texts), labels)
        points.append(TypoPoint(rate, result.accuracy, result.macro_f1))
    return tuple(points)


def plot_typo_curves(curves: Mapping[str, Sequence[TypoPoint]], path: str | os.PathLike[str], title: str = "") -> None:
    """Draw accuracy over the share of mistyped words as a PNG file, one line for each named curve.

    Raises:
        RetvecLiteError: for a name that does not end in `.png`, or a place that cannot be written.
        ModuleNotFoundError: when matplotlib is not installed.
    """
    with _png(path, title) as axes:
        for name, points in curves.items():
            axes.plot(
                [100 * point.rate for point in points], [point.accuracy for point in points], marker="o", label=name
            )
        axes.set(xlabel="mistyped words (%)", ylim=(0.0, 1.0), xlim=(-2, 102))
        axes.legend(loc="lower left")


def plot_learning_curve(points: Sequence[tuple[int, float]], path: str | os.PathLike[str], title: str = "") -> None:
    """Draw accuracy over the number of training texts as a PNG file.

    Args:
        points: (training texts, accuracy).
        path: the file to write.
        title: above the picture.

    Raises:
        RetvecLiteError: for a name that does not end in `.png`, or a place that cannot be written.
        ModuleNotFoundError: when matplotlib is not installed.
    """
    with _png(path, title) as axes:
        axes.plot([texts for texts, _ in points], [accuracy for _, accuracy in points], marker="o")
        for texts, accuracy in points:
            axes.annotate(f"{accuracy:.3f}", (texts, accuracy), xytext=(0, 8), textcoords="offset points", ha="center")
        most = max(accuracy for _, accuracy in points)
        axes.set(xlabel="training texts", xlim=(0, None), ylim=(0.0, min(1.0, most + 0.15)))


@contextlib.contextmanager
def _png(path: str | os.PathLike[str], title: str) -> Iterator[Any]:
    """Yield axes to draw accuracy on; write the picture afterwards."""
    if not os.fspath(path).lower().endswith(".png"):
        raise RetvecLiteError(f"A plot is a PNG file: {os.fspath(path)!r} must end in .png.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(ylabel="accuracy", title=title)
    axes.grid(alpha=0.3)
    yield axes
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    atomic_write(path, picture.getvalue())
