"""What is found among texts and in one: `nearest`, `duplicates` and `detect-spans`."""

import argparse
from typing import Final

from retvec_lite.cli import UNKNOWN, told_warnings
from retvec_lite.cli.options import add_options
from retvec_lite.searching import duplicates, nearest
from retvec_lite.spans import detect_spans
from retvec_lite.terminal import json_line, one_line

_SHOWN: Final = 10
"""Groups that are printed."""


def declare_nearest(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, nearest, without=("progress",))
    parser.add_argument("--json", action="store_true", help="print JSON Lines instead of score<TAB>text")


def run_nearest(args: argparse.Namespace) -> int:
    """Print one line for each text."""
    options = vars(args)
    as_json = options.pop("json")
    with told_warnings():
        found = nearest(**options, progress=not as_json)
    for match in found:
        facts = {**match._asdict(), "score": round(match.score, 4)}
        print(json_line(facts) if as_json else f"{match.score:.4f}\t{one_line(match.text)}")
    return 0


def declare_duplicates(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, duplicates, without=("progress",), output={"metavar": "FILE.csv"})


def run_duplicates(args: argparse.Namespace) -> int:
    """Print how many there are and the largest groups, and write all."""
    with told_warnings():
        found = duplicates(**vars(args), progress=True)
    count = sum(len(group.rows) - 1 for group in found)
    print(f"Groups of near-duplicates: {len(found):,}. Texts that repeat the first of a group: {count:,}.")
    for group in found[: 0 if args.output else _SHOWN]:
        print()
        for row, score, text in zip(group.rows, group.scores, group.texts, strict=True):
            print(f"{row}\t{score:.2f}\t{one_line(text)}")
    if args.output:
        print(f"Written to {args.output}.")
    return 0


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
