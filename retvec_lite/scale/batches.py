"""`BatchClassifier`: the function that Ray Data, Spark and Dask map over batches. Needs NumPy and a LiteRT runtime only."""

import functools
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.data.rows import missing_column
from retvec_lite.data.texts import one_column, require_strings
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import Artifact, read_artifact
from retvec_lite.runtime.interpreters import silent_standard_error
from retvec_lite.runtime.text_classifier import TextClassifier

_MODELS: Final = 4
"""Models that a process keeps loaded."""


@dataclass(frozen=True)
class _Model:
    """An exported file and how it runs; equal `facts`, the metadata with a SHA-256, share a loaded model."""

    facts: str
    runtime: str | None
    workers: int
    isolated: bool
    languages: tuple[str, ...] | None
    artifact: Artifact = field(compare=False)


@functools.lru_cache(maxsize=_MODELS)
def _loaded(model: _Model) -> TextClassifier:
    """Return the model of this process. An engine unpickles its function for each task; loading it once is enough."""
    with silent_standard_error():  # LiteRT's C++ code tells each process about itself
        classifier = TextClassifier(model.artifact, 1, model.runtime, model.workers, model.isolated, model.languages)
        classifier.probabilities("")
    return classifier


class BatchClassifier:
    """Adds a label and its probability to each batch of texts.

    It can be pickled; the copy holds the exported file, which the machines of a cluster need not have. Each process loads it
    once, with its first batch. An instance is the function for Ray's `map_batches` and Dask's `map_partitions`, its method
    `each` that for Spark's `mapInPandas` and `mapInArrow`.

    A text that belongs to none of the labels, or is missing, has the label None; the probability of a missing one is NaN (null in
    Arrow). Where texts may have several labels, both columns hold lists.

    Args:
        model: an exported `.tflite`.
        text_column: column of the texts.
        label_column: column to add.
        probability_column: column to add.
        reject: give no label to texts that belong to none; otherwise every text gets one.
        workers: texts that a process answers at a time. Engines start one process for each core, hence 1.
        runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that is installed.
        isolated: run the model in a further process, so that a file that crashes the runtime is an error.
        languages: the only labels to choose from, beside that of unknown texts; all by default.

    Raises:
        RetvecLiteError: for a file that cannot be read, or a language that is not among the labels; with the first batch for a runtime that is missing, a batch without the
            column of texts, with a column of the same name as an added one, or with texts that are not strings.

    Example:
        >>> import numpy as np
        >>> from retvec_lite import BatchClassifier
        >>> classify = BatchClassifier("classifier-int8.tflite")
        >>> classify({"text": np.array(["your code is 482913"])})["label"].tolist()
        ['one_time_code']
    """

    @checked
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        text_column: str = "text",
        label_column: str = "label",
        probability_column: str = "probability",
        reject: bool = True,
        workers: int = 1,
        runtime: str | None = None,
        isolated: bool = False,
        languages: Sequence[str] | None = None,
    ) -> None:
        languages = None if languages is None else tuple(languages)
        artifact = read_artifact(model)
        if languages is not None:
            artifact.decision.limited(artifact.labels, languages)
        facts = json.dumps(dict(artifact.metadata), sort_keys=True)
        self._model = _Model(facts, runtime, workers, isolated, languages, artifact)
        self._reject = reject
        # Without rejection, only the most probable label.
        self._several = artifact.decision.multi_label and reject
        self.text_column = text_column
        self.label_column = label_column
        self.probability_column = probability_column

    def __call__(self, batch: Any) -> Any:
        """Return a batch of the same kind with label, as text, and probability, as float32.

        Args:
            batch: a pandas DataFrame, an Arrow Table or RecordBatch, or a mapping of column to array; the columns are added to
                it. Or texts alone: a pandas Series, an Arrow Array, a NumPy array or a list; the two columns are returned (for
                the latter two as a dictionary of arrays).
        """
        pyarrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
        if pyarrow and isinstance(batch, pyarrow.Table | pyarrow.RecordBatch):
            self._check(batch.schema.names)
            for name, column in zip(self._added, self._arrow(batch[self.text_column]), strict=True):
                batch = batch.append_column(name, column)
            return batch
        if pyarrow and isinstance(batch, pyarrow.Array | pyarrow.ChunkedArray):
            return pyarrow.table(dict(zip(self._added, self._arrow(batch), strict=True)))
        if pandas and isinstance(batch, pandas.DataFrame):
            self._check([str(name) for name in batch.columns])
            return batch.assign(**self._pandas(batch[self.text_column]))
        if pandas and isinstance(batch, pandas.Series):
            return pandas.DataFrame(self._pandas(batch), index=batch.index)
        if isinstance(batch, Mapping):
            self._check(list(batch))
            return {**batch, **self._arrays(batch[self.text_column])}
        return self._arrays(batch)

    def each(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield each batch of an iterator with label and probability: what Spark's `mapInPandas` and `mapInArrow` call.

        Example:
            >>> from retvec_lite import BatchClassifier
            >>> classify = BatchClassifier("classifier-int8.tflite")
            >>> [len(batch["label"]) for batch in classify.each([{"text": ["your code is 482913", "hi"]}])]
            [2]
        """
        return map(self, batches)

    @property
    def _added(self) -> tuple[str, str]:
        return self.label_column, self.probability_column

    def _check(self, columns: Sequence[str]) -> None:
        if self.text_column not in columns:
            raise missing_column("the batch", self.text_column, columns, "text_column")
        for name, option in zip(self._added, ("label_column", "probability_column"), strict=True):
            if name in columns:
                raise RetvecLiteError(f"The batch already has a column {name!r}. Name the new one with {option}.")

    def _arrow(self, texts: Any) -> tuple[Any, Any]:
        """Return both columns for an Arrow array of texts."""
        import pyarrow as pa

        labels, probabilities = self._answers(texts.to_pylist())
        kinds = (pa.list_(pa.string()), pa.list_(pa.float32())) if self._several else (pa.string(), pa.float32())
        return pa.array(labels, kinds[0]), pa.array(probabilities, kinds[1])

    def _pandas(self, texts: Any) -> dict[str, Any]:
        """Return both columns for a pandas Series of texts; its index plays no role."""
        return self._arrays(texts.astype(object).where(texts.notna(), None).tolist())

    def _arrays(self, texts: Any) -> dict[str, Any]:
        """Return both columns for a sequence of texts: labels object `[texts]`, probabilities float32 `[texts]` or object."""
        given = texts.tolist() if isinstance(texts, np.ndarray) and texts.ndim == 1 else list(one_column(texts))
        labels, probabilities = self._answers(given)
        columns = [np.empty(len(labels), object), np.empty(len(labels), object if self._several else np.float32)]
        for column, values in zip(columns, (labels, probabilities), strict=True):
            # One by one: NumPy would make a table of lists of one length.
            for row, value in enumerate(values):
                column[row] = np.nan if value is None and column.dtype != object else value
        return dict(zip(self._added, columns, strict=True))

    def _answers(self, given: Sequence[object]) -> tuple[list[Any], list[Any]]:
        """Return label and probability of each text (or lists of them); None for both where the text is missing."""
        rows = [row for row, text in enumerate(given) if not (text is None or text != text)]  # noqa: PLR0124  # NaN
        texts = require_strings([given[row] for row in rows])
        labels: list[Any] = [None] * len(given)
        probabilities: list[Any] = [None] * len(given)
        if not texts:
            return labels, probabilities
        found = _loaded(self._model).predict_many(texts, None if self._several else 1, reject=self._reject)
        for row, predictions in zip(rows, found, strict=True):
            if self._several:
                labels[row] = [label for label, _ in predictions]
                probabilities[row] = [probability for _, probability in predictions]
            else:
                ((labels[row], probabilities[row]),) = predictions
        return labels, probabilities
