"""`TextClassifier`: classify texts with an exported file. Needs NumPy and, for a `.tflite`, a LiteRT runtime only."""

import contextlib
import ctypes
import functools
import numbers
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

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats, Ints
from retvec_lite.data.texts import as_texts, chunks, require_strings
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.runtime.artifact import EMBED, Artifact, read_artifact
from retvec_lite.runtime.interpreters import Engine, choose_runtime, codepoint_rows, import_runtime
from retvec_lite.runtime.isolated_native import IsolatedNative
from retvec_lite.runtime.native import NATIVE, NativeEngine
from retvec_lite.runtime.predictor import Predictor, require_finite
from retvec_lite.runtime.worker import IsolatedEngine
from retvec_lite.windows import answer_in_windows, cut_windows, mean_embedding

Item = TypeVar("Item")
Job = TypeVar("Job")
Answer = TypeVar("Answer")

_AHEAD: Final = 2
"""Jobs per thread in progress: one being run, one ready."""

_MOST: Final = 65_536
"""Threads, workers and other counts: more than any machine has."""

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
        runtime: the distribution that runs it, `ai-edge-litert` or `tflite-runtime`; `retvec-lite` for a `.retvec`.
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
        languages: Sequence[str] | None = None,
    ) -> None:
        """Start a runtime for an artifact that is already read. Prefer `load`, which describes arguments and errors."""
        languages = None if languages is None else tuple(languages)
        num_threads = check_count("num_threads", num_threads)
        workers = None if workers is None else check_count("workers", workers)
        self._columns = None if languages is None else artifact.decision.limited(artifact.labels, languages)
        self.labels = tuple(artifact.labels[column] for column in self._columns or range(len(artifact.labels)))
        self.config = artifact.config
        self.decision = artifact.decision
        self.metadata = artifact.metadata
        self.workers = max(1, available_cores() // num_threads) if workers is None else workers
        self._signatures = artifact.signatures
        self._arguments = (artifact, num_threads, runtime, workers, isolated, languages)
        make: Callable[[], Engine | IsolatedEngine | NativeEngine]
        if artifact.is_native:
            _refuse_litert(num_threads, runtime)
            self.runtime = NATIVE
            make = functools.partial(IsolatedNative if isolated else NativeEngine, artifact)
        elif isolated:
            self.runtime = choose_runtime(runtime)
            make = functools.partial(IsolatedEngine, artifact, num_threads, self.runtime)
        else:
            self.runtime, interpreter_class = import_runtime(runtime)
            make = functools.partial(Engine, interpreter_class, artifact, num_threads, self.runtime)
        self._engines: WorkPool[Engine | IsolatedEngine | NativeEngine] = WorkPool(make)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the same bytes; the file need not exist there.
        return TextClassifier, self._arguments

    @classmethod
    @checked
    def load(
        cls,
        path: str | os.PathLike[str],
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
        isolated: bool = False,
        languages: Sequence[str] | None = None,
    ) -> "TextClassifier":
        """Load an exported `.tflite` or `.retvec`.

        Args:
            path: the file, or "language" for the detector in the package. `num_threads` and `runtime` are for a
                `.tflite` alone.
            num_threads: threads per call; 1 is fastest for short texts.
            runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that this process has already loaded, else
                the first one installed. Two runtimes in one process break each other.
            workers: texts to run at the same time when there are many; by default the cores of this process divided by
                `num_threads`.
            isolated: run the model in a worker process, one for each worker. A file that crashes the runtime, hangs or takes
                too much memory is then an error here. For files from others; a text takes about 0.2 ms longer.
            languages: the only labels to choose from, beside that of unknown texts; all by default.

        Raises:
            RetvecLiteError: for a file that is missing, damaged or not from retvec-lite, and for a runtime that is missing,
                cannot run the file, or is the second one in this process; for a language that is not among the labels.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite", workers=2)
            >>> classifier.config.word_length
            16
        """
        return cls(read_artifact(path), num_threads, runtime, workers, isolated, languages)

    @checked
    def codepoints(self, text: str) -> Ints:
        """Return the input of the full model for a text: its code points, zero-padded, int32 `[windows, max_chars]`.

        There is one window, but for texts of more than `max_chars` code points.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> classifier.codepoints("hi")[0, :3].tolist()
            [104, 105, 0]
        """
        return codepoint_rows(cut_windows(text, self.config), self.config.max_chars)

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
        embeddings reflect spelling: texts are similar when they share words, mistyped or not. In files with a table of meaning
        (metadata `meaning`), 64 numbers about the meaning of known words stand behind it, and count most.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings, or a file exported without `--embed`.
        """
        found = as_texts(texts)
        return self._table("embedding", found, self._embed_dimension())

    def embed_words(self, text: str) -> tuple[list[str], Floats]:
        """Return the words of a text as the model cuts them, and their embeddings, float32 `[words, dimension]`.

        Raises:
            RetvecLiteError: for anything but a string, or a file exported without `--embed`.
        """
        require_strings([text])
        self._embed_dimension()
        with self._engines.borrow() as engine:
            parts = [engine.words(window) for window in cut_windows(text, self.config)]
        words, embeddings = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        used = words[:, 0] != 0
        return ["".join(map(chr, word[word != 0].tolist())) for word in words[used]], require_finite(embeddings[used])

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

            def answer(windows: list[str]) -> Floats:
                if method == "embedding":
                    return require_finite(np.stack([engine.embedding(window) for window in windows]))
                if isinstance(engine, NativeEngine | IsolatedNative):
                    return self._limited(self._require_probabilities(engine.table(windows)))
                return self._limited(
                    self._require_probabilities(np.stack([engine.probabilities(window) for window in windows]))
                )

            join = mean_embedding if method == "embedding" else self._combined
            return part, answer_in_windows(answer, part, self.config, join)

    def _limited(self, rows: Floats) -> Floats:
        """Return the probabilities of the labels to choose from, which add up to 1 again."""
        if self._columns is None:
            return rows
        rows = rows[:, self._columns]
        rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return rows


def _refuse_litert(num_threads: int, runtime: str | None) -> None:
    given = {"num_threads": num_threads != 1, "runtime": runtime is not None}
    if names := [name for name, is_given in given.items() if is_given]:
        raise RetvecLiteError(f"Only a .tflite takes {' and '.join(names)}: a .retvec has an engine of its own.")


def available_cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_count(name: str, value: object) -> int:
    """Return an option that must be a positive integer, of any library; raises RetvecLiteError."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= int(value) <= _MOST:
        raise RetvecLiteError(f"{name} must be a positive integer, at most {_MOST:,}, not {shown(value)}.")
    return int(value)


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
