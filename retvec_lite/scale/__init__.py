"""Files of any size on one machine (`classify_files`), and here the function that Ray Data, Spark and Dask map over batches."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retvec_lite.arguments import checked, one_column, require_strings
from retvec_lite.data.rows import missing_column
from retvec_lite.data.texts import or_none
from retvec_lite.errors import RetvecLiteError
from retvec_lite.loading import load


class BatchClassifier:
    """Adds a label and its probability to each batch of texts.

    It can be pickled; the copy holds the exported file, which the machines of a cluster need not have. An instance is the function for
    Ray's `map_batches` and Dask's `map_partitions`, its method `each` that for Spark's `mapInPandas` and `mapInArrow`.

    A text that belongs to none of the labels, or is missing, has the label None; the probability of a missing one is NaN (null in
    Arrow). Where texts may have several labels, both columns hold lists.

    Args:
        model: an exported file, a trained folder, or what else `load` takes.
        text_column: column of the texts.
        label_column: column to add.
        probability_column: column to add.
        reject: give no label to texts that belong to none; otherwise every text gets one.
        workers: texts that a process answers at a time. Engines start one process for each core, hence 1.
        runtime: see `load`.
        isolated: see `load`.
        languages: see `load`.

    Raises:
        RetvecLiteError: for a file that cannot be read or run, or a language that is not among the labels; later for a batch without the
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
        workers: int | None = 1,
        runtime: str | None = None,
        isolated: bool = False,
        languages: Sequence[str] | None = None,
    ) -> None:
        self.classifier = load(model, runtime=runtime, workers=workers, isolated=isolated, languages=languages)
        self.classifier.probabilities("")  # builds the file of a trained one, so that copies have it
        self._reject = reject
        # Without rejection, only the most probable label.
        self.several = self.classifier.decision.multi_label and reject
        self.text_column, self.label_column, self.probability_column = text_column, label_column, probability_column

    def __call__(self, batch: Any) -> Any:
        """Return a batch of the same kind with label, as text, and probability, as float32.

        Args:
            batch: a pandas DataFrame, an Arrow Table or RecordBatch, or a mapping of column to array.
        """
        pyarrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
        names = (self.label_column, self.probability_column)
        if pyarrow and isinstance(batch, pyarrow.Table | pyarrow.RecordBatch):
            self._check(batch.schema.names)
            kinds = (pyarrow.string(), pyarrow.float32())
            for name, kind, values in zip(names, kinds, self.answers(batch[self.text_column].to_pylist()), strict=True):
                column = pyarrow.array(values, pyarrow.list_(kind) if self.several else kind)
                batch = batch.append_column(name, column)
            return batch
        if pandas and isinstance(batch, pandas.DataFrame):
            self._check([str(name) for name in batch.columns])
            return batch.assign(**dict(zip(names, self._arrays(batch[self.text_column]), strict=True)))
        if not isinstance(batch, Mapping):
            raise RetvecLiteError(
                f"A batch must be a DataFrame, an Arrow table or a mapping of column to array, not {type(batch).__name__}."
            )
        self._check(list(batch))
        return {**batch, **dict(zip(names, self._arrays(one_column(batch[self.text_column])), strict=True))}

    def each(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield each batch of an iterator with label and probability: what Spark's `mapInPandas` and `mapInArrow` call."""
        return map(self, batches)

    def answers(self, given: Iterable[object]) -> tuple[list[Any], list[Any]]:
        """Return label and probability of each text (or lists of them); None for both where the text is missing (None, NaN, NA)."""
        texts = [or_none(text) for text in given]
        asked = require_strings([text for text in texts if text is not None])
        found = self.classifier.predict_many(asked, None if self.several else 1, reject=self._reject)
        pairs: list[tuple[Any, Any]] = []
        for text in texts:
            if text is None:
                pairs.append((None, None))
            elif self.several:
                row = next(found)
                pairs.append(([label for label, _ in row], [probability for _, probability in row]))
            else:
                pairs.append(next(found)[0])
        return [label for label, _ in pairs], [probability for _, probability in pairs]

    def _check(self, columns: Sequence[str]) -> None:
        if self.text_column not in columns:
            raise missing_column("the batch", self.text_column, columns, "text_column")
        for option in ("label_column", "probability_column"):
            if (name := getattr(self, option)) in columns:
                raise RetvecLiteError(f"The batch already has a column {name!r}. Name the new one with {option}.")

    def _arrays(self, texts: Iterable[object]) -> Iterator[Any]:
        """Yield both columns: labels object `[texts]`, probabilities float32 `[texts]` or object."""
        for values, kind in zip(self.answers(texts), (object, object if self.several else np.float32), strict=True):
            column = np.empty(len(values), kind)
            for row, value in enumerate(values):  # NumPy would make a table of lists of one length
                column[row] = np.nan if value is None and kind is not object else value
            yield column
