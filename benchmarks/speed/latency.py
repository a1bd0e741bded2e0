"""What a text costs: our files on both runtimes, in one run.

    python -m benchmarks.speed.latency [--quick] [--only STEP,...] [--files FOLDER]

The rows of a table take turns in one process. Times are medians, and the first row is measured twice, as a control. Texts
have 10, 30, 60 and 120 words, in 64 slots of 512 code points (120 words: 128 slots of 1,024). The kinds of rows:

- *plain*: the graph of `classify` alone
- *classifier*: `TextClassifier`, from a Python string to probabilities
- *network*: the plain graph without its encoder, fed with words and bits; the difference is the cost of the encoder

--files keeps the built files in a folder and reuses those it finds there. --only runs some of the steps and keeps the other results.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.common import Row, command_parser, picture_path, read_results, result_path, run_module, write_results
from benchmarks.tables.latency import curve_plot, tables

STEPS: Final = ("ai-edge-litert", "tflite-runtime", "start", "curve")
"""The first two steps measure all our files on one runtime."""
SLOTS: Final = (64, 128)
WORDS: Final = {64: (10, 30, 60), 128: (120,)}
CHARS_PER_SLOT: Final = 8
RUNTIMES: Final = ("ai-edge-litert", "tflite-runtime")
RECIPES: Final = ("float32", "int8", "int8-dynamic", "int4")
OLD_RUNTIME: Final = ("float32", "int8")
"""The recipes that tflite-runtime 2.14 supports."""
CURVE: Final = tuple(range(4, 65, 4))
"""Lengths in words of the texts in the plot of cost against length."""
CURVE_RECIPES: Final = ("float32", "int8-dynamic")


class Bench:
    """One run: where its files are, and how long it measures."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.rounds = 40 if quick else 60

    def build(self) -> None:
        """Build our files."""
        run_module("benchmarks.speed.files", "latency", self.folder, *(["--quick"] if self.quick else []))

    def ours(self, kinds: Sequence[str], recipes: Sequence[str], heads: Sequence[str] = ("pool",)) -> list[Row]:
        """Return our contestants whose file exists."""
        found = []
        for head in heads:
            for slots in SLOTS:
                for recipe in recipes:
                    file = self.folder / f"{head}-{slots}-{recipe}.tflite"
                    if file.exists():
                        found += [_contestant(file, f"{head} {recipe}", kind, slots) for kind in kinds]
        return found

    def order(self, runtime: str, contestants: list[Row], **more: Any) -> list[Row]:
        """Measure contestants in a process of their own."""
        words = (10, 60) if self.quick else tuple(word for group in WORDS.values() for word in group)
        threads = (1,) if self.quick else (1, 2)
        order = {
            "runtime": runtime,
            "contestants": contestants,
            "words": words,
            "threads": threads,
            "rounds": self.rounds,
        }
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(order | more, file)
            file.flush()
            found: list[Row] = _measure("times", file.name)
        return found

    def times(self, runtime: str) -> list[Row]:
        """Measure every recipe of `pool`; of the other heads, with 60 words, those with fewer bits."""
        recipes = RECIPES if runtime == RUNTIMES[0] else OLD_RUNTIME
        contestants = self.ours(("plain", "classifier", "network"), recipes)
        others = self.ours(("plain", "network"), recipes[1:], ("cnn", "rnn", "bert"))
        return self.order(runtime, contestants + [{**row, "words": (60,)} for row in others])

    def start(self) -> list[Row]:
        """Measure loading, first answer and memory: medians of seven fresh processes."""
        rows = []
        for runtime in RUNTIMES:
            for recipe in RECIPES if runtime == RUNTIMES[0] else OLD_RUNTIME:
                file = self.folder / f"pool-64-{recipe}.tflite"
                runs = [_measure("start", file, runtime) for _ in range(3 if self.quick else 7)]
                row = {"runtime": runtime, "name": f"pool {recipe}", "bytes": file.stat().st_size}
                rows.append(row | {name: median(run[name] for run in runs) for name in runs[0]})
        return rows

    def curve(self) -> list[Row]:
        """Measure texts of 4 to 64 words: the full graph alone, and through `TextClassifier` with its short graphs."""
        every = [row | {"words": CURVE} for row in self.ours(("plain", "classifier"), CURVE_RECIPES)]
        every = [row for row in every if row["max_words"] == SLOTS[0]]
        return self.order(RUNTIMES[0], every, words=CURVE[:: 4 if self.quick else 1], threads=(1,), together=True)


def _contestant(file: Path, name: str, kind: str, slots: int) -> Row:
    path = file.with_name(f"network-{file.name}") if kind == "network" else file
    row = {"name": f"{name}, {kind}", "kind": kind, "words": WORDS[slots], "file": str(path)}
    return row | {"max_words": slots, "max_chars": slots * CHARS_PER_SLOT}


def _measure(*arguments: object) -> Any:
    return json.loads(run_module("benchmarks.speed.stopwatch", *arguments).splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="one head, one thread, two lengths: a few minutes")
    parser.add_argument("--only", default=",".join(STEPS), metavar="STEP,...", help=f"some of {', '.join(STEPS)}")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="folder that keeps the built files")
    args = parser.parse_args(arguments)
    chosen = args.only.split(",")
    if unknown := set(chosen) - set(STEPS):
        parser.error(f"Unknown steps: {', '.join(sorted(unknown))}. Choose from {', '.join(STEPS)}.")
    result = result_path("latency", quick=args.quick)
    before = {part["step"]: part["rows"] for part in read_results(result) if "step" in part}
    found: dict[str, list[Row]] = {step: before.get(step, []) for step in STEPS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.files or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, args.quick)
        print("building the files ...", file=sys.stderr, flush=True)
        bench.build()
        measures: dict[str, Callable[[], list[Row]]] = {name: partial(bench.times, name) for name in RUNTIMES}
        measures |= {"start": bench.start, "curve": bench.curve}
        for step in filter(chosen.__contains__, STEPS):
            print(f"{step} ...", file=sys.stderr, flush=True)
            found[step] = measures[step]()
            # After each step, so that a failure of a later one loses nothing.
            write_results(
                result, [{"step": each, "rows": rows} for each, rows in found.items()], tables(found), show=False
            )
    print(tables(found))
    if found["curve"] and not args.quick:
        curve_plot(found["curve"], picture_path("speed-words", quick=False))


if __name__ == "__main__":
    main()
