"""From probabilities to answers and scores: what every classifier offers, whatever computes its probabilities."""

import abc
import numbers
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, overload

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.data.dataset import Dataset, as_dataset
from retvec_lite.data.scores import TYPO_RATES, TYPO_SEED, Evaluation, evaluate
from retvec_lite.data.texts import as_texts, one_column, require_strings
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.runtime.explanation import Explanation, explain
from retvec_lite.terminal import Progress, watched
from retvec_lite.windows import combine, read_limit

_ROUNDING: Final = 1e-3
"""How far rounding may take probabilities out of their range, and their sum from 1."""


_DAMAGED: Final = "its weights are damaged, or too large to compute with. Train or export it again."


class Prediction(NamedTuple):
    """A label and its probability.

    Attributes:
        label: the label; None where a text belongs to none of them.
        probability: its probability; without a label, that of the most probable one.

    Example:
        >>> from retvec_lite import Prediction
        >>> label, probability = Prediction("alarm", 0.98)
        >>> label
        'alarm'
    """

    label: str | None
    probability: float


class Predictor(abc.ABC):
    """What `TextClassifier` and `Classifier` share: from probabilities to labels and scores.

    Attributes:
        labels: the classes, in the order of the columns of `probabilities`.
        config: how texts become words.
        decision: which labels a text has, and when it has none.
        runtime: what computes the probabilities.
        workers: texts that are answered at the same time.
    """

    labels: tuple[str, ...]
    config: EncoderConfig
    decision: Decision
    runtime: str
    workers: int = 1

    @abc.abstractmethod
    def probabilities(self, texts: str | Iterable[str]) -> Floats:
        """Return the probabilities, float32 `[texts, classes]`, with columns in the order of `labels`."""

    @abc.abstractmethod
    def _probabilities_of(self, texts: Iterable[object]) -> Iterator[tuple[list[str], Floats]]:
        """Yield one chunk of texts after the other, with their probabilities, float32 `[texts, classes]`."""

    # A string is a sequence of strings too; a type checker takes the first overload for it.
    @overload
    def predict(self, texts: str, top: int | None = None, *, reject: bool = True) -> list[Prediction]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(
        self, texts: Iterable[str], top: int | None = None, *, reject: bool = True
    ) -> list[list[Prediction]]: ...
    def predict(
        self, texts: str | Iterable[str], top: int | None = None, *, reject: bool = True
    ) -> list[Prediction] | list[list[Prediction]]:
        """Return the labels of one text or of many: the answer first, then the other labels, most probable first.

        A text that belongs to none of the labels has the answer None, with the probability of the most probable label. The
        labels that it might have had follow. A label for such texts (`unknown_label`) is not among them.

        A classifier that was trained with `multi_label` answers with all labels that reach their threshold, and with no others:
        with an empty list where none does.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.
            top: predictions to return per text; all by default. With 1, only the answer.
            reject: answer None for texts that belong to none of the labels; otherwise every text gets a label. With several
                labels a text, leave out those below their threshold; otherwise return all.

        Returns:
            A list of predictions for one string; otherwise one such list per text.

        Raises:
            RetvecLiteError: for anything but strings, or a `top` below 1.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> len(classifier.predict("wkae me up at half past six", top=3))
            3
            >>> len(classifier.predict(["wkae me up", "play some jazz"]))
            2
        """
        rows = list(self.predict_many(as_texts(texts), top, reject=reject))
        return rows[0] if isinstance(texts, str) else rows

    def predict_many(
        self, texts: Iterable[str], top: int | None = None, *, reject: bool = True
    ) -> Iterator[list[Prediction]]:
        """Yield the labels of any number of texts, in order: one list per text, as from `predict`.

        Texts are read and answers yielded continuously, so neither needs to fit into memory. A few hundred texts are in
        progress at a time. Where `texts` itself raises an exception, the texts before are answered first.

        Raises:
            RetvecLiteError: at once for a bad `top` or a single string; for a text that is not a string after the answers to
                those before it.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> lines = (f"wake me at {hour} o'clock" for hour in range(1, 13))
            >>> [len(predictions) for predictions in classifier.predict_many(lines, top=1)] == [1] * 12
            True
        """
        if top is not None and not (isinstance(top, numbers.Integral) and top >= 1 and not isinstance(top, bool)):
            raise RetvecLiteError(f"top must be an integer of at least 1, not {shown(top)}.")
        if not isinstance(reject, bool):
            raise RetvecLiteError(f"reject must be True or False, not {shown(reject)}.")
        if isinstance(texts, str):
            raise RetvecLiteError(
                f"predict_many takes many texts, not the string {texts[:40]!r}. Use predict for one text."
            )
        return self._answers(one_column(texts), top, self.decision if reject else Decision())

    def _require_probabilities(self, rows: Floats) -> Floats:
        """Return what the classifier computed, float32 `[texts, classes]`.

        Raises:
            RetvecLiteError: for NaN, numbers outside of 0 to 1, or those of one label a text that do not add up to 1.
        """
        off = np.maximum(-require_finite(rows), rows - 1).max(initial=0.0)
        if not self.decision.multi_label:
            off = max(off, np.abs(rows.sum(axis=1, dtype=np.float64) - 1).max(initial=0.0))
        if off > _ROUNDING:
            raise RetvecLiteError(f"This classifier answers with numbers that are no probabilities: {_DAMAGED}")
        return rows

    def _combined(self, table: Floats) -> Floats:
        """Return the probabilities of a text from those of its windows."""
        return combine(table, self.labels, self.decision)

    def _answers(self, texts: Iterable[object], top: int | None, decision: Decision) -> Iterator[list[Prediction]]:
        limit = read_limit(self.config)
        chunks = (([text[:limit] for text in chunk], rows) for chunk, rows in self._probabilities_of(texts))
        if decision.multi_label:
            for read, rows in chunks:
                for row, has in zip(rows, decision.has(read, rows), strict=True):
                    chosen = np.flatnonzero(has)
                    several = [Prediction(self.labels[column], float(row[column])) for column in chosen]
                    yield sorted(several, key=operator.itemgetter(1), reverse=True)[:top]
            return
        columns = decision.columns(self.labels)
        names = [self.labels[column] for column in columns]
        for read, rows in chunks:
            unknown = decision.unknown(read, rows, self.labels)
            table = rows[:, columns]
            order = np.argsort(-table, axis=1, kind="stable")[:, :top]
            best = np.take_along_axis(table, order, axis=1)
            for places, values, is_unknown in zip(order.tolist(), best.tolist(), unknown, strict=True):
                found = [Prediction(names[place], value) for place, value in zip(places, values, strict=True)]
                yield [Prediction(None, values[0]), *found][:top] if is_unknown else found

    @checked
    def explain(self, text: str, label: str | None = None) -> Explanation:
        """Tell which words of a text speak for its label: by how much the label's log probability falls without each of them.

        Scripts without spaces are cut into pieces of one to three characters, and so are the words of a text of one or two.
        Explaining a text of n words takes the time of n + 1 answers.

        Args:
            text: one text; of a long one, what `windows.read_limit` names.
            label: the label to explain; the most probable one by default.

        Raises:
            RetvecLiteError: for anything but a string, or a label that the model does not know.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> found = classifier.explain("wkae me up at half past six")
            >>> found.spans[0].text, found.label == classifier.predict("wkae me up at half past six")[0].label
            ('wkae', True)
        """
        (text,) = require_strings([text])
        return explain(self.probabilities, self.labels, text[: read_limit(self.config)], label, self.config.max_chars)

    @checked
    def evaluate(
        self,
        data: Any,
        labels: Sequence[Any] | None = None,
        *,
        unknown_label: str | None = None,
        reject: bool = True,
        multi_label: bool | None = None,
        typos: Sequence[float] = TYPO_RATES,
        seed: int = TYPO_SEED,
        by: str | None = None,
        text_column: str = "text",
        label_column: str = "label",
        delimiter: str | None = None,
        skip_bad_rows: bool = False,
        progress: Progress | bool | None = None,
    ) -> Evaluation:
        """Measure accuracy, F1, confusions and calibration, how much accuracy remains when words are mistyped, and rejection.

        Args:
            data: texts; or each without `labels`: a labelled file, a DataFrame or another table, a list of records or of pairs (text,
                label), a `Dataset`, or "starter" (its test split).
            labels: the right label of each text; a list of them for each text where the classifier gives several.
            unknown_label: the label in the data of the texts that belong to none of the classifier's; that of its training is
                known.
            reject: answer None for texts that belong to none of the labels; otherwise every text gets a label. Of no effect where
                texts may have several labels.
            multi_label: whether a text in the data may have several labels, or none; by default as the classifier gives them,
                and a file without a text that has is then refused as a mistake.
            typos: shares of mistyped words, 0 to 1; empty for clean texts only.
            seed: of the typos.
            by: column of a file or table, such as the language of each text: each of its values is also scored by itself.
            text_column: column of the texts in a file or table.
            label_column: column of the labels in a file or table.
            delimiter: between the cells of a CSV or TSV file; by default recognized by the header.
            skip_bad_rows: leave out rows that cannot be read, or lack a text or a label, and count them.
            progress: a callback (what, done, total), or True for a bar on standard error.

        Raises:
            RetvecLiteError: for data that cannot be read, labels that the model does not know, an unknown label that is not in
                the data, or data with one label a text where the classifier gives several, or the other way round.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> classifier.evaluate(["wake me up at six", "play some jazz"], ["alarm", "music"], typos=()).texts
            2
        """
        several = self.decision.multi_label
        reading: dict[str, Any] = {"text_column": text_column, "delimiter": delimiter, "split": "test"}
        dataset = as_dataset(
            data,
            labels,
            label_column=label_column,
            skip_bad_rows=skip_bad_rows,
            multi_label=several if multi_label is None else multi_label,
            **reading,
        )
        if by is not None and (labels is not None or isinstance(data, Dataset)):
            raise RetvecLiteError("by names a column: pass a file or a table with it.")
        groups = () if by is None else _values_of(by, data, dataset, skip_bad_rows=skip_bad_rows, **reading)
        if several and multi_label is None and labels is None and all(len(found) == 1 for found in dataset.label_sets):
            raise RetvecLiteError(
                f"Every text of {dataset.path} has exactly one label, but this classifier gives several or none. "
                "Pass --multi-label (multi_label=True) if that is right."
            )
        with watched(progress) as report:
            return evaluate(
                self.probabilities,
                self.labels,
                dataset,
                decision=self.decision if reject or several else None,
                max_chars=read_limit(self.config),
                unknown_label=unknown_label,
                typos=typos,
                seed=seed,
                groups=groups,
                progress=report,
            )


def _values_of(column: str, data: Any, dataset: Dataset, **reading: Any) -> tuple[str, ...]:
    """Return what a column of the data says of each text of `dataset`; the reader takes it for the column of the labels."""
    try:
        values = as_dataset(data, label_column=column, **reading)
    except RetvecLiteError as error:
        raise RetvecLiteError(str(error).replace("--label-column", "--by").replace("label_column", "by")) from error
    if values.texts != dataset.texts:
        raise RetvecLiteError(f"Rows that have a label lack {column!r}, or the other way round: fill both in.")
    return values.labels


def require_finite(numbers: Floats) -> Floats:
    """Return what a classifier computed; raises RetvecLiteError for NaN and infinity."""
    if not np.isfinite(numbers).all():
        raise RetvecLiteError(f"This classifier answers with NaN or infinity: {_DAMAGED}")
    return numbers
