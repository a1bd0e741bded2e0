"""`retvec-lite classify --output`: many files in, one file out."""

import argparse
import sys
from typing import Final

from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import one_line

_FOR_PRINTING: Final = ("top", "why", "json")
"""Options about the lines that are printed without --output."""


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that write a file instead of lines."""
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write all columns with label and probability to this .parquet, .csv, .tsv or .jsonl file; the same command goes "
        "on after a kill (needs the extra parquet)",
    )
    for name in ("label", "probability"):
        option = f"--{name}-column"
        parser.add_argument(option, default=name, metavar="NAME", help=f"column to add to --output (default: {name})")
    parser.add_argument("--force", action="store_true", help="replace the file at --output")


def classify_to_file(args: argparse.Namespace) -> int:
    """Classify the files of `--input`, and report on standard error."""
    for name in _FOR_PRINTING:
        if getattr(args, name):
            raise RetvecLiteError(f"--{name} is for answers that are printed: leave it out with --output.")
    from retvec_lite.scale.files import classify_files

    done = classify_files(
        args.model,
        args.input,
        args.output,
        text_column=args.text_column,
        label_column=args.label_column,
        probability_column=args.probability_column,
        reject=args.reject,
        skip_bad_rows=args.skip_bad_rows,
        workers=args.workers,
        runtime=args.runtime,
        isolated=args.isolated,
        force=args.force,
        progress=True,
    )
    new = done.rows - done.resumed
    before = f" ({done.resumed:,} of them by an earlier run)" if done.resumed else ""
    rate = f"{new / done.seconds:,.0f} a second, {done.workers} at a time"
    print(f"{done.rows:,} texts in {done.output}{before}; {done.seconds:.1f} s, {rate}", file=sys.stderr)
    if done.skipped:
        print(f"{done.skipped:,} bad rows skipped, the first: {one_line(done.first_skipped)}", file=sys.stderr)
    return 0
