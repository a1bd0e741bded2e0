"""What the commands that compare trained systems share: their options, quick forms, and the loop over sets and seeds."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.common import WORK, command_parser
from benchmarks.data.sets import FOLDERS, Corpus, load_corpus
from benchmarks.systems.names import COMPARED
from benchmarks.systems.networks import Plan, available

HEADS: Final = ("cnn", "pool")

QUICK_ROWS: Final = 1500
QUICK_TEST_ROWS: Final = 500
QUICK_EPOCHS: Final = 15
QUICK_AUTOTUNE: Final = 30
"""Quick forms train on so little and so briefly that they only show that a command works."""


class Scope(NamedTuple):
    """Data sets, systems and heads that a command measures unless its options name others."""

    sets: Sequence[str]
    systems: Sequence[str]
    heads: Sequence[str]


def comparison_parser(
    doc: str | None, quick: str, systems: Sequence[str] = COMPARED, sets: Sequence[str] = tuple(FOLDERS)
) -> argparse.ArgumentParser:
    """Return a parser with the options that all these commands have.

    Args:
        doc: the command's docstring.
        quick: what `--quick` measures.
        systems: the choices of `--only`.
        sets: the choices of `--set`.
    """
    parser = command_parser(doc, quick=quick, data=True)
    parser.add_argument("--set", dest="sets", choices=sets, action="append", help="a data set; repeatable")
    parser.add_argument("--only", dest="systems", choices=systems, action="append", help="a system; repeatable")
    parser.add_argument("--head", dest="heads", choices=HEADS, action="append", help="a head; repeatable")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="seeds of training (default: 0)")
    parser.add_argument("--epochs", type=int, metavar="N", help="most passes over the data, the same for every system")
    parser.add_argument(
        "--embedding", default="default", metavar="FILE", help="of our networks (default: the one in the package)"
    )
    parser.add_argument("--v1", type=Path, metavar="FILE", help="RETVec v1, as `makers.embedding import-v1` wrote it")
    parser.add_argument(
        "--autotune", type=int, default=300, metavar="S", help="seconds for fastText to tune itself (default: 300)"
    )
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps trained systems")
    return parser


def parse_comparison(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, full: Scope, quick: Scope
) -> argparse.Namespace:
    """Parse the options and fill in what to measure.

    A quick form always runs on its own data sets. Systems that cannot be built here are left out, unless `--only` names
    them.
    """
    args = parser.parse_args(arguments)
    scope = quick if args.quick else full
    args.sets = scope.sets if args.quick else args.sets or scope.sets
    args.heads = args.heads or scope.heads
    args.systems = available(args.systems or scope.systems, args.v1, asked_for=bool(args.systems))
    if args.quick:
        args.epochs, args.autotune = args.epochs or QUICK_EPOCHS, QUICK_AUTOTUNE
    return args


def trials(args: argparse.Namespace, *, per_language: int = 0) -> Iterator[tuple[Corpus, Plan]]:
    """Yield each data set with each seed: the texts, and how to train on them.

    Args:
        args: from `parse_comparison`.
        per_language: most training texts of each language of a multilingual set; 0 for all.
    """
    for name in args.sets:
        if args.quick:
            corpus = load_corpus(args.data, name, rows=QUICK_ROWS, test_rows=QUICK_TEST_ROWS)
        else:
            corpus = load_corpus(args.data, name, per_language=per_language)
        for seed in args.seeds:
            yield corpus, Plan(seed, args.epochs, args.autotune, args.embedding, args.v1, args.work)
