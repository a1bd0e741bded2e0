"""`nearest` and `duplicates`: search among texts, and near-duplicates, by the text embeddings of a file.

Two texts are near-duplicates when their embeddings are alike and neither has a telling word that the other one has another word for. The
score of a pair is the cosine of their embeddings, less two parts, from what is left of their words after mistyped ones were matched:

- a swap: the rarest words of both sides are compared with each other, then the next ones, and the rarer of two counts nothing. So "where is
  my *card*" and "where is my *money*" are two questions, and a greeting that only one has is no swap;
- three quarters of the share of a text's words, weighted by how rare they are, that the other one does not have.

`data.copies` is stricter and needs no file: it finds copies, which must not be learned from where they are tested on.
`git show 8eff255:lab/benchmarks/experiments/duplicates.py` measured both.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.classifier import Classifier
from retvec_lite.contract import Floats
from retvec_lite.data.copies import Words, edits, has_sign, words_and_signs
from retvec_lite.data.sources import check_output
from retvec_lite.data.texts import is_missing, texts_of
from retvec_lite.equal_rows import distinct_rows, products
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import write_csv
from retvec_lite.loading import load
from retvec_lite.terminal import Progress, watched

THRESHOLD: Final = 0.5
"""Least score of near-duplicates: finds about nine in ten of those that are mistyped, reordered, or have a greeting."""

_FLOOR: Final = 0.7
"""Least cosine of texts that are compared by their words."""
_NEIGHBORS: Final = 10
"""Most texts behind it in the data that each is compared with."""
_LACKING: Final = 0.75
"""How much the words count that one text has and the other one lacks."""
_RARE: Final = 2
"""Texts with a word, up to which it may be a mistyped one."""
_LONG: Final = 6
"""Letters of a word from which two of them may be mistyped."""
_AT_ONCE: Final = 512
"""Texts that are embedded, or compared with all others, at a time."""


class Match(NamedTuple):
    """A text that was found.

    Attributes:
        row: its place in the texts, counted from 0.
        text: the text as it was given.
        score: the cosine of its embedding and that of the query.
    """

    row: int
    text: str
    score: float


class Duplicates(NamedTuple):
    """Texts that are near-duplicates of the first of them.

    Attributes:
        rows: their places in the texts, counted from 0.
        texts: as they were given.
        scores: how like each is to the first, from the threshold to 1; that of the first is 1.
    """

    rows: tuple[int, ...]
    texts: tuple[str, ...]
    scores: tuple[float, ...]


@checked
def nearest(
    file: str | os.PathLike[str] | Classifier,
    texts: Any,
    query: str,
    *,
    count: int = 10,
    text_column: str = "text",
    delimiter: str | None = None,
    progress: Progress | bool | None = None,
) -> list[Match]:
    """Find the texts that are most like a query, by their embeddings, the most similar first.

    Args:
        file: whose embeddings to compare: an exported .retvec, a .tflite exported with --embed, a trained folder, or what else `load` takes; in
            Python also a `Classifier`.
        texts: texts to search: a .txt (one text a line), .csv, .tsv, .jsonl, .json or .parquet file; in Python also a list of strings.
        query: a text.
        count: texts to find; fewer where there are no more.
        text_column: column of the texts in a file.
        delimiter: between the cells of a CSV or TSV file (default: recognized by the header).
        progress: a callback (what, done, total), or True for bars on standard error.

    Raises:
        RetvecLiteError: for a file without embeddings, texts that cannot be read or are all empty, or a query without words.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["wake me at six", "where is my parcel", "play some jazz"]
        >>> rl.nearest("classifier", texts, "my pracel is late", count=1)[0].text
        'where is my parcel'
    """
    if count < 1:
        raise RetvecLiteError(f"count must be at least 1, not {count}.")
    given = _some_texts(texts, text_column, delimiter)
    classifier = file if isinstance(file, Classifier) else load(file)
    (asked,) = classifier.embed([query])
    if not asked.any():
        raise RetvecLiteError("The query has no words that can be searched for.")
    with watched(progress) as report:
        (scores,) = products(asked[None], _embeddings(classifier, given, report))
    rows = np.argsort(-scores, kind="stable")[:count].tolist()
    return [Match(row, given[row], float(scores[row])) for row in rows]


@checked
def duplicates(
    file: str | os.PathLike[str] | Classifier,
    texts: Any,
    *,
    threshold: float = THRESHOLD,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    text_column: str = "text",
    delimiter: str | None = None,
    progress: Progress | bool | None = None,
) -> list[Duplicates]:
    """Find groups of near-duplicates: texts that say the same in nearly the same words, mistyped or not, in any order.

    Numbers, case and what ends a sentence make no difference. Texts that differ in a telling word, such as a noun, are no duplicates, nor
    are texts with other signs, such as :) and :( or two stars and five.

    Args:
        file: whose embeddings to compare: an exported .retvec, a .tflite exported with --embed, a trained folder, or what else `load` takes; in
            Python also a `Classifier`.
        texts: texts to compare: a .txt (one text a line), .csv, .tsv, .jsonl, .json or .parquet file; in Python also a list of strings.
        threshold: least score of two duplicates, above 0 and at most 1; a larger one finds fewer.
        output: a .csv file to write, with the columns group, row (counted from 0, without the header), score and text.
        force: replace that file if it exists.
        text_column: column of the texts in a file.
        delimiter: between the cells of a CSV or TSV file (default: recognized by the header).
        progress: a callback (what, done, total), or True for bars on standard error.

    Returns:
        Groups of two texts or more, the largest first; each text is in one at most.

    Raises:
        RetvecLiteError: for a file without embeddings, texts that cannot be read or are all empty, a threshold out of range, or an output
            that exists or cannot be written.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["where is my parcel", "wake me at six", "Hi, where is my pracel?", "where is my alarm"]
        >>> [group.rows for group in rl.duplicates("classifier", texts)]
        [(0, 2)]
    """
    if not 0 < threshold <= 1:
        raise RetvecLiteError(f"threshold must be above 0 and at most 1, not {threshold:g}.")
    check_output(output, force, (".csv",), "Duplicates are", texts)
    given = _some_texts(texts, text_column, delimiter)
    classifier = file if isinstance(file, Classifier) else load(file)
    with watched(progress) as report:
        found = _groups(classifier, given, threshold, report)
    if output is not None:
        rows = [
            (number, *cells)
            for number, group in enumerate(found)
            for cells in zip(group.rows, group.scores, group.texts, strict=True)
        ]
        write_csv(output, ("group", "row", "score", "text"), rows, force=force)
    return found


def _some_texts(texts: Any, text_column: str, delimiter: str | None) -> list[str]:
    """Return all texts; raises RetvecLiteError where each one is empty."""
    given = texts_of(texts, text_column, delimiter)
    if all(map(is_missing, given)):
        raise RetvecLiteError("There is no text to search: all are empty. Pass some, or a file that has some.")
    return given


def _groups(classifier: Classifier, texts: Sequence[str], threshold: float, progress: Progress) -> list[Duplicates]:
    """Return groups of texts; all of a group are near-duplicates of its first, so that no chain leads from one question to another."""
    rows: dict[Words, list[int]] = defaultdict(list)
    for row, words in enumerate(words_and_signs(texts)):
        if not is_missing(texts[row]):
            rows[words].append(row)
    written = list(rows)
    vectors = _embeddings(classifier, [texts[rows[words][0]] for words in written], progress)
    pair = PairScore(written, vectors)
    near: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for one, other in _neighbors(vectors, threshold, progress):
        if (score := pair(one, other)) >= threshold:
            near[other].append((score, one))
    leader, members = list(range(len(written))), {place: [(place, 1.0)] for place in range(len(written))}
    for place in range(len(written)):
        for first in dict.fromkeys(leader[other] for _, other in sorted(near[place], reverse=True)):
            if (score := pair(first, place)) >= threshold:
                leader[place] = first
                members[first] += [(place, score), *members.pop(place)[1:]]
                break
    found = []
    for group in members.values():
        listed = sorted((row, score) for place, score in group for row in rows[written[place]])
        if len(listed) > 1:
            places, scores = zip(*listed, strict=True)
            found.append(Duplicates(places, tuple(texts[row] for row in places), scores))
    return sorted(found, key=lambda group: (-len(group.rows), group.rows))


class PairScore:
    """Scores pairs of texts, by their places: how surely they are near-duplicates, 1 at most.

    Args:
        texts: the words of each, see `copies.words_and_signs`. Where each of two has a sign that the other lacks, they are no duplicates.
        vectors: embeddings, float32 `[texts, dimension]`.
    """

    def __init__(self, texts: Sequence[Words], vectors: Floats) -> None:
        self._texts, self._vectors = [Counter(words) for words in texts], vectors
        self._signs = [frozenset(filter(has_sign, words)) for words in texts]
        self._texts_with = Counter(word for words in self._texts for word in words)
        counts = np.array([self._texts_with[word] for word in self._texts_with])
        weights = 1 - np.log(counts + 0.5) / np.log(len(texts) + 1.5)
        self._weights: dict[str, float] = dict(zip(self._texts_with, np.maximum(weights, 0.0).tolist(), strict=True))
        self._totals = [sum(self._weights[word] for word in words.elements()) for words in self._texts]

    def __call__(self, one: int, other: int) -> float:
        """Return the score of two texts."""
        if self._signs[one] - self._signs[other] and self._signs[other] - self._signs[one]:
            return 0.0
        cosine = float(self._vectors[one] @ self._vectors[other])
        lacking, more = self._left(self._texts[one], self._texts[other])
        swap = max((min(pair) for pair in zip(lacking, more, strict=False)), default=0.0)
        share = max(sum(lacking) / max(self._totals[one], 1e-9), sum(more) / max(self._totals[other], 1e-9))
        return float(min(1.0, cosine) - swap - _LACKING * share)

    def _left(self, one: "Counter[str]", other: "Counter[str]") -> tuple[list[float], list[float]]:
        """Return the weights of the words that only one of two texts has, largest first, without those that the other one has mistyped."""
        lacking = sorted((one - other).elements(), key=lambda word: (-self._weights[word], word))
        more = sorted((other - one).elements(), key=lambda word: (-self._weights[word], word))
        for word in list(lacking):
            if match := next((match for match in more if self._is_mistyped(word, match)), None):
                lacking.remove(word)
                more.remove(match)
        return [self._weights[word] for word in lacking], [self._weights[word] for word in more]

    def _is_mistyped(self, one: str, other: str) -> bool:
        if min(self._texts_with[one], self._texts_with[other]) > _RARE:
            return False
        return edits(one, other) <= 1 + (min(len(one), len(other)) >= _LONG)


def _embeddings(classifier: Classifier, texts: Sequence[str], progress: Progress) -> Floats:
    """Return the embeddings of texts, float32 `[texts, dimension]`."""
    parts = [classifier.embed([])]
    for start in range(0, len(texts), _AT_ONCE):
        parts.append(classifier.embed(texts[start : start + _AT_ONCE]))
        progress("embedding texts", start + len(parts[-1]), len(texts))
    return np.concatenate(parts)


def _neighbors(vectors: Floats, least: float, progress: Progress) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts, by place, whose cosine is large: of each text those with the texts behind it that are most like it."""
    floor = max(least, _FLOOR)
    distinct, places = distinct_rows(vectors)
    for start in range(0, len(vectors), _AT_ONCE):
        # The texts of a block are compared with each other and with all behind: memory grows with the number of texts, not its square.
        behind, columns = np.unique(places[start:], return_inverse=True)
        block, rows = np.unique(places[start : start + _AT_ONCE], return_inverse=True)
        cosines = (distinct[block] @ distinct[behind].T)[np.ix_(rows, columns)]
        cosines[np.tril_indices(len(cosines), 0, cosines.shape[1])] = 0.0
        ones, others = np.nonzero(cosines >= floor)
        order = np.lexsort((others, -cosines[ones, others], ones))
        ones, others = ones[order], others[order]
        rank = np.arange(len(ones)) - np.searchsorted(ones, ones)
        kept = rank < _NEIGHBORS
        yield from zip((ones[kept] + start).tolist(), (others[kept] + start).tolist(), strict=True)
        progress("comparing texts", start + len(cosines), len(vectors))
