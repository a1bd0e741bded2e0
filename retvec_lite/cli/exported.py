"""The commands that show what exported files are worth: `info`, `verify` and `demo`."""

import argparse

from retvec_lite.terminal import json_line
from retvec_lite.training.options import TrainOptions


def declare_info(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model", metavar="MODEL", help="an exported .tflite or .retvec, or language for the detector in the package"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run_info(args: argparse.Namespace) -> int:
    """Print what the file says about itself and what its graph holds."""
    from retvec_lite.converters.tflite.format import info

    found = info(args.model)
    print(json_line(found.to_dict()) if args.json else found)
    return 0


def declare_verify(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "dist",
        metavar="DIST",
        help="the folder that 'retvec-lite export' wrote, one file in it, or language for the detector in the package",
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="real texts to compare labels on: CSV, TSV or JSON Lines (default: starter texts)",
    )
    TrainOptions.add_arguments(parser, "text_column", "label_column")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def run_verify(args: argparse.Namespace) -> int:
    """Verify; return 1 when a bound is broken."""
    from retvec_lite.converters.verify import verify

    options = vars(args)
    as_json = options.pop("json")
    found = verify(**options, progress=True)
    print(json_line(found.to_dict()) if as_json else found)
    return 0 if found.ok else 1


def declare_demo(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="an exported .retvec, a folder that contains some, or language")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on this machine (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument(
        "--export", metavar="PAGE.html", help="instead of serving, write the page and the model to one HTML file"
    )
    parser.add_argument("--force", action="store_true", help="let --export replace a file")


def run_demo(args: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C, or write it as one HTML file."""
    from retvec_lite.playground import demo

    demo(args.model, port=args.port, browser=not args.no_browser, export=args.export, force=args.force)
    return 0
