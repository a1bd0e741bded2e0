"""The commands around exported files: `export` makes them; `verify`, `evaluate`, `compare`, `info` and `demo` show what they are worth.

`make-key` and `check-update` are for who signs them, and who downloads them.
"""

import argparse

from retvec_lite.cli import MODEL, add_options, load_quietly, told_warnings
from retvec_lite.comparing import compare
from retvec_lite.converters.format import ALL, FORMATS
from retvec_lite.converters.recipes import DEFAULT_RECIPE, RECIPES
from retvec_lite.data.sources import check_output
from retvec_lite.evaluating import evaluate
from retvec_lite.loading import load
from retvec_lite.playground import demo
from retvec_lite.signing import PUBLIC_SUFFIX, make_key
from retvec_lite.terminal import counted, json_line
from retvec_lite.trained import TrainedClassifier
from retvec_lite.updates import check_update


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        required=True,
        metavar="FILE",
        help="labelled .csv, .tsv, .jsonl, .json or .parquet; 'starter': the built-in test split",
    )


def declare_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    _add_data(parser)
    add_options(parser, evaluate, without=("classifier", "data", "labels", "progress"), by={"metavar": "COLUMN"})
    parser.add_argument("--plot", metavar="FILE.png", help="draw typo curve, calibration and coverage")
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_options(parser, load, "runtime", "isolated")


def run_evaluate(args: argparse.Namespace) -> None:
    """Score, print, and draw."""
    options = vars(args)
    model, data, plot, force, as_json = (options.pop(name) for name in ("model", "data", "plot", "force", "json"))
    if plot:
        import matplotlib.figure  # noqa: F401

        check_output(plot, force, (".png",), "Plots are", data)
    classifier = load_quietly(model, options.pop("runtime"), isolated=options.pop("isolated"))
    evaluation = evaluate(classifier, data, **options, progress=not as_json)
    if as_json:
        facts = {"model": model, "data": data, "runtime": classifier.runtime, "seed": args.seed}
        print(json_line({**evaluation.to_dict(), **facts}))
    else:
        print(evaluation)
    if plot:
        evaluation.plot(plot, name=str(classifier.metadata.get("recipe", "model")), force=force)


def declare_info(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="an exported .tflite, .retvec or .onnx, or the name of a ready-made one, such as language",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run_info(args: argparse.Namespace) -> None:
    """Print what the file says about itself and what its graph holds."""
    from retvec_lite.converters.info import info

    found = info(args.model)
    print(json_line(found.to_dict()) if args.json else found)


def declare_verify(parser: argparse.ArgumentParser) -> None:
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
    add_options(parser, demo, model={"nargs": "+"}, export={"metavar": "PAGE.html"})


def run_demo(args: argparse.Namespace) -> None:
    """Serve the playground until Ctrl-C, or write it as one HTML file."""
    demo(**vars(args))


def declare_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "classifier",
        metavar="DIR",
        help="the folder that 'retvec-lite train' wrote, or the name of a ready-made one, such as language",
    )
    parser.add_argument("--out", required=True, metavar="DIST", help="the folder to make")
    parser.add_argument(
        "--format",
        "--formats",
        dest="formats",
        action="extend",
        nargs="+",
        metavar="NAME",
        help=f"one or several of {', '.join([*FORMATS, ALL])} (default: tflite); coreml makes .mlpackages for iOS and macOS, engine .retvec files for the C engine, onnx .onnx files for ONNX Runtime",
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
        TrainedClassifier.export,
        without=("self", "out", "formats", "recipes", "progress"),
        android={"metavar": "PROJECT"},
    )


def run_export(args: argparse.Namespace) -> None:
    """Export, and print what came out; what could not be made is an error behind it."""
    from retvec_lite.converters.export_report import IncompleteExportError
    from retvec_lite.model.weight_files import load_trained_model

    options = vars(args)
    options["formats"] = args.formats or ["tflite"]
    options["recipes"] = args.recipes or [DEFAULT_RECIPE]
    classifier = TrainedClassifier(load_trained_model(options.pop("classifier")))
    try:
        report = classifier.export(**options, progress=True)
    except IncompleteExportError as error:
        print(error.report)
        raise
    print(report)


def declare_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help=MODEL)
    parser.add_argument("new", metavar="NEW", help="the one to compare with it, likewise")
    _add_data(parser)
    add_options(parser, compare, without=("old", "new", "data", "labels", "progress"), output={"metavar": "FILE.csv"})
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run_compare(args: argparse.Namespace) -> None:
    """Compare, print, and write the texts that are answered differently."""
    options = vars(args)
    as_json = options.pop("json")
    with told_warnings():
        found = compare(**options, progress=not as_json)
    print(json_line(found.to_dict()) if as_json else found)
    if args.output and not as_json:
        print(f"\n{counted(len(found.changes), 'text')} answered differently: {args.output}")


def declare_make_key(parser: argparse.ArgumentParser) -> None:
    add_options(parser, make_key, path={"metavar": "FILE"})


def run_make_key(args: argparse.Namespace) -> None:
    """Make both keys, and say what they are for."""
    public = make_key(**vars(args))
    print(f"{args.path}: the private key, for `export --sign`. Keep it secret, and keep a copy.")
    print(f"{args.path}{PUBLIC_SUFFIX}: the public key, for apps:\n{public}")


def declare_check_update(parser: argparse.ArgumentParser) -> None:
    add_options(parser, check_update)


def run_check_update(args: argparse.Namespace) -> None:
    """Check, and print what was checked."""
    print(check_update(**vars(args)))
