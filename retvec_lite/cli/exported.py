"""The commands that show what a classifier is worth: `evaluate`, `info`, `verify` and `demo`."""

import argparse

from retvec_lite.cli import MODEL, add_reject_argument, add_runtime_argument, load_quietly, png_file, shares
from retvec_lite.cli.options import add_options
from retvec_lite.data.dataset import READING, read_dataset
from retvec_lite.data.scores import TYPO_RATES, TYPO_SEED
from retvec_lite.files import refuse_existing
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
    add_options(parser, read_dataset, *READING)
    parser.add_argument(
        "--unknown-label",
        metavar="LABEL",
        help="label in FILE of the texts that belong to none of the classifier's labels",
    )
    add_reject_argument(parser)
    parser.add_argument(
        "--typos",
        type=shares,
        default=TYPO_RATES,
        metavar="SHARE,...",
        help="shares of mistyped words, from 0 to 1 (default: 0,0.1,0.2,0.5,1)",
    )
    parser.add_argument("--seed", type=int, default=TYPO_SEED, metavar="N", help=f"of the typos (default: {TYPO_SEED})")
    parser.add_argument("--by", metavar="COLUMN", help="score each value of this column by itself, such as a language")
    parser.add_argument("--plot", type=png_file, metavar="FILE.png", help="draw typo curve, calibration and coverage")
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_runtime_argument(parser)


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
    parser.add_argument(
        "dist",
        metavar="DIST",
        help="the folder that 'retvec-lite export' wrote, one file in it, or language for the detector in the package",
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="real texts to compare labels on: CSV, TSV or JSON Lines (default: starter texts)",
    )
    add_options(parser, read_dataset, "text_column", "label_column")
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
    parser.add_argument("model", metavar="MODEL", help="an exported .retvec, a folder that contains some, or language")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on this machine (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument(
        "--export", metavar="PAGE.html", help="instead of serving, write the page and the model to one HTML file"
    )
    parser.add_argument("--force", action="store_true", help="let --export replace a file")


def run_demo(args: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C, or write it as one HTML file."""
    from retvec_lite.playground import demo

    demo(args.model, port=args.port, browser=not args.no_browser, export=args.export, force=args.force)
    return 0
