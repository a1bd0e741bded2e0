"""Make the classifiers of the package retvec-lite-models, and measure them.

python -m makers.ready train sentiment --data DATA
python -m makers.ready measure sentiment --data DATA
python -m makers.ready ask sentiment
python -m makers.ready bias
python -m makers.ready robustness sentiment --data DATA
"""

import argparse
import sys
from pathlib import Path
from typing import Final

from benchmarks.common import DATA, ROOT
from benchmarks.data.prepare import CACHE
from makers.command import Command
from makers.ready.recipes import RECIPES

MODELS: Final = ROOT / "models" / "retvec_lite_models"


def train(args: argparse.Namespace) -> None:
    """Fetch the texts of a classifier, train it, and write its files and its model card."""
    from makers.ready.make import make

    print(f"Written to {make(args.name, args.out, args.data, args.cache, quick=args.quick)}.")


def ask(args: argparse.Namespace) -> None:
    """Ask a classifier the texts of asked.txt, and write its answers into its model card."""
    from makers.ready.make import ask

    ask(args.name, args.folder)


def measure(args: argparse.Namespace) -> None:
    """Measure a classifier on texts that nobody trained on, beside a support vector machine that learned from the same texts."""
    from makers.ready.measure import measure

    measure(args.name, args.file or args.name, args.data, args.cache, quick=args.quick)


def bias(args: argparse.Namespace) -> None:
    """Measure how often answers depend on the group or the person that a text names, or on its dialect."""
    from makers.ready.bias import measure_bias

    measure_bias(args.folder, args.cache)


def robustness(args: argparse.Namespace) -> None:
    """Measure what is left of a classifier's answers where texts are mistyped or written in 131 other ways."""
    from makers.ready.robustness import measure_robustness

    measure_robustness(args.name, args.file, args.data, args.cache, quick=args.quick)


def command() -> Command:
    """Declare the command line."""
    found = Command("ready", __doc__)
    for name, run, makes in (("train", train, True), ("measure", measure, False), ("robustness", robustness, False)):
        parser = found.add(name, run, makes=makes)
        parser.add_argument("name", choices=list(RECIPES), metavar="NAME", help=", ".join(RECIPES))
        parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder of the data sets")
        parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="folder of the owners' files")
        if not makes:
            parser.add_argument("--file", metavar="FILE", help="an exported file (default: the one in the package)")
            parser.add_argument("--quick", action="store_true", help="a few texts, to try the command")
    parser = found.add("ask", ask, makes=False)
    parser.add_argument("name", choices=list(RECIPES), metavar="NAME", help=", ".join(RECIPES))
    parser.add_argument(
        "--folder", type=Path, default=MODELS, metavar="DIR", help="of the file and the card (default: the package)"
    )
    parser = found.add("bias", bias, makes=False)
    parser.add_argument("--folder", type=Path, metavar="DIR", help="of exported files (default: those in the package)")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="folder of the owners' files")
    return found


if __name__ == "__main__":
    sys.exit(command().main())
