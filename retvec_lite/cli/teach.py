"""`retvec-lite teach`: what a text is, into a memory beside a classifier."""

import argparse
import os

from retvec_lite.cli import MODEL, load_quietly
from retvec_lite.cli.options import add_options
from retvec_lite.errors import RetvecLiteError
from retvec_lite.teaching import Taught
from retvec_lite.terminal import counted


def declare_teach(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    add_options(parser, Taught.teach, without=("self", "label"))
    parser.add_argument("label", metavar="LABEL", nargs="?", help="its label, which may be a new one")
    parser.add_argument(
        "--memory",
        required=True,
        metavar="FILE",
        help="the file of what was taught, made if missing, which 'classify --memory' reads; it holds the texts themselves",
    )
    parser.add_argument("--forget", action="store_true", help="forget the text; no label is named")


def run_teach(args: argparse.Namespace) -> int:
    """Teach or forget one text, and write the memory."""
    if (args.label is None) != args.forget:
        raise RetvecLiteError("Name the label of the text, or with --forget the text alone.")
    classifier = load_quietly(args.model, None)
    memory = classifier.memory
    if os.path.lexists(args.memory):
        memory.load(args.memory)
    if args.forget:
        classifier.forget(args.text)
    else:
        classifier.teach(args.text, args.label)
    memory.save(args.memory, force=True)
    print(f"{args.memory}: {counted(len(memory), 'text')}")
    return 0
