"""From texts to answers: windows, engines, checked probabilities, and the labels that these mean.

Why this label: how much the log probability of a label falls when a part of the text is left out.

The answers are the file's own (leave one out), so they are exact whatever the network is. Zeiler and Fergus 2014,
https://arxiv.org/abs/1311.2901, call it occlusion. Answering a long text without each of its words would take too long: spans of many words
come first, and then, again and again, those within the span that counts most. engine/explain.c does the same.
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from retvec_lite.arguments import chunks
from retvec_lite.contract import BLANK, UNSPACED, EncoderConfig, Floats
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.kinds import MARKS
from retvec_lite.normal_form import IGNORED, ranges_hold
from retvec_lite.runtime.memory import Memory, MemoryAnswer
from retvec_lite.runtime.pool import Runs, WorkPool, answered
from retvec_lite.windows import answer_in_windows, combine, cut_windows, mean_embedding

_SPACED: Final = "spaced"
_JOINING: Final = "joining"
_JOINS: Final = (*MARKS, *IGNORED)
"""What belongs to the character before it: marks, and invisible characters. Pinned, so that the engine and every Python know the same."""

LENGTHS: Final = {_SPACED: 3, "han_piece": 1, "kana_piece": 2, "sea_piece": 3}
"""Characters of a part, at most, where words are cut."""

_ANSWERED: Final = 1 << 18
"""Code points that are answered again to explain one text, at most: some tenths of a second."""
_SPLIT: Final = 4
"""Spans that one is divided into."""

_FEW: Final = 2
"""Words of a text that are cut, because whole words would say little."""


class Span(NamedTuple):
    """A part of a text, and how much it speaks for a label.

    Attributes:
        start: index of its first character.
        end: index behind its last character.
        text: what stands there.
        weight: by how much the natural logarithm of the label's probability falls without it; below 0 where the part speaks
            against the label.
    """

    start: int
    end: int
    text: str
    weight: float


class Explanation(NamedTuple):
    """Why a text has its label.

    Attributes:
        label: the label that is explained.
        probability: its probability.
        spans: the words of the text in order, or parts of them, and in long texts longer spans; what lies between is white space.

    Example:
        >>> import retvec_lite as rl
        >>> found = rl.load("classifier-int8.tflite").explain("wake me up at six")
        >>> [span.text for span in found.spans]
        ['wake', 'me', 'up', 'at', 'six']
    """

    label: str
    probability: float
    spans: list[Span]


def explain(
    probabilities: Callable[[list[str]], Floats], labels: Sequence[str], text: str, label: str | None, max_chars: int
) -> Explanation:
    """Leave each part of a text out, as much as the classifier reads of it, and compare its `probabilities` for a label.

    Of a text with too many parts, spans are left out, and parts of those that count most. A text of more than `max_chars` code points is
    read in windows.

    Raises:
        RetvecLiteError: for a label that the classifier does not know.
    """
    if label is not None and label not in labels:
        raise RetvecLiteError(f"The label {label!r} is not one of this classifier's labels.")
    parts, most = find_parts(text), max(1, _ANSWERED // max(1, len(text)))

    def without(groups: Iterable[_Parts]) -> list[str]:
        return [leave_out(text, group[0][0], group[-1][1], len(text) > max_chars) for group in groups]

    groups = _divided(parts, len(parts) if len(parts) <= most else max(1, most // _SPLIT))
    table = probabilities([text, *without(groups)])
    place = int(table[0].argmax()) if label is None else labels.index(label)
    whole = _log(table[0, place])
    found = [(group, whole - _log(row[place])) for group, row in zip(groups, table[1:], strict=True)]
    answers = len(found)
    while answers + _SPLIT <= most and any(len(group) > 1 for group, _ in found):
        best = max((n for n, (group, _) in enumerate(found) if len(group) > 1), key=lambda n: abs(found[n][1]))
        groups = _divided(found[best][0], _SPLIT)
        rows = probabilities(without(groups))
        found[best : best + 1] = [(group, whole - _log(row[place])) for group, row in zip(groups, rows, strict=True)]
        answers += len(groups)
    spans = [Span(group[0][0], group[-1][1], text[group[0][0] : group[-1][1]], weight) for group, weight in found]
    return Explanation(labels[place], float(table[0, place]), spans)


_Parts = Sequence[tuple[int, int]]
"""Where neighbouring parts of a text start and end."""


def _divided(parts: _Parts, count: int) -> list[_Parts]:
    """Divide parts into groups of as many each, `count` of them where there are as many."""
    count = min(count, len(parts))
    return [parts[n * len(parts) // count : (n + 1) * len(parts) // count] for n in range(count)]


def _log(probability: np.float32) -> float:
    """Return the natural logarithm of a probability, which may be rounded to 0."""
    return math.log(max(float(probability), float(np.finfo(np.float32).tiny)))


def find_parts(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a text start and end that are left out one by one: its words.

    A run of a script without spaces is cut: Han into single characters, kana and the scripts of South-East Asia into up to 2
    and 3. In a text of one or two words, all words are, into up to 3.

    Example:
        >>> from retvec_lite.runtime.answers import find_parts
        >>> [text[start:end] for text in ("wake me up", "weather") for start, end in find_parts(text)]
        ['wake', 'me', 'up', 'we', 'at', 'her']
    """
    words = find_words(text)
    return words if len(words) > _FEW else [part for script, run in _runs(text) for part in _cut(run, LENGTHS[script])]


def find_words(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text start and end; a run of a script without spaces is cut, see `find_parts`.

    Example:
        >>> from retvec_lite.runtime.answers import find_words
        >>> [text[start:end] for text in ("wake me", "早く起きて") for start, end in find_words(text)]
        ['wake', 'me', '早', 'く', '起', 'きて']
    """
    runs = _runs(text)
    return [part for script, run in runs for part in _cut(run, LENGTHS[script] if script != _SPACED else len(run))]


def leave_out(text: str, start: int, end: int, in_windows: bool = False) -> str:
    """Return a text without a part. A blank stands in its place, so that its neighbours do not become one word.

    In a text that is read in windows, as many blanks stand there as it had characters, so that other windows shift less.
    """
    if in_windows:
        return text[:start] + " " * (end - start) + text[end:]
    return f"{text[:start].rstrip(BLANK)} {text[end:].lstrip(BLANK)}"


def _runs(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each unbroken run of one script: the script, and where its characters start, and where the last one ends."""
    script, starts = _JOINING, list[int]()
    for at, char in enumerate(f"{text}\0"):
        found = _script(char)
        joins = _JOINING in (found, script)
        if starts and (found is None or (found != script and not joins)):
            yield (_SPACED if script == _JOINING else script), [*starts, at]
            script, starts, joins = _JOINING, [], False
        if found is not None:
            # A mark belongs to the character before it; at the start of a word, to the one behind it.
            if not (starts and joins):
                starts.append(at)
            script = script if found == _JOINING else found


@functools.cache
def _script(char: str) -> str | None:
    """Return how a character is cut, `_JOINING` for a mark, or None for a separator."""
    if char in BLANK:
        return None
    if char.isascii():
        return _SPACED
    if ranges_hold(_JOINS, ord(char)):
        return _JOINING
    for script, ranges in UNSPACED.items():
        if ranges_hold(ranges, ord(char)):
            return script
    return _SPACED


def _cut(run: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Cut a run into parts of similar length, of `most` characters at most."""
    length = len(run) - 1
    count = -(-length // most)
    edges = [run[part * length // count] for part in range(count + 1)]
    return list(itertools.pairwise(edges))


_ROUNDING: Final = 1e-3
"""How far rounding may take probabilities out of their range, and their sum from 1."""

DAMAGED: Final = "its weights are damaged, or too large to compute with. Train or export it again."

_BOTH: Final = "probabilities and embeddings"
"""What is asked where a memory may answer: in one table, side by side."""

_CHUNK: Final = 64
"""Texts that an engine answers between two hand-overs: a few milliseconds of work."""


class Prediction(NamedTuple):
    """A label and its probability.

    Attributes:
        label: the label; None where a text belongs to none of them.
        probability: its probability; without a label, that of the most probable one.
        taught: the taught text by which a memory answered; None where the model did. It is no part of the tuple.

    Example:
        >>> from retvec_lite.runtime.answers import Prediction
        >>> label, probability = Prediction("alarm", 0.98)
        >>> label
        'alarm'
    """

    label: str | None
    probability: float

    @property
    def taught(self) -> str | None:
        """The text that was taught and is like this one, where the memory answered; None where the model did."""
        return None


class TaughtPrediction(Prediction):
    """What the memory answered, because of a text that was taught."""

    _text: str

    @property
    def taught(self) -> str:
        """The text that was taught."""
        return self._text


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
        self._config, self._decision = config, decision.of_columns(columns)

    def predictions(
        self, texts: Iterable[object], top: int | None, decision: Decision, memory: Memory | None = None
    ) -> Iterator[list[Prediction]]:
        """Yield the answers to texts, in order, and those of a memory where it speaks; `Classifier.predict_many` describes them."""
        chunks = self._stream(_BOTH if memory else "probabilities", texts)
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
            rows, vectors = rows[:, : len(self._labels)], rows[:, len(self._labels) :]
            said = memory.answer(vectors, rows, columns, self._labels) if memory else [None] * len(rows)
            unknown = decision.unknown(read, rows, self._labels)
            table = rows[:, columns]
            order = np.argsort(-table, axis=1, kind="stable")[:, :top]
            best = np.take_along_axis(table, order, axis=1)
            for row, answer, places, values, is_unknown in zip(
                rows, said, order.tolist(), best.tolist(), unknown, strict=True
            ):
                if answer is not None:
                    yield self._taught(answer, row, columns, decision.unknown_label)[:top]
                    continue
                found = [Prediction(names[place], value) for place, value in zip(places, values, strict=True)]
                yield [Prediction(None, values[0]), *found][:top] if is_unknown else found

    def _taught(
        self, answer: MemoryAnswer, row: Floats, columns: Sequence[int], unknown: str | None
    ) -> list[Prediction]:
        """Return the answer of a memory, and behind it those of the model, which share what it leaves."""
        shares = {self._labels[column]: float((1 - answer.weight) * row[column]) for column in columns}
        if answer.label == unknown:
            first = TaughtPrediction(None, max(shares.values()))
        else:
            first = TaughtPrediction(answer.label, answer.weight + shares.pop(answer.label, 0.0))
        first._text = answer.text
        others = sorted(shares.items(), key=operator.itemgetter(1), reverse=True)
        return [first, *(Prediction(*other) for other in others)]

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
        """Yield what `_answer` returns for one chunk of texts after the other, in order."""
        parts = chunks(texts, _CHUNK)
        # A single chunk needs one engine only, and starting threads takes longer than most first answers.
        ahead = list(islice(parts, 2))
        if self._workers == 1 or len(ahead) < 2:
            yield from map(functools.partial(self._answer, method), chain(ahead, parts))
            return
        self._engines.grow(self._workers)
        yield from answered(functools.partial(self._answer, method), chain(ahead, parts), self._workers)

    def _answer(self, method: str, part: list[str] | Exception) -> tuple[list[str], Floats]:
        """Return what a decision sees of the texts of a chunk, with the answers to them, float32 `[texts, width]`, or raise what came in its place."""
        if isinstance(part, Exception):
            raise part
        cut = [cut_windows(text, self._config) for text in part]
        tables = []
        with self._engines.borrow() as engine:
            if method != "embeddings":
                tables.append(
                    answer_in_windows(
                        lambda windows: self._limited(self._require_probabilities(engine.probabilities(windows))),
                        cut,
                        lambda table, windows: combine(table, self._labels, self._decision, windows),
                    )
                )
            if method != "probabilities":
                tables.append(
                    answer_in_windows(
                        lambda windows: _require_finite(engine.embeddings(windows)),
                        cut,
                        lambda table, _: mean_embedding(table),
                    )
                )
        return ["".join(windows) for windows in cut], np.hstack(tables) if len(tables) > 1 else tables[0]

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
