"""Progress of long work: the callback that functions report to, and bars for people."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Final

Progress = Callable[[str, int, int], None]
"""Called with (what is going on, how much is done, out of how much)."""

_TENTHS: Final = 10


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


@contextlib.contextmanager
def watched(progress: Progress | bool | None) -> Iterator[Progress]:
    """Yield the callback for a public function's `progress` argument.

    Args:
        progress: a callback; True for bars on standard error (lines for each tenth where that is no terminal); None or
            False for silence.
    """
    if callable(progress):
        yield progress
    elif not progress:
        yield silent
    else:
        with _bars() as report:
            yield report


@contextlib.contextmanager
def _bars() -> Iterator[Progress]:
    """Yield a callback that draws a bar for each new `what`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    columns = (TextColumn("{task.description:>16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Standard output stays untouched: it may hold results.
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report


def _lines() -> Progress:
    """Return a callback for logs: a line whenever another tenth is done."""
    told: dict[str, int] = {}

    def report(what: str, done: int, total: int) -> None:
        tenths = _TENTHS * done // max(total, 1)
        if tenths > told.get(what, 0):
            told[what] = tenths
            print(f"{what}: {10 * tenths} %", file=sys.stderr, flush=True)

    return report
