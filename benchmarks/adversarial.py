"""Attacks on classifiers: three of the literature, which ask the classifier, and the disguises of spam, which do not.

    python benchmarks/adversarial.py [--set NAME] [--only SYSTEM] [--head HEAD] [--texts N] [--seeds 0 1 2] [--quick]

After the RETVec paper's adversarial table (NeurIPS 2023, section 4): black box, against the exported int8 file and against
fastText; what the attacks are is told in attacks.py and spam_attacks.py. The texts are drawn from the official test
split. Systems come from the work folder when another command trained them with the same arguments.
"""

import argparse
import dataclasses
import random
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from attacks import ATTACKS, Attack, attack_many
from common import (
    QUICK_AUTOTUNE,
    QUICK_EPOCHS,
    QUICK_ROWS,
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
from data_sets import FOLDERS, Task, load_task, sampled
from spam_attacks import NAMES, disguise
from systems import NO_HEAD, OURS, SYSTEMS, TUNED, V1, WHOLE, Product, available, build, plan_of, settings_of

KEY: Final = ("data", "system", "head", "seed", "attack")
RATES: Final = (0.0, 0.5, 1.0)
"""Shares of the words that are disguised."""
DEFAULT_SETS: Final = ("AG News", "SMS spam")
DEFAULT_SYSTEMS: Final = (OURS, TUNED, V1, "fastText")
SPAM: Final = "spam"
"""Where a data set has this label, only its texts are disguised: nobody disguises an honest one."""


def measure_attack(product: Product, attack: Attack, texts: Sequence[str], labels: Sequence[str], seed: int) -> Row:
    """`attacks.Outcome` as fields of a row."""
    began = time.perf_counter()
    columns = [product.labels.index(label) for label in labels]
    told = 0

    def tell(done: int, total: int) -> None:
        nonlocal told
        if 10 * done // total > told:
            told = 10 * done // total
            print(f"  {attack.name}: {10 * told} %", file=sys.stderr, flush=True)

    outcome = attack_many(attack, product.probabilities, texts, columns, seed, tell)
    return dataclasses.asdict(outcome) | {"seconds": time.perf_counter() - began}


def measure_disguise(product: Product, name: str, task: Task, seed: int) -> dict[str, Any]:
    """Accuracy by share of disguised words; of the spam alone where there is a label for it."""
    rows = [row for row, label in enumerate(task.test.labels) if label == SPAM] or list(range(len(task.test)))
    chosen = task.test.select(rows)
    truth, labels = np.array(chosen.labels), np.array(product.labels)
    accuracy = {}
    for rate in RATES:
        draw = random.Random(seed)
        texts = [disguise(text, name, rate, draw) for text in chosen.texts]
        guesses = labels[product.probabilities(texts).argmax(axis=1)]
        accuracy[f"{rate:g}"] = float((guesses == truth).mean())
    return {"texts": len(chosen), "accuracy": accuracy}


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure what was asked for and is not there yet, and write the tables of all that is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_arguments(parser, "SMS spam (1,500 texts), ours with pool and fastText, 25 texts")
    parser.add_argument(
        "--set", dest="sets", choices=tuple(FOLDERS), action="append", help="a data set (default: AG News, SMS spam)"
    )
    parser.add_argument(
        "--only", choices=SYSTEMS, action="append", help="a system (default: ours frozen and fine-tuned, v1, fastText)"
    )
    parser.add_argument("--head", default="cnn", help="of every vectorizer (default: cnn)")
    parser.add_argument("--attack", choices=(*ATTACKS, *NAMES), action="append", help="(default: all)")
    parser.add_argument("--texts", type=int, default=1000, metavar="N", help="to attack (default: 1,000)")
    args = parser.parse_args(None if arguments is None else list(arguments))
    sets, systems, names = args.sets or DEFAULT_SETS, args.only or DEFAULT_SYSTEMS, args.attack or (*ATTACKS, *NAMES)
    limits = {}
    if args.quick:
        sets, systems, args.head, args.texts = ("SMS spam",), args.only or (OURS, "fastText"), "pool", 25
        limits = {"rows": QUICK_ROWS}
        args.epochs, args.autotune = args.epochs or QUICK_EPOCHS, QUICK_AUTOTUNE
    systems = available(systems, args.v1, asked_for=bool(args.only))
    rows = Rows(RESULTS / ("adversarial-quick" if args.quick else "adversarial"), KEY, tables)
    for name in sets:
        task = load_task(args.data, name, **limits)
        attacked = task.test.select(sampled(len(task.test), args.texts))
        for seed in args.seeds:
            plan = plan_of(args, seed)
            for system in systems:
                head = NO_HEAD if system in WHOLE else args.head
                base: Row = {"data": name, "system": system, "head": head, "seed": seed}
                trained = settings_of(system, head, plan, task)
                missing = [
                    base | {"attack": attack, "settings": trained | _tried(attack, len(attacked), len(task.test))}
                    for attack in names
                ]
                missing = [row for row in missing if not rows.has(row)]
                product = build(system, head, task, plan) if missing else None
                for row in missing:
                    assert product is not None
                    print(f"{name}, {system}, {head}, seed {seed}: {row['attack']}", file=sys.stderr, flush=True)
                    if row["attack"] in ATTACKS:
                        found = measure_attack(product, ATTACKS[row["attack"]], attacked.texts, attacked.labels, seed)
                    else:
                        found = measure_disguise(product, row["attack"], task, seed)
                    rows.add(row | found)
    rows.show()


def _tried(attack: str, attacked: int, test_texts: int) -> dict[str, int]:
    return {"attacked_texts": attacked} if attack in ATTACKS else {"test_texts": test_texts}


def tables(rows: list[Row]) -> str:
    """Two tables for each data set: the attacks that ask, and the disguises."""
    parts = []
    for (name,), found in grouped(with_earlier_heads(_ordered(rows)), ["data"]).items():
        asked = [row for row in found if row["attack"] in ATTACKS]
        disguised = [row for row in found if row["attack"] in NAMES]
        if asked:
            parts.append(
                f"**{name}**, {asked[0]['texts']:,} test texts, attacks that ask\n\n{_attack_table(asked)}{unlike(asked)}"
            )
        if disguised:
            what = "test texts" if name != "SMS spam" else "spam texts of the test split, share found"
            parts.append(
                f"**{name}**, {disguised[0]['texts']:,} {what}: none / half / all of the words disguised\n\n"
                f"{_disguise_table(disguised)}{unlike(disguised)}"
            )
    return "\n".join(parts)


def _attack_table(rows: list[Row]) -> str:
    header = [
        "attack",
        "system",
        "head",
        "original accuracy",
        "accuracy under attack",
        "success rate",
        "mean queries",
        "words changed",
    ]
    return markdown_table(
        header,
        [
            [
                attack,
                system,
                head,
                *(
                    spread([row[field] for row in found], digits)
                    for field, digits in (
                        ("original_accuracy", 3),
                        ("accuracy_under_attack", 3),
                        ("success_rate", 3),
                        ("mean_queries", 1),
                        ("mean_changed", 2),
                    )
                ),
            ]
            for (attack, system, head), found in grouped(rows, ["attack", "system", "head"]).items()
        ],
    )


def _disguise_table(rows: list[Row]) -> str:
    columns = list(grouped(rows, ["system", "head"]))
    table = []
    for (attack,), found in grouped(rows, ["attack"]).items():
        cells = []
        for column in columns:
            members = [row for row in found if (row["system"], row["head"]) == column]
            cells.append(
                " / ".join(spread([row["accuracy"][f"{rate:g}"] for row in members]) for rate in RATES)
                if members
                else "-"
            )
        table.append([attack, *cells])
    return markdown_table(["disguise", *(f"{system}, {head}" for system, head in columns)], table)


def _ordered(rows: Iterable[Row]) -> list[Row]:
    sets, attacks, systems = list(FOLDERS), [*ATTACKS, *NAMES], list(SYSTEMS)
    return sorted(
        rows,
        key=lambda row: (
            sets.index(row["data"]),
            attacks.index(row["attack"]),
            systems.index(row["system"]),
            row["head"],
            row["seed"],
        ),
    )


if __name__ == "__main__":
    main()
