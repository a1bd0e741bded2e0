"""Batches for pre-training, prepared ahead of time in a thread."""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.pretraining.augment import AUGMENTATIONS, augment, random_tokens
from retvec_lite.pretraining.forms import decomposed
from retvec_lite.pretraining.words import Hashes, WordList, WordShares, row_hashes

CHUNK: Final = 8
"""Batches that are made at once: eight cost about as much as three made one by one.

Also the unit of randomness: chunk k of a run is a function of (seed, k) alone, so that a resumed run sees the same batches
without any stored generator state.
"""

_SHIFTS: Final = {
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
_CATEGORIES: Final = {
    "deletion": 88,
    "insertion": 8,
    "repetition": 8,
    "substitution": 11,
    "neighbour_swap": 44,
    "shuffle": 44,
}
"""1 deletion, 11 insertions (a repetition is one), 8 substitutions and 2 transpositions: each category has 88 shares."""

SAMPLING: Final[Mapping[str, tuple[int, ...]]] = {
    "kinds": (1,) * len(AUGMENTATIONS),
    "categories": tuple(
        next(share for part, share in _CATEGORIES.items() if kind.endswith(part)) for kind in AUGMENTATIONS
    ),
    "shifts": tuple(_SHIFTS.get(kind, 6) for kind in AUGMENTATIONS),
}
"""How often each kind of typo is drawn in training, by the name of the scheme; retrieval tasks draw all 22 kinds alike.

`kinds`: all 22 alike. `categories`: deletion, insertion, substitution and transposition alike, and within each its kinds, as in
the RETVec paper. `shifts`: what moves the rest of the word more often, since a network that reads positions finds it the
hardest and deletions are the most frequent human typo; foreign n-grams less often, since nobody recognizes a word under them.
"""


@dataclass(frozen=True)
class WordBatch:
    """One training batch.

    Attributes:
        codepoints: int32 [B, L], B/2 words and then another variant of each.
        keep: float32 [B, L], 0 for dropped characters, else 1 / (1 - rate).
        words: uint64 [B], a hash of the word that a row is a variant of.
    """

    codepoints: Ints
    keep: Floats
    words: Hashes

    @property
    def classes(self) -> Ints:
        """int32 [B], equal for variants of the same word."""
        # Sampling is with replacement, so short words repeat: the same word twice is one class, not a negative pair.
        _, classes = np.unique(self.words, return_inverse=True)
        return classes.astype(np.int32)


def make_chunk(
    words: WordList,
    chunk: int,
    *,
    seed: int | tuple[int, int],
    batch_size: int,
    random_share: float,
    dropout: float,
    sampling: str,
    decomposed_share: float,
) -> list[WordBatch]:
    """Return the `CHUNK` batches of chunk number `chunk`: a pure function of its arguments (see `PretrainSettings`)."""
    rng = np.random.default_rng((*(seed if isinstance(seed, tuple) else (seed,)), chunk))
    half = batch_size // 2
    randoms = round(half * random_share)
    length = words.rows.shape[1]
    base = words.sample(CHUNK * half, rng).reshape(CHUNK, half, length)
    if randoms:
        base[:, half - randoms :] = random_tokens(CHUNK * randoms, rng, length).reshape(CHUNK, randoms, length)
    pairs = np.concatenate([base, base], axis=1)
    rows = pairs.reshape(-1, length).copy()  # of which word a row is a variant is read from `pairs` below
    if decomposed_share:
        chosen = np.flatnonzero(rng.random(len(rows)) < decomposed_share)
        rows[chosen] = decomposed(rows[chosen])
    variants = augment(rows, rng, weights=SAMPLING[sampling]).reshape(pairs.shape)
    keep = (rng.random(pairs.shape, np.float32) >= dropout).astype(np.float32) / np.float32(1 - dropout)
    batches = []
    for index in range(CHUNK):
        batches.append(WordBatch(variants[index], keep[index], row_hashes(pairs[index])))
    return batches


def make_shares(words: WordShares, chunk: int, *, seed: int, batch_size: int, **options: Any) -> list[WordBatch]:
    """Return the batches of a chunk, with the rows of the shares that are held: those of all shares make the whole batch.

    Args:
        words: each share gives as many words.
        chunk: its number.
        seed: of the run.
        batch_size: of the whole batch.
        options: see `make_chunk`.
    """
    if words.count == 1:
        return make_chunk(words.shares[0], chunk, seed=seed, batch_size=batch_size, **options)
    size = batch_size // words.count
    found = [
        make_chunk(share, chunk, seed=(seed, number), batch_size=size, **options)
        for number, share in words.shares.items()
    ]
    return [_joined(batches) for batches in zip(*found, strict=True)]


def _joined(batches: Sequence[WordBatch]) -> WordBatch:
    """Return one batch of several: first the words of all of them, then another variant of each."""

    def join(name: str) -> Any:
        halves = [np.split(getattr(batch, name), 2) for batch in batches]
        return np.concatenate([half[side] for side in (0, 1) for half in halves])

    return WordBatch(join("codepoints"), join("keep"), join("words"))


def prefetch(make: Callable[[int], list[WordBatch]], start: int, stop: int, *, depth: int = 4) -> Iterator[WordBatch]:
    """Yield batches `start` to `stop` (exclusive), whose chunks `make` prepares in a thread, `depth` chunks ahead.

    NumPy and the training step both release the interpreter lock, so a thread is enough. Its exceptions are raised here.
    """
    ready: queue.Queue[list[WordBatch] | BaseException] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def produce() -> None:
        for chunk in range(start // CHUNK, -(-stop // CHUNK)):
            try:
                made: list[WordBatch] | BaseException = make(chunk)
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
