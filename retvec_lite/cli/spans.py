"""`retvec-lite detect-spans`: which part of a text is in which language."""

import argparse

from retvec_lite.cli import told_warnings
from retvec_lite.cli.classify import UNKNOWN
from retvec_lite.cli.options import add_options
from retvec_lite.spans import detect_spans
from retvec_lite.terminal import json_line, one_line


def declare_detect_spans(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, detect_spans)
    parser.add_argument(
        "--json", action="store_true", help="print JSON Lines instead of label<TAB>probability<TAB>part"
    )


def run_detect_spans(args: argparse.Namespace) -> int:
    """Print one line for each span."""
    options = vars(args)
    as_json = options.pop("json")
    with told_warnings():
        found = detect_spans(**options)
    for span in found:
        part = args.text[span.start : span.end]
        if as_json:
            print(json_line({**span._asdict(), "probability": round(span.probability, 6), "text": part}))
        else:
            print(
                f"{UNKNOWN if span.label is None else one_line(span.label)}\t{span.probability:.4f}\t{one_line(part.strip())}"
            )
    return 0
