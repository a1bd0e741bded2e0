"""Engines to share: which one runs a file, a pool of them for threads, and work that is spread over threads."""

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
from collections.abc import Callable, Iterable, Iterator

# Not when it is first needed: a child of fork() would wait for ever for a thread that was just importing it.
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import repeat
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.runtime.artifact import Artifact
from retvec_lite.runtime.native import NATIVE, NativeEngine

Item = TypeVar("Item")
Job = TypeVar("Job")
Answer = TypeVar("Answer")

_AHEAD: Final = 2
"""Jobs per thread in progress: one being run, one ready."""

_MOST: Final = 65_536
"""Threads, workers and other counts: more than any machine has."""


class Runs(Protocol):
    """What answers texts: `Engine`, `NativeEngine`, `OnnxEngine`, `IsolatedEngine` and the reference."""

    def probabilities(self, texts: list[str], /) -> Floats:
        """Return the probabilities of texts that were read (`windows.read_text`), float32 `[texts, classes]`."""

    def embeddings(self, texts: list[str], /) -> Floats:
        """Return their embeddings, float32 `[texts, dimension]`."""

    def words(self, texts: list[str], /) -> tuple[Ints, Floats]:
        """Return their slots, int32 `[texts, max_words, word_length]`, and the embeddings of these."""


class Running(NamedTuple):
    """How a classifier runs; `load` describes the options."""

    num_threads: int = 1
    runtime: str | None = None
    workers: int | None = None
    isolated: bool = False
    languages: tuple[str, ...] | None = None

    def refuse_litert(self) -> None:
        """Refuse, with RetvecLiteError, what only a `.tflite` takes."""
        given = {"num_threads": self.num_threads != 1, "runtime": self.runtime is not None}
        if names := [name for name, is_given in given.items() if is_given]:
            raise RetvecLiteError(f"Only a .tflite takes {' and '.join(names)}: all else runs on an engine of its own.")

    def engine_of(self, artifact: Artifact) -> tuple[str, Callable[[], Runs]]:
        """Return the name of what runs a file, and what makes an engine of it.

        Raises:
            RetvecLiteError: for a runtime that is missing or does not fit, and for options that a file does not have.
        """
        threads = self.num_threads
        if artifact.is_onnx:
            if self.isolated or self.runtime is not None:
                raise RetvecLiteError("An .onnx runs on ONNX Runtime, in this process: leave runtime and isolated out.")
            from retvec_lite.runtime.onnx_file import RUNTIME, OnnxEngine

            shape = (artifact.config.max_chars, len(artifact.labels))
            session: Any = functools.partial(OnnxEngine, artifact.path, artifact.model, shape, threads)
            return RUNTIME, session  # which is asked for probabilities alone
        if artifact.is_native:
            self.refuse_litert()
            if not self.isolated:
                return NATIVE, functools.partial(NativeEngine, artifact)
        from retvec_lite.runtime.interpreters import Engine, choose_runtime, import_runtime

        if self.isolated:
            from retvec_lite.runtime.worker import IsolatedEngine

            name = NATIVE if artifact.is_native else choose_runtime(self.runtime)
            return name, functools.partial(IsolatedEngine, artifact, threads, name)
        name, interpreter_class = import_runtime(self.runtime)
        return name, functools.partial(Engine, interpreter_class, artifact, threads, name)


USUAL: Final = Running()


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
