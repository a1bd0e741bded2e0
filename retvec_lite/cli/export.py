"""`retvec-lite export`: a trained classifier in, a folder of .tflite files and .mlpackages out."""

import argparse

from retvec_lite.classifier import Classifier
from retvec_lite.cli.options import add_options
from retvec_lite.converters.format import ALL, FORMATS
from retvec_lite.converters.recipes import DEFAULT_RECIPE, RECIPES


def declare_export(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "classifier",
        metavar="DIR",
        help="the folder that 'retvec-lite train' wrote, or language for the detector in the package",
    )
    parser.add_argument("--out", required=True, metavar="DIST", help="the folder to make")
    parser.add_argument(
        "--format",
        "--formats",
        dest="formats",
        action="extend",
        nargs="+",
        metavar="NAME",
        help=f"one or several of {', '.join([*FORMATS, ALL])} (default: tflite); coreml makes .mlpackages for iOS and macOS, engine .retvec files for the C engine",
    )
    parser.add_argument(
        "--recipe",
        "--recipes",
        dest="recipes",
        action="extend",
        nargs="+",
        choices=RECIPES,
        metavar="NAME",
        help=f"one or several (default: {DEFAULT_RECIPE}): "
        + "; ".join(f"{recipe.name}: {recipe.formats['tflite'].description}" for recipe in RECIPES.values()),
    )
    add_options(
        parser,
        Classifier.export,
        without=("self", "out", "formats", "recipes", "progress"),
        android={"metavar": "PROJECT"},
    )


def run_export(args: argparse.Namespace) -> int:
    """Export, and print what came out; what could not be made is an error behind it."""
    from retvec_lite.converters.export import IncompleteExportError, export_model
    from retvec_lite.model.weight_files import load_trained_model
    from retvec_lite.terminal import watched

    options = vars(args)
    options["formats"] = args.formats or ["tflite"]
    options["recipes"] = args.recipes or [DEFAULT_RECIPE]
    model = load_trained_model(options.pop("classifier"))
    try:
        with watched(True) as progress:
            report = export_model(model, **options, progress=progress)
    except IncompleteExportError as error:
        print(error.report)
        raise
    print(report)
    return 0
