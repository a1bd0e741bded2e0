"""Engines that threads share: one thread borrows one engine at a time, and a forked child starts its own."""

import contextlib
import ctypes
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from retvec_lite.contract import Floats, Ints


class AnyEngine(Protocol):
    """What answers one text at a time, in one thread at a time."""

    def probabilities(self, text: str) -> Floats:
        """Return the probabilities, float32 `[classes]`."""

    def embedding(self, text: str) -> Floats:
        """Return the embedding of the text, float32 `[dimension]`."""

    def words(self, text: str) -> tuple[Ints, Floats]:
        """Return the slots, int32 `[max_words, word_length]`, and their embeddings, float32 `[max_words, dimension]`."""


class EnginePool:
    """Engines to borrow. Survives `fork()` at any moment, also while other threads use it."""

    def __init__(self, make: Callable[[], AnyEngine]) -> None:
        """Make the first engine, so that a file that cannot run is found out at once."""
        self._make = make
        self._idle: queue.SimpleQueue[AnyEngine] = queue.SimpleQueue()
        self._made = 0
        self._growing = threading.Lock()
        self.grow(1)
        _POOLS.add(self)

    def grow(self, engines: int) -> None:
        """Make engines until there are as many."""
        with self._growing:
            while self._made < engines:
                self._idle.put(self._make())
                self._made += 1

    @contextlib.contextmanager
    def borrow(self) -> Iterator[AnyEngine]:
        """Wait for a free engine; no other thread uses it inside the block."""
        if not self._made:
            self.grow(1)
        idle = self._idle
        engine = idle.get()
        try:
            yield engine
        finally:
            idle.put(engine)

    def renew(self) -> None:
        """Begin with no engine in a child after `fork()`: threads that held one, or the lock, are not there any more."""
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


_POOLS: Final[weakref.WeakSet[EnginePool]] = weakref.WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
