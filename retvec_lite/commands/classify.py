"""`retvec-lite classify`: texts in, labels out."""

import argparse
import json
import sys
from collections.abc import Iterator

from retvec_lite.commands.common import add_runtime_argument, load_quietly, positive_integer
from retvec_lite.errors import RetvecLiteError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="an exported .tflite")
    parser.add_argument("texts", metavar="TEXT", nargs="*", help="texts; none: one a line from standard input")
    parser.add_argument("--top", type=positive_integer, default=1, metavar="N", help="labels for each text (default 1)")
    parser.add_argument("--json", action="store_true", help="JSON Lines instead of label<TAB>probability")
    add_runtime_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line for each text, as soon as it is known."""
    classifier = load_quietly(args.model, args.runtime)
    for text in args.texts or _standard_input():
        predictions = classifier.predict(text, top=args.top)
        if args.json:
            found = [{"label": label, "probability": round(probability, 6)} for label, probability in predictions]
            line = json.dumps({"text": text, "predictions": found}, ensure_ascii=False)
        else:
            line = "\t".join(f"{label}\t{probability:.4f}" for label, probability in predictions)
        print(line, flush=True)
    return 0


def _standard_input() -> Iterator[str]:
    """Lines without their ends. A byte that is no UTF-8 becomes a surrogate, which the model reads as U+FFFD."""
    if sys.stdin is None:
        raise RetvecLiteError("Expected texts as arguments or on standard input, received neither: it is closed.")
    if sys.stdin.isatty():
        print("Reading texts from standard input, one a line; Ctrl-D ends.", file=sys.stderr)
    for line in sys.stdin.buffer:
        yield line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
