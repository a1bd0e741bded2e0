"""The commands of labelled texts: `train` learns from them, `check` finds what is doubtful in them, `suggest` which texts to label next."""

import argparse
import inspect
import os
import shlex
from pathlib import Path
from typing import Any

from retvec_lite.api import check, train
from retvec_lite.cli import add_options, told_warnings
from retvec_lite.errors import RetvecLiteError
from retvec_lite.loading import load
from retvec_lite.suggesting import suggest
from retvec_lite.terminal import counted, one_line
from retvec_lite.trained import TrainedClassifier


def declare_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        nargs="*",
        metavar="DATA",
        help="labelled CSV, TSV, JSON or Parquet files, folders of them, or patterns; 'starter': the built-in data; none with --labels alone",
    )
    add_options(
        parser,
        train,
        without=("data", "progress"),
        labels={
            "type": str,
            "metavar": "FILE",
            "help": "names and descriptions of labels, which are learned from as well: a file with the columns label and description, "
            "several rows a label; texts may be few then, or none",
        },
        out={"required": True, "metavar": "DIR"},
    )
    parser.add_argument(
        "--start-from",
        metavar="DIR",
        help="trained folder that is trained again, on the texts that it kept and on these, with the options that it had",
    )


def run_train(args: argparse.Namespace) -> None:
    """Train, write DIR, and print the scores."""
    options = vars(args)
    files, start_from = options.pop("data"), options.pop("start_from")
    run_small_operations_side_by_side()
    data = None if not files else files[0] if len(files) == 1 else list(map(Path, files))
    classifier = _learned(start_from, data, options) if start_from else train(data=data, progress=True, **options)
    if classifier.lesson:
        print(classifier.lesson, end="\n\n")
    print(classifier)
    # What was held out is known right after a training alone.
    done = "Written to" if classifier.held_out else "Nothing changed in"
    print(
        f"{done} {args.out}. All of it with pictures: {args.out}/report.html. Export it: retvec-lite export {shlex.quote(args.out)} --out dist"
    )


def _learned(start_from: str, data: Any, options: dict[str, Any]) -> TrainedClassifier:
    """Return what `TrainedClassifier.learn` makes of a folder; raises RetvecLiteError for options that it does not take."""
    taken = {*inspect.signature(TrainedClassifier.learn).parameters} - {"labels"}
    for name, parameter in inspect.signature(train).parameters.items():
        if name not in taken and options.get(name, parameter.default) != parameter.default:
            raise RetvecLiteError(
                f"--{name.replace('_', '-')} cannot change when a classifier goes on learning: leave it out, or train on all texts, without "
                "--start-from."
            )
    classifier = load(start_from)
    if not isinstance(classifier, TrainedClassifier):
        raise RetvecLiteError(
            f"{start_from} is an exported file, which cannot go on learning: name the trained folder (--start-from)."
        )
    return classifier.learn(data, progress=True, **{name: value for name, value in options.items() if name in taken})


def run_small_operations_side_by_side() -> None:
    """Give each of TensorFlow's operations one thread, unless the environment says otherwise; call before it is loaded.

    Several small operations at once, each in one thread, are quicker than each on all cores, unless XLA joins them. Only for
    programs that do nothing but train: others may do more with TensorFlow.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")


def declare_check(parser: argparse.ArgumentParser) -> None:
    add_options(
        parser,
        check,
        without=("labels", "progress"),
        data={"help": "labelled CSV, TSV, JSON or Parquet file; 'starter': the built-in data"},
        output={"metavar": "FILE"},
    )


def run_check(args: argparse.Namespace) -> None:
    """Check, print the worst of each kind, and write the list if asked for."""
    run_small_operations_side_by_side()
    print(check(progress=True, **vars(args)))
    if args.output:
        print(f"\nWritten to {args.output}.")


def declare_suggest(parser: argparse.ArgumentParser) -> None:
    add_options(parser, suggest, without=("progress",), output={"metavar": "FILE"}, labelled={"metavar": "FILE"})


def run_suggest(args: argparse.Namespace) -> None:
    """Suggest, and print the texts, or where they were written."""
    run_small_operations_side_by_side()
    with told_warnings():
        found = suggest(**vars(args), progress=True)
    if args.output:
        print(f"{counted(len(found), 'text')} to label, the most telling first: {args.output}")
        return
    for each in found:
        guess = f"\t{one_line(each.suggestion)}" if args.classifier else ""
        print(f"{one_line(each.text)}{guess}")
