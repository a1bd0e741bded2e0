"""Make the language detector of the package, and measure it.

python -m makers.language train
python -m makers.language measure
python -m makers.language spans
python -m makers.language published --texts DIR
"""

import argparse
import sys
from pathlib import Path

from benchmarks.common import DATA
from makers.command import Command


def train(args: argparse.Namespace) -> None:
    """Train the detector, and write language.tflite with its weights and its model card."""
    from makers.language.train import train

    print(train(args.out, args.data, quick=args.quick).training)
    print(f"Written to {args.out}.")


def measure(args: argparse.Namespace) -> None:
    """Measure a detector by length of the text and with typos, and renew its tables in benchmarks/results."""
    from makers.language.measure import measure

    measure(args.file, args.data, quick=args.quick)


def spans(args: argparse.Namespace) -> None:
    """Measure the spans of two languages in one text, and renew their table in benchmarks/results."""
    from makers.language.joined import joined

    joined(args.file, args.data, quick=args.quick)


def published(args: argparse.Namespace) -> None:
    """Measure a detector by the accuracy test of Lingua beside ELD, and renew its table in benchmarks/results."""
    from makers.language.published import published

    published(args.file, args.texts, quick=args.quick)


def command() -> Command:
    """Declare the command line."""
    found = Command("language", __doc__)
    parser = found.add("train", train)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder of the data sets")
    for name, run in (("measure", measure), ("spans", spans), ("published", published)):
        parser = found.add(name, run, makes=False)
        parser.add_argument("file", nargs="?", default="language", metavar="FILE", help="default: the packaged one")
        parser.add_argument("--quick", action="store_true", help="a few texts, to try the command")
        if run is published:
            parser.add_argument(
                "--texts", type=Path, required=True, metavar="DIR", help="language-testdata of lingua-py"
            )
        else:
            parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder of the data sets")
    return found


if __name__ == "__main__":
    sys.exit(command().main())
