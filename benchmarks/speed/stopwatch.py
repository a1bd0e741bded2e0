"""The stopwatch of `latency.py`: contestants take turns in one process, on one runtime.

    python -m benchmarks.speed.stopwatch times ORDER.json        median time of every contestant, the first one twice
    python -m benchmarks.speed.stopwatch start FILE RUNTIME      loading, first answer and memory of a process that only classifies

Each prints one line of JSON.
"""

import functools
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite import TextClassifier, contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.runtime.interpreters import import_runtime

SENTENCE: Final = "please wake me tomorrow at seven thirty and play some quiet music on the kitchen speaker now "
TURNS_BEFORE: Final = 20
"""Turns for warming up, which do not count."""

Call = Callable[[], object]
Timed = tuple[str, int]
"""A contestant's name and the number of words of its text."""


def text_of(words: int) -> str:
    """Return a text of so many words."""
    return " ".join((SENTENCE * 10).split()[:words])


@functools.cache
def load_text_classifier(file: str, threads: int, runtime: str) -> Any:
    """Load a `TextClassifier` with one worker, once for texts of every length."""
    return TextClassifier.load(file, threads, runtime, workers=1)


def make_call(contestant: dict[str, Any], runtime: str, words: int, threads: int) -> Call:
    """Return the call to time.

    Args:
        contestant: `file` and `kind`: `plain` (a graph, only `invoke`), `network` (fed with words and bits) or `classifier`
            (`TextClassifier`, from text to probabilities).
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
    config = EncoderConfig(max_chars=contestant["max_chars"], max_words=contestant["max_words"])
    codes = contract.codepoints(text, config.max_chars)
    slots = contract.words(codes, config)
    values = {"int32 2": codes[None], "int32 3": slots[None], "float32 3": contract.bits(slots)[None]}
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], values[f"{np.dtype(detail['dtype']).name} {len(detail['shape'])}"])
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
    return {timed: statistics.median(found) / 1000 for timed, found in times.items()}


def measure_times(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each number of threads, number of words and contestant with enough slots.

    Contestants take turns on texts of one length; with `together`, on all lengths. The first one is measured twice.
    """
    rows = []
    groups = [order["words"]] if order.get("together") else [[words] for words in order["words"]]
    for threads in order["threads"]:
        for group in groups:
            able = [(one, words) for words in group for one in order["contestants"] if words in one["words"]]
            control = [({**one, "name": f"control: {one['name']}"}, words) for one, words in able[:1]]
            calls: dict[Timed, Call] = {}
            for one, words in able + control:
                calls[one["name"], words] = make_call(one, order["runtime"], words, threads)
            for (name, words), microseconds in take_turns(calls, order["rounds"]).items():
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
    classifier = TextClassifier.load(file, runtime=runtime)
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


def main() -> None:
    match sys.argv[1:]:
        case ["times", order]:
            found: object = measure_times(json.loads(Path(order).read_text(encoding="utf-8")))
        case ["start", file, runtime]:
            found = measure_start(file, runtime)
        case _:
            raise SystemExit(__doc__)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
