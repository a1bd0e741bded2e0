"""Work beside the main thread: a second core fits n-grams while the first takes the network's steps."""

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from retvec_lite.terminal import Progress

Found = TypeVar("Found")

_OVER: Final = ("", 0, 0)

_NICENESS: Final = 10
"""Niceness of work that gives way, above the usual: of a core that both want, Linux gives it a tenth (1.25 to the power of 10,
https://docs.kernel.org/scheduler/sched-nice-design.html)."""


class _StoppedError(Exception):
    """The main thread has ended its work, and nobody waits for the result."""


class Beside:
    """Runs a function in a thread of its own, and tells of its progress in the main thread: a callback need not be safe for threads.

    Compiled solvers and TensorFlow leave the interpreter to other threads. Unlike a process, a thread needs no guarded script and no
    copy of the texts.

    Args:
        progress: the user's callback.
        gives_way: run the function in what the main thread leaves of the cores. Then the main thread's steps take equally long from
            the first, and tell how long the rest will take. On Linux alone: elsewhere, a thread has no niceness of its own.
    """

    def __init__(self, progress: Progress, gives_way: bool = False) -> None:
        self._progress = progress
        self._gives_way = gives_way and sys.platform == "linux"
        self._reports: queue.SimpleQueue[tuple[str, int, int]] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._is_over = False
        self._errors: list[BaseException] = []

    def report(self, what: str, done: int, total: int) -> None:
        """Keep what the other thread's work reports, for the main thread to tell; end that work once nobody waits for it."""
        if self._stopped.is_set():
            raise _StoppedError
        self._reports.put((what, done, total))

    def tell(self, what: str, done: int, total: int) -> None:
        """Tell of the main thread's work, and of what was reported meanwhile; raise what the other thread raised."""
        while not self._reports.empty():
            self._next()
        if self._errors:
            raise self._errors[0]
        self._progress(what, done, total)

    def _next(self) -> None:
        """Tell of the next report; wait for it if there is none."""
        report = self._reports.get()
        self._is_over |= report == _OVER
        if report != _OVER:
            self._progress(*report)

    @contextlib.contextmanager
    def run(self, function: Callable[[], Found]) -> Iterator[Callable[[], Found]]:
        """Run a function beside the block, and yield what waits for its result; what it raises is raised there, or by the next `tell`.

        What ends the block, such as Ctrl-C, ends the function at its next report.
        """
        found: list[Found] = []
        self._errors = errors = []

        def work() -> None:
            try:
                if self._gives_way:
                    own = threading.get_native_id()
                    os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + _NICENESS)
                found.append(function())
            except BaseException as error:  # noqa: BLE001 - raised again in the main thread
                errors.append(error)
            self._reports.put(_OVER)

        # A daemon: an interpreter that ends does not wait for a solver.
        thread = threading.Thread(target=work, daemon=True)

        def result() -> Found:
            while not self._is_over:
                self._next()
            if errors:
                raise errors[0]
            return found[0]

        self._is_over = False
        self._stopped.clear()
        thread.start()
        try:
            yield result
        finally:
            self._stopped.set()
