"""The table of attacks with queries: success rates of all systems, and what part of each rival's rate ours is.

`pages.py` makes it from the results of `adversarial.py`. Ours is the file that `retvec-lite train` makes without options.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.common import Row, grouped, markdown_table, with_earlier_heads
from benchmarks.experiments.adversarial import ordered
from benchmarks.experiments.attacks import ATTACKS
from benchmarks.systems.networks import DEFAULT_FILE, OURS, TUNED

MOST: Final = 0.5
"""A ratio up to this one is bold."""


def attack_summary(rows: Sequence[Row]) -> str:
    """Return the table as Markdown: a line for each data set and system, ours first."""
    queried = [row for row in with_earlier_heads(ordered(rows)) if row["attack"] in ATTACKS]
    lines = []
    for (name,), found in grouped(queried, ["data"]).items():
        systems = grouped(found, ["system", "head"])
        own = _rates(next((same for (system, _), same in systems.items() if system == DEFAULT_FILE), []))
        for (system, head), same in systems.items():
            rates = _rates(same)
            compared = {} if system in (DEFAULT_FILE, OURS, TUNED) else own
            cells = [_cell(rates[attack], compared.get(attack)) if attack in rates else "-" for attack in ATTACKS]
            lines.append([name, f"{system}, {head}" if head.endswith("earlier") else system, *cells, _texts(same)])
    return markdown_table(["data set", "system", *ATTACKS, "texts"], lines)


def _rates(rows: Sequence[Row]) -> Mapping[str, float]:
    """Return the success rate of each attack, the mean over seeds."""
    return {
        attack: statistics.fmean(row["success_rate"] for row in same)
        for (attack,), same in grouped(rows, ["attack"]).items()
    }


def _cell(rate: float, own: float | None) -> str:
    """Return the rate in percent and, in brackets, what part of it ours is."""
    shown = f"{rate:.1%}".replace("%", " %")
    if own is None or not rate:
        return shown
    ratio = f"{own / rate:.2f}"
    return f"{shown} ({f'**{ratio}**' if own <= MOST * rate else ratio})"


def _texts(rows: Sequence[Row]) -> str:
    """Return how many texts were attacked, by attack if the numbers differ."""
    numbers = {row["attack"]: row["texts"] for row in rows}
    if len(set(numbers.values())) == 1:
        return f"{next(iter(numbers.values())):,}"
    return " / ".join(f"{numbers[attack]:,}" if attack in numbers else "-" for attack in ATTACKS)
