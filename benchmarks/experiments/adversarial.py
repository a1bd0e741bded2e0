"""Attacks on classifiers: three from the literature, which query the classifier.

    python -m benchmarks.experiments.adversarial [--set NAME] [--only SYSTEM] [--head HEAD] [--attack NAME] [--texts N] [--seeds 0 1 2] [--quick]

Follows the RETVec paper's adversarial table (arXiv:2302.09207): black box, against exported int8 files and their rivals.
attacks.py defines the attacks; robustness.py measures disguises, which need no queries. Texts are drawn from the test split. Systems are taken from the work folder if another command trained them with the same options.
"""

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from benchmarks.common import Row, Rows, result_path
from benchmarks.data.sets import FOLDERS, sampled
from benchmarks.experiments.attacks import ATTACKS, attack_many
from benchmarks.experiments.trials import Scope, comparison_parser, parse_comparison, trials
from benchmarks.systems.names import (
    BPE,
    DEFAULT_FILE,
    FASTTEXT,
    NETWORK,
    PIECES,
    SMALL,
    V1,
    WHITESPACE,
    lines_of,
)
from benchmarks.systems.trained import Trained
from benchmarks.systems.whole import ATTACKED, PRODUCTS, WITHOUT_HEAD, build_victim, victim_settings
from benchmarks.tables.cells import grouped, markdown_table, ordered, spread, unlike, with_earlier_heads
from retvec_lite.data.dataset import Dataset

KEY: Final = ("data", "system", "head", "seed", "attack")
SMALL_TABLES: Final = (PIECES + SMALL, BPE + SMALL, WHITESPACE + SMALL)
FULL: Final = Scope(
    ("AG News", "SMS spam", "Banking77"),
    (DEFAULT_FILE, NETWORK, V1, FASTTEXT, *SMALL_TABLES, *PRODUCTS[1:]),
    ("cnn",),
)
QUICK: Final = Scope(("SMS spam",), (NETWORK, FASTTEXT), ("pool",))
QUICK_TEXTS: Final = 25


def measure_attack(build: Callable[[], Trained], name: str, texts: Dataset, seed: int) -> Row:
    """Attack the texts and return what came of it."""
    victim, began = build(), time.perf_counter()
    columns = [victim.labels.index(label) for label in texts.labels]
    outcome = attack_many(name, victim.probabilities, texts.texts, columns, seed)
    return outcome | {"seconds": time.perf_counter() - began}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = comparison_parser(
        __doc__, "SMS spam (1,500 texts), the network alone with pool and fastText, 25 texts", ATTACKED
    )
    parser.add_argument("--attack", choices=ATTACKS, action="append", help="an attack (default: all)")
    parser.add_argument(
        "--texts", type=int, default=1000, metavar="N", help="number of texts to attack (default: 1,000)"
    )
    args = parse_comparison(parser, arguments, FULL, QUICK)
    names = args.attack or ATTACKS
    rows = Rows(result_path("adversarial", quick=args.quick), KEY, tables)
    for corpus, plan in trials(args):
        attacked = corpus.test.select(sampled(len(corpus.test), QUICK_TEXTS if args.quick else args.texts))
        for system, head in lines_of(args.systems, args.heads, WITHOUT_HEAD):
            base: Row = {"data": corpus.name, "system": system, "head": head, "seed": plan.seed}
            settings = victim_settings(system, head, plan, corpus)
            once = functools.cache(functools.partial(build_victim, system, head, corpus, plan))
            for name in names:
                row = base | {"attack": name, "settings": settings | {"attacked_texts": len(attacked)}}
                rows.fill(row, measure_attack, once, name, attacked, plan.seed)
    rows.show()


def tables(rows: list[Row]) -> str:
    """Return a table for each data set."""
    sets = grouped(with_earlier_heads(in_order(rows)), ["data"])
    return "\n".join(f"**{name}**\n\n{_attack_table(found)}{unlike(found)}" for (name,), found in sets.items())


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


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows by data set, attack, system, head and seed."""
    lists = {"data": list(FOLDERS), "attack": list(ATTACKS), "system": list(ATTACKED)}
    return ordered(rows, ("data", "attack", "system", "head", "seed"), lists)


if __name__ == "__main__":
    main()
