"""A classifier that follows scikit-learn's conventions, for pipelines, cross-validation and grid search."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from retvec_lite.contract import Floats
from retvec_lite.data.texts import as_texts
from retvec_lite.errors import RetvecLiteError

if TYPE_CHECKING:
    from retvec_lite.classifier import Classifier


class RetvecClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Train on texts and labels of any type, as `retvec_lite.train` does.

    The arguments are options of `retvec_lite.train`, where they are described, with the same defaults.

    Attributes:
        classes_: the distinct labels, sorted; the order of `predict_proba`'s columns. Where a text may have several, the numbers of
            the columns of `y`.
        classifier_: the `Classifier`, to save or export.

    Example:
        >>> from retvec_lite.sklearn import RetvecClassifier
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> model = RetvecClassifier(epochs=2).fit(texts, [0, 0, 1, 1] * 5)
        >>> model.classes_.tolist(), model.predict_proba(["hello"]).shape
        ([0, 1], (1, 2))
    """

    def __init__(
        self,
        *,
        head: str = "auto",
        embedding: str = "default",
        fine_tune_embedding: bool = False,
        character_filters: int | None = None,
        ngram_kb: int | None = None,
        max_words: int | Literal["auto"] = "auto",
        epochs: int | None = None,
        typo_rate: float | None = None,
        class_weights: str | Mapping[Any, float] | None = None,
        validation: float | Literal["auto"] = "auto",
        seed: int = 0,
    ) -> None:
        for name, value in locals().items():
            if name != "self":
                setattr(self, name, value)

    def fit(self, X: Any, y: Sequence[Any]) -> "RetvecClassifier":
        """Train on texts and their labels.

        Args:
            X: texts: list, NumPy array or pandas Series of strings.
            y: a label for each text; or, where a text may have several or none, an indicator matrix `[texts, classes]`, as
                from `MultiLabelBinarizer`.

        Returns:
            This object.

        Raises:
            RetvecLiteError: for texts that are no strings, or data that cannot be trained on.
        """
        from retvec_lite.api import train

        targets = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        if targets.ndim not in (1, 2) or (targets.ndim == 2 and not np.isin(targets, (0, 1)).all()):
            raise RetvecLiteError(
                "Pass one label for each text, or an indicator matrix of zeros and ones with a row for each text."
            )
        several = targets.ndim == 2
        try:
            self.classes_: npt.NDArray[Any] = np.arange(targets.shape[1]) if several else np.unique(targets)
        except TypeError as error:
            raise RetvecLiteError("The labels in y are of several types, such as 1 and '1'. Use one type.") from error
        labels: list[Any] = [str(label) for label in targets]
        if several:
            labels = [[str(label) for label in np.flatnonzero(row)] for row in targets]
        self.classifier_: Classifier = train(
            _one_column(X),
            labels,
            multi_label=several,
            **{**self.get_params(), "class_weights": _by_name(self.class_weights)},
        )
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each text: float32 `[texts, classes]`, columns as in `classes_`."""
        check_is_fitted(self)
        texts, known = _one_column(X), self.classifier_.labels
        found = np.zeros((len(texts), len(self.classes_)), np.float32)  # a column of `y` without a one has no label
        places = [place for place, label in enumerate(self.classes_) if str(label) in known]
        columns = [known.index(str(self.classes_[place])) for place in places]
        found[:, places] = self.classifier_.probabilities(texts)[:, columns]
        return found

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each text; where a text may have several, an indicator matrix like `y`."""
        check_is_fitted(self)
        if self.classifier_.decision.multi_label:
            texts = _one_column(X)
            indicators = np.zeros((len(texts), len(self.classes_)), np.int64)
            for row, predictions in zip(indicators, self.classifier_.predict_many(texts), strict=True):
                row[[int(str(label)) for label, _ in predictions]] = 1
            return indicators
        best = self.predict_proba(X).argmax(axis=1)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _by_name(weights: str | Mapping[Any, float] | None) -> str | Mapping[str, float] | None:
    """Return class weights with the classes as strings, which `fit` trains on."""
    return {str(label): weight for label, weight in weights.items()} if isinstance(weights, Mapping) else weights


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
