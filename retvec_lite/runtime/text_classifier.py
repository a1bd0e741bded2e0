"""`TextClassifier`: classify texts with an exported `.tflite`. Needs NumPy and a LiteRT runtime only."""

import contextlib
import ctypes
import functools
import os
import queue
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

# Not when it is first needed: a child of fork() would wait for ever for a thread that was just importing it.
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice, repeat
from typing import Any, Final, Generic, TypeVar

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.texts import as_texts, chunks, require_strings
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import EMBED, Artifact, read_artifact
from retvec_lite.runtime.interpreters import Engine, choose_runtime, codepoint_rows, import_runtime
from retvec_lite.runtime.predictor import Predictor
from retvec_lite.runtime.worker import IsolatedEngine

Item = TypeVar("Item")
Job = TypeVar("Job")
Answer = TypeVar("Answer")

_AHEAD: Final = 2
"""Jobs per thread in progress: one being run, one ready."""

_CHUNK: Final = 64
"""Texts that an interpreter runs between two hand-overs: a few milliseconds of work."""


class TextClassifier(Predictor):
    """Classifies texts with an exported file. Create one with `TextClassifier.load`.

    Threads may share one: calls wait for a free interpreter. Many texts at once are spread over `workers` interpreters,
    each in its own thread; the answers and their order are the same as with one. It can be pickled, sent to other processes
    and used after `fork()`.

    Attributes:
        labels: the classes, in the order of the columns of `probabilities`.
        config: the contract of the export.
        decision: when a text belongs to none of the labels.
        metadata: what the file says about itself (`retvec_lite.json`).
        runtime: the distribution that runs it, `ai-edge-litert` or `tflite-runtime`.
        workers: interpreters for many texts, created on first use.

    Example:
        >>> from retvec_lite import TextClassifier
        >>> classifier = TextClassifier.load("classifier-int8.tflite")
        >>> label, probability = classifier.predict("wkae me up at half past six")[0]
        >>> label in classifier.labels
        True
    """

    def __init__(
        self,
        artifact: Artifact,
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
        isolated: bool = False,
    ) -> None:
        """Start a runtime for an artifact that is already read. Prefer `load`, which describes arguments and errors."""
        check_count("num_threads", num_threads)
        check_count("workers", 1 if workers is None else workers)
        self.labels = artifact.labels
        self.config = artifact.config
        self.decision = artifact.decision
        self.metadata = artifact.metadata
        self.workers = max(1, available_cores() // num_threads) if workers is None else workers
        self._signatures = artifact.signatures
        self._arguments = (artifact, num_threads, runtime, workers, isolated)
        make: Callable[[], Engine | IsolatedEngine]
        if isolated:
            self.runtime = choose_runtime(runtime)
            make = functools.partial(IsolatedEngine, artifact, num_threads, self.runtime)
        else:
            self.runtime, interpreter_class = import_runtime(runtime)
            make = functools.partial(Engine, interpreter_class, artifact, num_threads, self.runtime)
        self._engines: WorkPool[Engine | IsolatedEngine] = WorkPool(make)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the same bytes; the file need not exist there.
        return TextClassifier, self._arguments

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
        isolated: bool = False,
    ) -> "TextClassifier":
        """Load an exported `.tflite`.

        Args:
            path: the file, or "language" for the detector in the package.
            num_threads: threads per call; 1 is fastest for short texts.
            runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that this process has already loaded, else
                the first one installed. Two runtimes in one process break each other.
            workers: texts to run at the same time when there are many; by default the cores of this process divided by
                `num_threads`.
            isolated: run the model in a worker process, one for each worker. A file that crashes the runtime, hangs or takes
                too much memory is then an error here. For files from others; a text takes about 0.2 ms longer.

        Raises:
            RetvecLiteError: for a file that is missing, damaged or not from retvec-lite, and for a runtime that is missing,
                cannot run the file, or is the second one in this process.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite", workers=2)
            >>> classifier.config.word_length
            16
        """
        return cls(read_artifact(path), num_threads, runtime, workers, isolated)

    def codepoints(self, text: str) -> Ints:
        """Return the input of the full model for a text: its code points, cut or zero-padded, int32 `[1, max_chars]`.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> classifier.codepoints("hi")[0, :3].tolist()
            [104, 105, 0]
        """
        return codepoint_rows([text], self.config.max_chars)

    def probabilities(self, texts: str | Iterable[str]) -> Floats:
        """Return the probabilities, float32 `[texts, classes]`, with columns in the order of `labels`.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> table = classifier.probabilities(["wkae me up", "play some jazz"])
            >>> table.shape == (2, len(classifier.labels))
            True
        """
        return self._table("probabilities", as_texts(texts), len(self.labels))

    def embed(self, texts: str | Iterable[str]) -> Floats:
        """Return text embeddings, float32 `[texts, dimension]`, for search and deduplication. Dot products are cosines.

        A text embedding is the mean of its word embeddings, scaled to length 1; zeros for a text without words. Word
        embeddings reflect spelling: texts are similar when they share words, mistyped or not, not when they share meaning.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings, or a file exported without `--embed`.
        """
        dimension = self._embed_dimension()
        return self._table("embedding", as_texts(texts), dimension)

    def embed_words(self, text: str) -> tuple[list[str], Floats]:
        """Return the words of a text as the model cuts them, and their embeddings, float32 `[words, dimension]`.

        Raises:
            RetvecLiteError: for anything but a string, or a file exported without `--embed`.
        """
        self._embed_dimension()
        require_strings([text])
        with self._engines.borrow() as engine:
            words, embeddings = engine.words(text)
        used = int(np.count_nonzero(words[:, 0]))
        return ["".join(map(chr, word[word != 0].tolist())) for word in words[:used]], embeddings[:used]

    def _embed_dimension(self) -> int:
        for signature in self._signatures:
            if signature.kind == EMBED and signature.dimension is not None:
                return signature.dimension
        raise RetvecLiteError("This model has no signature 'embed'. Export it again with --embed.")

    def _table(self, method: str, texts: Sequence[str], width: int) -> Floats:
        """Return the answers to all texts, float32 `[texts, width]`."""
        table = np.empty((len(texts), width), np.float32)
        row = 0
        for _, rows in self._stream(method, texts):
            table[row : row + len(rows)] = rows
            row += len(rows)
        return table

    def _probabilities_of(self, texts: Iterable[object]) -> Iterator[tuple[list[str], Floats]]:
        return self._stream("probabilities", texts)

    def _stream(self, method: str, texts: Iterable[object]) -> Iterator[tuple[list[str], Floats]]:
        """Yield one chunk of texts after the other, in order, with the answers to them, float32 `[texts, width]`."""
        parts = chunks(texts, _CHUNK)
        # A single chunk needs one interpreter only, and starting threads takes longer than most first answers.
        ahead = list(islice(parts, 2))
        if self.workers == 1 or len(ahead) < 2:
            for part in chain(ahead, parts):
                yield self._answer(method, part)
            return
        self._engines.grow(self.workers)
        yield from answered(functools.partial(self._answer, method), chain(ahead, parts), self.workers)

    def _answer(self, method: str, part: list[str] | Exception) -> tuple[list[str], Floats]:
        """Return a chunk of texts with the answers to them, or raise what came in its place."""
        if isinstance(part, Exception):
            raise part
        with self._engines.borrow() as engine:
            return part, np.stack([getattr(engine, method)(text) for text in part])


def available_cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_count(name: str, value: object) -> None:
    """Make sure that an option is a positive integer; raises RetvecLiteError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise RetvecLiteError(f"{name} must be a positive integer, not {value!r}.")


def answered(work: Callable[[Job], Answer], jobs: Iterable[Job], count: int) -> Iterator[Answer]:
    """Yield what `work` returns for each job, in order, from `count` threads. Reads few jobs ahead."""
    waiting: deque[Future[Answer]] = deque()
    with ThreadPoolExecutor(count, "retvec-lite") as threads:
        try:
            for job in jobs:
                waiting.append(threads.submit(work, job))
                if len(waiting) > _AHEAD * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class WorkPool(Generic[Item]):
    """Engines to borrow. Survives `fork()` at any moment, also while other threads use it."""

    def __init__(self, make: Callable[[], Item]) -> None:
        """Make the first, so that a file that cannot run is found out at once."""
        self._make = make
        self._idle: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._made = 0
        self._growing = threading.Lock()
        self.grow(1)
        _POOLS.add(self)

    def grow(self, count: int) -> None:
        """Make more until there are as many."""
        with self._growing:
            for _ in repeat(None, count - self._made):
                self._idle.put(self._make())
                self._made += 1

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Item]:
        """Wait for a free one; no other thread uses it inside the block."""
        if not self._made:
            self.grow(1)
        idle = self._idle
        engine = idle.get()
        try:
            yield engine
        finally:
            idle.put(engine)

    def renew(self) -> None:
        """Begin with none in a child after `fork()`: threads that held one, or the lock, are not there any more."""
        with contextlib.suppress(queue.Empty):
            while True:
                _never_free(self._idle.get_nowait())
        self._idle, self._growing, self._made = queue.SimpleQueue(), threading.Lock(), 0


def _never_free(engine: object) -> None:
    """Keep an engine of the parent process for ever: its destructor waits for threads that `fork()` did not copy."""
    increase: Any = ctypes.pythonapi.Py_IncRef
    increase(ctypes.py_object(engine))


def _renew_all() -> None:
    for pool in list(_POOLS):
        pool.renew()


_POOLS: Final[weakref.WeakSet[WorkPool[Any]]] = weakref.WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
