"""Accuracy from 0 to 100 % mistyped words: all kinds of typos together, each kind alone, and human misspellings.

    python -m benchmarks.experiments.typo_resilience --v1 V1.safetensors [--set NAME] [--only SYSTEM] [--head HEAD] [--seeds 0 1 2] [--quick]

Follows the RETVec paper's figures and appendix table (arXiv:2302.09207). Typos come from
`retvec_lite.data.typos`, seed 0. Human misspellings come from the data set `misspellings`: words with a known
misspelling are replaced until the given share of all words is wrong, or no such word is left. Systems are taken from the
work folder if another command trained them with the same options, and trained otherwise.
"""

import csv
import functools
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.common import Row, Rows, picture_path, require_data, result_path
from benchmarks.data.sets import FOLDERS, Corpus
from benchmarks.experiments.trials import Scope, comparison_parser, parse_comparison, trials
from benchmarks.systems.names import (
    BPE,
    COMPARED,
    FASTTEXT,
    NETWORK,
    NO_HEAD,
    PIECES,
    RAW,
    SMALL,
    V1,
    WHITESPACE,
    lines_of,
)
from benchmarks.systems.networks import build, settings_of
from benchmarks.systems.trained import Trained, share_right
from benchmarks.tables.cells import EARLIER, grouped, markdown_table, ordered, spread, unlike, with_earlier_heads
from benchmarks.tables.plots import Points, draw_curves
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import TYPO_KINDS, mistype_many

RATES: Final = tuple(tenth / 10 for tenth in range(11))
ALL_KINDS: Final = "all kinds"
PEOPLE: Final = "human misspellings"
PEOPLE_RATES: Final = RATES[:6]
"""Up to 50 %, as in the paper: beyond that, many texts run out of words with a known misspelling."""
CATEGORIES: Final = (ALL_KINDS, *TYPO_KINDS, PEOPLE)
KEY: Final = ("data", "system", "head", "seed", "category")
FULL: Final = Scope(("AG News", "Banking77"), (NETWORK, V1, RAW, PIECES, BPE, WHITESPACE, FASTTEXT), ("cnn",))
QUICK: Final = Scope(("Banking77",), (NETWORK, WHITESPACE + SMALL, FASTTEXT), ("cnn",))

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def read_misspellings(path: Path) -> dict[str, tuple[str, ...]]:
    """Return right word in lower case -> its misspellings, sorted; forms of several words are left out."""
    require_data(path)
    found: dict[str, set[str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            wrong, right = row["text"].lower(), row["label"].lower()
            if wrong != right and len(wrong.split()) == 1 == len(right.split()):
                found.setdefault(right, set()).add(wrong)
    return {right: tuple(sorted(wrongs)) for right, wrongs in found.items()}


def misspell(text: str, rate: float, misspellings: Mapping[str, Sequence[str]], draw: random.Random) -> tuple[str, int]:
    """Misspell a share of a text's words as people have done.

    Args:
        text: any text.
        rate: share of all words, 0 to 1; a fraction of a word is rounded at random.
        misspellings: right word in lower case -> its misspellings.
        draw: random numbers that choose words and misspellings.

    Returns:
        The text with its capitals kept, and the number of replaced words: fewer than asked for if no more words have a
        known misspelling.
    """
    words = list(_WORD.finditer(text))
    wanted = int(rate * len(words) + draw.random())
    possible = [word for word in words if word.group().lower() in misspellings]
    # Python promises only that `random()` gives the same numbers in every version.
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
    """Return the texts with typos of a category, and the share of words that were really changed."""
    if category != PEOPLE:
        kinds = TYPO_KINDS if category == ALL_KINDS else (category,)
        return mistype_many(texts, rate, TYPO_SEED, kinds), rate
    draw = random.Random(TYPO_SEED)
    found = [misspell(text, rate, misspellings, draw) for text in texts]
    words = sum(len(_WORD.findall(text)) for text in texts)
    return [text for text, _ in found], sum(count for _, count in found) / max(words, 1)


def measure(
    build_once: Callable[[], Trained], corpus: Corpus, category: str, misspellings: Mapping[str, Sequence[str]]
) -> Row:
    """Return accuracy and share of changed words by rate."""
    accuracy, changed = {}, {}
    for rate in PEOPLE_RATES if category == PEOPLE else RATES:
        texts, changed[f"{rate:g}"] = mistyped(corpus.test.texts, category, rate, misspellings)
        accuracy[f"{rate:g}"] = share_right(build_once(), texts, corpus.test.labels)
    return {"accuracy": accuracy, "changed": changed}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = comparison_parser(
        __doc__, "Banking77 (1,500 texts), three systems, two kinds of typos and human misspellings"
    )
    parser.add_argument("--category", choices=CATEGORIES, action="append", help="kind of typos (default: all)")
    args = parse_comparison(parser, arguments, FULL, QUICK)
    categories = args.category or ((ALL_KINDS, "swap", PEOPLE) if args.quick else CATEGORIES)
    misspellings = read_misspellings(args.data / "misspellings" / "train.csv") if PEOPLE in categories else {}
    rows = Rows(result_path("typo_resilience", quick=args.quick), KEY, tables)
    for corpus, plan in trials(args):
        for system, head in lines_of(args.systems, args.heads):
            settings = settings_of(system, head, plan, corpus) | {"test_texts": len(corpus.test)}
            base: Row = {"data": corpus.name, "system": system, "head": head, "seed": plan.seed, "settings": settings}
            once = functools.cache(functools.partial(build, system, head, corpus, plan))
            for category in categories:
                rows.fill(base | {"category": category}, measure, once, corpus, category, misspellings)
    rows.show()
    for category, name, label in (
        (ALL_KINDS, "typo_resilience", "mistyped words (%)"),
        (PEOPLE, "typo_resilience-people", "misspelled words (%)"),
    ):
        if panels := curves(list(rows), category):
            draw_curves(panels, picture_path(name, quick=args.quick), label)


def curves(rows: Sequence[Row], category: str) -> dict[str, dict[str, dict[str, Points]]]:
    """Return data set -> system -> (share of words really changed, mean accuracy, standard deviation over seeds), all of one kind."""
    panels: dict[str, dict[str, dict[str, Points]]] = {}
    chosen = [row for row in with_earlier_heads(_ordered(rows)) if row["category"] == category]
    # Plots show earlier heads only where there are no others; tables show all.
    renewed = {row["data"] for row in chosen if row["head"] != NO_HEAD and not row["head"].endswith(EARLIER)}
    chosen = [row for row in chosen if row["data"] not in renewed or not row["head"].endswith(EARLIER)]
    for (data, system, head), found in grouped(chosen, ["data", "system", "head"]).items():
        values = [np.array([row["accuracy"][rate] for row in found]) for rate in found[0]["accuracy"]]
        points = [(float(same.mean()), float(same.std(ddof=min(1, len(same) - 1)))) for same in values]
        shares = found[0]["changed"].values()
        named = system if head == NO_HEAD else f"{system}, {head}"
        panels.setdefault(data, {})[named] = {
            "": [(share, *point) for share, point in zip(shares, points, strict=True)]
        }
    return panels


def tables(rows: list[Row]) -> str:
    """Return three tables for each data set: the whole curve, each kind of typo, human misspellings."""
    parts = []
    for (name,), found in grouped(with_earlier_heads(_ordered(rows)), ["data"]).items():
        texts = found[0]["settings"]["test_texts"]
        parts.append(f"**{name}**, {texts:,} test texts: share of the words mistyped, all kinds of typos\n")
        parts.append(_curve_table([row for row in found if row["category"] == ALL_KINDS]))
        parts.append(f"**{name}**: every word mistyped, by kind of typo\n")
        parts.append(_kind_table([row for row in found if row["category"] in TYPO_KINDS]))
        parts.append(f"**{name}**: share of the words with human misspellings (share reached)\n")
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
    lists = {"data": list(FOLDERS), "system": list(COMPARED), "category": list(CATEGORIES)}
    return ordered(rows, KEY, lists)


if __name__ == "__main__":
    main()
