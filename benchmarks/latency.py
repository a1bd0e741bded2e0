"""What a text costs: our files beside the archived project's, fastText, and the floor of the arithmetic, in one run.

    python benchmarks/latency.py [--archived PYTHON] [--quick] [--only STEP,...] [--files FOLDER] [--v1 FILE]

The rows of a table take turns in one process. Times are medians, and the first row is measured twice, as a control. Texts
have 10, 30, 60 and 120 words, in 64 slots of 512 code points (120 words: 128 slots of 1,024). The kinds of rows:

- *plain*: the graph of `classify` alone
- *short*: the graph of the smallest signature that the text fits into
- *signature*: the same through Python's signature runner
- *classifier*: `TextClassifier`, from a Python string to probabilities
- *network*: the plain graph without its encoder, fed with words and bits; the difference is the cost of the encoder

In the browser (the step `web`, see latency_web.py) *plain* is the signature `classify`, from code points to probabilities,
and *signature* the shorter one.

--archived names the Python of an environment with tensorflow-text and fasttext-wheel (see latency_archived.py). A step
without what it needs (`archived` that environment, `web` a browser) is skipped, and its old results stay. --files keeps the
built files in a folder and reuses those it finds there. --only runs some of the steps and keeps the other results.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from common import ROOT, command_parser, picture_path, read_results, result_path, write_results
from latency_tables import curve_plot, tables
from latency_web import measure_web, missing

from retvec_lite.data.dataset import starter_file
from retvec_lite.runtime.artifact import read_artifact

Row = dict[str, Any]

HERE: Final = Path(__file__).resolve().parent
STEPS: Final = ("ai-edge-litert", "tflite-runtime", "archived", "web", "start", "peak", "curve")
"""The first two steps measure all our files on one runtime."""
SLOTS: Final = (64, 128)
WORDS: Final = {64: (10, 30, 60), 128: (120,)}
LABELS: Final = 77
CHARS_PER_SLOT: Final = 8
RUNTIMES: Final = ("ai-edge-litert", "tflite-runtime")
RECIPES: Final = ("float32", "int8", "int8-dynamic", "int4")
OLD_RUNTIME: Final = ("float32", "int8")
"""The recipes that tflite-runtime 2.14 supports."""
CURVE: Final = tuple(range(4, 65, 4))
"""Lengths in words of the texts in the plot of cost against length."""
V1: Final = ROOT.parent / "shared" / "upstream" / "retvec_v1_weights.npz"


class Bench:
    """One run: where its files are, and how long it measures."""

    def __init__(self, folder: Path, quick: bool, archived: Path | None, v1: Path) -> None:
        self.folder, self.quick, self.archived, self.v1 = folder, quick, archived, v1
        self.rounds = 40 if quick else 60

    def build(self) -> None:
        """Build our files, and the archived project's."""
        quick = ["--quick"] if self.quick else []
        _run([sys.executable, HERE / "latency_build.py", self.folder, *quick])
        if self.archived and not (self.folder / "fasttext.ftz").exists():
            v1 = ["--weights", self.v1] if self.v1.is_file() else []
            size = (self.folder / "pool-64-int8.tflite").stat().st_size
            slots = ",".join(map(str, SLOTS))
            train = starter_file("train")
            command = [HERE / "latency_archived.py", self.folder, "--labels", LABELS, "--slots", slots]
            _run([self.archived, *command, "--train", train, "--size", size, *v1])

    def ours(self, kinds: Sequence[str], recipes: Sequence[str], heads: Sequence[str] = ("pool",)) -> list[Row]:
        """Return our contestants whose file exists."""
        found = []
        for head in heads:
            for slots in SLOTS:
                for recipe in recipes:
                    file = self.folder / f"{head}-{slots}-{recipe}.tflite"
                    if file.exists():
                        found += [row for kind in kinds for row in _contestants(file, f"{head} {recipe}", kind, slots)]
        return found

    def order(
        self, runtime: str, contestants: list[Row], python: Path = Path(sys.executable), **more: Any
    ) -> list[Row]:
        """Measure contestants in a process of their own."""
        words = (10, 60) if self.quick else tuple(word for group in WORDS.values() for word in group)
        order = {
            "runtime": runtime,
            "contestants": contestants,
            "words": words,
            "threads": (1,) if self.quick else (1, 2),
            "rounds": self.rounds,
            **more,
        }
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(order, file)
            file.flush()
            found: list[Row] = _measure(python, "times", file.name)
        return found

    def times(self, runtime: str) -> list[Row]:
        """Measure every recipe of `pool`; of the other heads, with 60 words, those with fewer bits."""
        recipes = RECIPES if runtime == RUNTIMES[0] else OLD_RUNTIME
        contestants = self.ours(("plain", "classifier", "network"), recipes)
        others = self.ours(("plain", "network"), recipes[1:], ("cnn", "rnn", "bert"))
        return self.order(runtime, contestants + [{**row, "words": (60,)} for row in others])

    def against_archived(self) -> list[Row]:
        """Measure the archived project's files, fastText and ours in one process, on TensorFlow Text's runtime."""
        assert self.archived is not None
        contestants: list[Row] = []
        for slots in SLOTS:
            for recipe in ("float32", "int8-dynamic"):
                file = self.folder / f"archived-{slots}-{recipe}.tflite"
                row = {"name": f"archived {recipe}", "file": str(file), "kind": "strings", "words": WORDS[slots]}
                contestants += [row] if file.exists() else []
        contestants += self.ours(("plain", "network"), ("float32", "int8", "int8-dynamic"))
        contestants += self.ours(("short", "signature"), ("float32", "int8", "int8-dynamic"))
        every = tuple(word for group in WORDS.values() for word in group)
        fasttext = {"name": "fastText", "file": str(self.folder / "fasttext.ftz"), "kind": "fasttext", "words": every}
        return self.order("tensorflow-text", [*contestants, fasttext], self.archived)

    def web(self) -> list[Row]:
        """Measure our recipes on LiteRT.js in Chromium, and the start of fresh pages; one thread, as in the playground."""
        files = {f"pool {recipe}": str(self.folder / f"pool-{SLOTS[0]}-{recipe}.tflite") for recipe in RECIPES}
        starts = [{"name": name, "file": file} for name, file in files.items()]
        words = (10, 60) if self.quick else tuple(word for group in WORDS.values() for word in group)
        runs = 3 if self.quick else 7
        return measure_web(self.ours(("plain", "signature"), RECIPES), starts, words, self.rounds, runs)

    def start(self) -> list[Row]:
        """Measure loading, first answer and memory: medians of seven fresh processes."""
        rows = []
        for runtime in RUNTIMES:
            for recipe in RECIPES if runtime == RUNTIMES[0] else OLD_RUNTIME:
                file = self.folder / f"pool-64-{recipe}.tflite"
                runs = [_measure(Path(sys.executable), "start", file, runtime) for _ in range(3 if self.quick else 7)]
                row = {"runtime": runtime, "name": f"pool {recipe}", "bytes": file.stat().st_size}
                rows.append(row | {name: median(run[name] for run in runs) for name in runs[0]})
        return [*rows, _measure(Path(sys.executable), "command", self.folder / "pool-64-int8.tflite")]

    def peak(self) -> list[Row]:
        """Measure the machine's best rate of multiply-accumulates, and count those of our files."""
        from latency_build import HEADS, multiply_accumulates

        found = _measure(Path(sys.executable), "peak", self.folder, RUNTIMES[0])
        rows = [{"recipe": recipe, "per_microsecond": value} for recipe, value in found.items()]
        return rows + [
            {"name": file.stem, "multiply_accumulates": multiply_accumulates(file)}
            for file in sorted(self.folder.glob("*-64-int8-dynamic.tflite"))
            if file.stem.startswith(tuple(f"{head}-" for head in HEADS))
        ]

    def curve(self) -> list[Row]:
        """Measure texts of 4 to 64 words: plain, and through `TextClassifier` with our and with other short graphs."""
        from latency_build import LADDER_RECIPES, LADDERS, ladder_file

        contestants = [
            row for row in self.ours(("plain", "classifier"), LADDER_RECIPES) if row["max_words"] == SLOTS[0]
        ]
        for slots in LADDERS:
            for recipe in LADDER_RECIPES:
                file, name = ladder_file(self.folder, slots, recipe), f"pool {recipe}, {', '.join(map(str, slots))}"
                if file.exists():
                    contestants.append({"name": name, "file": str(file), "kind": "classifier"})
        every = [{**row, "words": CURVE} for row in contestants]
        rows = self.order(RUNTIMES[0], every, words=CURVE[:: 4 if self.quick else 1], threads=(1,), together=True)
        sizes = {row["name"]: Path(row["file"]).stat().st_size for row in every if row["kind"] == "classifier"}
        return [*rows, *({"name": name, "bytes": size} for name, size in sizes.items())]


def _contestants(file: Path, name: str, kind: str, slots: int) -> list[Row]:
    """Return a contestant for a file and a kind; one for each short graph, with the texts it is the smallest for."""
    row = {"name": f"{name}, {kind}", "kind": kind, "words": WORDS[slots]}
    if kind not in ("short", "signature"):
        path = file.with_name(f"network-{file.name}") if kind == "network" else file
        return [row | {"file": str(path), "max_words": slots, "max_chars": slots * CHARS_PER_SLOT}]
    rows, least = [], 0
    for short in read_artifact(file).signatures[:-1]:
        path = file.with_name(f"short{short.max_words}-{file.name}") if kind == "short" else file
        words = [count for count in WORDS[slots] if least < count <= short.max_words]
        shape = {"max_words": short.max_words, "max_chars": short.max_chars, "signature": short.name}
        rows.append(row | shape | {"file": str(path), "words": words})
        least = short.max_words
    return rows


def _unable(archived: Path | None) -> dict[str, str]:
    """Return the steps that cannot run here: what each measures, and in brackets what is missing."""
    lacking = {} if archived else {"archived": "the archived project and fastText (no --archived PYTHON)"}
    return lacking | ({"web": f"LiteRT.js ({reason})"} if (reason := missing()) else {})


def _run(command: Iterable[object]) -> str:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    arguments = [str(part) for part in command]
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def _measure(python: Path, *arguments: object) -> Any:
    return json.loads(_run([python, HERE / "latency_measure.py", *arguments]).splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the files, measure, and write the tables."""
    parser = command_parser(__doc__, quick="one head, one thread, two lengths: a few minutes")
    parser.add_argument("--archived", type=Path, metavar="PYTHON", help="Python of an environment with tensorflow-text")
    parser.add_argument("--only", default=",".join(STEPS), metavar="STEP,...", help=f"some of {', '.join(STEPS)}")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="folder that keeps the built files")
    parser.add_argument("--v1", type=Path, default=V1, metavar="FILE", help="the released v1 weights as .npz")
    args = parser.parse_args(arguments)
    chosen = args.only.split(",")
    if unknown := set(chosen) - set(STEPS):
        parser.error(f"Unknown steps: {', '.join(sorted(unknown))}. Choose from {', '.join(STEPS)}.")
    result = result_path("latency", quick=args.quick)
    before = {part["step"]: part["rows"] for part in read_results(result) if "step" in part}
    found: dict[str, list[Row]] = {step: before.get(step, []) for step in STEPS}
    unable = _unable(args.archived)
    for step in (step for step in STEPS if step in chosen and step in unable):
        print(f"Skipped: {unable[step]}{'; its rows in the results stay' if found[step] else ''}.")
    steps = [step for step in STEPS if step in chosen and step not in unable]
    if not steps:
        raise SystemExit(1)  # before anything is built for it
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.files or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, args.quick, args.archived, args.v1)
        print("building the files ...", file=sys.stderr, flush=True)
        bench.build()
        measures: dict[str, Callable[[], list[Row]]] = {name: partial(bench.times, name) for name in RUNTIMES}
        measures |= {"archived": bench.against_archived, "web": bench.web, "start": bench.start}
        measures |= {"peak": bench.peak, "curve": bench.curve}
        for step in steps:
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
