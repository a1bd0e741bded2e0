"""Do answers survive other ways of writing, and do innocent texts stay innocent?

    python -m benchmarks.experiments.robustness [--set NAME] [--only SYSTEM] [--work DIR] [--quick]
    python -m benchmarks.experiments.robustness --file FILE --set NAME [--texts 400]

ways.py defines the ways. Of the test texts that a system answers rightly as they stand, those count that keep their answer.
Where a label is spam, so do the other texts that are called spam, and the spam that is found. Ours are exported int8 files, and
"none of these" counts as another answer; the others always name a label.
Rows already in the JSON are kept, and trained systems in the work folder. With another `--work`, ours are trained and measured anew.
With `--file`, one exported file or trained folder is measured on some test texts of one set, and its shares are printed, not kept.
"""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
import numpy.typing as npt

import retvec_lite as rl
from benchmarks.common import Row, Rows, picture_path, read_results, result_path
from benchmarks.data.sets import STARTER, read_part
from benchmarks.experiments.trials import Scope, comparison_parser, parse_comparison, trials
from benchmarks.experiments.ways import GROUPS, WAYS, can_write, write_all
from benchmarks.systems.names import DEFAULT_FILE, FASTTEXT, FASTTEXT_LARGE, NETWORK, SVM, lines_of
from benchmarks.systems.ours import RECIPE
from benchmarks.systems.trained import Trained, fingerprint
from benchmarks.systems.whole import WITHOUT_HEAD, build_victim, victim_settings
from benchmarks.tables.cells import grouped, markdown_table, ordered
from benchmarks.tables.plots import draw_heat_maps
from retvec_lite.data.dataset import Dataset

Answers = npt.NDArray[np.object_]

OURS: Final = (DEFAULT_FILE, NETWORK)
FULL: Final = Scope(("SMS spam", STARTER, "Banking77"), (*OURS, SVM, FASTTEXT, FASTTEXT_LARGE), ("cnn",))
SHOWN: Final = {"kept": (DEFAULT_FILE, SVM, FASTTEXT), "innocent": (DEFAULT_FILE, SVM), "found": (DEFAULT_FILE, SVM)}
"""The columns of the summary: field of a row -> its systems. The picture shows all systems."""
QUICK: Final = Scope(("SMS spam",), (SVM,), ("cnn",))
KEY: Final = ("data", "system", "seed")
SPAM: Final = "spam"
AS_WRITTEN: Final = "as written"
JOINED: Final = "ten texts of one label joined"
KINDS: Final = {AS_WRITTEN: [AS_WRITTEN], **{kind: [*ways] for kind, ways in GROUPS.items()}, JOINED: [JOINED]}
"""Kind of writing -> its ways."""
MEASURED: Final = [way for ways in KINDS.values() for way in ways]
FIGURES: Final = {
    "kept": "share of the right answers that are kept",
    "innocent": "share of the texts that are no spam called spam",
    "found": "share of the spam found",
}
"""Field of a row, which has a share for each way -> what it says."""


def measure(build: Callable[[], Trained], test: Dataset) -> Row:
    """Return the share of right answers, and the shares of `FIGURES` by way of writing."""
    trained = build()
    return _shares(_answering(trained), trained.labels, test)


def _shares(answer: Callable[[Sequence[str]], Answers], names: Sequence[str], test: Dataset) -> Row:
    labels = np.array(test.labels, object)
    right = answer(test.texts) == labels
    row: Row = {"texts": len(test), "right": float(right.mean()), "kept": {}, "innocent": {}, "found": {}}
    for way in filter(can_write, MEASURED):
        answers = answer(_written(test, way))
        row["kept"][way] = float((answers == labels)[right].mean())
        if SPAM in names:
            row["innocent"][way] = float((answers == SPAM)[labels != SPAM].mean())
            row["found"][way] = float((answers == SPAM)[labels == SPAM].mean())
    return row


def _written(test: Dataset, way: str) -> Sequence[str]:
    if way == AS_WRITTEN:
        return test.texts
    return join_alike(test) if way == JOINED else write_all(test.texts, way)


def join_alike(test: Dataset, count: int = 10) -> list[str]:
    """Return each text with the next ones of its label behind it, from the first on after the last."""
    rows_of: dict[str, list[int]] = {}
    for row, label in enumerate(test.labels):
        rows_of.setdefault(label, []).append(row)
    joined = {
        row: " ".join(test.texts[other] for other in (rows[at:] + rows[:at])[:count])
        for rows in rows_of.values()
        for at, row in enumerate(rows)
    }
    return [joined[row] for row in range(len(test))]


def _answering(trained: Trained) -> Callable[[Sequence[str]], Answers]:
    """Return a function of texts that returns their labels, None for none."""
    file = trained.folder / f"classifier-{RECIPE}.tflite" if trained.folder else None
    if file and file.is_file():
        return _labels_of(rl.load(file))
    return lambda texts: np.array(trained(texts), object)


def _labels_of(classifier: rl.Classifier) -> Callable[[Sequence[str]], Answers]:
    return lambda texts: np.array([found[0].label for found in classifier.predict(texts, 1)], object)


def measure_file(path: Path, test: Dataset) -> str:
    """Return the shares of an exported file or a trained folder as a table: ways down, `FIGURES` across."""
    classifier = rl.load(path)
    row = _shares(_labels_of(classifier), classifier.labels, test)
    figures = [field for field in FIGURES if row[field]]
    lines = [[way, *(_share(row[field].get(way)) for field in figures)] for way in MEASURED]
    return f"{len(test):,} texts, {row['right']:.3f} right as written\n\n{markdown_table(['way', *figures], lines)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = comparison_parser(__doc__, "SMS spam (1,500 texts), the SVM", FULL.systems, FULL.sets)
    parser.add_argument("--file", type=Path, metavar="FILE", help="measure this exported file or trained folder alone")
    parser.add_argument("--texts", type=int, default=400, metavar="N", help="test texts for --file (default: 400)")
    args = parse_comparison(parser, arguments, FULL, QUICK)
    if args.file:
        for name in args.sets:
            print(f"{name}, {measure_file(args.file, read_part(args.data, name, 'test', args.texts))}")
        return
    rows = Rows(result_path("robustness", quick=args.quick), KEY, tables)
    for corpus, plan in trials(args):
        written = fingerprint([text for way in filter(can_write, WAYS) for text in write_all(corpus.test.texts, way)])
        for system, head in lines_of(args.systems, args.heads, WITHOUT_HEAD):
            row: Row = {"data": corpus.name, "system": system, "seed": plan.seed}
            row["settings"] = victim_settings(system, head, plan, corpus) | {"written": written}
            row["settings"] |= {"work": plan.work.name} if system in OURS else {}
            rows.fill(row, measure, functools.partial(build_victim, system, head, corpus, plan), corpus.test)
    rows.show()
    found = _in_order(list(rows))
    panels = {
        title: [[_mean(found, field, system, [way]) for system in _systems(found)] for way in WAYS]
        for title, field in {"right answers kept": "kept", "innocent texts called spam": "innocent"}.items()
    }
    draw_heat_maps(panels, list(WAYS), _systems(found), picture_path("robustness", quick=args.quick))


def _systems(rows: Sequence[Row]) -> list[str]:
    """Return the systems that were measured on all data sets: means over some of them would not be comparable."""
    sets = grouped(rows, ["system"])
    most = max((len(found) for found in sets.values()), default=0)
    return [system for (system,), found in sets.items() if len(found) == most]


def _mean(rows: Sequence[Row], field: str, system: str, ways: Sequence[str]) -> float:
    """Return the mean over data sets and ways, as far as measured; NaN for none."""
    found = [row[field][way] for row in rows if row["system"] == system for way in ways if way in row[field]]
    return fmean(found) if found else float("nan")


def tables(rows: list[Row]) -> str:
    """Return a table for each data set and figure: ways down, systems across."""
    parts = []
    for (name,), found in grouped(_in_order(rows), ["data"]).items():
        for field, title in FIGURES.items():
            if found[0][field]:
                lines = [[way, *(_share(row[field].get(way)) for row in found)] for way in MEASURED]
                if field == "kept":
                    lines[0] = ["right as written", *(_share(row["right"]) for row in found)]
                header = ["way of writing", *(row["system"] for row in found)]
                parts.append(
                    f"**{name}**, {found[0]['texts']:,} test texts: {title}\n\n{markdown_table(header, lines)}"
                )
    return "\n".join(parts)


def robustness_summary(results: Path) -> str:
    """Return what stays of right answers, kind by kind, and what becomes of innocent texts and of spam."""
    rows = _in_order(read_results(results / "robustness"))
    measured = _systems(rows)
    columns = [(field, system) for field, systems in SHOWN.items() for system in systems if system in measured]
    titles = {"kept": "answers kept", "innocent": "innocent texts called spam", "found": "spam found"}
    header = ["kind of writing", *(f"{titles[field]}: {system}" for field, system in columns)]
    lines = [
        [kind, *(_share(_mean(rows, field, system, ways)) for field, system in columns)]
        for kind, ways in KINDS.items()
        if any(way in row["kept"] for row in rows for way in ways)
    ]
    return markdown_table(header, lines)


def _share(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.2f}".removeprefix("0")


def _in_order(rows: list[Row]) -> list[Row]:
    return ordered(rows, KEY, {"data": FULL.sets, "system": FULL.systems})


if __name__ == "__main__":
    main()
