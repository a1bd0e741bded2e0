"""The table that decides: for each data set the file that `train` makes without options beside the best of everything else.

`pages.py` makes it from the results of `few_shot.py` (all texts), `languages.py`, `comparison.py` and, where it takes all training
texts, `clean_training.py`, for which the table says *clean texts*. The best of the others is looked up at each share of mistyped
words separately, which favours the others. Those below 1 MB and those above have columns of their own. A figure is bold if it
leads all other columns by more than two standard errors. `side_by_side.py` shows every system.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import SIZE_LIMIT, Row, grouped, kilobytes, markdown_table, read_results
from benchmarks.data.sets import FOLDERS
from benchmarks.experiments.comparison import RATES
from benchmarks.experiments.few_shot import STARTER
from benchmarks.systems.networks import DEFAULT_FILE, FROZEN, LARGE_FASTTEXT
from benchmarks.tables.leads import Figure, clean_test_texts_of, figure_of, shown, test_texts_of
from benchmarks.tables.summary import NAMES, named_by_rate

DEFAULT: Final = "ours"
"""The file of `train` without options. The names of our other systems begin like it."""
_WHOLE_CLEAN: Final = ("Banking77", "CLINC150", "SMS spam")
"""Data sets of which `clean_training.py` takes all training texts."""


def products_table(results: Path) -> str:
    """Return the table as Markdown, from the folder of all results."""
    whole = [row for row in read_results(results / "few_shot") if row["shots"] == 0]
    whole += read_results(results / "languages")
    compared = grouped(read_results(results / "comparison"), ["data"])
    learned_clean = grouped(_trained_on_clean_texts(results), ["data"])
    sets = grouped(whole, ["data"])
    lines = []
    for name in (name for name in (*FOLDERS, STARTER) if (name,) in sets):
        rows = sets[name,]
        own = [row for row in rows if row["system"] == DEFAULT]
        if not own:
            continue
        every = [*rows, *compared.get((name,), []), *learned_clean.get((name,), [])]
        others = [row for row in every if not row["system"].startswith(DEFAULT)]
        small = [row for row in others if row.get("bytes", SIZE_LIMIT) < SIZE_LIMIT]
        large = [row for row in others if row.get("bytes", SIZE_LIMIT) >= SIZE_LIMIT]
        lines.append([NAMES.get(name, name), *_cells([own, small, large], kilobytes(own[0]["bytes"]))])
    header = [
        "accuracy with 0 / 20 / 50 / 100 % of the words mistyped",
        "`retvec-lite train`, no options",
        "best of all others below 1 MB, at each rate",
        "best of all others above 1 MB",
    ]
    return markdown_table(header, lines)


def _trained_on_clean_texts(results: Path) -> list[Row]:
    """Return the others' rows of `clean_training.py`, in the form of those of `few_shot.py`."""
    return [
        row
        | {"data": row["set"], "system": f"{row['system']}, clean texts"}
        | {"settings": {"test_texts": clean_test_texts_of(row)}}
        | ({} if row["system"] == LARGE_FASTTEXT else {"bytes": 0})
        for row in read_results(results / "clean_training")
        if row["set"] in _WHOLE_CLEAN and row["system"] not in (DEFAULT_FILE, FROZEN)
    ]


def _cells(columns: Sequence[Sequence[Row]], size: str) -> list[str]:
    """Return the cell of each column; the first is ours and tells its size."""
    figures = [[_best(rows, rate) for rate in RATES] for rows in columns]
    cells = []
    for place, column in enumerate(figures):
        others = [other for number, other in enumerate(figures) if number != place]
        cell = [
            "-" if figure is None else shown(figure, [other[rate] for other in others])
            for rate, figure in enumerate(column)
        ]
        best = [figure.system for figure in column if figure]
        named = size if place == 0 or not best else named_by_rate(best)
        cells.append(f"{' / '.join(cell)} ({named})" if best else "-")
    return cells


def _best(rows: Sequence[Row], rate: float) -> Figure | None:
    """Return the best at a rate; a system counts once with each head."""
    found = [
        figure_of(same, rate, test_texts_of(same[0]))
        for same in grouped([{"head": "", **row} for row in rows], ["system", "head"]).values()
        if f"{rate:g}" in same[0]["accuracy"]
    ]
    return max(found, default=None)
