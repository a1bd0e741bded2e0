"""`retvec-lite compare`: two classifiers and a labelled file in, what changed and whether it could be chance out."""

import argparse

from retvec_lite.cli import MODEL, told_warnings
from retvec_lite.cli.options import add_options
from retvec_lite.comparing import compare
from retvec_lite.terminal import counted, json_line


def declare_compare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("old", metavar="OLD", help=MODEL)
    parser.add_argument("new", metavar="NEW", help="the one to compare with it, likewise")
    parser.add_argument(
        "--data",
        required=True,
        metavar="FILE",
        help="labelled .csv, .tsv, .jsonl, .json or .parquet; 'starter': the built-in test split",
    )
    add_options(parser, compare, without=("old", "new", "data", "labels", "progress"), output={"metavar": "FILE.csv"})
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run_compare(args: argparse.Namespace) -> int:
    """Compare, print, and write the texts that are answered differently."""
    options = vars(args)
    as_json = options.pop("json")
    with told_warnings():
        found = compare(**options, progress=not as_json)
    print(json_line(found.to_dict()) if as_json else found)
    if args.output and not as_json:
        print(f"\n{counted(len(found.changes), 'text')} answered differently: {args.output}")
    return 0
