"""Accuracy with few texts a label: ours, linear SVMs and fastText, on clean texts and with half of the words mistyped.

    python -m benchmarks.experiments.few_shot [--set NAME] [--only SYSTEM] [--shots 5 10 20 50] [--draws 0 1 2] [--again] [--quick]

Training texts are drawn from the training file, so many of each label, or all of a label that has fewer. Nothing else is
seen. `--shots 0` takes all texts, and measures 0 / 20 / 50 / 100 % mistyped words; `--draws` are then seeds of our training, and
the others, which have fixed seeds, train once. Few texts are tested on at most 3,000 texts of the test split, the same for all; all
texts on the whole split. Rows already in the JSON are kept.
After a change of our training, `--only ours --again` measures ours anew. fastText needs the environment described in
benchmarks/README.md.
"""

import math
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.common import (
    SIZE_LIMIT,
    Row,
    Rows,
    command_parser,
    grouped,
    markdown_table,
    picture_path,
    require_data,
    result_path,
)
from benchmarks.data.sets import FOLDERS, sampled, sampled_of_each
from benchmarks.systems import hashed_ngrams
from benchmarks.systems.few_shot_systems import FASTTEXT, OURS, SVMS, SYSTEMS, accuracy, available, settings_of, train
from benchmarks.systems.networks import fingerprint
from benchmarks.tables.plots import draw_learning_curves
from retvec_lite.data.dataset import Dataset, load_starter, read_dataset

STARTER: Final = "starter data"
SETS: Final = ("Banking77", "CLINC150", "AG News", "SMS spam", STARTER)
SHOTS: Final = (5, 10, 20, 50)
ALL: Final = 0
"""Instead of a number of texts a label: all texts."""
DRAWS: Final = (0, 1, 2)
RATES: Final = (0.0, 0.5)
RATES_OF_ALL: Final = (0.0, 0.2, 0.5, 1.0)
TEST_TEXTS: Final = 3000
QUICK_TEST_TEXTS: Final = 500
QUICK: Final = ("ours", "SVM, characters")
PICTURED: Final = ("ours", *SVMS, hashed_ngrams.LINEAR, FASTTEXT)
"""The systems of the plot: more would hide each other."""
KEY: Final = ("data", "system", "shots", "seed")

Line = list[Row]
"""The rows of one system, one for each draw, which is the field `seed`."""


class Corpus(NamedTuple):
    """The whole training file and the test split of a data set."""

    name: str
    training: Dataset
    test: Dataset


def load_corpus(data: Path, name: str) -> Corpus:
    """Read a data set; the starter data come with the package.

    Args:
        data: the folder of all data sets.
        name: one of `SETS`.

    Raises:
        SystemExit: a file is missing.
    """
    if name == STARTER:
        return Corpus(name, load_starter("train"), load_starter("test"))
    files = [data / FOLDERS[name] / f"{part}.csv" for part in ("train", "test")]
    for file in files:
        require_data(file)
    return Corpus(name, *map(read_dataset, files))


def draw_texts(training: Dataset, shots: int, seed: int) -> Dataset:
    """Draw so many texts of each label; all of a label that has fewer; all texts for `ALL`."""
    return training.select(sampled_of_each(training.labels, shots, seed))


def measure(system: str, corpus: Corpus, test: Dataset, shots: int, seed: int) -> dict[str, Any]:
    """Train on one draw; return the accuracy at each rate and notes on the training."""
    drawn = draw_texts(corpus.training, shots, seed)
    began = time.perf_counter()
    trained = train(system, drawn, seed if shots == ALL else 0)
    seconds = round(time.perf_counter() - began, 1)
    found = {f"{rate:g}": accuracy(trained.guess, test, rate) for rate in _rates(shots)}
    return {"accuracy": found, "texts": len(drawn), "training_seconds": seconds, **trained.facts}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and missing; write the tables and the plot of everything."""
    parser = command_parser(__doc__, quick="Banking77, 5 texts a label, one draw, two systems", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    parser.add_argument("--only", dest="systems", choices=SYSTEMS, action="append", help="a system; repeatable")
    parser.add_argument(
        "--shots",
        type=int,
        nargs="+",
        default=SHOTS,
        metavar="N",
        help="texts a label (default: 5 10 20 50); 0 for all",
    )
    parser.add_argument(
        "--draws", type=int, nargs="+", default=DRAWS, metavar="N", help="seeds of the draws (default: 0 1 2)"
    )
    parser.add_argument("--again", action="store_true", help="measure rows again that are there")
    args = parser.parse_args(arguments)
    if args.quick:
        args.sets, args.shots, args.draws = SETS[:1], SHOTS[:1], DRAWS[:1]
    systems = available(args.systems or (QUICK if args.quick else SYSTEMS), asked_for=bool(args.systems))
    rows = Rows(result_path("few_shot", quick=args.quick), KEY, tables)
    for name in args.sets or SETS:
        corpus = load_corpus(args.data, name)
        everything = fingerprint([*corpus.training.texts, *corpus.training.labels])
        for shots in args.shots:
            test = corpus.test.select(sampled(len(corpus.test), _test_texts(shots, quick=args.quick)))
            common = {"training": everything, "test": fingerprint([*test.texts, *test.labels]), "test_texts": len(test)}
            for system in systems:
                if shots == ALL and system == FASTTEXT:
                    print("fastText with all texts: see comparison.py", file=sys.stderr)
                    continue
                for seed in DRAWS[:1] if shots == ALL and system not in OURS else args.draws:
                    row: Row = {"data": name, "system": system, "shots": shots, "seed": seed}
                    row["settings"] = settings_of(system) | common
                    done = rows.has(row) and not args.again
                    state = "already measured" if done else "..."
                    print(
                        f"{name}, {shots or 'all'} texts, {system}, draw {seed}: {state}", file=sys.stderr, flush=True
                    )
                    if not done:
                        rows.add(
                            row | {"labels": len(corpus.training.classes)} | measure(system, corpus, test, shots, seed)
                        )
    rows.show()
    if panels := curves(list(rows)):
        draw_learning_curves(panels, picture_path("few-shot", quick=args.quick))


def _rates(shots: int) -> tuple[float, ...]:
    return RATES_OF_ALL if shots == ALL else RATES


def _test_texts(shots: int, *, quick: bool) -> int:
    if quick:
        return QUICK_TEST_TEXTS
    return 0 if shots == ALL else TEST_TEXTS


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
    lines = {system: line for (system,), line in grouped(rows, ["system"]).items()}
    found = {system: mean_and_error(line, rate) for system, line in lines.items()}
    cells = {
        system: f"{mean:.3f}" + (f" ± {error:.3f}" if len(lines[system]) > 1 else "")
        for system, (mean, error) in found.items()
    }
    best = max(found, key=lambda system: found[system][0])
    others = [system for system in found if (system in OURS) != (best in OURS)]
    if others:
        second = max(others, key=lambda system: found[system][0])
        lead = found[best][0] - found[second][0]
        errors = [max(found[system][1], _error_of_texts(lines[system], rate)) for system in (best, second)]
        if lead > 2 * math.hypot(*errors):
            mean, *error = cells[best].split(" ", 1)
            cells[best] = " ".join([f"**{mean}**", *error])
    return cells


def mean_and_error(line: Line, rate: float) -> tuple[float, float]:
    """Return the mean accuracy and its standard error: over the draws, or over the test texts if there is one draw."""
    values = _accuracies(line, rate)
    if len(values) < 2:
        return values[0], _error_of_texts(line, rate)
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def _error_of_texts(line: Line, rate: float) -> float:
    """Return the standard error of an accuracy that comes from having so many test texts and no more."""
    mean = statistics.fmean(_accuracies(line, rate))
    return math.sqrt(mean * (1 - mean) / line[0]["settings"]["test_texts"])


def _accuracies(line: Line, rate: float) -> list[float]:
    return [row["accuracy"][f"{rate:g}"] for row in line]


def curves(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, list[tuple[float, float, float]]]]]:
    """Return data set -> system -> clean or mistyped -> (texts a label, mean accuracy, standard error)."""
    panels: dict[str, dict[str, dict[str, list[tuple[float, float, float]]]]] = {}
    few = [row for row in _ordered(rows) if row["shots"] != ALL and row["system"] in PICTURED]
    for (name, system), line in grouped(few, ["data", "system"]).items():
        panels.setdefault(name, {})[system] = {
            title: [(shots, *mean_and_error(found, rate)) for (shots,), found in grouped(line, ["shots"]).items()]
            for title, rate in (("clean", 0.0), ("half of the words mistyped", 0.5))
        }
    return panels


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(
        rows, key=lambda row: (SETS.index(row["data"]), SYSTEMS.index(row["system"]), row["shots"], row["seed"])
    )


if __name__ == "__main__":
    main()
