"""What the judge of few texts says: a table of all sets, and three lines a system."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.common import Row
from benchmarks.tables.cells import markdown_table, values_of

RATES: Final = (0.0, 0.5)
"""Shares of mistyped words."""
MARGIN: Final = 0.01
"""Accuracy that is counted as ahead or behind, whatever the noise."""
_BEYOND: Final = 2.0
"""Standard errors that are no noise, as in the other tables."""

Found = Mapping[str, Mapping[str, Mapping[tuple[int, str], Row]]]
"""System -> set -> draw and texts -> row."""


class Difference(NamedTuple):
    """How far a system is ahead of a rival on one set.

    Attributes:
        mean: of the accuracy, over the draws that both have.
        error: its standard error, paired: over the draws or over the texts, whichever is larger.
    """

    mean: float
    error: float

    @property
    def is_noise(self) -> bool:
        return not abs(self.mean) > _BEYOND * self.error


def grouped_rows(rows: Sequence[Row]) -> Found:
    """Group the rows of one split and number of texts."""
    found: dict[str, dict[str, dict[tuple[int, str], Row]]] = {}
    for row in rows:
        found.setdefault(row["system"], {}).setdefault(row["data"], {})[row["draw"], row["texts"]] = row
    return found


def compare(own: Sequence[Row], other: Sequence[Row], rate: float) -> Difference:
    """Compare two systems on one set; their rows are of the same draws."""
    pairs = zip(own, other, strict=True)
    ahead = np.stack([_right(mine, rate) - _right(theirs, rate) for mine, theirs in pairs])
    of_draws = _standard_error(ahead.mean(axis=1))
    return Difference(float(ahead.mean()), max(of_draws, _standard_error(ahead.mean(axis=0))))


def _right(row: Row, rate: float) -> npt.NDArray[np.float64]:
    """Return 1 for each right answer."""
    packed = np.frombuffer(bytes.fromhex(row["right"][f"{rate:g}"]), np.uint8)
    return np.unpackbits(packed, count=row["tested"]).astype(np.float64)


def _standard_error(values: npt.NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def cell_table(found: Found, systems: Sequence[str]) -> str:
    """Return a line a set: accuracy clean / half mistyped of each system, means over what it has."""
    names = sorted({name for system in systems for name in found[system]}, key=str.lower)
    lines = [[name, *(_cell(list(found[system].get(name, {}).values())) for system in systems)] for name in names]
    return markdown_table(["set", *systems], lines)


def _cell(rows: Sequence[Row]) -> str:
    return _pair(lambda rate: _bare(statistics.fmean(values_of(rows, rate)))) if rows else "-"


def summary(found: Found, system: str, rivals: Sequence[str]) -> str:
    """Return three lines: means, sets won and lost, worst losses.

    Only draws that the system and all rivals have are compared.

    Args:
        found: rows of one split and number of texts.
        system: whose summary it is.
        rivals: at each set, the one with the highest accuracy, clean and mistyped together, counts; those without rows do not.
    """
    rivals = [rival for rival in rivals if rival in found]
    own: dict[str, list[Row]] = {}
    best: dict[str, list[Row]] = {}
    for name, rows in found[system].items():
        others = [found[rival].get(name, {}) for rival in rivals]
        shared = sorted(key for key in rows if all(key in other for other in others))
        if shared:
            own[name] = [rows[key] for key in shared]
            best[name] = max(([other[key] for key in shared] for other in others), key=_both, default=[])
    if not own:
        return f"{system}: no set that its rivals have, too\n"
    lines = [f"{system}: mean {_means(own, 'accuracy')}{_uneven(own)}, {_counted(own)}"]
    if rivals:
        name = " or ".join(rivals)
        lines[0] += f"; {name}: {_means(best, 'accuracy')}{_uneven(best)}"
        ahead = {rate: {name: compare(own[name], best[name], rate) for name in own} for rate in RATES}
        lines += [_won_and_lost(ahead), f"  worst loss: {_pair(lambda rate: _worst(ahead[rate]))}"]
    return "".join(f"{line}\n" for line in lines)


def _both(rows: Sequence[Row]) -> float:
    return statistics.fmean(value for rate in RATES for value in values_of(rows, rate))


def _means(rows: Mapping[str, Sequence[Row]], measure: str) -> str:
    """Return the means over the sets of the means over the draws, clean / half mistyped."""
    return _pair(
        lambda rate: _bare(
            statistics.fmean(statistics.fmean(row[measure][f"{rate:g}"] for row in own) for own in rows.values())
        )
    )


def _uneven(rows: Mapping[str, Sequence[Row]]) -> str:
    uneven = {name: own for name, own in rows.items() if own[0]["uneven"]}
    return f" (macro-F1 of {len(uneven)} uneven sets {_means(uneven, 'f1')})" if uneven else ""


def _counted(rows: Mapping[str, Sequence[Row]]) -> str:
    draws = sum(map(len, rows.values())) / len(rows)
    return f"sets: {len(rows)}, draws: {draws:.3g}"


def _won_and_lost(ahead: Mapping[float, Mapping[str, Difference]]) -> str:
    def count(is_so: Callable[[Difference], Any]) -> str:
        return _pair(lambda rate: str(sum(bool(is_so(one)) for one in ahead[rate].values())))

    won, lost = (
        count(lambda one: one.mean > 0 and not one.is_noise),
        count(lambda one: one.mean < 0 and not one.is_noise),
    )
    more, less = count(lambda one: one.mean > MARGIN), count(lambda one: one.mean < -MARGIN)
    twice = count(lambda one: one.mean < -2 * MARGIN)
    return (
        f"  beyond the noise: {won} sets won, {lost} lost; by more than {_bare(MARGIN, 2)}: {more} ahead, {less} behind ({twice} by more than "
        f"{_bare(2 * MARGIN, 2)})"
    )


def _worst(ahead: Mapping[str, Difference]) -> str:
    name = min(ahead, key=lambda one: ahead[one].mean)
    found = ahead[name]
    return f"{name} {found.mean:+.3f} ± {found.error:.3f}" if found.mean < 0 else "none"


def _pair(of_rate: Callable[[float], str]) -> str:
    """Return what there is to say of clean and of mistyped texts."""
    return " / ".join(map(of_rate, RATES))


def _bare(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".removeprefix("0")
