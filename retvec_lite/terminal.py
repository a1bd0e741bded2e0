"""What people see in a terminal: progress of long work, which rich draws, and tables."""

import contextlib
import importlib.util
import itertools
import json
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Progress = Callable[[str, int, int], None]
"""Called with (what is going on, how much is done, out of how much); with a sentence and (0, 0) for something to tell."""

_TENTHS: Final = 10
_QUIET: Final = 10.0
"""Seconds between two lines of progress in a log."""
_PACE: Final = 10.0
"""Seconds whose pace the time left of a bar is told by: n-grams that are fitted beside a network slow its first steps."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


@contextlib.contextmanager
def watched(progress: Progress | bool | None) -> Iterator[Progress]:
    """Yield the callback for a public function's `progress` argument: a callback, or True for bars on standard error.

    Where standard error is no terminal, as in logs and notebooks, a line now and then stands for the bars.
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
    """Yield a callback that draws a bar for each new `what`; where rich is not installed, one for lines."""
    if importlib.util.find_spec("rich") is None:
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    columns = (TextColumn("{task.description:>16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Standard output stays untouched: it may hold results.
    with Progress(
        *columns, console=console, speed_estimate_period=_PACE, redirect_stdout=False, redirect_stderr=False
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if not total:
                bars.console.print(what, markup=False, highlight=False, soft_wrap=True)
                return
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report


def _lines() -> Progress:
    """Return a callback for logs: a line whenever another tenth is done, with the time left where that is a minute or more.

    What takes seconds is done without one.
    """
    told: dict[str, int] = {}
    last = 0.0
    began: dict[str, tuple[float, int]] = {}

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        if not total:
            print(what, file=sys.stderr, flush=True)
            return
        now = time.monotonic()
        start, before = began.setdefault(what, (now, done))
        tenths = _TENTHS * done // total
        if tenths > told.get(what, 0) and now - max(start, last) >= _QUIET:
            told[what], last = tenths, now
            # What an earlier run had done, the first report counts, says nothing about the pace.
            minutes = (now - start) * (total - done) / max(done - before, 1) / 60
            left = f", {minutes:,.0f} min left" if minutes >= 1 else ""
            print(f"{what}: {10 * tenths} %{left}", file=sys.stderr, flush=True)

    return report


DIRECTION: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What turns the direction of letters: Unicode's property Bidi_Control."""

_CONTROL: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{''.join(sorted(DIRECTION))}]")
"""What moves the cursor, changes colours or turns the direction of a line; not TAB and the line feed."""


def printable(text: str) -> str:
    r"""Return a text with control characters escaped, such as \x1b: a label of a received file must not steer the terminal.

    Example:
        >>> from retvec_lite.terminal import printable
        >>> print(printable("\x1b[2Jalarm"))
        \x1b[2Jalarm
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def counted(count: int, what: str) -> str:
    """Return how many there are of something, such as "1 text" and "1,200 texts"."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share in percent; what is neither none nor all is not rounded to it.

    Example:
        >>> from retvec_lite.terminal import percent
        >>> percent(0.126), percent(0.126, 1), percent(0.0004, 1), percent(0.00001, 1), percent(0.99999)
        ('13%', '12.6%', '0.04%', 'less than 0.01%', 'more than 99.99%')
    """
    # Differences and sums are none or all but for rounding.
    if not 1e-9 < share < 1 - 1e-9 or 0 < float(f"{100 * share:.{digits}f}") < 100:
        return f"{share:.{digits}%}"
    return "less than 0.01%" if share < 0.0001 else "more than 99.99%" if share > 0.9999 else f"{share:.2%}"


def one_line(text: str, most: int | None = None) -> str:
    r"""Return a text with line feeds and TABs escaped as well, as \n and \t; of a longer one than `most` code points, its beginning."""
    if most is not None and len(text) > most:
        text = f"{text[: most - 3]}..."
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def json_line(value: object) -> str:
    r"""Return a value as one line of JSON: Unicode as it is, but for control characters (\u009b)."""
    text = json.dumps(value, ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_ROUNDING: Final = 1e-6
"""About how far the logarithm of a float32 probability near 1 may be off."""
_STRONG: Final = {True: "#ffffff on #0b6e5f", False: "#ffffff on #9a3b0b"}
_MIDDLE: Final = {True: "#08201b on #a9dccf", False: "#2a1204 on #f2c3a2"}
"""Styles of words with a weight above and below 0: teal and orange, which few colour-blind people confuse."""


def weighted(words: Sequence[tuple[str, float]]) -> str:
    """Return words on one line, with their weights as shares of the largest: those of a sure answer are all near 0.

    They are in colours where standard output is a terminal and rich is installed.

    Example:
        >>> from retvec_lite.terminal import weighted
        >>> print(weighted([("wake", 0.0077), ("me", -0.00036)]))
        wake +1.00  me -0.05
    """
    # Smaller differences are those of rounding.
    largest = max([abs(weight) for _, weight in words] + [_ROUNDING])
    shown = [(one_line(word), f"{weight / largest:+.2f}", weight) for word, weight in words]
    if not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        return "  ".join(f"{word} {number}" for word, number, _ in shown)
    from rich.console import Console
    from rich.text import Text

    line = Text("  ").join(
        Text.assemble((word, _style(weight, largest)), (f" {number}", "dim")) for word, number, weight in shown
    )
    console = Console(emoji=False)
    with console.capture() as capture:
        console.print(line, soft_wrap=True, end="")
    return capture.get()


def _style(weight: float, largest: float) -> str:
    share = abs(weight) / largest
    styles = _STRONG if share >= 0.5 else _MIDDLE if share >= 0.1 else {}
    return styles.get(weight > 0, "")


@dataclass(frozen=True)
class Table:
    """A table to draw.

    Attributes:
        title: the line above it; empty for none.
        columns: their names.
        rows: as many cells in each as there are columns.
        right: columns that are aligned right, by name.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[str] = frozenset()


def draw(*parts: str | Table) -> str:
    """Return lines of text and tables as one text: columns two spaces apart, and a blank line before a title.

    Cells are shown as they are: labels and texts are data, never markup.
    """
    lines: list[str] = []
    for part in parts:
        if isinstance(part, str):
            lines.append(printable(part))
            continue
        if part.title:
            lines += [*([""] if lines else []), one_line(part.title)]
        # A cell may have several lines, and its row as many as the longest cell.
        rows = [
            line
            for row in (part.columns, *part.rows)
            for line in itertools.zip_longest(*(printable(cell).split("\n") for cell in row), fillvalue="")
        ]
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            blanks = (" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
            cells = zip(part.columns, row, blanks, strict=True)
            found = (blank + cell if column in part.right else cell + blank for column, cell, blank in cells)
            lines.append("  ".join(found).rstrip())
    return "\n".join(lines)


def _width(text: str) -> int:
    """Return how many columns of a terminal a line takes: two for the wide letters of East Asia, none for combining marks."""
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)
