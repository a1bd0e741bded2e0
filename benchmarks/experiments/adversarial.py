"""Attacks on classifiers: three from the literature, which query the classifier, and the disguises of spam.

    python -m benchmarks.experiments.adversarial [--set NAME] [--only SYSTEM] [--head HEAD] [--attack NAME] [--texts N] [--seeds 0 1 2] [--quick]

Follows the RETVec paper's adversarial table (arXiv:2302.09207): black box, against exported int8 files and their rivals.
attacks.py and spam_attacks.py define the attacks, victims.py the systems. Texts are drawn from the test split. Systems of
systems.py are taken from the work folder if another command trained them with the same options.
"""

import dataclasses
import random
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from benchmarks.common import Row, Rows, grouped, markdown_table, result_path, spread, unlike, with_earlier_heads
from benchmarks.data.sets import FOLDERS, Task, sampled
from benchmarks.experiments.attacks import ATTACKS, Attack, attack_many
from benchmarks.experiments.spam_attacks import NAMES, disguise
from benchmarks.experiments.trials import Scope, comparison_parser, lines_of, parse_comparison, trials
from benchmarks.systems.guesser import Guesser
from benchmarks.systems.networks import DEFAULT_FILE, FASTTEXT, OURS, TUNED, V1
from benchmarks.systems.victims import PRODUCTS, SYSTEMS, WHOLE, build, settings_of

KEY: Final = ("data", "system", "head", "seed", "attack")
RATES: Final = (0.0, 0.5, 1.0)
"""Shares of the words that are disguised."""
SMALL_TABLES: Final = ("SentencePiece, under 1 MB", "BPE, under 1 MB", "Whitespace, under 1 MB")
FULL: Final = Scope(
    ("AG News", "SMS spam", "Banking77"),
    (DEFAULT_FILE, OURS, TUNED, V1, FASTTEXT, *SMALL_TABLES, *PRODUCTS[1:]),
    ("cnn",),
)
QUICK: Final = Scope(("SMS spam",), (OURS, FASTTEXT), ("pool",))
QUICK_TEXTS: Final = 25
SPAM: Final = "spam"
"""In a data set with this label only its texts are disguised: nobody disguises an honest one."""


def measure_attack(product: Guesser, attack: Attack, texts: Sequence[str], labels: Sequence[str], seed: int) -> Row:
    """Attack the texts and return the fields of `attacks.Outcome`."""
    began = time.perf_counter()
    columns = [product.labels.index(label) for label in labels]
    tenths = 0

    def report(done: int, total: int) -> None:
        nonlocal tenths
        if 10 * done // total > tenths:
            tenths = 10 * done // total
            print(f"  {attack.name}: {10 * tenths} %", file=sys.stderr, flush=True)

    outcome = attack_many(attack, product.probabilities, texts, columns, seed, report)
    return dataclasses.asdict(outcome) | {"seconds": time.perf_counter() - began}


def measure_disguise(product: Guesser, name: str, task: Task, seed: int) -> dict[str, Any]:
    """Return accuracy by share of disguised words, on spam alone if the data set has that label."""
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and missing; write the tables of everything."""
    parser = comparison_parser(__doc__, "SMS spam (1,500 texts), ours with pool and fastText, 25 texts", SYSTEMS)
    parser.add_argument("--attack", choices=(*ATTACKS, *NAMES), action="append", help="an attack (default: all)")
    parser.add_argument(
        "--texts", type=int, default=1000, metavar="N", help="number of texts to attack (default: 1,000)"
    )
    args = parse_comparison(parser, arguments, FULL, QUICK)
    names = args.attack or (*ATTACKS, *NAMES)
    rows = Rows(result_path("adversarial", quick=args.quick), KEY, tables)
    for task, plan in trials(args):
        attacked = task.test.select(sampled(len(task.test), QUICK_TEXTS if args.quick else args.texts))
        for system, head in lines_of(args.systems, args.heads, WHOLE):
            base: Row = {"data": task.name, "system": system, "head": head, "seed": plan.seed}
            trained = settings_of(system, head, plan, task)
            wanted = [
                base | {"attack": attack, "settings": trained | _tried(attack, len(attacked), len(task.test))}
                for attack in names
            ]
            missing = [row for row in wanted if not rows.has(row)]
            if not missing:
                continue
            product = build(system, head, task, plan)
            for row in missing:
                attack = row["attack"]
                print(f"{task.name}, {system}, {head}, seed {plan.seed}: {attack}", file=sys.stderr, flush=True)
                if attack in ATTACKS:
                    found = measure_attack(product, ATTACKS[attack], attacked.texts, attacked.labels, plan.seed)
                else:
                    found = measure_disguise(product, attack, task, plan.seed)
                rows.add(row | found)
    rows.show()


def _tried(attack: str, attacked: int, test_texts: int) -> dict[str, int]:
    return {"attacked_texts": attacked} if attack in ATTACKS else {"test_texts": test_texts}


def tables(rows: list[Row]) -> str:
    """Return two tables for each data set: attacks with queries, and disguises."""
    parts = []
    for (name,), found in grouped(with_earlier_heads(ordered(rows)), ["data"]).items():
        queried = [row for row in found if row["attack"] in ATTACKS]
        disguised = [row for row in found if row["attack"] in NAMES]
        if queried:
            parts.append(f"**{name}**, attacks with queries\n\n{_attack_table(queried)}{unlike(queried)}")
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
        "texts",
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
                f"{found[0]['texts']:,}",
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


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Return the rows by data set, attack, system, head and seed, each in the order of its list."""
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
