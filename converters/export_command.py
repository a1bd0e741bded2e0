"""`retvec-lite export`: a trained classifier in, a folder of .tflite files out."""

import argparse
import sys

from retvec_lite.converters.recipes import DEFAULT_RECIPE, RECIPES
from retvec_lite.errors import RetvecLiteError

FORMATS = ("tflite",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("classifier", metavar="DIR", help="the folder that 'retvec-lite train' wrote")
    parser.add_argument("--out", required=True, metavar="DIST", help="the folder to make")
    parser.add_argument("--format", default="tflite", metavar="NAME", help="tflite, the only one so far")
    parser.add_argument(
        "--recipe",
        action="extend",
        nargs="+",
        choices=RECIPES,
        metavar="NAME",
        help=f"one or several (default {DEFAULT_RECIPE}): "
        + "; ".join(f"{recipe.name}: {recipe.description}" for recipe in RECIPES.values()),
    )
    parser.add_argument("--force", action="store_true", help="replace an earlier export")
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="real texts with columns text and label, to measure what rounding the weights costs",
    )


def run(args: argparse.Namespace) -> int:
    """Export, and say what came out."""
    if args.format not in FORMATS:
        raise RetvecLiteError(f"Expected --format to be one of {', '.join(FORMATS)}, received {args.format!r}.")
    from retvec_lite.converters.export import export
    from retvec_lite.converters.verify_command import print_results

    report = export(
        args.classifier,
        args.out,
        args.recipe or [DEFAULT_RECIPE],
        force=args.force,
        data=args.data,
        tell=lambda line: print(line, file=sys.stderr),
    )
    print(f"{report.golden_texts} golden texts and {report.texts}")
    print_results([exported.result for exported in report.artifacts], report.skipped)
    for exported in report.artifacts:
        oldest = ", ".join(f"{name} {version}" for name, version in exported.oldest_runtime.items())
        print(f"{args.out}/{exported.result.file}: {len(exported.data):,} bytes, right on {oldest} or newer")
    if not all(exported.result.ok for exported in report.artifacts):
        print(
            "Rounding the weights cost more than the bounds above allow: the files compute what they say, but choose a "
            "larger recipe, or judge with --data on texts of your own."
        )
    return 0
