"""What tables are made of: rows in groups, means with their spread, and whether one leads another beyond the noise."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from benchmarks.common import Row
from retvec_lite.model.heads import HEADS

EARLIER: Final = ", earlier"
"""Follows a head's name in rows whose head had other sizes than today's."""

_TEST_TEXTS: Final = {"Tatoeba": 17_948, "MASSIVE": 154_648}
"""Of rows that do not say it."""
NOT_RUN: Final = "not run"
_FEWEST_SEEDS: Final = 3


class Figure(NamedTuple):
    """The accuracy of a system.

    Attributes:
        accuracy: mean over seeds.
        system: its name without its size class.
        error: the standard error, of the seeds or of having so many test texts, whichever is larger.
        of_seeds: the standard error of the seeds alone; None for fewer than three.
    """

    accuracy: float
    system: str
    error: float
    of_seeds: float | None


def figure_of(rows: Sequence[Row], rate: float, texts: int) -> Figure:
    """Return the accuracy at a rate of a system's rows, one for each seed, on so many test texts."""
    values = values_of(rows, rate)
    mean = statistics.fmean(values)
    of_texts = math.sqrt(mean * (1 - mean) / texts)
    of_seeds = statistics.stdev(values) / math.sqrt(len(values)) if len(values) >= _FEWEST_SEEDS else None
    return Figure(mean, short_name(rows[0]), max(of_texts, of_seeds or 0.0), of_seeds)


def leads(figure: Figure, others: Sequence[Figure | None]) -> bool:
    """Return whether a figure is above all others by more than two standard errors."""
    return all(
        figure.accuracy - other.accuracy > 2 * math.hypot(figure.error, other.error) for other in others if other
    )


def shown(figure: Figure, others: Sequence[Figure | None]) -> str:
    """Return the accuracy as `.912`, in bold if it leads the others."""
    cell = f"{figure.accuracy:.3f}".removeprefix("0")
    return f"**{cell}**" if leads(figure, others) else cell


def test_texts_of(row: Row) -> int:
    """Return on how many texts a row was measured."""
    return int(row["settings"].get("test_texts") or _TEST_TEXTS[row["data"]])


def short_name(row: Row) -> str:
    """Return the name of a system without its size class."""
    return str(row["system"]).removesuffix(", under 1 MB")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column aligned left, the others right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_earlier_heads(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with `, earlier` after the head of those whose head has changed since they were measured.

    Long trainings are not repeated for every change of a head. A row without head sizes counts as one of today's, and sizes that are
    no choice any more do not count.
    """
    marked = []
    for row in rows:
        head = HEADS.get(row["head"])
        sizes = row["settings"].get("head_sizes")
        today = head().sizes() if head and sizes else {}
        is_earlier = any(sizes.get(name) != size for name, size in today.items())
        marked.append(row | {"head": row["head"] + EARLIER} if is_earlier else row)
    return marked


def unlike(rows: Sequence[Row]) -> str:
    """Return the notes under the table of one data set: in which respects its lines were trained differently, and earlier heads.

    fastText tunes its epochs itself.
    """
    found = []
    for name, field in {"training texts": "texts", "epochs": "epochs"}.items():
        counted = [row["settings"] for row in rows if field != "epochs" or "autotune" not in row["settings"]]
        if len({str(settings[field]) for settings in counted if field in settings}) > 1:
            found.append(name)
    warning = f"\n**Not comparable:** these rows differ in {' and '.join(found)}.\n" if found else ""
    if any(row.get("head", "").endswith(EARLIER) for row in rows):
        warning += "\n*earlier*: measured before the head got its present sizes (`head_sizes` in the JSON).\n"
    return warning


def values_of(rows: Sequence[Row], rate: float) -> list[float]:
    """Return the accuracy of each row with a share of the words mistyped."""
    return [row["accuracy"][f"{rate:g}"] for row in rows]


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Return the mean and, from two values on, the sample standard deviation: "0.912 ± 0.004"."""
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(values):.{digits}f}"


def grouped(rows: Sequence[Row], fields: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of some fields, in the order of their first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return groups


def ordered(rows: Iterable[Row], fields: Sequence[str], lists: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Return rows by some fields, one after the other, each in the order of its list if it has one."""
    return sorted(rows, key=lambda row: [lists[f].index(row[f]) if f in lists else row[f] for f in fields])


def kilobytes(size: int | None) -> str:
    """Format a size for a table; 1 kB is 1,000 bytes."""
    return "-" if size is None else f"{size / 1000:,.0f} kB"
