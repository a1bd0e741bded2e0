"""`retvec-lite train`: a labelled file in, a trained classifier and its scores out."""

import argparse
import os
import shlex
from pathlib import Path

from retvec_lite.api import train
from retvec_lite.cli import png_file
from retvec_lite.cli.options import add_options
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import refuse_existing
from retvec_lite.model.heads import RnnHead


def declare_train(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "data",
        nargs="*",
        metavar="DATA",
        help="labelled CSV, TSV, JSON or Parquet files, folders of them, or patterns; 'starter': the built-in data; none with --labels alone",
    )
    add_options(
        parser,
        train,
        without=("data", "sample_weight", "progress"),
        labels={
            "type": str,
            "metavar": "FILE",
            "help": "names and descriptions of labels, which are learned from as well: a file with the columns label and description, "
            "several rows a label; texts may be few then, or none",
        },
        out={"required": True, "metavar": "DIR"},
    )
    parser.add_argument(
        "--plot", type=png_file, metavar="FILE.png", help="draw the learning curve; --force replaces an existing file"
    )


def run_train(args: argparse.Namespace) -> int:
    """Train, write DIR, and print the scores."""
    options = vars(args)
    plot, files = options.pop("plot"), options.pop("data")
    if plot:
        # What can be missing or wrong is found before the work starts.
        import matplotlib.figure  # noqa: F401

        refuse_existing(plot, args.force)
        if args.ngram_kb == 0:
            raise RetvecLiteError("--plot draws the learning curve of n-grams: leave --ngram-kb 0 out.")
    if args.head != RnnHead.name:
        run_small_operations_side_by_side()
    data = None if not files else files[0] if len(files) == 1 else list(map(Path, files))
    classifier = train(data=data, progress=True, **options)
    print(classifier.lesson or classifier)
    if plot:
        classifier.plot_learning_curve(plot, force=args.force)
    # What was held out is known right after a training alone.
    done = "Written to" if classifier.held_out or classifier.lesson else "Nothing changed in"
    page = "" if classifier.lesson else f" All of it with pictures: {args.out}/report.html."
    print(f"{done} {args.out}.{page} Export it: retvec-lite export {shlex.quote(args.out)} --out dist")
    return 0


def run_small_operations_side_by_side() -> None:
    """Give each of TensorFlow's operations one thread, unless the environment says otherwise; call before it is loaded.

    Several small operations at once, each in one thread, are quicker than each on all cores, unless XLA joins them. Only for
    programs that do nothing but train: others may do more with TensorFlow.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
