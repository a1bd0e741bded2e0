"""What a large sentence encoder says of open sentences, and how smaller models learn it: for `sentences` and `meaning requests`.

The encoder is all-MiniLM-L6-v2, as the benchmarks run it.
"""

import bz2
import dataclasses
import hashlib
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import tensorflow as tf

from makers.stage import Stage
from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError

THOUSANDS: Final[Mapping[str, int]] = {
    "books": 40, "counselling": 20, "definitions_wordnet": 25, "definitions_wordset": 25, "dialogues": 160, "irc": 15,
    "medical_questions": 50, "meetings": 15, "podcasts": 40, "reddit": 240, "textbooks": 10, "web_treebank": 10, "wikinews": 130,
    "wikipedia": 140,
}  # fmt: skip
"""Thousands of sentences of each file: what people write to each other, news and encyclopedia count most."""

PART: Final = 20_000
"""Sentences of a file of vectors, and of a visit."""
HELD_OUT: Final = 2_000
"""Sentences of the first part that are never learned from."""
BATCH: Final = 256
"""Sentences of a step."""
ROUNDS: Final = 3
"""Times that each sentence is learned from."""
FEW: Final = 4_000
"""Sentences that try a command."""

_SEED: Final = 5
_OF_A_LINE: Final = 3
"""Sentences of a long line, at most."""
_WORDS: Final = 24
_PASSAGE_SHARE: Final = 0.12
_PASSAGE_WORDS: Final = 48
"""Words of a sentence, and of the passages of several sentences that so many lines give instead, at most."""
_SHORTEST, _LONGEST = 2, 40
"""Words of the sentences that are taken."""
_LIKENESS_WEIGHT: Final = 3.0
"""How much the cosines between the sentences of a batch count, beside those to the encoder's vectors."""

_END: Final = re.compile(r"(?<=[.!?])\s+")

Embed = Callable[[Sequence[str]], Floats]


def draw_sentences(files: Sequence[Path]) -> list[str]:
    """Return distinct sentences of files named like `wikipedia.txt.bz2`, in random order: the same ones for the same files.

    Raises:
        RetvecLiteError: for a file that `THOUSANDS` does not name.
    """
    rng, found = random.Random(_SEED), []
    for file in sorted(files):
        name = file.name.partition(".")[0]
        if name not in THOUSANDS:
            raise RetvecLiteError(f"{file}: only {', '.join(THOUSANDS)} are known.")
        with bz2.open(file, "rt", encoding="utf-8") as lines:
            pool = list(dict.fromkeys(sentence for line in lines for sentence in _sentences(line, rng)))
        rng.shuffle(pool)
        found += pool[: 1000 * THOUSANDS[name]]
    rng.shuffle(found)
    return list(dict.fromkeys(found))


def _sentences(line: str, rng: random.Random) -> Iterator[str]:
    """Yield sentences of a line, or its beginning."""
    parts = _END.split(line.strip())
    if rng.random() < _PASSAGE_SHARE:
        words = line.split()
        if len(words) > _WORDS:
            yield " ".join(words[:_PASSAGE_WORDS])
            return
    for part in parts if len(parts) <= _OF_A_LINE else rng.sample(parts, _OF_A_LINE):
        words = part.split()
        if _SHORTEST <= len(words) <= _LONGEST:
            yield " ".join(words[:_WORDS])


@dataclasses.dataclass(frozen=True)
class Lesson:
    """Some sentences, and what to learn of them.

    Attributes:
        sentences: the texts.
        vectors: the encoder's, of length 1 around the mean of the first part: float32 `[sentences, width]`.
        places: where they are among all sentences: int `[sentences]`.
    """

    sentences: Sequence[str]
    vectors: Floats
    places: Ints


class Lessons:
    """All sentences with their vectors: visit after visit goes over all parts, in a new order in each round.

    Args:
        sentences: to learn from.
        folder: keeps their vectors, a file for each part.
        embed: the encoder: float32 `[sentences, width]` of sentences.
    """

    def __init__(self, sentences: Sequence[str], folder: Path, embed: Embed) -> None:
        self.sentences, self._folder, self._embed = sentences, folder, embed
        self._digest = hashlib.sha256("\n".join(sentences).encode()).hexdigest()
        self._parts = -(-len(sentences) // PART)
        for part in range(self._parts):
            self._vectors(part)
            print(f"vectors {min((part + 1) * PART, len(sentences)):,} of {len(sentences):,}", flush=True)
        self._mean = self._vectors(0).mean(axis=0)

    @classmethod
    def of(cls, files: Sequence[Path], folder: Path, *, quick: bool) -> "Lessons":
        """Return what the encoder says of the sentences of files; `quick`: of a few of them."""
        sentences = draw_sentences(files)
        return cls(sentences[:FEW], folder / "few", _encode) if quick else cls(sentences, folder, _encode)

    @property
    def visits(self) -> int:
        """How many visits there are in all rounds."""
        return ROUNDS * self._parts

    @property
    def steps(self) -> int:
        """How many batches there are in all rounds, about."""
        return ROUNDS * -(-len(self.sentences) // BATCH)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return len(self._mean)

    @property
    def held_out(self) -> Lesson:
        """The sentences that are never learned from."""
        return self._lesson(0, slice(0, HELD_OUT))

    def visit(self, number: int) -> Lesson:
        """Return what visit `number`, from 0 on, learns from."""
        round_, place = divmod(number, self._parts)
        part = int(np.random.default_rng([1, round_]).permutation(self._parts)[place])
        return self._lesson(part, slice(HELD_OUT if part == 0 else 0, None))

    def _lesson(self, part: int, rows: slice) -> Lesson:
        vectors = self._vectors(part) - self._mean
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        places = part * PART + np.arange(len(vectors), dtype=np.int32)[rows]
        return Lesson([self.sentences[place] for place in places.tolist()], vectors[rows], places)

    def _vectors(self, part: int) -> Floats:
        def make() -> dict[str, Floats]:
            return {"vectors": self._embed(self.sentences[part * PART : (part + 1) * PART]).astype(np.float16)}

        stage = Stage(self._folder / f"{part:03d}.npz", {"sentences": self._digest})
        return stage.once(make, lambda arrays: arrays["vectors"].astype(np.float32))


def _encode(sentences: Sequence[str]) -> Floats:
    from benchmarks.systems.sentence_encoder import load_encoder

    # A new encoder for each part: it keeps the vectors of all that it has read.
    load_encoder.cache_clear()
    found: Floats = load_encoder().embed(sentences)
    return found


def distance(found: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Return how far the vectors of a batch are from those wanted, both float32 `[sentences, width]` of length 1: a scalar."""
    away = 1.0 - tf.reduce_mean(tf.reduce_sum(found * wanted, axis=1))
    likeness = tf.matmul(found, found, transpose_b=True) - tf.matmul(wanted, wanted, transpose_b=True)
    return away + _LIKENESS_WEIGHT * tf.reduce_mean(tf.square(likeness))


def rate_at(step: int, steps: int, peak: float, warm_up: int) -> float:
    """Return the learning rate of a step: a warm-up, then half a cosine to a fiftieth."""
    share = min(1.0, step / steps)
    return peak * min(1.0, step / warm_up) * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * share)))
