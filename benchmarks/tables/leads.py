"""An accuracy with its standard error, and whether it leads beyond the noise."""

import math
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

from benchmarks.common import Row

_TEST_TEXTS: Final = {"Tatoeba": 17_948, "MASSIVE": 154_648}
"""Of rows that do not say it."""
MOST_CLEAN_TESTS: Final = 3_000
"""Most test texts of `clean_training.py`."""
_CLEAN_TEST_TEXTS: Final = {"SMS spam": 1_046}
"""Of data sets that have fewer."""
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
    values = [row["accuracy"][f"{rate:g}"] for row in rows]
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


def clean_test_texts_of(row: Row) -> int:
    """Return on how many texts a row of `clean_training.py` was measured."""
    return _CLEAN_TEST_TEXTS.get(row["set"], MOST_CLEAN_TESTS)


def short_name(row: Row) -> str:
    """Return the name of a system without its size class."""
    return str(row["system"]).removesuffix(", under 1 MB")
