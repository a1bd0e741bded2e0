"""Worker processes that answer jobs in order, and outlive the death of one of them."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, Final, Generic, TypeVar

from retvec_lite.errors import RetvecLiteError

_AHEAD: Final = 2
"""Jobs per process in progress: one being run, one ready."""

_DEATHS: Final = 3
"""How often processes may die before another job is done."""

Job = TypeVar("Job")
Answer = TypeVar("Answer")

_work: Callable[[Any], Any]
"""In a worker process: what it does with a job."""


class Workers(Generic[Job, Answer]):
    """Processes that run one function. Jobs must bear to be run twice: those of a process that died run again.

    Args:
        work: a picklable function of a job; pickled once for each process.
        count: processes.
    """

    def __init__(self, work: Callable[[Job], Answer], count: int) -> None:
        self._work, self._count = work, count
        self._pool = self._start()

    def map(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Answer]]:
        """Yield each job with its answer, in order. Reads few jobs ahead.

        Raises:
            RetvecLiteError: when processes die again and again; and whatever `work` raises.
        """
        waiting: deque[tuple[Job, Future[Answer]]] = deque()
        try:
            for job in jobs:
                waiting.append((job, self._submit(job)))
                if len(waiting) > _AHEAD * self._count:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            self._pool.shutdown(cancel_futures=True)

    def _start(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a runtime whose threads a fork left behind hangs.
        return ProcessPoolExecutor(
            self._count, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(self._work,)
        )

    def _submit(self, job: Job) -> Future[Answer]:
        with _no_main_module(), contextlib.suppress(BrokenProcessPool):
            return self._pool.submit(_run, job)
        broken: Future[Answer] = Future()
        broken.set_exception(BrokenProcessPool())
        return broken

    def _next(self, waiting: "deque[tuple[Job, Future[Answer]]]") -> tuple[Job, Answer]:
        for _ in range(_DEATHS):
            job, future = waiting[0]
            try:
                answer = future.result()
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._start()
                unfinished = [(job, future) for job, future in waiting]
                waiting.clear()
                for job, future in unfinished:
                    is_done = future.done() and not future.cancelled() and future.exception() is None
                    waiting.append((job, future if is_done else self._submit(job)))
                continue
            waiting.popleft()
            return job, answer
        raise RetvecLiteError(
            "Worker processes were killed three times in a row, perhaps for want of memory. Finished parts are kept: "
            "repeat the command with fewer --workers."
        )


def _run(job: Any) -> Any:
    return _work(job)


def _begin(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - the one way for an initializer to leave something
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then lets what is begun finish
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is killed; otherwise it would wait for a job for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep processes that start inside the block from running the caller's script, which may have no main guard."""
    main: Any = sys.modules["__main__"]
    hidden = {name: main.__dict__[name] for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__spec__ = None
    main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        main.__dict__.update(hidden)
