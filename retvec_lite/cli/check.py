"""`retvec-lite check`: a labelled file in, what is doubtful in it out."""

import argparse

from retvec_lite.api import check
from retvec_lite.cli.options import add_options
from retvec_lite.cli.train import run_small_operations_side_by_side


def declare_check(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(
        parser,
        check,
        without=("labels", "progress"),
        data={"help": "labelled CSV, TSV, JSON or Parquet file; 'starter': the built-in data"},
        output={"metavar": "FILE"},
    )


def run_check(args: argparse.Namespace) -> int:
    """Check, print the worst of each kind, and write the list if asked for."""
    run_small_operations_side_by_side()
    print(check(progress=True, **vars(args)))
    if args.output:
        print(f"\nWritten to {args.output}.")
    return 0
