"""Looking mistyped words up among the words of their language: the metric of pre-training and of the evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.pretraining.augment import BoolArray, augment
from retvec_lite.pretraining.words import held_out, wordfreq_words


@dataclass(frozen=True)
class RetrievalTask:
    """Find the right word among the words of its language: the metric of the run.

    Attributes:
        language: its code.
        candidates: int32 [C, L], C up to 10,000.
        queries: int32 [Q, L], mistyped words.
        answers: int64 [Q], the row of the right one in `candidates`.
    """

    language: str
    candidates: Ints
    queries: Ints
    answers: npt.NDArray[np.int64]

    def found(self, embed: Callable[[Ints], Floats]) -> float:
        """Share of queries whose nearest candidate by cosine is the right one."""
        candidates, queries = (_normalized(embed(rows)) for rows in (self.candidates, self.queries))
        return float(np.mean((queries @ candidates.T).argmax(axis=1) == self.answers))


def retrieval_task(
    language: str, rows: Ints, *, seed: int, candidates: int = 10_000, queries: int = 500
) -> RetrievalTask:
    """Mistyped held-out words against the most frequent words of the language, among which they are put.

    Args:
        language: its code.
        rows: int32 [N, L], words by falling frequency, held-out ones among them; lists without any are queried as a whole.
        seed: of typos and of the choice of queries.
        candidates: words to find the right one among, at most.
        queries: mistyped words to look up, at most.
    """
    rng = np.random.default_rng(seed)
    unseen = held_out(rows)
    if not unseen.any():
        unseen = np.ones(len(rows), np.bool_)
    pool, asked = candidate_words(rows, unseen, candidates)
    answers, mistyped = mistyped_queries(pool, asked, queries, rng)
    return RetrievalTask(language, pool, mistyped, answers)


def candidate_words(rows: Ints, unseen: BoolArray, most: int) -> tuple[Ints, int]:
    """What words are looked up among: the most frequent unseen words, up to half, before the most frequent others.

    Args:
        rows: int32 [N, L], words by falling frequency.
        unseen: bool [N], which of them may be asked for.
        most: candidates, at most.

    Returns:
        int32 [C, L] and how many of the first rows are unseen words.
    """
    chosen = np.flatnonzero(unseen)[: most // 2]
    rest = np.setdiff1d(np.arange(len(rows)), chosen)[: most - len(chosen)]
    return np.concatenate([rows[chosen], rows[rest]]), len(chosen)


def mistyped_queries(
    pool: Ints, asked: int, queries: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], Ints]:
    """Up to `queries` of the first `asked` rows, ascending int64 [Q], and their mistyped forms int32 [Q, L]."""
    answers = np.sort(rng.permutation(asked)[:queries]).astype(np.int64)
    return answers, augment(pool[answers], rng, share=1.0)


def wordfreq_tasks(languages: tuple[str, ...], *, seed: int) -> list[RetrievalTask]:
    """The retrieval tasks of some languages of wordfreq."""
    return [retrieval_task(language, wordfreq_words(language)[0], seed=seed) for language in languages]


def _normalized(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled
