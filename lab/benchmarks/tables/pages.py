"""Renew the measured tables in README.md and docs: `python -m benchmarks.tables.pages`.

A page marks the place of a table with `<!-- table: NAME -->` and `<!-- end -->`; everything in between is replaced by
`benchmarks/results/NAME.md`. The tables of `SUMMARIES` are made first, from the results of several commands. In them, the best of the
others is looked up at each share of mistyped words separately, which favours the others, and a figure is bold if it leads those that it
is compared with by more than two standard errors.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import RESULTS, ROOT, SIZE_LIMIT, Row, read_results
from benchmarks.data.sets import FOLDERS, STARTER
from benchmarks.experiments.adversarial import attack_summary
from benchmarks.experiments.comparison import RATES
from benchmarks.experiments.published import all_table
from benchmarks.experiments.robustness import robustness_summary
from benchmarks.systems.linear import SVMS
from benchmarks.systems.names import (
    BAYES,
    DEFAULT_FILE,
    FASTTEXT,
    LINEAR,
    NETWORK,
    NGRAMS,
    NO_HEAD,
    NONE_OF_THESE,
    SMALL,
    TABLES,
)
from benchmarks.tables.cells import (
    EARLIER,
    NOT_RUN,
    Figure,
    figure_of,
    grouped,
    kilobytes,
    markdown_table,
    short_name,
    shown,
    test_texts_of,
    with_earlier_heads,
)
from benchmarks.tables.short import first_steps, litert, ten_texts
from retvec_lite.files import atomic_write

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_TABLE: Final = re.compile(r"(<!-- table: ([^>\n]+?) -->\n)(?:(?!<!--).)*(\n<!-- end -->)", re.DOTALL)
_OPENING: Final = re.compile(r"<!--\s*table\b")
TITLE: Final = "accuracy with 0 / 20 / 50 / 100 % of the words mistyped"
OTHERS: Final = "best of all others below 1 MB, at each rate"
AS_ABOVE: Final = "as above"
OURS: Final = (DEFAULT_FILE, NONE_OF_THESE, NGRAMS, NETWORK)
NAMES: Final = {
    "CLINC150": "CLINC150, out-of-scope included",
    "MASSIVE": "MASSIVE, 52 locales in one file",
    "Tatoeba": "Tatoeba, which of 113 languages",
}
"""Longer names of data sets, where the short one says too little."""
HEAD: Final = "cnn"
"""The head of networks: the only one measured on every data set."""
SIDE_BY_SIDE: Final = {
    DEFAULT_FILE: DEFAULT_FILE,
    **{
        system: system
        for system in TABLES
        if system.startswith(("Whitespace", "SentencePiece")) and system.endswith(SMALL)
    },
    FASTTEXT: FASTTEXT + SMALL,
    **{system: system for system in (LINEAR, BAYES)},
    **{svm: f"{svm}, any size, clean texts" for svm in SVMS},
}
"""Systems that were measured on most sets -> their name in the table of every system."""
_MANY_LANGUAGES: Final = ("MASSIVE", "Tatoeba")
_LEGEND: Final = (
    "Each file is below 1 MB unless the line says otherwise; all learn from the same mistyped copies but for *clean texts*. Networks "
    "have the head `cnn`. ± is the standard error of three seeds. *Earlier*: before it got its present layers. *Not run*: nobody tried."
)


def products(results: Path) -> str:
    """Return the table that decides: the default file beside the best of everything else, below 1 MB and above.

    Others that learned from all training texts without typos count as well (`clean_training.json`, whose command is
    `git show d226369:benchmarks/experiments/clean_training.py`); the table says *clean texts* of them.
    """
    names = ("few_shot", "languages", "comparison", "clean_training")
    others = [row for name in names for row in _whole(results, name)]
    lines = []
    for name in (*FOLDERS, STARTER):
        rows = [row for row in others if row["data"] == name]
        rivals = [row for row in rows if row["system"] not in OURS]
        small = [row for row in rivals if row.get("bytes", SIZE_LIMIT) < SIZE_LIMIT]
        large = [row for row in rivals if row.get("bytes", SIZE_LIMIT) >= SIZE_LIMIT]
        for system, title in ((DEFAULT_FILE, NAMES.get(name, name)), (NONE_OF_THESE, f"{name}, `--unknown-label oos`")):
            own = [row for row in rows if row["system"] == system]
            if own:
                columns = [[_best(found, rate) for rate in RATES] for found in (own, small, large)]
                sizes = [kilobytes(own[0]["bytes"]), "", ""]
                cells = _cells(columns, [[1, 2], [0, 2], [0, 1]], sizes)
                repeats = bool(lines) and lines[-1][0] == NAMES.get(name, name)
                lines.append([title, cells[0], *([AS_ABOVE] * 2 if repeats else cells[1:])])
    header = [TITLE, "`retvec-lite train`, no options", OTHERS, "best of all others above 1 MB"]
    return markdown_table(header, lines)


def _whole(results: Path, name: str) -> list[Row]:
    """Return the rows of systems that learned from all texts."""
    return [row for row in read_results(results / name) if row.get("shots", 0) == 0]


def _best(rows: Sequence[Row], rate: float, name: Callable[[Row], str] = short_name) -> Figure | None:
    """Return the best at a rate; a system counts once with each head."""
    found = [
        figure_of(same, rate, test_texts_of(same[0]))._replace(system=name(same[0]))
        for same in grouped([{"head": "", **row} for row in rows], ["system", "head"]).values()
        if f"{rate:g}" in same[0]["accuracy"]
    ]
    return max(found, default=None)


def _cells(
    columns: Sequence[Sequence[Figure | None]], compared: Sequence[Sequence[int]], notes: Sequence[str]
) -> list[str]:
    """Return the cell of each column: a figure for each rate, and the note in brackets, or which system it is.

    Args:
        columns: the figures.
        compared: which other columns each is compared with.
        notes: of each column; where it is empty, the systems are named.
    """
    cells = []
    for column, others, note in zip(columns, compared, notes, strict=True):
        figures = [figure for figure in column if figure]
        texts = [
            shown(figure, [columns[other][place] for other in others]) if figure else "-"
            for place, figure in enumerate(column)
        ]
        named = note or named_by_rate([figure.system for figure in figures])
        cells.append(f"{' / '.join(texts)} ({named})" if figures else "-")
    return cells


def named_by_rate(names: Sequence[str]) -> str:
    """Name the best system at the first rate, and each later one with the rate from which on it is the best."""
    named, before = [], ""
    for name, rate in zip(names, RATES, strict=False):
        if name != before:
            since = f"at {rate:.0%}" if rate == RATES[-1] else f"from {rate:.0%} on"
            named.append(f"{name} {since}" if named else name)
        before = name
    return "; ".join(named)


def side_by_side(results: Path) -> str:
    """Return every system on every data set of one language or few, clean and half mistyped; networks have the head `cnn`."""
    compared = with_earlier_heads(read_results(results / "comparison"))
    rows = _whole(results, "few_shot") + [
        row for row in compared if row["head"].removesuffix(EARLIER) in (HEAD, NO_HEAD)
    ]
    sets = [name for name in (*FOLDERS, STARTER) if name not in _MANY_LANGUAGES]
    cells = grouped(rows, ["data", "system"])
    columns = [_column([cells.get((name, system), []) for system in SIDE_BY_SIDE]) for name in sets]
    lines = [[name, *(column[place] for column in columns)] for place, name in enumerate(SIDE_BY_SIDE.values())]
    return f"{_LEGEND}\n\n{markdown_table(['clean / half mistyped', *sets], lines)}"


def _column(systems: Sequence[Sequence[Row]]) -> list[str]:
    """Return the cell of each system on one data set: the means over seeds, and the standard error of three or more."""
    figures = [
        [figure_of(rows, rate, test_texts_of(rows[0])) for rate in (0.0, 0.5)] if rows else [] for rows in systems
    ]
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


SUMMARIES: Final = {
    "products": products,
    "side_by_side": side_by_side,
    "robustness_summary": robustness_summary,
    "attack_summary": attack_summary,
    "first_steps": first_steps,
    "ten_texts": ten_texts,
    "published_all": all_table,
    "litert": litert,
}
"""Table -> what makes it from the folder of all results."""


def table_of(name: str, results: Path) -> str:
    """Return the Markdown of a table in the folder `results`.

    Raises:
        SystemExit: no such file.
    """
    path = results / f"{name}.md"
    if not path.is_file():
        raise SystemExit(f"No table {name}: {path} does not exist. Run its benchmark first.")
    return path.read_text(encoding="utf-8").strip()


def with_tables(page: str, results: Path) -> str:
    """Return the page with its tables as they are in the folder `results`.

    Raises:
        SystemExit: a table is missing, or a marker is not of the form above.
    """
    named, closed = len(_OPENING.findall(page)), len(_TABLE.findall(page))
    if named != closed:
        raise SystemExit(
            f"The page opens {named} tables but only {closed} are closed. Write '<!-- table: NAME -->', "
            "an empty line, and '<!-- end -->'."
        )
    return _TABLE.sub(lambda found: f"{found[1]}\n{table_of(found[2], results)}\n{found[3]}", page)


def main() -> None:
    for name, make in SUMMARIES.items():
        atomic_write(RESULTS / f"{name}.md", make(RESULTS).encode())
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        renewed = with_tables(page, RESULTS)
        if renewed != page:
            atomic_write(path, renewed.encode())
            print(f"{path.relative_to(ROOT)}: tables renewed")


if __name__ == "__main__":
    main()
