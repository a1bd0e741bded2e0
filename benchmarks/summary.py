"""One line for each data set: our files beside the best that anything else below 1 MB reaches: `python benchmarks/summary.py`.

Made of what comparison.py has measured; trains and measures nothing. `benchmarks/pages.py` puts it into README.md and
docs/results.md. What is best among the others is looked for at each share of mistyped words by itself, which favours them.
"""

import statistics
from collections.abc import Sequence
from typing import Final

from common import EARLIER, RESULTS, Row, grouped, kilobytes, markdown_table, read_results, with_earlier_heads
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
    """The table, best figures of a data set in bold."""
    header = [
        "accuracy with 0 / 20 / 50 / 100 % of the words mistyped",
        "ours, embedding frozen",
        "ours, embedding fine-tuned",
        "best of all others below 1 MB, at each rate",
    ]
    found = grouped(with_earlier_heads(rows), ["data"])
    return markdown_table(header, [_line_of(name, found[name,]) for name in FOLDERS if (name,) in found])


def _line_of(name: str, rows: list[Row]) -> list[str]:
    lines = grouped(rows, ["system", "head"])
    ours = [lines.get((system, HEAD)) or lines.get((system, HEAD + EARLIER)) for system in (OURS, TUNED)]
    others = [
        line
        for (system, _), line in lines.items()
        if system not in (OURS, TUNED) and max(row["bytes"] for row in line) < LIMIT
    ]
    best = [max(others, key=lambda line: _accuracy(line, rate)) for rate in RATES] if others else []
    compared = [line for line in (*ours, *others) if line]
    highest = [max(_rounded(line, rate) for line in compared) for rate in RATES]
    own = ["-" if line is None else f"{_cells([line] * len(RATES), highest)} ({_size(line)})" for line in ours]
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
    system, head = line[0]["system"].removesuffix(", under 1 MB"), line[0]["head"]
    return system if head == NO_HEAD else f"{system} + {head}"


def _size(line: Line) -> str:
    return kilobytes(max(row["bytes"] for row in line)) + (EARLIER if line[0]["head"].endswith(EARLIER) else "")


def main() -> None:
    """Write benchmarks/results/summary.md."""
    found = table(read_results(RESULTS / "comparison"))
    atomic_write(RESULTS / "summary.md", found.encode())
    print(found)


if __name__ == "__main__":
    main()
