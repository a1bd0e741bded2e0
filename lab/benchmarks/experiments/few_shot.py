"""Accuracy with few texts a label: the default file, linear SVMs, fastText and sentence encoders, on clean texts and with half of the words mistyped.

    python -m benchmarks.experiments.few_shot [--set NAME] [--only SYSTEM] [--shots 5 10 20 50] [--draws 0 1 2] [--again] [--quick]

Training texts are drawn from the training file, so many of each label, or all of a label that has fewer. Nothing else is
seen, but by one system: up to 10,000 of the others without their labels. `--shots 0` takes all texts, and measures 0 / 20 / 50 / 100 %
mistyped words; `--draws` are then seeds of our training, and the others, which have fixed seeds, train once. Few texts are tested on at
most 3,000 texts of the test split, the same for all; all texts on the whole split. Rows already in the JSON are kept.
After a change of our training, `--only "default file" --again` measures ours anew. fastText and the encoders need the environments described
in lab/benchmarks/README.md.
"""

import random
import time
from collections.abc import Sequence
from typing import Final

from benchmarks.common import SIZE_LIMIT, Row, Rows, command_parser, picture_path, result_path
from benchmarks.data.sets import STARTER, read_part, sampled
from benchmarks.experiments.bench import ALL, DRAWS, RATES, draw_texts
from benchmarks.systems.linear import SVMS
from benchmarks.systems.names import (
    BGE,
    DEFAULT_FILE,
    ENCODER,
    FASTTEXT_LARGE,
    INBOX_ENCODERS,
    LINEAR,
    NONE_OF_THESE,
    SETFIT,
    STATIC,
    SVM,
)
from benchmarks.systems.networks import available
from benchmarks.systems.trained import accuracies, fingerprint
from benchmarks.systems.whole import INBOX, OURS, SYSTEMS, fits, settings_of, train
from benchmarks.tables.cells import figure_of, grouped, leads, markdown_table, ordered, test_texts_of
from benchmarks.tables.plots import Points, draw_curves
from retvec_lite.data.dataset import Dataset

SETS: Final = ("Banking77", "CLINC150", "AG News", "SMS spam", STARTER)
SHOTS: Final = (5, 10, 20, 50)
RATES_OF_ALL: Final = (0.0, 0.2, 0.5, 1.0)
CLEAN: Final = "clean"
TEST_TEXTS: Final = 3000
QUICK_TEST_TEXTS: Final = 500
QUICK: Final = (DEFAULT_FILE, SVM)
PICTURED: Final = (DEFAULT_FILE, INBOX_ENCODERS, *SVMS, LINEAR, FASTTEXT_LARGE, ENCODER, BGE, SETFIT)
"""The systems of the plot: more would hide each other."""
README_SETS: Final = ("AG News", "Banking77")
README_SYSTEMS: Final = (DEFAULT_FILE, INBOX_ENCODERS, SVM, FASTTEXT_LARGE, ENCODER, SETFIT)
"""Sets and systems of the plot in README."""
KEY: Final = ("data", "system", "shots", "seed")

Line = list[Row]
"""The rows of one system, one for each draw, which is the field `seed`."""


def measure(system: str, training: Dataset, test: Dataset, shots: int, seed: int) -> Row:
    """Train on one draw; return the accuracy at each rate and notes on the training."""
    drawn = draw_texts(training, shots, seed)
    began = time.perf_counter()
    known = {*drawn.texts}
    others = [text for text in dict.fromkeys(training.texts) if text not in known]
    random.Random(seed).shuffle(others)  # some files are sorted by label
    trained = train(system, drawn, seed if shots == ALL else 0, inbox=others[:INBOX])
    seconds = round(time.perf_counter() - began, 1)
    found = accuracies(trained, test, RATES_OF_ALL if shots == ALL else RATES)
    notes = {"labels": len(training.classes), "texts": len(drawn), "training_seconds": seconds}
    return {"accuracy": found, **notes, **trained.facts}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="Banking77, 5 texts a label, one draw, two systems", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    parser.add_argument("--only", dest="systems", choices=SYSTEMS, action="append", help="a system; repeatable")
    few = "texts a label (default: 5 10 20 50); 0 for all"
    parser.add_argument("--shots", type=int, nargs="+", default=SHOTS, metavar="N", help=few)
    parser.add_argument(
        "--draws", type=int, nargs="+", default=DRAWS, metavar="N", help="seeds of the draws (default: 0 1 2)"
    )
    parser.add_argument("--again", action="store_true", help="measure rows again that are there")
    args = parser.parse_args(arguments)
    if args.quick:
        args.sets, args.shots, args.draws = SETS[:1], SHOTS[:1], DRAWS[:1]
    systems = available(args.systems or (QUICK if args.quick else SYSTEMS), None, asked_for=bool(args.systems))
    rows = Rows(result_path("few_shot", quick=args.quick), KEY, tables)
    for name in args.sets or SETS:
        training, every = read_part(args.data, name, "train"), read_part(args.data, name, "test")
        for shots in args.shots:
            most = QUICK_TEST_TEXTS if args.quick else TEST_TEXTS * (shots != ALL)
            test = every.select(sampled(len(every), most))
            common = {"training": fingerprint([*training.texts, *training.labels])}
            common |= {"test": fingerprint([*test.texts, *test.labels]), "test_texts": len(test)}
            # fastText learns from all texts in comparison.py, the encoders from few, and no label from all.
            left_out = (
                (INBOX_ENCODERS, FASTTEXT_LARGE, ENCODER, BGE, STATIC, SETFIT) if shots == ALL else (NONE_OF_THESE,)
            )
            for system in (name for name in systems if name not in left_out and fits(name, training)):
                for seed in DRAWS[:1] if shots == ALL and system not in OURS else args.draws:
                    row: Row = {"data": name, "system": system, "shots": shots, "seed": seed}
                    row["settings"] = settings_of(system) | common
                    rows.fill(row, measure, system, training, test, shots, seed, again=args.again)
    rows.show()
    if panels := curves(list(rows)):
        draw_curves(panels, picture_path("few-shot", quick=args.quick), "training texts a label", logarithmic=True)
        shown = {
            name: {system: panels[name][system] for system in README_SYSTEMS if system in panels[name]}
            for name in README_SETS
            if name in panels
        }
        if shown:
            draw_curves(shown, picture_path("few-texts", quick=args.quick), "training texts a label", logarithmic=True)


def tables(rows: list[Row]) -> str:
    """Return for each data set a table over the number of texts a label, and one of the systems that saw all texts."""
    parts = []
    for (name,), found in grouped(_ordered(rows), ["data"]).items():
        labels = found[0]["labels"]
        few, everything = ([row for row in found if (row["shots"] == ALL) == all_texts] for all_texts in (False, True))
        if few:
            counts = " / ".join(f"{line[0]['texts']:,}" for _, line in sorted(grouped(few, ["shots"]).items()))
            test_texts = few[0]["settings"]["test_texts"]
            parts.append(f"**{name}**, {labels} labels, {counts} training texts, {test_texts:,} test texts\n")
            parts.append(_few_table(few))
        if everything:
            texts, test_texts = everything[0]["texts"], everything[0]["settings"]["test_texts"]
            parts.append(f"**{name}**, all {texts:,} training texts, {test_texts:,} test texts\n")
            parts.append(_all_table(everything))
    return "\n".join(parts)


def _few_table(rows: list[Row]) -> str:
    """Return a line for each system and share of mistyped words, and a column for each number of texts a label."""
    numbers = sorted({row["shots"] for row in rows})
    header = ["system", "words mistyped", *(f"{shots} a label" for shots in numbers)]
    columns = {
        (shots, rate): _column([row for row in rows if row["shots"] == shots], rate)
        for shots in numbers
        for rate in RATES
    }
    table = []
    for (system,), line in grouped(rows, ["system"]).items():
        name = _named(system, line)
        table += [
            [name, f"{rate:.0%}", *(columns[shots, rate].get(system, "-") for shots in numbers)] for rate in RATES
        ]
    return markdown_table(header, table)


def _all_table(rows: list[Row]) -> str:
    """Return a line for each system and a column for each share of mistyped words."""
    header = ["system", *(f"{rate:.0%} mistyped" for rate in RATES_OF_ALL)]
    columns = [_column(rows, rate) for rate in RATES_OF_ALL]
    table = [
        [_named(system, line), *(column[system] for column in columns)]
        for (system,), line in grouped(rows, ["system"]).items()
    ]
    return markdown_table(header, table)


def _named(system: str, line: Line) -> str:
    return system + (" (over 1 MB)" if max(row.get("bytes", 0) for row in line) >= SIZE_LIMIT else "")


def _column(rows: list[Row], rate: float) -> dict[str, str]:
    """Return system -> its cell: mean ± standard error.

    The best is bold if it leads the best of the other side (ours, or all others) by more than two standard errors, of the
    draws and of the test texts: three draws that agree by chance do not make the test texts more.
    """
    figures = {
        system: figure_of(line, rate, test_texts_of(line[0])) for (system,), line in grouped(rows, ["system"]).items()
    }
    best = max(figures, key=lambda system: figures[system].accuracy)
    others = [figure for system, figure in figures.items() if (system in OURS) != (best in OURS)]
    cells = {}
    for system, figure in figures.items():
        mean = f"{figure.accuracy:.3f}"
        bold = system == best and others and leads(figure, others)
        cells[system] = (f"**{mean}**" if bold else mean) + (
            "" if figure.of_seeds is None else f" ± {figure.of_seeds:.3f}"
        )
    return cells


def curves(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, Points]]]:
    """Return data set -> system -> clean or mistyped -> (texts a label, mean accuracy, standard error)."""
    panels: dict[str, dict[str, dict[str, Points]]] = {}
    few = [row for row in _ordered(rows) if row["shots"] != ALL and row["system"] in PICTURED]
    for (name, system), line in grouped(few, ["data", "system"]).items():
        panels.setdefault(name, {})[system] = {
            title: [(shots, *_mean_and_error(found, rate)) for (shots,), found in grouped(line, ["shots"]).items()]
            for title, rate in ((CLEAN, 0.0), ("half of the words mistyped", 0.5))
        }
    return panels


def _mean_and_error(line: Sequence[Row], rate: float) -> tuple[float, float]:
    """Return the mean accuracy and its standard error: over the draws, or over the test texts if there are few draws."""
    figure = figure_of(line, rate, test_texts_of(line[0]))
    return figure.accuracy, figure.error if figure.of_seeds is None else figure.of_seeds


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return ordered(rows, KEY, {"data": SETS, "system": SYSTEMS})


if __name__ == "__main__":
    main()
