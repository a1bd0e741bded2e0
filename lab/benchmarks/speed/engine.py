"""What the C engine costs, beside LiteRT, one thread, in one run: `python -m benchmarks.speed.engine DIST [--quick]`.

DIST is a folder with `classifier-int8.tflite` and `classifier-int8.retvec` of one classifier. Both go through `Classifier` and
take turns; times are medians. Texts a second are those of a second of the processor, so other work on the machine does not count. New words are random letters, so no engine has seen them. Loading is measured in fresh processes, after
the imports. Memory is what an engine takes beside file and Python: the block of the C engine; for LiteRT, resident after 50 texts.
"""

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import retvec_lite as rl
from benchmarks.common import Row, command_parser, result_path, run_module, write_results
from benchmarks.tables.cells import markdown_table
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine

KINDS: Final = {"engine": ".retvec", "LiteRT": ".tflite"}
VOCABULARY: Final = 300
WORDS: Final = 10
"""Words of the log's vocabulary, of which each text has some."""


def word(draw: random.Random) -> str:
    """Return 3 to 8 random letters."""
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 8)))


def median_times(calls: dict[str, Callable[[str], object]], texts: Sequence[str]) -> Row:
    """Return the median microseconds of each call; they take turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for text in texts:
        for name, call in calls.items():
            start = time.perf_counter()
            call(text)
            found[name].append(time.perf_counter() - start)
    return {name: round(statistics.median(times) * 1e6, 1) for name, times in found.items()}


def start(file: Path) -> None:
    """Print the milliseconds to load a file and answer, and what is resident behind 50 more texts, in kB."""
    before = resident()
    began = time.perf_counter()
    classifier = rl.load(file, workers=1)
    classifier.probabilities("wake me up at six")
    print((time.perf_counter() - began) * 1e3)
    draw = random.Random(1)
    for _ in range(50):
        classifier.probabilities(" ".join(word(draw) for _ in range(WORDS)))
    print(resident() - before)


def resident() -> int:
    """Return the kB of memory of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1000


def texts_per_second(classifier: rl.Classifier, texts: Sequence[str]) -> int:
    """Return how many texts are answered in a second of one core, the best of three runs."""
    classifier.probabilities(texts[:1000])
    best = 0.0
    for _ in range(3):
        began = time.process_time()
        classifier.probabilities(texts)
        best = max(best, len(texts) / (time.process_time() - began))
    return round(best)


def measure(dist: Path, quick: bool) -> list[Row]:
    """Return a row for each thing measured."""
    files = {name: dist / f"classifier-int8{suffix}" for name, suffix in KINDS.items()}
    draw = random.Random(0)
    single = {name: rl.load(file, workers=1).probabilities for name, file in files.items()}
    rows: list[Row] = []
    for words in (WORDS, 60):
        texts = [" ".join(word(draw) for _ in range(words)) for _ in range(50 if quick else 400)]
        rows.append({"what": f"{words} new words, µs", **median_times(single, texts)})
    whole = [" ".join(word(draw) for _ in range(WORDS)) for _ in range(2 if quick else 20)]
    typed = [text[:end] for text in whole for end in range(1, len(text) + 1)]
    rows.append({"what": f"{WORDS} words typed, µs a letter", **median_times(single, typed)})
    vocabulary = [word(draw) for _ in range(VOCABULARY)]
    log = [" ".join(draw.choices(vocabulary, k=WORDS)) for _ in range(1_000 if quick else 4_000)]
    for workers, named in ((1, "one worker"), (2, "two workers")):
        rates = {name: texts_per_second(rl.load(file, workers=workers), log) for name, file in files.items()}
        rows.append({"what": f"texts a second and core whose words repeat, {named}", **rates})
    starts = {
        name: [run_module("benchmarks.speed.engine", "--start", file).split()[-2:] for _ in range(3 if quick else 7)]
        for name, file in files.items()
    }
    loads = {name: round(statistics.median(float(load) for load, _ in found), 2) for name, found in starts.items()}
    rows.append({"what": "load and first answer, ms", **loads})
    memory = {name: round(statistics.median(float(kb) for _, kb in found)) for name, found in starts.items()}
    memory["engine"] = round(NativeEngine(read_artifact(files["engine"])).memory / 1000)
    rows.append({"what": "memory, kB", **memory})
    return rows


def table_of(rows: Sequence[Row]) -> str:
    """Return what was measured of both engines as a table."""
    return markdown_table(["", *KINDS], [[row["what"], *(f"{row[name]:,}" for name in KINDS)] for row in rows])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="an eighth of the texts")
    parser.add_argument("dist", type=Path, help="folder with both files of a classifier")
    parser.add_argument("--start", action="store_true", help="only load the file that is named in place of the folder")
    args = parser.parse_args(arguments)
    if args.start:
        start(args.dist)
        return
    rows = measure(args.dist, args.quick)
    print(f"{os.cpu_count()} cores", file=sys.stderr)
    write_results(result_path("engine", quick=args.quick), rows, table_of(rows))


if __name__ == "__main__":
    main()
