"""`retvec-lite verify`: the artifacts of a folder against the float reference, on every installed runtime."""

import argparse

from retvec_lite.cli import add_column_arguments
from retvec_lite.terminal import json_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "dist",
        metavar="DIST",
        help="the folder that 'retvec-lite export' wrote, or language for the detector in the package",
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="real texts to compare labels on: CSV, TSV or JSON Lines (default: starter texts)",
    )
    add_column_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def run(args: argparse.Namespace) -> int:
    """Verify; return 1 when a bound is broken."""
    from retvec_lite.converters.verify import verify

    options = vars(args)
    as_json = options.pop("json")
    found = verify(**options, progress=True)
    print(json_line(found.to_dict()) if as_json else found)
    return 0 if found.ok else 1
