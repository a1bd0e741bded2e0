"""A classifier that follows scikit-learn's conventions, for pipelines, cross-validation and grid search."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from retvec_lite.api import train
from retvec_lite.arguments import as_texts, bind
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Reading, as_dataset
from retvec_lite.data.labels import cell_of, label_of, listed_in, split_labels
from retvec_lite.data.texts import or_none
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.training.options import TrainOptions

if TYPE_CHECKING:
    from retvec_lite.trained import TrainedClassifier

_SELF: Final = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
_OF_FILES: Final = {field.name for field in fields(Reading)} - {"multi_label"}
_OPTIONS: Final = [each for name, each in inspect.signature(TrainOptions).parameters.items() if name not in _OF_FILES]


class RetvecClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Train on texts and labels of any type, as `retvec_lite.train` does.

    The arguments are options of `retvec_lite.train`, where they are described, with the same defaults; `unknown_label` is a label of
    any type, and `multi_label` need not be said where `y` is an indicator matrix.

    `predict` answers a text that belongs to none of the labels with `unknown_label`; without one, with the most probable label, as
    scikit-learn's scores want an answer. `classifier_.predict` then answers None. `reject_at` decides about both.

    Attributes:
        classes_: the distinct labels, sorted; the order of `predict_proba`'s columns. Where `y` is an indicator matrix, the numbers
            of its columns.
        classifier_: the `TrainedClassifier`, to save or export.

    Example:
        >>> from retvec_lite.sklearn import RetvecClassifier
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> model = RetvecClassifier(epochs=2).fit(texts, [0, 0, 1, 1] * 5)
        >>> model.classes_.tolist(), model.predict_proba(["hello"]).shape
        ([0, 1], (1, 2))
    """

    def __init__(self, **options: Any) -> None:
        given = bind(type(self).__name__, inspect.signature(type(self)), (), options)
        for parameter in _OPTIONS:
            setattr(self, parameter.name, given.get(parameter.name, parameter.default))

    # What scikit-learn, `help` and editors read.
    __init__.__signature__ = inspect.Signature([_SELF, *_OPTIONS])  # type: ignore[attr-defined]

    def fit(self, X: Any, y: Sequence[Any], sample_weight: Sequence[float] | None = None) -> "RetvecClassifier":
        """Train on texts and their labels.

        Args:
            X: texts: list, NumPy array or pandas Series of strings.
            y: a label for each text; or, where a text may have several or none, an indicator matrix `[texts, classes]`, as
                from `MultiLabelBinarizer`, or, with `multi_label`, a list of labels for each text.
            sample_weight: how much each text counts; only the ratios matter, and 0 leaves a text out.

        Returns:
            This object.

        Raises:
            RetvecLiteError: for texts that are no strings, or data that cannot be trained on.
        """
        labels, several = self._read(y)
        unknown = None if self.unknown_label is None else _named(self.unknown_label)
        options = {**self.get_params(deep=False), "multi_label": several, "unknown_label": unknown}
        if isinstance(self.class_weights, Mapping):
            options["class_weights"] = {_named(label): weight for label, weight in self.class_weights.items()}
        data = as_dataset(_one_column(X), labels, multi_label=several, sample_weight=sample_weight)
        self.classifier_: TrainedClassifier = train(data, **options)
        return self

    def _read(self, y: Any) -> tuple[list[Any], bool]:
        """Set `classes_`; return the labels as strings, and whether a text may have several."""
        try:
            targets = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        except ValueError:  # lists of several lengths
            targets = np.empty((0, 0, 0))
        # A list of lists of one label each is no matrix.
        is_matrix = (
            targets.ndim == 2 and (hasattr(y, "ndim") or targets.shape[1] > 1) and np.isin(targets, (0, 1)).all()
        )
        if is_matrix and self.multi_label is not False:
            self.classes_: npt.NDArray[Any] = np.arange(targets.shape[1])
            return [[str(label) for label in np.flatnonzero(row)] for row in targets], True
        if self.multi_label and getattr(y, "ndim", 1) == 1:
            rows = [split_labels(cell_of(label, f"row {row}", "y", multi_label=True)) for row, label in enumerate(y)]
            self.classes_ = np.unique([name for names in rows for name in names])
            return rows, True
        if targets.ndim != 1:
            raise RetvecLiteError(
                "Pass one label for each text, an indicator matrix of zeros and ones with a row for each text, or, with "
                "multi_label=True, a list of labels for each text."
            )
        if missing := sum(or_none(label) is None for label in targets):
            raise RetvecLiteError(f"{missing:,} of {len(y):,} labels in y are missing: add them, or drop those texts.")
        try:
            self.classes_ = np.unique(targets)
        except TypeError as error:
            raise RetvecLiteError("The labels in y are of several types, such as 1 and '1'. Use one type.") from error
        if wrong := [label for label in targets if isinstance(label, int | float) and label_of(label) is None]:
            raise RetvecLiteError(f"The label {shown(wrong[0])} in y is infinite, or too large for a float.")
        if lists := [label for label in targets if isinstance(label, str) and listed_in(label) is not label]:
            raise RetvecLiteError(
                f"The label {shown(lists[0])} in y is a list: pass lists, with multi_label=True, or one label each."
            )
        return [_named(label) for label in targets], False

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each text: float32 `[texts, classes]`, columns as in `classes_`. With one label a text, they add up to 1 even where none fits."""
        check_is_fitted(self)
        texts, known = _one_column(X), self.classifier_.labels
        found = np.zeros((len(texts), len(self.classes_)), np.float32)  # a column of `y` without a one has no label
        places = [place for place, label in enumerate(self.classes_) if _named(label) in known]
        columns = [known.index(_named(self.classes_[place])) for place in places]
        found[:, places] = self.classifier_.probabilities(texts)[:, columns]
        if len(columns) < len(known) and not self.classifier_.decision.multi_label:
            found /= np.maximum(found.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return found

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label of each text; where a text may have several, an indicator matrix `[texts, classes]`."""
        check_is_fitted(self)
        texts = _one_column(X)
        places = {_named(label): place for place, label in enumerate(self.classes_)}
        answers = self.classifier_.predict_many(texts)
        if self.classifier_.decision.multi_label:
            indicators = np.zeros((len(texts), len(self.classes_)), np.int64)
            for row, predictions in zip(indicators, answers, strict=True):
                row[[places[str(label)] for label, _ in predictions]] = 1
            return indicators
        if self.unknown_label is None:
            best = self.predict_proba(texts).argmax(axis=1)
        else:
            unknown = places[_named(self.unknown_label)]
            best = np.array([places.get(str(answer[0].label), unknown) for answer in answers], np.int64)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _named(label: Any) -> str:
    """Return a label as `train` and a teacher's `classes_` name it: 0.0 is 0, and blanks around it go."""
    return (label_of(label) or str(label)).strip()


def _one_column(X: Any) -> list[str]:
    """Return texts from a sequence, or from a table of one column, as scikit-learn's transformers pass them."""
    shape: tuple[int, ...] = getattr(X, "shape", (0,))
    if len(shape) == 2:
        if shape[1] != 1:
            raise RetvecLiteError(f"Pass one column of texts; X has {shape[1]}.")
        X = np.asarray(X)[:, 0]
    if isinstance(X, str):
        raise RetvecLiteError("Pass a sequence of texts, not one string.")
    return as_texts(X)
