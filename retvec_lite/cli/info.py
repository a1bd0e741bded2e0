"""`retvec-lite info`: what is inside an exported file."""

import argparse

from retvec_lite.converters.tflite.format import info
from retvec_lite.terminal import json_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model", metavar="MODEL", help="an exported .tflite, or language for the detector in the package"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print what the file says about itself and what its graph holds."""
    found = info(args.model)
    print(json_line(found.to_dict()) if args.json else found)
    return 0
