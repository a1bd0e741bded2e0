"""`retvec-lite export`: a trained classifier in, a folder of .tflite files and .mlpackages out."""

import argparse
import sys
from typing import Final

from retvec_lite.converters.recipes import DEFAULT_RECIPE, RECIPES
from retvec_lite.errors import RetvecLiteError

_FORMATS: Final = {"tflite": ("tflite",), "coreml": ("coreml",), "all": ("tflite", "coreml")}
_IOS: Final = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("classifier", metavar="DIR", help="the folder that 'retvec-lite train' wrote")
    parser.add_argument("--out", required=True, metavar="DIST", help="the folder to make")
    parser.add_argument(
        "--format",
        action="extend",
        nargs="+",
        metavar="NAME",
        help=f"one or several of {', '.join(_FORMATS)} (default tflite); coreml makes .mlpackages for iOS and macOS",
    )
    parser.add_argument(
        "--recipe",
        action="extend",
        nargs="+",
        choices=RECIPES,
        metavar="NAME",
        help=f"one or several (default {DEFAULT_RECIPE}): "
        + "; ".join(f"{recipe.name}: {recipe.description}" for recipe in RECIPES.values()),
    )
    parser.add_argument(
        "--ios", type=int, metavar="VERSION", help=f"oldest iOS of the .mlpackages: 16, 17 or 18 (default {_IOS})"
    )
    parser.add_argument(
        "--block",
        type=int,
        metavar="N",
        help="a scale for every N weights of an output in an int4 .mlpackage for iOS 18 (default: one for all of them)",
    )
    parser.add_argument(
        "--embed",
        action="store_true",
        help="let the .tflite files answer the embeddings of a text and its words, too (for search, deduplication)",
    )
    parser.add_argument("--force", action="store_true", help="replace an earlier export")
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="real texts with columns text and label, to measure what rounding the weights costs",
    )
    parser.add_argument(
        "--android",
        metavar="PROJECT",
        help="also put the model into the assets of this Android project and golden.json into its test resources",
    )


def run(args: argparse.Namespace) -> int:
    """Export, and say what came out."""
    names = args.format or ["tflite"]
    for name in names:
        if name not in _FORMATS:
            raise RetvecLiteError(f"Expected --format to be one of {', '.join(_FORMATS)}, received {name!r}.")
    formats = sorted({part for name in names for part in _FORMATS[name]})
    for option, value in (("--ios", args.ios), ("--block", args.block)):
        if value is not None and "coreml" not in formats:
            raise RetvecLiteError(f"Expected {option} only with --format coreml or all, received --format {names[0]}.")
    if args.embed and "tflite" not in formats:
        raise RetvecLiteError(f"Expected --embed only with --format tflite or all, received --format {names[0]}.")
    recipes = args.recipe or [DEFAULT_RECIPE]
    android = None
    if args.android is not None:
        if "tflite" not in formats:
            raise RetvecLiteError(f"Expected --android only with --format tflite or all, received --format {names[0]}.")
        from retvec_lite.converters.android import find_android_files

        android = find_android_files(args.android, recipes, force=args.force)
    from retvec_lite.cli.verify import print_results
    from retvec_lite.converters.export import export

    report = export(
        args.classifier,
        args.out,
        recipes,
        formats=formats,
        ios=_IOS if args.ios is None else args.ios,
        block=args.block,
        embed=args.embed,
        force=args.force,
        data=args.data,
        tell=lambda line: print(line, file=sys.stderr),
    )
    print(f"{report.golden_texts} golden texts and {report.texts}")
    print_results([exported.result for exported in report.artifacts], report.skipped)
    for exported in report.artifacts:
        oldest = ", ".join(f"{name} {version}" for name, version in exported.oldest_runtime.items())
        is_right = "right on" if isinstance(exported.data, bytes) else "made for"
        print(f"{args.out}/{exported.result.file}: {exported.result.bytes:,} bytes, {is_right} {oldest} or newer")
    if android is not None:
        from retvec_lite.converters.android import write_android_assets

        write_android_assets(args.out, recipes[0], android)
        print(f"{android.model} and {android.golden}: for the app and its tests")
    if not all(exported.result.ok for exported in report.artifacts):
        print(
            "Rounding cost more than the bounds above allow: the files compute what they say, but choose a "
            "larger recipe, or judge with --data on texts of your own."
        )
    return 0
