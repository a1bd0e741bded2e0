"""Batches for pre-training, prepared ahead of time in a thread."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.pretraining.augment import AUGMENTATIONS, augment, random_tokens
from retvec_lite.pretraining.words import WordList, row_hashes

CHUNK: Final = 8
"""Batches that are made at once: eight cost about as much as three made one by one.

Also the unit of randomness: chunk k of a run is a function of (seed, k) alone, so that a resumed run sees the same batches
without any stored generator state.
"""

_SHARES: Final = {
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
AUGMENTATION_WEIGHTS: Final = tuple(_SHARES.get(kind, 6) for kind in AUGMENTATIONS)
"""How often each augmentation is drawn in training; retrieval tasks draw all 22 equally.

A network that reads positions finds shifts the hardest, and deletions are the most frequent human typo. A word under a
foreign n-gram cannot be recognized, and at equal shares such words drew the strongest gradients (docs/embedding.md).
"""


@dataclass(frozen=True)
class WordBatch:
    """One training batch.

    Attributes:
        codepoints: int32 [B, L], B/2 words and then another variant of each.
        keep: float32 [B, L], 0 for dropped characters, else 1 / (1 - rate).
        classes: int32 [B], equal for variants of the same word.
    """

    codepoints: Ints
    keep: Floats
    classes: Ints


def make_chunk(
    words: WordList,
    chunk: int,
    *,
    seed: int,
    batch_size: int,
    random_share: float,
    dropout: float,
    weights: Sequence[int] | None = None,
) -> list[WordBatch]:
    """Return the `CHUNK` batches of chunk number `chunk`: a pure function of its arguments (see `PretrainSettings`)."""
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
        # Sampling is with replacement, so short words repeat: the same word twice is one class, not a negative pair.
        _, classes = np.unique(row_hashes(pairs[index]), return_inverse=True)
        batches.append(WordBatch(variants[index], keep[index], classes.astype(np.int32)))
    return batches


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
