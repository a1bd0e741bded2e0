"""How good a classifier is: accuracy, F1, confusions, and what remains of them when words are mistyped."""

import dataclasses
import io
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write

Classify = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Texts -> probabilities float32 [texts, classes], such as `TextClassifier.probabilities`."""

TYPO_RATES: Final = (0.0, 0.1, 0.2, 0.5, 1.0)
"""The shares of mistyped words of a typo curve."""

TYPO_SEED: Final = 0
"""The seed that every published typo curve uses, fixed beforehand, so that figures can be compared."""


class ClassScore(NamedTuple):
    """One class: how often it was right when said, how often it was found, their harmonic mean, its number of texts."""

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


@dataclass(frozen=True)
class Evaluation:
    """What `score` found.

    Attributes:
        texts: how many were scored.
        accuracy: share of texts whose most probable label is the right one.
        macro_f1: mean F1 over the classes that are in the data or were predicted, each counting the same.
        classes: a score for each of them, in the order of the labels.
        confusions: the mistakes, the most frequent first.
    """

    texts: int
    accuracy: float
    macro_f1: float
    classes: tuple[ClassScore, ...]
    confusions: tuple[Confusion, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            **dataclasses.asdict(self),
            "classes": [row._asdict() for row in self.classes],
            "confusions": [row._asdict() for row in self.confusions],
        }


class TypoPoint(NamedTuple):
    """Accuracy and macro F1 with the share `rate` (0..1) of the words mistyped."""

    rate: float
    accuracy: float
    macro_f1: float


def check_labels(dataset: Dataset, labels: Sequence[str]) -> None:
    """Make sure that a model knows every label of a file.

    Raises:
        RetvecLiteError: naming the labels that it does not know.
    """
    unknown = [label for label in dataset.classes if label not in set(labels)]
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        known = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise RetvecLiteError(
            f"Expected only labels that the model knows ({known}) in {dataset.path}, "
            f"received {', '.join(map(repr, unknown[:5]))}{more}."
        )


def score(expected: Sequence[str], probabilities: npt.NDArray[np.floating[Any]], labels: Sequence[str]) -> Evaluation:
    """Compare probabilities with the right labels.

    Args:
        expected: the right label of each text, all of them in `labels`.
        probabilities: float [texts, classes]; of equal ones the first counts.
        labels: the classes, in the order of the columns.

    Raises:
        RetvecLiteError: for no texts, or a table of another shape.
    """
    if not expected or probabilities.shape != (len(expected), len(labels)):
        raise RetvecLiteError(
            f"Expected probabilities of shape {(len(expected), len(labels))} for at least one text, "
            f"received {probabilities.shape}."
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
        dataset: texts with labels that it knows (`check_labels`).
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

    Needs matplotlib, which nothing else of the light path does.

    Raises:
        RetvecLiteError: for a name that does not end in `.png`, or a place that cannot be written.
    """
    if not os.fspath(path).lower().endswith(".png"):
        raise RetvecLiteError(f"Expected a plot file named .png, received {os.fspath(path)!r}.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, points in curves.items():
        axes.plot([100 * point.rate for point in points], [point.accuracy for point in points], marker="o", label=name)
    axes.set(xlabel="mistyped words (%)", ylabel="accuracy", title=title, ylim=(0.0, 1.0), xlim=(-2, 102))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    atomic_write(path, picture.getvalue())
