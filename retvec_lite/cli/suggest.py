"""`retvec-lite suggest`: unlabelled texts in, those that it pays most to label next out."""

import argparse

from retvec_lite.cli import told_warnings
from retvec_lite.cli.options import add_options
from retvec_lite.cli.train import run_small_operations_side_by_side
from retvec_lite.suggesting import suggest
from retvec_lite.terminal import counted, one_line


def declare_suggest(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, suggest, without=("progress",), output={"metavar": "FILE"}, labelled={"metavar": "FILE"})


def run_suggest(args: argparse.Namespace) -> int:
    """Suggest, and print the texts, or where they were written."""
    run_small_operations_side_by_side()
    with told_warnings():
        found = suggest(**vars(args), progress=True)
    if args.output:
        print(f"{counted(len(found), 'text')} to label, the most telling first: {args.output}")
        return 0
    for each in found:
        guess = f"\t{one_line(each.suggestion)}" if args.classifier else ""
        print(f"{one_line(each.text)}{guess}")
    return 0
