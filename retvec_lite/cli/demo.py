"""`retvec-lite demo`: try exported files in the browser."""

import argparse

from retvec_lite.playground import demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="an exported .tflite, a folder that contains some, or language")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on this machine (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument(
        "--export", metavar="PAGE.html", help="instead of serving, write the page and the model to one HTML file"
    )
    parser.add_argument("--force", action="store_true", help="let --export replace a file")


def run(args: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C, or write it as one HTML file."""
    demo(args.model, port=args.port, browser=not args.no_browser, export=args.export, force=args.force)
    return 0
