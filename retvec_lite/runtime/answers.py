"""From texts to answers: windows, engines, checked probabilities, and the labels that these mean."""

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.data.texts import chunks
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.pool import Runs, WorkPool, answered
from retvec_lite.windows import answer_in_windows, combine, cut_windows, mean_embedding, read_limit

_ROUNDING: Final = 1e-3
"""How far rounding may take probabilities out of their range, and their sum from 1."""

DAMAGED: Final = "its weights are damaged, or too large to compute with. Train or export it again."

_CHUNK: Final = 64
"""Texts that an engine answers between two hand-overs: a few milliseconds of work."""


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


class Runner:
    """Answers texts with the engines of one classifier; threads may share it."""

    def __init__(
        self,
        engines: WorkPool[Runs],
        workers: int,
        labels: Sequence[str],
        columns: Sequence[int] | None,
        config: EncoderConfig,
        decision: Decision,
    ) -> None:
        """Take engines, how many may work at once, the labels to choose from and their columns in the engines' answers (None: all)."""
        self._engines, self._workers, self._labels, self._columns = engines, workers, labels, columns
        self._config, self._decision = config, decision

    def predictions(self, texts: Iterable[object], top: int | None, decision: Decision) -> Iterator[list[Prediction]]:
        """Yield the answers to texts, in order; `Classifier.predict_many` describes them."""
        limit = read_limit(self._config)
        chunks = (([text[:limit] for text in chunk], rows) for chunk, rows in self._stream("probabilities", texts))
        if decision.multi_label:
            for read, rows in chunks:
                for row, has in zip(rows, decision.has(read, rows), strict=True):
                    chosen = np.flatnonzero(has)
                    several = [Prediction(self._labels[column], float(row[column])) for column in chosen]
                    yield sorted(several, key=operator.itemgetter(1), reverse=True)[:top]
            return
        columns = decision.columns(self._labels)
        names = [self._labels[column] for column in columns]
        for read, rows in chunks:
            unknown = decision.unknown(read, rows, self._labels)
            table = rows[:, columns]
            order = np.argsort(-table, axis=1, kind="stable")[:, :top]
            best = np.take_along_axis(table, order, axis=1)
            for places, values, is_unknown in zip(order.tolist(), best.tolist(), unknown, strict=True):
                found = [Prediction(names[place], value) for place, value in zip(places, values, strict=True)]
                yield [Prediction(None, values[0]), *found][:top] if is_unknown else found

    def words(self, text: str) -> tuple[list[str], Floats]:
        """Return the words of a text and their embeddings, float32 `[words, dimension]`."""
        with self._engines.borrow() as engine:
            words, embeddings = map(np.concatenate, engine.words(cut_windows(text, self._config)))
        used = words[:, 0] != 0
        return ["".join(map(chr, word[word != 0].tolist())) for word in words[used]], _require_finite(embeddings[used])

    def table(self, method: str, texts: Sequence[str], width: int) -> Floats:
        """Return the answers to all texts, float32 `[texts, width]`."""
        table = np.empty((len(texts), width), np.float32)
        row = 0
        for _, rows in self._stream(method, texts):
            table[row : row + len(rows)] = rows
            row += len(rows)
        return table

    def _stream(self, method: str, texts: Iterable[object]) -> Iterator[tuple[list[str], Floats]]:
        """Yield one chunk of texts after the other, in order, with the answers to them, float32 `[texts, width]`."""
        parts = chunks(texts, _CHUNK)
        # A single chunk needs one engine only, and starting threads takes longer than most first answers.
        ahead = list(islice(parts, 2))
        if self._workers == 1 or len(ahead) < 2:
            yield from map(functools.partial(self._answer, method), chain(ahead, parts))
            return
        self._engines.grow(self._workers)
        yield from answered(functools.partial(self._answer, method), chain(ahead, parts), self._workers)

    def _answer(self, method: str, part: list[str] | Exception) -> tuple[list[str], Floats]:
        """Return a chunk of texts with the answers to them, or raise what came in its place."""
        if isinstance(part, Exception):
            raise part
        with self._engines.borrow() as engine:
            if method == "embeddings":
                return part, answer_in_windows(
                    lambda windows: _require_finite(engine.embeddings(windows)), part, self._config, mean_embedding
                )
            return part, answer_in_windows(
                lambda windows: self._limited(self._require_probabilities(engine.probabilities(windows))),
                part,
                self._config,
                lambda table: combine(table, self._labels, self._decision),
            )

    def _require_probabilities(self, rows: Floats) -> Floats:
        """Return what the classifier computed, float32 `[texts, classes]`.

        Raises:
            RetvecLiteError: for NaN, numbers outside of 0 to 1, or those of one label a text that do not add up to 1.
        """
        off = np.maximum(-_require_finite(rows), rows - 1).max(initial=0.0)
        if not self._decision.multi_label:
            off = max(off, np.abs(rows.sum(axis=1, dtype=np.float64) - 1).max(initial=0.0))
        if off > _ROUNDING:
            raise RetvecLiteError(f"This classifier answers with numbers that are no probabilities: {DAMAGED}")
        return rows

    def _limited(self, rows: Floats) -> Floats:
        """Return the probabilities of the labels to choose from, which add up to 1 again."""
        if self._columns is None:
            return rows
        rows = rows[:, self._columns]
        rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return rows


def _require_finite(numbers: Floats) -> Floats:
    """Return what a classifier computed; raises RetvecLiteError for NaN and infinity."""
    if not np.isfinite(numbers).all():
        raise RetvecLiteError(f"This classifier answers with NaN or infinity: {DAMAGED}")
    return numbers
