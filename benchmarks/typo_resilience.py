"""Accuracy from 0 to 100 % mistyped words: all kinds of typos together, each kind alone, and misspellings of people.

    python benchmarks/typo_resilience.py --v1 V1.safetensors [--set NAME] [--only SYSTEM] [--head HEAD] [--seeds 0 1 2] [--quick]

After the RETVec paper's figures and appendix table (NeurIPS 2023, section 4). The typos are those of `retvec_lite.typos`,
seed 0. Misspellings are taken from the data set `misspellings`: of the words that somebody is known to have misspelled,
so many are replaced that the given share of all words is wrong, or all of them where there are fewer. Systems come
from the work folder when another command trained them with the same arguments, and are trained otherwise.
"""

import argparse
import csv
import random
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from common import (
    EARLIER,
    QUICK_AUTOTUNE,
    QUICK_EPOCHS,
    QUICK_ROWS,
    QUICK_TEST_ROWS,
    RESULTS,
    Row,
    Rows,
    add_common_arguments,
    grouped,
    markdown_table,
    spread,
    unlike,
    with_earlier_heads,
)
from data_sets import FOLDERS, Task, load_task
from plots import draw_curves
from systems import NO_HEAD, OURS, RAW, SYSTEMS, TUNED, V1, WHOLE, Product, available, build, plan_of, settings_of

from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import TYPO_KINDS, mistype_many

RATES: Final = tuple(tenth / 10 for tenth in range(11))
ALL_KINDS: Final = "all kinds"
PEOPLE: Final = "human misspellings"
PEOPLE_RATES: Final = RATES[:6]
"""Up to 50 %, as in the paper; beyond that many texts have no more words that anybody is known to have misspelled."""
CATEGORIES: Final = (ALL_KINDS, *TYPO_KINDS, PEOPLE)
KEY: Final = ("data", "system", "head", "seed", "category")
DEFAULT_SETS: Final = ("AG News", "Banking77")
DEFAULT_SYSTEMS: Final = (OURS, TUNED, V1, RAW, "SentencePiece", "BPE", "Whitespace", "fastText vectors", "fastText")
DEFAULT_HEAD: Final = "cnn"

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def read_misspellings(path: Path) -> dict[str, tuple[str, ...]]:
    """Right word in lower case -> what people wrote instead, sorted; forms of several words are left out."""
    if not path.is_file():
        raise SystemExit(f"Expected the misspellings at {path}: pass --data DIR (see docs/benchmarks.md).")
    found: dict[str, set[str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            wrong, right = row["text"].lower(), row["label"].lower()
            if wrong != right and len(wrong.split()) == 1 == len(right.split()):
                found.setdefault(right, set()).add(wrong)
    return {right: tuple(sorted(wrongs)) for right, wrongs in found.items()}


def misspell(text: str, rate: float, misspellings: Mapping[str, Sequence[str]], draw: random.Random) -> tuple[str, int]:
    """Misspell a share of a text's words as people did.

    Args:
        text: any text.
        rate: the share of all words, 0 to 1. The fraction of a word that is left over is drawn for.
        misspellings: right word in lower case -> its misspellings.
        draw: what chooses words and misspellings.

    Returns:
        The text, a first capital letter and all capitals kept, and how many words were replaced: fewer than asked for
        where no more words have a known misspelling.
    """
    words = list(_WORD.finditer(text))
    wanted = int(rate * len(words) + draw.random())
    possible = [word for word in words if word.group().lower() in misspellings]
    # Only `random` itself is promised to stay the same in every Python version.
    shuffled = sorted(possible, key=lambda _: draw.random())
    chosen = sorted(shuffled[:wanted], key=lambda word: word.start())
    pieces, end = [], 0
    for word in chosen:
        right = word.group()
        forms = misspellings[right.lower()]
        wrong = forms[int(draw.random() * len(forms))]
        if right.isupper() and len(right) > 1:
            wrong = wrong.upper()
        elif right[0].isupper():
            wrong = wrong[0].upper() + wrong[1:]
        pieces += [text[end : word.start()], wrong]
        end = word.end()
    return "".join([*pieces, text[end:]]), len(chosen)


def mistyped(
    texts: Sequence[str], category: str, rate: float, misspellings: Mapping[str, Sequence[str]]
) -> tuple[list[str], float]:
    """The texts under a category at a rate, and the share of their words that was really changed."""
    if category != PEOPLE:
        kinds = TYPO_KINDS if category == ALL_KINDS else (category,)
        return mistype_many(texts, rate, TYPO_SEED, kinds), rate
    draw = random.Random(TYPO_SEED)
    found = [misspell(text, rate, misspellings, draw) for text in texts]
    words = sum(len(_WORD.findall(text)) for text in texts)
    return [text for text, _ in found], sum(count for _, count in found) / max(words, 1)


def measure(
    product: Product, task: Task, category: str, misspellings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Accuracy, and share of words changed, by rate."""
    truth, labels = np.array(task.test.labels), np.array(product.labels)
    accuracy, changed = {}, {}
    for rate in PEOPLE_RATES if category == PEOPLE else RATES:
        texts, share = mistyped(task.test.texts, category, rate, misspellings)
        guesses = labels[product.probabilities(texts).argmax(axis=1)]
        accuracy[f"{rate:g}"], changed[f"{rate:g}"] = float((guesses == truth).mean()), share
    return {"accuracy": accuracy, "changed": changed}


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure what was asked for and is not there yet; write tables and plots of all that is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_arguments(parser, "Banking77 (1,500 texts), three systems, two kinds of typos and people's")
    parser.add_argument(
        "--set", dest="sets", choices=tuple(FOLDERS), action="append", help="a data set (default: AG News, Banking77)"
    )
    parser.add_argument("--only", choices=SYSTEMS, action="append", help="a system (default: one of each kind)")
    parser.add_argument("--head", default=DEFAULT_HEAD, help=f"of every vectorizer (default: {DEFAULT_HEAD})")
    parser.add_argument("--category", choices=CATEGORIES, action="append", help="(default: all)")
    args = parser.parse_args(None if arguments is None else list(arguments))
    sets, systems, categories = args.sets or DEFAULT_SETS, args.only or DEFAULT_SYSTEMS, args.category or CATEGORIES
    limits = {}
    if args.quick:
        sets, systems = ("Banking77",), args.only or (OURS, "Whitespace, under 1 MB", "fastText")
        categories = args.category or (ALL_KINDS, "swap", PEOPLE)
        limits = {"rows": QUICK_ROWS, "test_rows": QUICK_TEST_ROWS}
        args.epochs, args.autotune = args.epochs or QUICK_EPOCHS, QUICK_AUTOTUNE
    systems = available(systems, args.v1, asked_for=bool(args.only))
    misspellings = read_misspellings(args.data / "misspellings" / "train.csv") if PEOPLE in categories else {}
    path = RESULTS / ("typo_resilience-quick" if args.quick else "typo_resilience")
    rows = Rows(path, KEY, tables)
    for name in sets:
        task = load_task(args.data, name, **limits)
        for seed in args.seeds:
            plan = plan_of(args, seed)
            for system in systems:
                head = NO_HEAD if system in WHOLE else args.head
                settings = settings_of(system, head, plan, task) | {"test_texts": len(task.test)}
                base: Row = {"data": name, "system": system, "head": head, "seed": seed, "settings": settings}
                missing = [category for category in categories if not rows.has(base | {"category": category})]
                if not missing:
                    continue
                product = build(system, head, task, plan)
                for category in missing:
                    print(f"{name}, {system}, {head}, seed {seed}: {category}", file=sys.stderr, flush=True)
                    rows.add(base | {"category": category} | measure(product, task, category, misspellings))
    rows.show()
    for name, picture in {ALL_KINDS: path, PEOPLE: path.with_name(f"{path.name}-people")}.items():
        panels = curves(list(rows), name)
        if panels:
            label = "words misspelled as people do (%)" if name == PEOPLE else "mistyped words (%)"
            draw_curves(panels, picture.with_suffix(".png"), label)


def curves(rows: Sequence[Row], category: str) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    """Data set -> system -> (share of words that was really changed, mean accuracy, standard deviation over the seeds)."""
    panels: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    chosen = [row for row in with_earlier_heads(_ordered(rows)) if row["category"] == category]
    # Lines of earlier heads stay in the tables; a plot has room for them only where there are no others.
    renewed = {row["data"] for row in chosen if row["head"] != NO_HEAD and not row["head"].endswith(EARLIER)}
    chosen = [row for row in chosen if row["data"] not in renewed or not row["head"].endswith(EARLIER)]
    for (data, system, head), found in grouped(chosen, ["data", "system", "head"]).items():
        panels.setdefault(data, {})[_named(system, head)] = [
            (found[0]["changed"][rate], *_mean_and_deviation([row["accuracy"][rate] for row in found]))
            for rate in found[0]["accuracy"]
        ]
    return panels


def tables(rows: list[Row]) -> str:
    """Three tables for each data set: the whole curve, each kind of typo, people's misspellings."""
    parts = []
    for (name,), found in grouped(with_earlier_heads(_ordered(rows)), ["data"]).items():
        texts = found[0]["settings"]["test_texts"]
        parts.append(f"**{name}**, {texts:,} test texts: share of the words mistyped, all kinds of typos alike\n")
        parts.append(_curve_table([row for row in found if row["category"] == ALL_KINDS]))
        parts.append(f"**{name}**: every word mistyped, by kind of typo\n")
        parts.append(_kind_table([row for row in found if row["category"] in TYPO_KINDS]))
        parts.append(f"**{name}**: share of the words misspelled as people do (share that could be)\n")
        parts.append(_curve_table([row for row in found if row["category"] == PEOPLE]) + unlike(found))
    return "\n".join(parts)


def _curve_table(rows: list[Row]) -> str:
    rates = list(rows[0]["accuracy"]) if rows else []
    changed = rows[0]["changed"] if rows else {}
    header = ["system", "head"]
    header += [
        f"{float(rate):.0%}" if abs(changed[rate] - float(rate)) < 0.005 else f"{float(rate):.0%} ({changed[rate]:.0%})"
        for rate in rates
    ]
    return markdown_table(
        header,
        [
            [system, head, *(spread([row["accuracy"][rate] for row in found]) for rate in rates)]
            for (system, head), found in grouped(rows, ["system", "head"]).items()
        ],
    )


def _kind_table(rows: list[Row]) -> str:
    kinds = [kind for kind in TYPO_KINDS if any(row["category"] == kind for row in rows)]
    table = []
    for (system, head), found in grouped(rows, ["system", "head"]).items():
        values = {kind: [row["accuracy"]["1"] for row in found if row["category"] == kind] for kind in kinds}
        table.append([system, head, *(spread(values[kind]) if values[kind] else "-" for kind in kinds)])
    return markdown_table(["system", "head", *kinds], table)


def _ordered(rows: Iterable[Row]) -> list[Row]:
    sets, systems, categories = list(FOLDERS), list(SYSTEMS), list(CATEGORIES)
    return sorted(
        rows,
        key=lambda row: (
            sets.index(row["data"]),
            systems.index(row["system"]),
            row["head"],
            row["seed"],
            categories.index(row["category"]),
        ),
    )


def _named(system: str, head: str) -> str:
    return system if head == NO_HEAD else f"{system}, {head}"


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


if __name__ == "__main__":
    main()
