"""The tables of an evaluation, made once and shown twice: on the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from retvec_lite.pretraining.evaluation_network import PRECISIONS
from retvec_lite.pretraining.measures import FLOAT32, FileScores, Share, better_in
from retvec_lite.pretraining.tasks import CANDIDATES


@dataclass(frozen=True)
class Table:
    """Rows of text under a title.

    Attributes:
        title: one line.
        columns: their headings; the first `words` are text, the others numbers.
        rows: a cell for each column.
        words: how many columns hold text.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


def tables(files: Sequence[FileScores]) -> list[Table]:
    """Everything that was measured of the first file, beside the others."""
    return [
        _summary(files),
        _languages(files),
        _more_languages(files),
        _shares("Right word found, one typo kind alone", "kind", files, FileScores.kinds),
        _shares("Right word found, by script of the word", "script", files, FileScores.scripts),
    ]


def sentences(files: Sequence[FileScores], skipped: Sequence[str]) -> list[str]:
    """What the tables do not say: who is better where, and who was not asked."""
    one, *others = files
    found = []
    for other in others:
        better, worse = better_in(one, other)
        where = f"; worse in {', '.join(worse)}" if worse else ""
        found.append(f"{one.name} is better than {other.name} in {better} of {len(one.languages)} languages{where}.")
    if skipped:
        found.append(f"Skipped for want of words that pre-training never saw: {', '.join(skipped)}.")
    return found


def markdown(files: Sequence[FileScores], skipped: Sequence[str]) -> str:
    """The whole report as a Markdown document."""
    parts = [
        f"# Embedding {files[0].name}",
        f"Found: share of mistyped words whose nearest neighbour by cosine among {CANDIDATES:,} words of the language is "
        "the right one. No word that is asked for was seen in pre-training.",
        *sentences(files, skipped),
    ]
    for table in tables(files):
        lines = [
            f"## {table.title}\n",
            _markdown_row(table.columns),
            "|" + "---|" * table.words + "---:|" * (len(table.columns) - table.words),
        ]
        parts.append("\n".join([*lines, *map(_markdown_row, table.rows)]))
    return "\n\n".join(parts) + "\n"


def to_dict(files: Sequence[FileScores], skipped: Sequence[str]) -> dict[str, Any]:
    """JSON-ready values."""
    one, *others = files
    comparisons = []
    for other in others:
        better, worse = better_in(one, other)
        comparisons.append({"against": other.name, "better_in": better, "worse_in": worse})
    return {
        "files": [scores.to_dict() for scores in files],
        "comparisons": comparisons,
        "skipped": list(skipped),
    }


def print_tables(files: Sequence[FileScores], skipped: Sequence[str]) -> None:
    """Show everything on the terminal."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    for table in tables(files):
        drawn = RichTable(title=Text(table.title), title_justify="left")
        for index, column in enumerate(table.columns):
            # Headings may be broken in a narrow window, numbers never.
            least = max((len(row[index]) for row in table.rows), default=1) if index else 1
            drawn.add_column(
                Text(column), justify="left" if index < table.words else "right", min_width=least, overflow="fold"
            )
        for row in table.rows:
            drawn.add_row(*map(Text, row))  # names are data: rich must not read its markup into them
        console.print(drawn)
    for sentence in sentences(files, skipped):
        console.print(Text(sentence), soft_wrap=True)


def _summary(files: Sequence[FileScores]) -> Table:
    one = files[0]
    precisions = (FLOAT32, *PRECISIONS)
    rows = [(f"right word found, {name}", *_compared([scores.found(name) for scores in files])) for name in precisions]
    pairs, randoms = zip(*(scores.cosines() for scores in files), strict=True)
    gaps = [pair - other for pair, other in zip(pairs, randoms, strict=True)]
    rows += [
        ("cosine of a word and its mistyped form", *_compared(pairs)),
        ("cosine of random pairs", *_compared(randoms)),
        ("gap", *_compared(gaps)),
    ]
    for name in PRECISIONS:
        rows.append((f"{name}: cosine to float32", *_compared([scores.cosine_to_float(name) for scores in files], 5)))
    if one.misspellings is not None:
        asked = [scores.misspellings for scores in files if scores.misspellings is not None]
        what = f"{one.misspellings.found[FLOAT32].queries:,} human misspellings"
        for name in precisions:
            rows.append((f"{what}, {name}", *_compared([scores.found[name].share for scores in asked])))
        rows.append((f"{what}, gap", *_compared([scores.gap for scores in asked])))
    return Table(f"Mean over {len(one.languages)} languages", ("measure", *_names(files)), tuple(rows))


def _languages(files: Sequence[FileScores]) -> Table:
    rows = []
    for mine, *others in zip(*(scores.languages for scores in files), strict=True):
        shares = [scores.found[FLOAT32].share for scores in (mine, *others)]
        queries = str(mine.found[FLOAT32].queries)
        rows.append((mine.name, mine.source, queries, *_compared(shares)))
    return Table("Right word found", ("language", "words", "queries", *_names(files)), tuple(rows), words=2)


def _more_languages(files: Sequence[FileScores]) -> Table:
    columns = [f"{what} {scores.name}" for what in ("int4", "gap") for scores in files]
    rows = []
    for beside in zip(*(scores.languages for scores in files), strict=True):
        shares = [f"{scores.found['int4'].share:.3f}" for scores in beside]
        rows.append((beside[0].name, *shares, *(f"{scores.gap:.3f}" for scores in beside)))
    return Table("Right word found as int4, and the gap of cosines", ("language", *columns), tuple(rows))


def _shares(
    title: str, column: str, files: Sequence[FileScores], pick: Callable[[FileScores], dict[str, Share]]
) -> Table:
    beside = [pick(scores) for scores in files]
    rows = []
    for name, share in beside[0].items():
        shares = [found[name].share for found in beside]
        rows.append((name.replace("_", " "), f"{share.queries:,}", *_compared(shares)))
    return Table(title, (column, "queries", *_names(files)), tuple(rows))


def _names(files: Sequence[FileScores]) -> list[str]:
    """Headings of values side by side: each file, and after each file but the first how far the first is above it."""
    headings = [files[0].name]
    for scores in files[1:]:
        headings += [scores.name, "difference"]
    return headings


def _compared(values: Sequence[float], digits: int = 3) -> list[str]:
    """The first value, and after each other value how far the first is above it."""
    cells = [f"{values[0]:.{digits}f}"]
    for value in values[1:]:
        cells += [f"{value:.{digits}f}", f"{values[0] - value:+.{digits}f}"]
    return cells


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
