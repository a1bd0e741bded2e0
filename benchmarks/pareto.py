"""What accuracy costs on a device: every head and recipe of ours against bytes and latency, beside fastText and v1.

    python benchmarks/pareto.py [--v1 V1.safetensors] [--set NAME] [--only SYSTEM] [--head HEAD] [--embeddings FILE ...] [--seeds 0 1 2] [--quick]

Bytes are those of the whole file. Latency is one text through `TextClassifier.probabilities` (fastText: `predict` with its
preparation of the text), one thread, the lowest of three medians over 200 test texts. `--embeddings` are further
embeddings of ours to compare, such as one of 128 dimensions.
"""

import argparse
import dataclasses
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import (
    QUICK_AUTOTUNE,
    QUICK_EPOCHS,
    QUICK_ROWS,
    QUICK_TEST_ROWS,
    RESULTS,
    Row,
    Rows,
    add_common_arguments,
    grouped,
    kilobytes,
    markdown_table,
    spread,
    unlike,
    with_earlier_heads,
)
from data_sets import FOLDERS, Task, load_task, sampled
from plots import Point, draw_pareto, pareto_front
from systems import FASTTEXT, NO_HEAD, OURS, TUNED, V1, Plan, available, build, export_files, plan_of, settings_of

from retvec_lite import TextClassifier
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many

RATES: Final = (0.0, 0.5)
SYSTEMS: Final = (OURS, TUNED, V1, FASTTEXT)
HEADS: Final = ("pool", "cnn", "rnn", "bert")
RECIPES: Final = ("float32", "float16", "int8", "int4")
KEY: Final = ("data", "system", "embedding", "head", "recipe", "seed")
DEFAULT_SETS: Final = ("Banking77",)
FTZ: Final = "quantized"
_LATENCY_TEXTS: Final = 200
_ROUNDS: Final = 3

Probabilities = Callable[[Sequence[str]], Any]


def measure(probabilities: Probabilities, labels: Sequence[str], task: Task) -> dict[str, Any]:
    """Accuracy at each rate, and microseconds of one text."""
    truth, names = np.array(task.test.labels), np.array(labels)
    accuracy = {}
    for rate in RATES:
        guesses = names[probabilities(mistype_many(task.test.texts, rate, TYPO_SEED)).argmax(axis=1)]
        accuracy[f"{rate:g}"] = float((guesses == truth).mean())
    return {"accuracy": accuracy, "microseconds": latency(probabilities, task.test.texts)}


def latency(probabilities: Probabilities, texts: Sequence[str]) -> float:
    """The lowest of three medians: other work on the machine only ever adds."""
    chosen = [texts[row] for row in sampled(len(texts), _LATENCY_TEXTS)]
    medians = []
    for _ in range(_ROUNDS):
        times = []
        for text in chosen:
            start = time.perf_counter_ns()
            probabilities([text])
            times.append((time.perf_counter_ns() - start) / 1000)
        medians.append(statistics.median(times))
    return min(medians)


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure what was asked for and is not there yet; write the table and the plots of all that is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_arguments(parser, "Banking77 (1,500 texts), pool alone, int8 and int4, fastText")
    parser.add_argument("--set", dest="sets", choices=tuple(FOLDERS), action="append", help="(default: Banking77)")
    parser.add_argument("--only", choices=SYSTEMS, action="append", help="a system (default: all)")
    parser.add_argument("--head", dest="heads", choices=HEADS, action="append", help="a head (default: all)")
    parser.add_argument("--recipe", dest="recipes", choices=RECIPES, action="append", help="a recipe (default: all)")
    parser.add_argument("--embeddings", nargs="+", default=[], metavar="FILE", help="further embeddings of ours")
    args = parser.parse_args(None if arguments is None else list(arguments))
    sets, heads, recipes = args.sets or DEFAULT_SETS, args.heads or HEADS, args.recipes or RECIPES
    limits = {}
    if args.quick:
        sets, heads, recipes = ("Banking77",), args.heads or ("pool",), args.recipes or ("int8", "int4")
        limits = {"rows": QUICK_ROWS, "test_rows": QUICK_TEST_ROWS}
        args.epochs, args.autotune = args.epochs or QUICK_EPOCHS, QUICK_AUTOTUNE
    path = RESULTS / ("pareto-quick" if args.quick else "pareto")
    chosen = available(args.only or SYSTEMS, args.v1, asked_for=bool(args.only))
    rows = Rows(path, KEY, table)
    for name in sets:
        task = load_task(args.data, name, **limits)
        for seed in args.seeds:
            plan = plan_of(args, seed)
            if FASTTEXT in chosen:
                _measure_fasttext(rows, task, plan)
            embeddings = {OURS: (args.embedding, *args.embeddings), TUNED: (args.embedding,), V1: (str(args.v1),)}
            for system in (system for system in embeddings if system in chosen):
                for embedding in embeddings[system]:
                    for head in heads:
                        _measure_files(rows, task, system, embedding, head, recipes, plan)
    rows.show()
    for rate, suffix in zip(RATES, ("clean", "typos"), strict=True):
        draw_pareto(panels(list(rows), rate), path.with_name(f"{path.name}-{suffix}.png"))


def _measure_fasttext(rows: Rows, task: Task, plan: Plan) -> None:
    settings = settings_of(FASTTEXT, NO_HEAD, plan, task) | {"test_texts": len(task.test)}
    row = _row(task, FASTTEXT, "-", NO_HEAD, FTZ, plan.seed, settings)
    if not rows.has(row):
        product = build(FASTTEXT, NO_HEAD, task, plan)
        rows.add(row | {"bytes": product.bytes} | measure(product.probabilities, product.labels, task))


def _measure_files(
    rows: Rows, task: Task, system: str, embedding: str, head: str, recipes: Sequence[str], plan: Plan
) -> None:
    """The files of one trained head under each recipe."""
    plan = dataclasses.replace(plan, embedding=embedding)
    settings = settings_of(system, head, plan, task) | {"test_texts": len(task.test)}
    wanted = {recipe: _row(task, system, Path(embedding).stem, head, recipe, plan.seed, settings) for recipe in recipes}
    missing = [recipe for recipe in recipes if not rows.has(wanted[recipe])]
    if not missing:
        return
    product = build(system, head, task, plan)
    for recipe, file in export_files(product.folder, missing).items():
        print(f"{task.name}, {system}, {head}, {recipe}, seed {plan.seed}", file=sys.stderr, flush=True)
        classifier = TextClassifier.load(file)
        found = measure(classifier.probabilities, classifier.labels, task)
        rows.add(wanted[recipe] | {"bytes": file.stat().st_size} | found)


def _row(task: Task, system: str, embedding: str, head: str, recipe: str, seed: int, settings: Row) -> Row:
    return {
        "data": task.name,
        "system": system,
        "embedding": embedding,
        "head": head,
        "recipe": recipe,
        "seed": seed,
        "settings": settings,
    }


def panels(rows: Sequence[Row], rate: float) -> dict[str, list[Point]]:
    """Points for the plot: one panel for each cost and data set, means over the seeds."""
    found: dict[str, list[Point]] = {}
    for (data, *line), members in grouped(with_earlier_heads(rows), KEY[:-1]).items():
        system, embedding, head, recipe = line
        family = f"{system}, {embedding}" if system == OURS else system
        accuracy = statistics.fmean(row["accuracy"][f"{rate:g}"] for row in members)
        typos = "clean" if not rate else f"{rate:.0%} mistyped"
        for field, label, unit in (("bytes", "kB of the file", 1000), ("microseconds", "µs a text, one thread", 1)):
            cost = statistics.fmean(row[field] for row in members) / unit
            point = Point("" if system == FASTTEXT else head, family, recipe, cost, accuracy)
            found.setdefault(f"{data}, {typos}: {label}", []).append(point)
    return dict(sorted(found.items()))


def table(rows: list[Row]) -> str:
    """One line for each file, with a mark where nothing is more accurate at fewer bytes, or in less time."""
    parts = []
    for (data,), found in grouped(with_earlier_heads(rows), ["data"]).items():
        lines = grouped(found, KEY[1:-1])
        on_front = {}
        for field in ("bytes", "microseconds"):
            points = [
                Point(
                    "|".join(line),
                    "",
                    "",
                    statistics.fmean(row[field] for row in members),
                    statistics.fmean(row["accuracy"]["0"] for row in members),
                )
                for line, members in lines.items()
            ]
            on_front[field] = {point.line for point in pareto_front(points)}
        header = [
            "system",
            "embedding",
            "head",
            "recipe",
            "bytes",
            "µs a text",
            "clean",
            "50 % mistyped",
            "front, clean",
        ]
        cells = []
        for line, members in lines.items():
            fronts = [
                what
                for field, what in (("bytes", "bytes"), ("microseconds", "time"))
                if "|".join(line) in on_front[field]
            ]
            cells.append(
                [
                    *line,
                    kilobytes(max(row["bytes"] for row in members)),
                    spread([row["microseconds"] for row in members], 0),
                    *(spread([row["accuracy"][f"{rate:g}"] for row in members]) for rate in RATES),
                    ", ".join(fronts) or "-",
                ]
            )
        parts.append(f"**{data}**\n\n{markdown_table(header, cells)}{unlike(found)}")
    return "\n".join(parts)


if __name__ == "__main__":
    main()
