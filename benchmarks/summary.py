"""One line for each data set: our files beside the best that anything else below 1 MB reaches: `python benchmarks/summary.py`.

Made of what comparison.py has measured; trains and measures nothing. `benchmarks/pages.py` puts it into README.md and
docs/results.md. What is best among the others is looked for at each share of mistyped words by itself, which favours them.
"""

import statistics
from collections.abc import Sequence
from typing import Final

from common import (
    EARLIER,
    RESULTS,
    Row,
    differences,
    grouped,
    kilobytes,
    markdown_table,
    read_results,
    with_earlier_heads,
)
from comparison import LIMIT, RATES
from data_sets import FOLDERS
from systems import NO_HEAD, OURS, TUNED

from retvec_lite.files import atomic_write

NAMES: Final = {
    "CLINC150": "CLINC150, out-of-scope included",
    "MASSIVE": "MASSIVE, 52 locales in one file",
    "Tatoeba": "Tatoeba, 113 languages to tell apart",
}
"""What a data set is called where its bare name says too little."""
HEAD: Final = "cnn"
"""Of our lines: the one head that was measured on all data sets."""

Line = list[Row]
"""The rows of one system and head, one for each seed."""


def table(rows: Sequence[Row]) -> str:
    """The table, best figures of a data set in bold, and which of its lines were not trained alike."""
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
        lines.append(_line_of(name, ours, others))
        measured = sorted({_system(line).split(",")[0] for line in others})
        rivals.append(f"{name}: {', '.join(measured) or 'none'}")
        if found := differences([row for line in (*ours, *others) for row in line]):
            warnings.append(f"\n**Not comparable**, {name}: lines differ in {' and '.join(found)}.\n")
    others_told = f"\nThe others that were measured. {'. '.join(rivals)}.\n" if rivals else ""
    return markdown_table(header, lines) + others_told + "".join(warnings)


def _compared(rows: list[Row]) -> tuple[list[Line], list[Line]]:
    """Our two lines, empty where there is none, and those of the others, all below 1 MB."""
    lines = {
        line: found
        for line, found in grouped(rows, ["system", "head"]).items()
        if max(row["bytes"] for row in found) < LIMIT
    }
    ours = [lines.get((system, HEAD)) or lines.get((system, HEAD + EARLIER)) or [] for system in (OURS, TUNED)]
    return ours, [line for (system, _), line in lines.items() if system not in (OURS, TUNED)]


def _line_of(name: str, ours: list[Line], others: list[Line]) -> list[str]:
    best = [max(others, key=lambda line: _accuracy(line, rate)) for rate in RATES] if others else []
    compared = [line for line in (*ours, *others) if line]
    highest = [max(_rounded(line, rate) for line in compared) for rate in RATES]
    own = [f"{_cells([line] * len(RATES), highest)} ({_size(line)})" if line else "-" for line in ours]
    return [NAMES.get(name, name), *own, f"{_cells(best, highest)} ({_names(best)})" if best else "-"]


def _accuracy(line: Line, rate: float) -> float:
    return statistics.fmean(row["accuracy"][f"{rate:g}"] for row in line)


def _rounded(line: Line, rate: float) -> str:
    return f"{_accuracy(line, rate):.3f}".lstrip("0")


def _cells(lines: Sequence[Line], highest: Sequence[str]) -> str:
    """One figure for each rate."""
    figures = [_rounded(line, rate) for line, rate in zip(lines, RATES, strict=True)]
    return " / ".join(f"**{cell}**" if cell == most else cell for cell, most in zip(figures, highest, strict=True))


def _names(lines: Sequence[Line]) -> str:
    """Whose the figures are: the first rate's, and each that follows at the rate from which on it is the best."""
    told, before = [], ""
    for line, rate in zip(lines, RATES, strict=True):
        name = _name(line)
        if name != before:
            since = f"at {rate:.0%}" if rate == RATES[-1] else f"from {rate:.0%} on"
            told.append(f"{name} {since}" if told else name)
        before = name
    return "; ".join(told)


def _name(line: Line) -> str:
    head = line[0]["head"]
    return _system(line) if head == NO_HEAD else f"{_system(line)} + {head}"


def _system(line: Line) -> str:
    return str(line[0]["system"]).removesuffix(", under 1 MB")


def _size(line: Line) -> str:
    return kilobytes(max(row["bytes"] for row in line)) + (EARLIER if line[0]["head"].endswith(EARLIER) else "")


def main() -> None:
    """Write benchmarks/results/summary.md."""
    found = table(read_results(RESULTS / "comparison"))
    atomic_write(RESULTS / "summary.md", found.encode())
    print(found)


if __name__ == "__main__":
    main()
