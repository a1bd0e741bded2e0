"""A progress bar for long work, on standard error; a line for every tenth where that is no terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yields a function of (what is going on, done, of how many); each new `what` gets a bar of its own."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report


def _lines() -> Callable[[str, int, int], None]:
    """For logs: a line whenever another tenth is done."""
    told: dict[str, int] = {}

    def report(what: str, done: int, total: int) -> None:
        tenths = 10 * done // max(total, 1)
        if tenths > told.get(what, 0):
            told[what] = tenths
            print(f"{what}: {10 * tenths} %", file=sys.stderr, flush=True)

    return report
