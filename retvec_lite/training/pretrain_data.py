"""Batches for pre-training, prepared ahead of time in a thread, and the retrieval metric."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from retvec_lite.training.augment import TYPO_KINDS, augment, random_tokens
from retvec_lite.training.unicode_tables import Int32Array
from retvec_lite.training.words import WordList, held_out, row_hashes, wordfreq_words

FloatMatrix = npt.NDArray[np.float32]

# NumPy calls on 8 batches at once cost a third of 8 times one. Also the unit of randomness: chunk k of a run is a function
# of (seed, k) alone, so that a resumed run sees the same batches without any stored generator state.
CHUNK = 8


# How often each kind of typo comes in training; the retrieval metric draws them all alike. Shifts are the hardest to see through
# for a network that reads positions, and deletions are what people do most; a word under a foreign n-gram is beyond
# finding, and at equal shares such words drew the strongest gradients (docs/embedding.md has the comparison).
_SHARES = {
    "deletion": 24,
    "repetition": 9,
    "alphabet_insertion": 9,
    "punctuation_prefix_insertion": 9,
    "emoji_prefix_insertion": 9,
    "neighbour_swap": 9,
    "case_substitution": 3,
    "punctuation_suffix_insertion": 3,
    "emoji_suffix_insertion": 3,
    "ngram_prefix_insertion": 2,
    "ngram_suffix_insertion": 2,
    "ngram_substitution": 2,
}
KIND_WEIGHTS = tuple(_SHARES.get(kind, 6) for kind in TYPO_KINDS)


@dataclass(frozen=True)
class Batch:
    """One training batch.

    Attributes:
        codepoints: int32 [B, L], B/2 words and then another variant of each.
        keep: float32 [B, L], 0 for dropped characters, else 1 / (1 - rate).
        classes: int32 [B], equal for variants of the same word.
    """

    codepoints: Int32Array
    keep: FloatMatrix
    classes: Int32Array


def make_chunk(
    words: WordList,
    chunk: int,
    *,
    seed: int,
    batch_size: int,
    random_share: float,
    dropout: float,
    weights: Sequence[int] | None = None,
) -> list[Batch]:
    """The `CHUNK` batches of chunk number `chunk`: a pure function of its arguments (see `PretrainSettings`)."""
    rng = np.random.default_rng((seed, chunk))
    half = batch_size // 2
    randoms = round(half * random_share)
    length = words.rows.shape[1]
    base = words.sample(CHUNK * half, rng).reshape(CHUNK, half, length)
    if randoms:
        base[:, half - randoms :] = random_tokens(CHUNK * randoms, rng, length).reshape(CHUNK, randoms, length)
    pairs = np.concatenate([base, base], axis=1)
    variants = augment(pairs.reshape(-1, length), rng, weights=weights).reshape(pairs.shape)
    keep = (rng.random(pairs.shape, np.float32) >= dropout).astype(np.float32) / np.float32(1 - dropout)
    batches = []
    for index in range(CHUNK):
        # Sampling is with replacement, and short words repeat: the same word twice is one class, not a negative pair.
        _, classes = np.unique(row_hashes(pairs[index]), return_inverse=True)
        batches.append(Batch(variants[index], keep[index], classes.astype(np.int32)))
    return batches


def prefetch(make: Callable[[int], list[Batch]], start: int, stop: int, *, depth: int = 4) -> Iterator[Batch]:
    """Batches `start` to `stop` (exclusive), whose chunks `make` prepares in a thread, `depth` chunks ahead.

    NumPy and the training step both release the interpreter lock, so that a thread is enough. An exception in it is
    raised here.
    """
    ready: queue.Queue[list[Batch] | BaseException] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def produce() -> None:
        for chunk in range(start // CHUNK, -(-stop // CHUNK)):
            try:
                made: list[Batch] | BaseException = make(chunk)
            except BaseException as error:  # noqa: BLE001 - handed over: it belongs to the thread that trains
                made = error
            while not stopped.is_set():
                try:
                    ready.put(made, timeout=0.2)
                    break
                except queue.Full:
                    continue
            if stopped.is_set() or isinstance(made, BaseException):
                return

    thread = threading.Thread(target=produce, name="pretrain-batches", daemon=True)
    thread.start()
    try:
        step = start
        while step < stop:
            chunk = ready.get()
            if isinstance(chunk, BaseException):
                raise chunk
            for batch in chunk[step % CHUNK : step % CHUNK + stop - step]:
                yield batch
                step += 1
    finally:
        stopped.set()
        thread.join(timeout=10)


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
    candidates: Int32Array
    queries: Int32Array
    answers: npt.NDArray[np.int64]

    def found(self, embed: Callable[[Int32Array], FloatMatrix]) -> float:
        """Share of queries whose nearest candidate by cosine is the right one."""
        candidates, queries = (_normalized(embed(rows)) for rows in (self.candidates, self.queries))
        return float(np.mean((queries @ candidates.T).argmax(axis=1) == self.answers))


def retrieval_task(
    language: str, rows: Int32Array, *, seed: int, candidates: int = 10_000, queries: int = 500
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
    order = np.argsort(~unseen, kind="stable")[: candidates // 2]  # the most frequent held-out words ...
    rest = np.setdiff1d(np.arange(len(rows)), order)[: candidates - len(order)]  # ... and the most frequent others
    pool = np.concatenate([rows[order], rows[rest]])
    answers = np.sort(rng.permutation(int(unseen[order].sum()))[:queries])
    mistyped = augment(pool[answers], rng, share=1.0)
    return RetrievalTask(language, pool, mistyped, answers.astype(np.int64))


def wordfreq_tasks(languages: tuple[str, ...], *, seed: int) -> list[RetrievalTask]:
    """The retrieval tasks of some languages of wordfreq."""
    return [retrieval_task(language, wordfreq_words(language)[0], seed=seed) for language in languages]


def _normalized(vectors: FloatMatrix) -> FloatMatrix:
    scaled: FloatMatrix = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled
