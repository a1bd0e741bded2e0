"""Tables for people, drawn by rich: what `print(...)` shows of an evaluation, a verification, a file."""

import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table to draw.

    Attributes:
        title: the line above it; empty for none.
        columns: their names.
        rows: as many cells in each as there are columns.
        right: columns that are aligned right, by name.
        boxed: whether lines are drawn around the cells.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[str] = frozenset()
    boxed: bool = True


def draw(*parts: str | Table) -> str:
    """Return lines of text and tables as one text, as wide as the terminal.

    Cells are shown as they are: labels and texts are data, never markup.

    Raises:
        ModuleNotFoundError: when rich is not installed.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, width=shutil.get_terminal_size().columns, emoji=False, color_system=None)
    for part in parts:
        if isinstance(part, str):
            console.print(Text(part), soft_wrap=True)
            continue
        style = {"box": box.ROUNDED} if part.boxed else {"box": None, "padding": (0, 1, 0, 0)}
        drawn = RichTable(title=part.title or None, title_justify="left", **style)  # type: ignore[arg-type]
        for column in part.columns:
            drawn.add_column(Text(column), justify="right" if column in part.right else "left")
        for row in part.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn)
    return stream.getvalue().rstrip("\n")
