"""The commands that show what a classifier is worth: `evaluate`, `info`, `verify` and `demo`."""

import argparse

from retvec_lite.api import load
from retvec_lite.classifier import Classifier
from retvec_lite.cli import MODEL, load_quietly, png_file
from retvec_lite.cli.options import add_options
from retvec_lite.files import refuse_existing
from retvec_lite.playground import demo
from retvec_lite.terminal import json_line


def declare_evaluate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument(
        "--data",
        required=True,
        metavar="FILE",
        help="labelled .csv, .tsv, .jsonl, .json or .parquet; 'starter': the built-in test split",
    )
    add_options(parser, Classifier.evaluate, without=("self", "data", "labels", "progress"), by={"metavar": "COLUMN"})
    parser.add_argument("--plot", type=png_file, metavar="FILE.png", help="draw typo curve, calibration and coverage")
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_options(parser, load, "runtime", "isolated")


def run_evaluate(args: argparse.Namespace) -> int:
    """Score, print, and draw."""
    options = vars(args)
    model, data, plot, force, as_json = (options.pop(name) for name in ("model", "data", "plot", "force", "json"))
    if plot:
        import matplotlib.figure  # noqa: F401

        refuse_existing(plot, force)
    classifier = load_quietly(model, options.pop("runtime"), isolated=options.pop("isolated"))
    evaluation = classifier.evaluate(data, **options, progress=not as_json)
    if as_json:
        facts = {"model": model, "data": data, "runtime": classifier.runtime, "seed": args.seed}
        print(json_line({**evaluation.to_dict(), **facts}))
    else:
        print(evaluation)
    if plot:
        evaluation.plot(plot, name=str(classifier.metadata.get("recipe", "model")), force=force)
    return 0


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
    from retvec_lite.converters.verify import verify

    add_options(parser, verify, without=("progress",))
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
    add_options(parser, demo, export={"metavar": "PAGE.html"})


def run_demo(args: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C, or write it as one HTML file."""
    demo(**vars(args))
    return 0
