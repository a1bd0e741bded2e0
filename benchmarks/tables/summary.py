"""The summary table: for each data set our files beside the best of everything else below 1 MB.

`pages.py` makes it from the results of `comparison.py`. The best of the others is looked up at each share of mistyped
words separately, which favours the others.
"""

from collections.abc import Sequence
from typing import Final

from benchmarks.common import (
    EARLIER,
    SIZE_LIMIT,
    Row,
    differences,
    grouped,
    kilobytes,
    markdown_table,
    with_earlier_heads,
)
from benchmarks.data.sets import FOLDERS
from benchmarks.experiments.comparison import RATES
from benchmarks.systems.networks import NO_HEAD, OURS, TUNED
from benchmarks.tables.leads import Figure, figure_of, short_name, shown, test_texts_of

NAMES: Final = {
    "CLINC150": "CLINC150, out-of-scope included",
    "MASSIVE": "MASSIVE, 52 locales in one file",
    "Tatoeba": "Tatoeba, which of 113 languages",
}
"""Longer names of data sets, where the short one says too little."""
HEAD: Final = "cnn"
"""The head of our rows: the only one measured on every data set."""

Line = list[Row]
"""The rows of one system and head, one for each seed."""


def summary_table(rows: Sequence[Row]) -> str:
    """Return the table as Markdown: leads of more than two standard errors in bold, and a warning where training differed."""
    header = [
        "accuracy with 0 / 20 / 50 / 100 % of the words mistyped",
        "ours, embedding frozen",
        "ours, embedding fine-tuned",
        "best of all others below 1 MB, at each rate",
    ]
    sets = grouped(with_earlier_heads(rows), ["data"])
    lines, rivals, warnings = [], [], []
    for name in (name for name in FOLDERS if (name,) in sets):
        ours, others = _compared(sets[name,])
        if not any(ours):
            continue
        lines.append(_cells_of(name, ours, others))
        measured = sorted({_system(line).split(",")[0] for line in others})
        rivals.append(f"{name}: {', '.join(measured) or 'none'}")
        if found := differences([row for line in (*ours, *others) for row in line]):
            warnings.append(f"\n**Not comparable**, {name}: rows differ in {' and '.join(found)}.\n")
    others_measured = f"\nOther systems measured. {'. '.join(rivals)}.\n" if rivals else ""
    return markdown_table(header, lines) + others_measured + "".join(warnings)


def _compared(rows: list[Row]) -> tuple[list[Line], list[Line]]:
    """Our two lines (empty where there is none) and those of the others, all below 1 MB."""
    lines = {
        line: found
        for line, found in grouped(rows, ["system", "head"]).items()
        if max(row["bytes"] for row in found) < SIZE_LIMIT
    }
    ours = [lines.get((system, HEAD)) or lines.get((system, HEAD + EARLIER)) or [] for system in (OURS, TUNED)]
    return ours, [line for (system, _), line in lines.items() if system not in (OURS, TUNED)]


def _cells_of(name: str, ours: list[Line], others: list[Line]) -> list[str]:
    best = [max(others, key=lambda line: _figure(line, rate).accuracy) for rate in RATES] if others else []
    columns = [[line] * len(RATES) if line else [] for line in ours] + [best]
    notes = [_size(line) if line else "" for line in ours] + [
        named_by_rate([_name(line) for line in best]) if best else ""
    ]
    cells = []
    for place, (column, note) in enumerate(zip(columns, notes, strict=True)):
        compared = [other for other in (columns[-1:] if place < len(ours) else columns[:-1]) if other]
        cells.append(f"{_figures(column, compared)} ({note})" if column else "-")
    return [NAMES.get(name, name), *cells]


def _figures(lines: Sequence[Line], others: Sequence[Sequence[Line]]) -> str:
    """One figure for each rate, in bold where it leads the other side by more than two standard errors."""
    return " / ".join(
        shown(_figure(line, rate), [_figure(other[place], rate) for other in others])
        for place, (line, rate) in enumerate(zip(lines, RATES, strict=True))
    )


def _figure(line: Line, rate: float) -> Figure:
    return figure_of(line, rate, test_texts_of(line[0]))


def named_by_rate(names: Sequence[str]) -> str:
    """Name the best system at the first rate, and each later one with the rate from which on it is the best."""
    named, before = [], ""
    for name, rate in zip(names, RATES, strict=True):
        if name != before:
            since = f"at {rate:.0%}" if rate == RATES[-1] else f"from {rate:.0%} on"
            named.append(f"{name} {since}" if named else name)
        before = name
    return "; ".join(named)


def _name(line: Line) -> str:
    head = line[0]["head"]
    return _system(line) if head == NO_HEAD else f"{_system(line)} + {head}"


def _system(line: Line) -> str:
    return short_name(line[0])


def _size(line: Line) -> str:
    return kilobytes(max(row["bytes"] for row in line)) + (EARLIER if line[0]["head"].endswith(EARLIER) else "")
