"""What a text costs: our files on both runtimes, in one run.

    python -m benchmarks.speed.latency [--quick] [--only STEP,...] [--files FOLDER]

The rows of a table take turns in one process. Times are medians, and the first row is measured twice, as a control. Texts
have 10, 30, 60 and 120 words, in 64 slots of 512 code points (120 words: 128 slots of 1,024). The kinds of rows:

- *plain*: the graph of `classify` alone
- *classifier*: `rl.load(file)`, from a Python string to probabilities

--files keeps the built files in a folder and reuses those it finds there. --only runs some of the steps and keeps the other results.
"""

import argparse
import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.common import Row, command_parser, read_results, result_path, run_module, write_results
from benchmarks.tables.cells import kilobytes, markdown_table
from retvec_lite import load
from retvec_lite.contract import codepoints
from retvec_lite.runtime.interpreters import import_runtime

STEPS: Final = ("ai-edge-litert", "tflite-runtime", "start")
"""The first two steps measure all our files on one runtime."""
SLOTS: Final = (64, 128)
WORDS: Final = {64: (10, 30, 60), 128: (120,)}
CHARS_PER_SLOT: Final = 8
RUNTIMES: Final = ("ai-edge-litert", "tflite-runtime")
RECIPES: Final = ("float32", "int8", "int4")
OLD_RUNTIME: Final = ("float32", "int8")
"""The recipes that tflite-runtime 2.14 supports."""
SENTENCE: Final = "please wake me tomorrow at seven thirty and play some quiet music on the kitchen speaker now "
TURNS_BEFORE: Final = 20
"""Turns for warming up, which do not count."""

Call = Callable[[], object]
Timed = tuple[str, int]
"""A contestant's name and the number of words of its text."""


class Bench:
    """One run: where its files are, and how long it measures."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.rounds = 40 if quick else 60

    def build(self) -> None:
        """Build our files."""
        run_module("benchmarks.speed.files", self.folder, *(["--quick"] if self.quick else []))

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

    def order(self, runtime: str, contestants: list[Row]) -> list[Row]:
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
            json.dump(order, file)
            file.flush()
            found: list[Row] = _measure("times", file.name)
        return found

    def times(self, runtime: str) -> list[Row]:
        """Measure every recipe of `pool`; of the other heads, with 60 words, those with fewer bits."""
        recipes = RECIPES if runtime == RUNTIMES[0] else OLD_RUNTIME
        contestants = self.ours(("plain", "classifier"), recipes)
        others = self.ours(("plain",), recipes[1:], ("cnn",))
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


def _contestant(file: Path, name: str, kind: str, slots: int) -> Row:
    row = {"name": f"{name}, {kind}", "kind": kind, "words": WORDS[slots], "file": str(file)}
    return row | {"max_words": slots, "max_chars": slots * CHARS_PER_SLOT}


def _measure(*arguments: object) -> Any:
    """Measure in a process of its own."""
    return json.loads(run_module("benchmarks.speed.latency", "--measure", *arguments).splitlines()[-1])


def text_of(words: int) -> str:
    """Return a text of so many words."""
    return " ".join((SENTENCE * 10).split()[:words])


@functools.cache
def load_text_classifier(file: str, threads: int, runtime: str) -> Any:
    """Load a file with one worker, once for texts of every length."""
    return load(file, num_threads=threads, runtime=runtime, workers=1)


def make_call(contestant: dict[str, Any], runtime: str, words: int, threads: int) -> Call:
    """Return the call to time.

    Args:
        contestant: `file` and `kind`: `plain` (a graph, only `invoke`) or `classifier` (`rl.load(file)`, from text to probabilities).
        runtime: the runtime of this process.
        words: number of words of the text.
        threads: threads of the runtime.
    """
    file, kind, text = contestant["file"], contestant["kind"], text_of(words)
    if kind == "classifier":
        classifier = load_text_classifier(file, threads, runtime)
        return lambda: classifier.probabilities(text)
    interpreter = import_runtime(runtime)[1](model_path=str(file), num_threads=threads)
    interpreter.allocate_tensors()
    (detail,) = interpreter.get_input_details()
    interpreter.set_tensor(detail["index"], codepoints(text, contestant["max_chars"])[None])
    return interpreter.invoke


def take_turns(calls: dict[Timed, Call], rounds: int) -> dict[Timed, float]:
    """Return the median microseconds of each call, by name and number of words.

    Each has its turn in every round: one call to warm the caches, then three that count. So other work on the machine slows
    all of them alike.
    """
    times: dict[Timed, list[int]] = {timed: [] for timed in calls}
    for turn in range(rounds + TURNS_BEFORE):
        for timed, call in calls.items():
            call()
            for _ in range(3):
                start = time.perf_counter_ns()
                call()
                if turn >= TURNS_BEFORE:
                    times[timed].append(time.perf_counter_ns() - start)
    return {timed: median(found) / 1000 for timed, found in times.items()}


def measure_times(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each number of threads, number of words and contestant with enough slots.

    Contestants take turns on texts of one length. The first one is measured twice.
    """
    rows = []
    for threads in order["threads"]:
        for words in order["words"]:
            able = [(one, words) for one in order["contestants"] if words in one["words"]]
            control = [({**one, "name": f"control: {one['name']}"}, words) for one, words in able[:1]]
            calls: dict[Timed, Call] = {}
            for one, _ in able + control:
                calls[one["name"], words] = make_call(one, order["runtime"], words, threads)
            for (name, _), microseconds in take_turns(calls, order["rounds"]).items():
                row = {"runtime": order["runtime"], "threads": threads, "words": words, "name": name}
                rows.append({**row, "microseconds": microseconds})
    return rows


def measure_start(file: str, runtime: str) -> dict[str, float]:
    """Return milliseconds to import the runtime, to load and for the first answer, and megabytes of memory afterwards.

    Processor time: what a user waits for on an idle machine with the file in its cache.
    """
    began = time.process_time()
    import_runtime(runtime)
    imported = time.process_time()
    classifier = load(file, runtime=runtime)
    loaded = time.process_time()
    classifier.probabilities(text_of(10))
    answered = time.process_time()
    classifier.probabilities(text_of(10))
    again = time.process_time()
    for words in (10, 60) * 50:
        classifier.probabilities(text_of(words))
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    resident = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))
    steps = {"import_ms": imported - began, "load_ms": loaded - imported}
    steps |= {"first_ms": answered - loaded, "second_ms": again - answered}
    return {**{name: seconds * 1e3 for name, seconds in steps.items()}, "resident_mb": resident}


def tables(found: Mapping[str, Sequence[Row]]) -> str:
    """Return the tables of times, and that of the start."""
    parts = [*_time_tables([*found["ai-edge-litert"], *found["tflite-runtime"]])]
    return "\n".join([*parts, _start_table(found["start"])] if found["start"] else parts)


def _time_tables(rows: Sequence[Row]) -> Iterable[str]:
    """Yield a table for each runtime, number of threads and set of lengths: names down, words across."""
    for runtime, threads in dict.fromkeys((row["runtime"], row["threads"]) for row in rows):
        chosen = [row for row in rows if (row["runtime"], row["threads"]) == (runtime, threads)]
        times: dict[str, dict[int, float]] = {}
        for row in chosen:
            times.setdefault(row["name"], {})[row["words"]] = row["microseconds"]
        for words in dict.fromkeys(tuple(found) for found in times.values()):
            title = f"{runtime}, {threads} thread{'s' if threads > 1 else ''}"
            yield f"**{title}**\n\n" + markdown_table(
                ["microseconds", *(f"{count} words" for count in words)],
                [
                    [name, *(f"{time:.0f}" for time in found.values())]
                    for name, found in times.items()
                    if tuple(found) == words
                ],
            )


def _start_table(rows: Sequence[Row]) -> str:
    lines = [
        [row["runtime"], row["name"], kilobytes(row["bytes"])]
        + [f"{row[name]:.1f} ms" for name in ("import_ms", "load_ms", "first_ms")]
        + [f"{row['second_ms'] * 1000:.0f} µs", f"{row['resident_mb']:.0f} MB"]
        for row in rows
    ]
    header = ["runtime", "file", "size", "import of the runtime", "load", "first answer", "second", "resident"]
    title = "**start (processor time) and memory of a process that only classifies**"
    return f"{title}\n\n{markdown_table(header, lines)}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="one head, one thread, two lengths: a few minutes")
    parser.add_argument("--only", default=",".join(STEPS), metavar="STEP,...", help=f"some of {', '.join(STEPS)}")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="folder that keeps the built files")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.measure:
        kind, *given = args.measure
        print(
            json.dumps(
                measure_start(*given) if kind == "start" else measure_times(json.loads(Path(*given).read_text()))
            )
        )
        return
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
        measures: dict[str, Callable[[], list[Row]]] = {name: functools.partial(bench.times, name) for name in RUNTIMES}
        measures["start"] = bench.start
        for step in filter(chosen.__contains__, STEPS):
            print(f"{step} ...", file=sys.stderr, flush=True)
            found[step] = measures[step]()
            # After each step, so that a failure of a later one loses nothing.
            write_results(
                result, [{"step": each, "rows": rows} for each, rows in found.items()], tables(found), show=False
            )
    print(tables(found))


if __name__ == "__main__":
    main()
