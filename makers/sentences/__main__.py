"""Make the pre-trained head of the package: it learns from open sentences what a large sentence encoder says they mean.

python -m makers.sentences train TEXTS...
"""

import argparse
import sys
from pathlib import Path

from makers.command import Command


def train(args: argparse.Namespace) -> None:
    """Train the head on the files of a corpus, such as wikipedia.txt.bz2."""
    from makers.sentences.learn import learn_head
    from makers.teacher import Lessons

    lessons = Lessons.of(args.texts, args.out.parent / "teacher", quick=args.quick)
    file = args.out / "head_en.safetensors"
    found = learn_head(lessons, args.out / "checkpoint.npz")
    found.save(file)
    print(f"{found.card['measured']}.\nWritten to {file}.")


def command() -> Command:
    """Declare the command line."""
    found = Command("sentences", __doc__)
    parser = found.add("train", train)
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXTS", help="files of sentences, packed by bzip2")
    return found


if __name__ == "__main__":
    sys.exit(command().main())
