"""Batches for pre-training, prepared ahead of time in a thread."""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from makers.embedding.word_typos import augment, random_tokens
from makers.embedding.words import WordList, row_hashes
from retvec_lite.contract import Floats, Ints

if TYPE_CHECKING:
    from makers.embedding.train import Round

DROPOUT: Final = 1 / 16
"""Spatial dropout: the share of whole characters hidden from the network."""
RANDOM_SHARE: Final = 0.1
"""Share of random tokens instead of words."""

CHUNK: Final = 8
"""Batches that are made at once: eight cost about as much as three made one by one.

Also the unit of randomness: chunk k of a run is a function of (seed, k) alone, so that a resumed run sees the same batches
without any stored generator state.
"""


@dataclass(frozen=True)
class WordBatch:
    """One training batch: B/2 words, then another variant of each."""

    codepoints: Ints  # int32 [B, L]
    keep: Floats  # float32 [B, L], 0 for dropped characters, else 1 / (1 - DROPOUT)
    classes: Ints  # int32 [B], equal for variants of the same word


def make_chunk(words: WordList, settings: "Round", chunk: int) -> list[WordBatch]:
    """Return the `CHUNK` batches of a chunk, a pure function of the arguments."""
    rng = np.random.default_rng((settings.seed, chunk))
    half = settings.batch_size // 2
    randoms = round(half * RANDOM_SHARE)
    length = words.rows.shape[1]
    base = words.sample(CHUNK * half, rng).reshape(CHUNK, half, length)
    if randoms:
        base[:, half - randoms :] = random_tokens(CHUNK * randoms, rng).reshape(CHUNK, randoms, length)
    pairs = np.concatenate([base, base], axis=1)
    variants = augment(pairs.reshape(-1, length), rng).reshape(pairs.shape)
    keep = (rng.random(pairs.shape, np.float32) >= DROPOUT).astype(np.float32)
    keep /= np.float32(1 - DROPOUT)
    return [WordBatch(variants[index], keep[index], _classes(pairs[index])) for index in range(CHUNK)]


def _classes(words: Ints) -> Ints:
    """Return the class of each row, int32 [B]: sampling is with replacement, so that short words repeat within a batch."""
    _, classes = np.unique(row_hashes(words), return_inverse=True)
    return classes.astype(np.int32)


def prefetch(make: Callable[[int], list[WordBatch]], start: int, stop: int, *, depth: int = 4) -> Iterator[WordBatch]:
    """Yield batches `start` to `stop` (exclusive), whose chunks `make` prepares in a thread, `depth` chunks ahead.

    NumPy and the training step both release the interpreter lock, so a thread is enough. Its exceptions are raised here.
    """
    chunks = iter(range(start // CHUNK, -(-stop // CHUNK)))
    maker = ThreadPoolExecutor(1, thread_name_prefix="pretrain-batches")
    try:
        ahead = deque(maker.submit(make, chunk) for chunk in itertools.islice(chunks, depth))
        while ahead:
            batches = ahead.popleft().result()
            ahead.extend(maker.submit(make, chunk) for chunk in itertools.islice(chunks, 1))
            first = start % CHUNK
            yield from batches[first : first + stop - start]
            start += CHUNK - first
    finally:
        maker.shutdown(cancel_futures=True)
