"""Every system on every data set, clean and half mistyped: systems down, data sets across.

`pages.py` makes the table from the results of `few_shot.py` (all texts), `languages.py` and `comparison.py`. Networks have the head
`cnn`. A figure is bold if it leads all others of its data set by more than two standard errors.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import EARLIER, Row, grouped, markdown_table, read_results, with_earlier_heads
from benchmarks.data.sets import FOLDERS
from benchmarks.experiments.few_shot import STARTER
from benchmarks.systems import hashed_ngrams
from benchmarks.systems.few_shot_systems import SVMS
from benchmarks.systems.networks import BITS, DEFAULT_FILE, FASTTEXT, FASTTEXT_CLEAN, NO_HEAD, RAW, TABLES, V1
from benchmarks.tables.leads import Figure, figure_of, shown, test_texts_of
from benchmarks.tables.products import DEFAULT
from benchmarks.tables.summary import HEAD

RATES: Final = (0.0, 0.5)
NOT_RUN: Final = "not run"
_SMALL: Final = ", under 1 MB"
NAMES: Final = {
    DEFAULT: DEFAULT_FILE,
    V1: V1,
    RAW: BITS,
    **{system: system for system in TABLES if system.endswith(_SMALL)},
    FASTTEXT: FASTTEXT + _SMALL,
    FASTTEXT_CLEAN: FASTTEXT_CLEAN,
    hashed_ngrams.LINEAR: hashed_ngrams.LINEAR,
    hashed_ngrams.BAYES: hashed_ngrams.BAYES,
    **{svm: f"{svm}, any size, clean texts" for svm in SVMS},
}
"""System -> its name in the table."""

Cells = Mapping[tuple[str, str], Sequence[Row]]
"""(data set, system) -> its rows, one for each seed."""


def side_by_side(results: Path) -> str:
    """Return the table as Markdown, from the folder of all results."""
    rows = [row for row in read_results(results / "few_shot") if row["shots"] == 0]
    rows += read_results(results / "languages")
    rows += [
        row
        for row in with_earlier_heads(read_results(results / "comparison"))
        # Our networks alone, without n-grams, are called ours there, too.
        if row["head"].removesuffix(EARLIER) in (HEAD, NO_HEAD) and not row["system"].startswith(DEFAULT)
    ]
    cells = grouped(rows, ["data", "system"])
    return matrix("clean / half mistyped", cells, NAMES, [*FOLDERS, STARTER], RATES, test_texts_of)


def matrix(
    title: str,
    cells: Cells,
    names: Mapping[str, str],
    sets: Sequence[str],
    rates: Sequence[float],
    texts_of: Callable[[Row], int],
) -> str:
    """Return a Markdown table with the means over seeds, and the standard error of three or more.

    Args:
        title: of the first column.
        cells: the rows of each cell; where there are none, the table says so.
        names: system -> its name, in the order of the lines.
        sets: the data sets, in the order of the columns.
        rates: shares of mistyped words; a cell has a figure for each.
        texts_of: tells on how many test texts a row was measured.
    """
    columns = [_column([cells.get((name, system), []) for system in names], rates, texts_of) for name in sets]
    lines = [[name, *(column[place] for column in columns)] for place, name in enumerate(names.values())]
    return markdown_table([title, *sets], lines)


def _column(systems: Sequence[Sequence[Row]], rates: Sequence[float], texts_of: Callable[[Row], int]) -> list[str]:
    """Return the cell of each system on one data set."""
    figures = [[figure_of(rows, rate, texts_of(rows[0])) for rate in rates] if rows else [] for rows in systems]
    cells = []
    for own in figures:
        others = [other for other in figures if other and other is not own]
        by_rate = [_with_error(figure, [other[place] for other in others]) for place, figure in enumerate(own)]
        cells.append(" / ".join(by_rate) or NOT_RUN)
    earlier = [bool(rows) and rows[0].get("head", "").endswith(EARLIER) for rows in systems]
    return [f"{cell}{EARLIER}" if marked else cell for cell, marked in zip(cells, earlier, strict=True)]


def _with_error(figure: Figure, others: Sequence[Figure]) -> str:
    error = "" if figure.of_seeds is None else f" ± {figure.of_seeds:.3f}".replace(" 0.", " .")
    return shown(figure, others) + error
