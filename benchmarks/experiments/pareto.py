"""What accuracy costs on a device: every head and recipe of ours against bytes and latency, beside fastText and v1.

    python -m benchmarks.experiments.pareto [--v1 V1.safetensors] [--set NAME] [--only SYSTEM] [--head HEAD] [--recipe RECIPE]
        [--embedding FILE] [--seeds 0 1 2] [--quick]

Bytes are those of the whole file. Latency is one text through `TextClassifier.probabilities` (fastText: `predict` with its
text preparation), one thread, the lowest of three medians over 200 test texts. `--embedding` names another embedding
of ours.
"""

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import Row, Rows, picture_path, result_path
from benchmarks.data.sets import Corpus, sampled
from benchmarks.experiments.trials import Scope, comparison_parser, parse_comparison, trials
from benchmarks.systems.names import FASTTEXT, NETWORK, NO_HEAD, V1
from benchmarks.systems.networks import Plan, build, settings_of
from benchmarks.systems.ours import load_file
from benchmarks.systems.trained import Probabilities, Trained, accuracies
from benchmarks.tables.cells import grouped, kilobytes, markdown_table, spread, unlike, values_of, with_earlier_heads
from benchmarks.tables.plots import Point, draw_pareto

RATES: Final = (0.0, 0.5)
RECIPES: Final = ("float32", "float16", "int8", "int4")
KEY: Final = ("data", "system", "embedding", "head", "recipe", "seed")
FULL: Final = Scope(("Banking77",), (NETWORK, V1, FASTTEXT), ("pool", "cnn", "rnn", "bert"))
QUICK: Final = Scope(("Banking77",), (NETWORK, V1, FASTTEXT), ("pool",))
FTZ: Final = "quantized"
"""The recipe of fastText's file."""
_LATENCY_TEXTS: Final = 200
_ROUNDS: Final = 3


def measure(load: Callable[[], Trained], corpus: Corpus) -> Row:
    """Return the accuracy at each rate, the bytes of the file, and the microseconds of one text."""
    trained = load()
    found = {"bytes": trained.facts["bytes"], "accuracy": accuracies(trained, corpus.test, RATES)}
    return found | {"microseconds": latency(trained.probabilities, corpus.test.texts)}


def latency(probabilities: Probabilities, texts: Sequence[str]) -> float:
    """Return the lowest of three medians in microseconds: other work on the machine can only add time."""
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = comparison_parser(__doc__, "Banking77 (1,500 texts), pool, int8 and int4, and fastText", FULL.systems)
    parser.add_argument("--recipe", dest="recipes", choices=RECIPES, action="append", help="a recipe; repeatable")
    args = parse_comparison(parser, arguments, FULL, QUICK)
    recipes = args.recipes or (("int8", "int4") if args.quick else RECIPES)
    rows = Rows(result_path("pareto", quick=args.quick), KEY, table)
    for corpus, plan in trials(args):
        embeddings = {NETWORK: args.embedding, V1: str(args.v1)}
        for system in args.systems:
            used = dataclasses.replace(plan, embedding=embeddings.get(system, "-"))
            for head in args.heads if system in embeddings else (NO_HEAD,):
                for row, load in files_of(system, head, corpus, used, recipes):
                    rows.fill(row, measure, load, corpus)
    rows.show()
    for rate, suffix in zip(RATES, ("clean", "typos"), strict=True):
        draw_pareto(panels(list(rows), rate), picture_path(f"pareto-{suffix}", quick=args.quick))


def files_of(
    system: str, head: str, corpus: Corpus, plan: Plan, recipes: Sequence[str]
) -> Iterator[tuple[Row, Callable[[], Trained]]]:
    """Yield the files of one trained system: the beginning of a row, and what loads the file."""
    settings = settings_of(system, head, plan, corpus) | {"test_texts": len(corpus.test)}
    once = functools.cache(functools.partial(build, system, head, corpus, plan))
    row = {"data": corpus.name, "system": system, "embedding": Path(plan.embedding).stem, "head": head}
    row |= {"seed": plan.seed, "settings": settings}
    if system == FASTTEXT:
        yield row | {"recipe": FTZ}, once
        return
    for recipe in recipes:
        yield row | {"recipe": recipe}, functools.partial(_load, once, recipe)


def _load(build_once: Callable[[], Trained], recipe: str) -> Trained:
    folder = build_once().folder
    assert folder is not None
    return load_file(folder, recipe)


def panels(rows: Sequence[Row], rate: float) -> dict[str, list[Point]]:
    """Return the points of the plot: a panel for each cost and data set, means over the seeds."""
    found: dict[str, list[Point]] = {}
    for (data, *line), members in grouped(with_earlier_heads(rows), KEY[:-1]).items():
        system, embedding, head, recipe = line
        family = f"{system}, {embedding}" if system == NETWORK else system
        accuracy = statistics.fmean(values_of(members, rate))
        typos = "clean" if not rate else f"{rate:.0%} mistyped"
        for field, label, unit in (("bytes", "kB of the file", 1000), ("microseconds", "µs a text, one thread", 1)):
            cost = statistics.fmean(row[field] for row in members) / unit
            point = Point("" if system == FASTTEXT else head, family, recipe, cost, accuracy)
            found.setdefault(f"{data}, {typos}: {label}", []).append(point)
    return dict(sorted(found.items()))


def table(rows: list[Row]) -> str:
    """Return one line for each file."""
    header = ["system", "embedding", "head", "recipe", "bytes", "µs a text", "clean", "50 % mistyped"]
    parts = []
    for (data,), found in grouped(with_earlier_heads(rows), ["data"]).items():
        cells = [
            [
                *line,
                kilobytes(max(row["bytes"] for row in members)),
                spread([row["microseconds"] for row in members], 0),
                *(spread(values_of(members, rate)) for rate in RATES),
            ]
            for line, members in grouped(found, KEY[1:-1]).items()
        ]
        parts.append(f"**{data}**\n\n{markdown_table(header, cells)}{unlike(found)}")
    return "\n".join(parts)


if __name__ == "__main__":
    main()
