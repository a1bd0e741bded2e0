"""Worker processes that answer tasks in order, and outlive the death of one of them."""

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
"""Tasks per process in progress: one being run, one ready."""

_DEATHS: Final = 3
"""How often processes may die before another task is done."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_work: Callable[[Any], Any]
"""In a worker process: what it does with a task."""


class Workers(Generic[Task, Answer]):
    """Processes that run one function. Tasks must bear to be run twice: those of a process that died run again.

    Args:
        work: a picklable function of a task; pickled once for each process.
        count: processes.
    """

    def __init__(self, work: Callable[[Task], Answer], count: int) -> None:
        self._work, self._count = work, count
        self._pool = self._start()

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Answer]]:
        """Yield each task with its answer, in order. Reads few tasks ahead.

        Raises:
            RetvecLiteError: when processes die again and again; and whatever `work` raises.
        """
        waiting: deque[tuple[Task, Future[Answer]]] = deque()
        try:
            for task in tasks:
                waiting.append((task, self._submit(task)))
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

    def _submit(self, task: Task) -> Future[Answer]:
        with _no_main_module(), contextlib.suppress(BrokenProcessPool):
            return self._pool.submit(_run, task)
        broken: Future[Answer] = Future()
        broken.set_exception(BrokenProcessPool())
        return broken

    def _next(self, waiting: "deque[tuple[Task, Future[Answer]]]") -> tuple[Task, Answer]:
        for _ in range(_DEATHS):
            task, future = waiting[0]
            try:
                answer = future.result()
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._start()
                unfinished = [(task, future) for task, future in waiting]
                waiting.clear()
                for task, future in unfinished:
                    is_done = future.done() and not future.cancelled() and future.exception() is None
                    waiting.append((task, future if is_done else self._submit(task)))
                continue
            waiting.popleft()
            return task, answer
        raise RetvecLiteError(
            "Worker processes were killed three times in a row, perhaps for want of memory. Finished parts are kept: "
            "repeat the command with fewer --workers."
        )


def _run(task: Any) -> Any:
    return _work(task)


def _begin(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - the one way for an initializer to leave something
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then lets what is begun finish
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is killed; otherwise it would wait for a task for ever."""
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
