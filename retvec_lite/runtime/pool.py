"""Threads that answer in order, and what they share: one thread borrows one engine at a time, and a forked child starts its own."""

import contextlib
import ctypes
import itertools
import os
import queue
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator

# Not when it is first needed: a child of fork() would wait for ever for a thread that was just importing it.
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Generic, TypeVar

from retvec_lite.errors import RetvecLiteError

Item = TypeVar("Item")
Job = TypeVar("Job")
Answer = TypeVar("Answer")

_AHEAD: Final = 2
"""Jobs per thread in progress: one being run, one ready."""


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


class Pool(Generic[Item]):
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
            for _ in itertools.repeat(None, count - self._made):
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


_POOLS: Final[weakref.WeakSet[Pool[Any]]] = weakref.WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
