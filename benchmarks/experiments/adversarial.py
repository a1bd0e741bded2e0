"""Attacks on classifiers: three from the literature, which query the classifier, and the disguises of spam.

    python -m benchmarks.experiments.adversarial [--set NAME] [--only SYSTEM] [--head HEAD] [--attack NAME] [--texts N] [--seeds 0 1 2] [--quick]

Follows the RETVec paper's adversarial table (arXiv:2302.09207): black box, against exported int8 files and their rivals.
attacks.py and spam_attacks.py define the attacks. Texts are drawn from the test split. Systems are taken from the work folder if another command trained them with the same options.
"""

import functools
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from benchmarks.common import Row, Rows, result_path
from benchmarks.data.sets import FOLDERS, sampled
from benchmarks.experiments.attacks import ATTACKS, attack_many
from benchmarks.experiments.spam_attacks import NAMES, disguise
from benchmarks.experiments.trials import Scope, comparison_parser, parse_comparison, trials
from benchmarks.systems.names import (
    BPE,
    DEFAULT_FILE,
    FASTTEXT,
    NETWORK,
    PIECES,
    SMALL,
    TUNED,
    V1,
    WHITESPACE,
    lines_of,
)
from benchmarks.systems.trained import Trained, share_right
from benchmarks.systems.whole import ATTACKED, PRODUCTS, WITHOUT_HEAD, build_victim, victim_settings
from benchmarks.tables.cells import grouped, markdown_table, ordered, spread, unlike, values_of, with_earlier_heads
from retvec_lite.data.dataset import Dataset

KEY: Final = ("data", "system", "head", "seed", "attack")
RATES: Final = (0.0, 0.5, 1.0)
"""Shares of the words that are disguised."""
SMALL_TABLES: Final = (PIECES + SMALL, BPE + SMALL, WHITESPACE + SMALL)
FULL: Final = Scope(
    ("AG News", "SMS spam", "Banking77"),
    (DEFAULT_FILE, NETWORK, TUNED, V1, FASTTEXT, *SMALL_TABLES, *PRODUCTS[1:]),
    ("cnn",),
)
QUICK: Final = Scope(("SMS spam",), (NETWORK, FASTTEXT), ("pool",))
QUICK_TEXTS: Final = 25
SPAM: Final = "spam"
"""In a data set with this label only its texts are disguised: nobody disguises an honest one."""


def measure(build_once: Callable[[], Trained], name: str, texts: Dataset, seed: int) -> Row:
    """Attack the texts with queries, or disguise them."""
    if name in ATTACKS:
        return measure_attack(build_once(), name, texts, seed)
    return measure_disguise(build_once(), name, texts, seed)


def measure_attack(victim: Trained, name: str, texts: Dataset, seed: int) -> Row:
    """Attack the texts and return what came of it."""
    began = time.perf_counter()
    columns = [victim.labels.index(label) for label in texts.labels]
    outcome = attack_many(name, victim.probabilities, texts.texts, columns, seed)
    return outcome | {"seconds": time.perf_counter() - began}


def measure_disguise(victim: Trained, name: str, texts: Dataset, seed: int) -> Row:
    """Return accuracy by share of disguised words, on spam alone if the data set has that label."""
    chosen = texts.select([row for row, label in enumerate(texts.labels) if label == SPAM] or range(len(texts)))
    accuracy = {}
    for rate in RATES:
        draw = random.Random(seed)
        disguised = [disguise(text, name, rate, draw) for text in chosen.texts]
        accuracy[f"{rate:g}"] = share_right(victim, disguised, chosen.labels)
    return {"texts": len(chosen), "accuracy": accuracy}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = comparison_parser(
        __doc__, "SMS spam (1,500 texts), the network alone with pool and fastText, 25 texts", ATTACKED
    )
    parser.add_argument("--attack", choices=(*ATTACKS, *NAMES), action="append", help="an attack (default: all)")
    parser.add_argument(
        "--texts", type=int, default=1000, metavar="N", help="number of texts to attack (default: 1,000)"
    )
    args = parse_comparison(parser, arguments, FULL, QUICK)
    names = args.attack or (*ATTACKS, *NAMES)
    rows = Rows(result_path("adversarial", quick=args.quick), KEY, tables)
    for corpus, plan in trials(args):
        attacked = corpus.test.select(sampled(len(corpus.test), QUICK_TEXTS if args.quick else args.texts))
        for system, head in lines_of(args.systems, args.heads, WITHOUT_HEAD):
            base: Row = {"data": corpus.name, "system": system, "head": head, "seed": plan.seed}
            settings = victim_settings(system, head, plan, corpus)
            once = functools.cache(functools.partial(build_victim, system, head, corpus, plan))
            for name in names:
                tried = {"attacked_texts": len(attacked)} if name in ATTACKS else {"test_texts": len(corpus.test)}
                row = base | {"attack": name, "settings": settings | tried}
                rows.fill(row, measure, once, name, attacked if name in ATTACKS else corpus.test, plan.seed)
    rows.show()


def tables(rows: list[Row]) -> str:
    """Return two tables for each data set: attacks with queries, and disguises."""
    parts = []
    for (name,), found in grouped(with_earlier_heads(in_order(rows)), ["data"]).items():
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
    fields = {
        "original_accuracy": 3,
        "accuracy_under_attack": 3,
        "success_rate": 3,
        "mean_queries": 1,
        "mean_changed": 2,
    }
    header = ["attack", "system", "head", "texts", "original accuracy", "accuracy under attack", "success rate"]
    lines = [
        [*line, f"{found[0]['texts']:,}"]
        + [spread([row[field] for row in found], digits) for field, digits in fields.items()]
        for line, found in grouped(rows, ["attack", "system", "head"]).items()
    ]
    return markdown_table([*header, "mean queries", "words changed"], lines)


def _disguise_table(rows: list[Row]) -> str:
    columns, cells = list(grouped(rows, ["system", "head"])), grouped(rows, ["attack", "system", "head"])
    table = []
    for (attack,) in grouped(rows, ["attack"]):
        found = [cells.get((attack, *column), []) for column in columns]
        shown = [" / ".join(spread(values_of(same, rate)) for rate in RATES) if same else "-" for same in found]
        table.append([attack, *shown])
    return markdown_table(["disguise", *(f"{system}, {head}" for system, head in columns)], table)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows by data set, attack, system, head and seed."""
    lists = {"data": list(FOLDERS), "attack": [*ATTACKS, *NAMES], "system": list(ATTACKED)}
    return ordered(rows, ("data", "attack", "system", "head", "seed"), lists)


if __name__ == "__main__":
    main()
