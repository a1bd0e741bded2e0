"""The tables that are made from the results of several commands: whole products, every system, networks, robustness.

The best of the others is looked up at each share of mistyped words separately, which favours the others. A figure is bold if it
leads those that it is compared with by more than two standard errors.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import SIZE_LIMIT, Row, read_results
from benchmarks.data.sets import FOLDERS, STARTER
from benchmarks.experiments.comparison import RATES
from benchmarks.experiments.robustness import robustness_summary
from benchmarks.systems.linear import SVMS
from benchmarks.systems.names import (
    BAYES,
    DEFAULT_FILE,
    FASTTEXT,
    FASTTEXT_LARGE,
    LINEAR,
    NETWORK,
    NGRAMS,
    NO_HEAD,
    SMALL,
    TABLES,
    TUNED,
)
from benchmarks.tables.cells import (
    EARLIER,
    Figure,
    clean_test_texts_of,
    differences,
    figure_of,
    grouped,
    kilobytes,
    markdown_table,
    matrix,
    short_name,
    shown,
    test_texts_of,
    with_earlier_heads,
)

TITLE: Final = "accuracy with 0 / 20 / 50 / 100 % of the words mistyped"
OTHERS: Final = "best of all others below 1 MB, at each rate"
OURS: Final = (DEFAULT_FILE, NGRAMS, NETWORK, TUNED)
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
_WHOLE_CLEAN: Final = ("Banking77", "CLINC150", "SMS spam")
"""Data sets of which `clean_training.py` takes all training texts."""


def products(results: Path) -> str:
    """Return the table that decides: the default file beside the best of everything else, below 1 MB and above.

    Others that `clean_training.py` trained on all training texts count as well; the table says *clean texts* of them.
    """
    others = [row for name in ("few_shot", "languages", "comparison") for row in _whole(results, name)]
    others += _trained_on_clean_texts(results)
    lines = []
    for name in (*FOLDERS, STARTER):
        rows = [row for row in others if row["data"] == name]
        own = [row for row in rows if row["system"] == DEFAULT_FILE]
        if own:
            rivals = [row for row in rows if row["system"] not in OURS]
            small = [row for row in rivals if row.get("bytes", SIZE_LIMIT) < SIZE_LIMIT]
            large = [row for row in rivals if row.get("bytes", SIZE_LIMIT) >= SIZE_LIMIT]
            columns = [[_best(found, rate) for rate in RATES] for found in (own, small, large)]
            sizes = [kilobytes(own[0]["bytes"]), "", ""]
            lines.append([NAMES.get(name, name), *_cells(columns, [[1, 2], [0, 2], [0, 1]], sizes)])
    header = [TITLE, "`retvec-lite train`, no options", OTHERS, "best of all others above 1 MB"]
    return markdown_table(header, lines)


def _whole(results: Path, name: str) -> list[Row]:
    """Return the rows of systems that learned from all texts."""
    return [row for row in read_results(results / name) if row.get("shots", 0) == 0]


def _trained_on_clean_texts(results: Path) -> list[Row]:
    """Return the others' rows of `clean_training.py`, in the form of those of `few_shot.py`."""
    return [
        row
        | {"data": row["set"], "system": f"{row['system']}, clean texts"}
        | {"settings": {"test_texts": clean_test_texts_of(row)}}
        | ({} if row["system"] == FASTTEXT_LARGE else {"bytes": 0})
        for row in read_results(results / "clean_training")
        if row["set"] in _WHOLE_CLEAN and row["system"] not in OURS
    ]


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
    table = matrix(
        "clean / half mistyped", grouped(rows, ["data", "system"]), SIDE_BY_SIDE, sets, (0.0, 0.5), test_texts_of
    )
    return f"{_LEGEND}\n\n{table}"


def summary(results: Path) -> str:
    """Return our networks beside the best of the others below 1 MB, with a warning where training differed."""
    header = [TITLE, "network alone, embedding frozen", "network alone, embedding fine-tuned", OTHERS]
    sets = grouped(with_earlier_heads(read_results(results / "comparison")), ["data"])
    lines, rivals, warnings = [], [], []
    for name in (name for name in FOLDERS if (name,) in sets):
        small = {
            line: found
            for line, found in grouped(sets[name,], ["system", "head"]).items()
            if max(row["bytes"] for row in found) < SIZE_LIMIT
        }
        ours = [small.get((system, HEAD)) or small.get((system, HEAD + EARLIER)) or [] for system in (NETWORK, TUNED)]
        others = [row for (system, _), found in small.items() if system not in OURS for row in found]
        if not any(ours):
            continue
        columns = [[_best(found, rate, _with_head) for rate in RATES] for found in (*ours, others)]
        sizes = [_size(found) if found else "" for found in ours]
        lines.append([NAMES.get(name, name), *_cells(columns, [[2], [2], [0, 1]], [*sizes, ""])])
        measured = sorted({short_name(row).split(",")[0] for row in others})
        rivals.append(f"{name}: {', '.join(measured) or 'none'}")
        if found := differences([row for line in (*ours, others) for row in line]):
            warnings.append(f"\n**Not comparable**, {name}: rows differ in {' and '.join(found)}.\n")
    others_measured = f"\nOther systems measured. {'. '.join(rivals)}.\n" if rivals else ""
    return markdown_table(header, lines) + others_measured + "".join(warnings)


def _with_head(row: Row) -> str:
    return short_name(row) if row["head"] == NO_HEAD else f"{short_name(row)} + {row['head']}"


def _size(line: Sequence[Row]) -> str:
    return kilobytes(max(row["bytes"] for row in line)) + (EARLIER if line[0]["head"].endswith(EARLIER) else "")


SUMMARIES: Final = {
    "products": products,
    "side_by_side": side_by_side,
    "summary": summary,
    "robustness_summary": robustness_summary,
}
"""Table -> what makes it from the folder of all results."""
