"""`retvec-lite train`: a labelled file in, a trained classifier and its scores out."""

import argparse

from retvec_lite.api import train
from retvec_lite.cli import add_column_arguments, add_multi_label_argument, png_file
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import refuse_existing
from retvec_lite.model.heads import HEADS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "data", metavar="DATA", help="labelled CSV, TSV or JSON Lines file; 'starter': the built-in data"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        required=True,
        help="folder for the trained classifier; a long training that was killed goes on where it was",
    )
    add_column_arguments(parser)
    add_multi_label_argument(parser)
    parser.add_argument(
        "--validation",
        type=_validation,
        default="auto",
        metavar="auto|FILE|SHARE",
        help="labelled file, or share of DATA to set aside (default: cross-validate up to 3,000 texts, a tenth of more)",
    )
    parser.add_argument(
        "--head",
        choices=("auto", *HEADS),
        default="auto",
        help="classifier head (default: chosen by the size of the data; linear: fitted in seconds)",
    )
    parser.add_argument(
        "--embedding", default="default", metavar="default|raw|FILE", help="word embedding (default: the built-in one)"
    )
    parser.add_argument(
        "--fine-tune-embedding",
        action="store_true",
        help="also train the word embedding, with character features: more accurate, 2 to 5 times slower",
    )
    parser.add_argument(
        "--character-filters",
        type=int,
        metavar="N",
        help="character features of --fine-tune-embedding (default: 128; 0: none)",
    )
    parser.add_argument(
        "--ngram-kb",
        type=int,
        metavar="KB",
        help="kilobytes for n-grams (default: as many as an int8 file below 1 MB has room for; 0: none)",
    )
    parser.add_argument(
        "--max-words",
        type=_max_words,
        default="auto",
        metavar="auto|N",
        help="word slots (default: the 99th percentile of the texts)",
    )
    parser.add_argument(
        "--epochs", type=int, metavar="N", help="most passes over the data (default: chosen by the size of the data)"
    )
    parser.add_argument(
        "--typo-rate",
        type=float,
        metavar="SHARE",
        help="mean share of mistyped words in augmented texts (default: 0.4; 0: none)",
    )
    parser.add_argument(
        "--class-weights",
        metavar="sqrt|balanced|none|FILE",
        help="how much the texts of each label count: by the root of the inverse frequency, the inverse, all the same, or as a "
        "file says, .csv (label,weight) or .json (default: sqrt)",
    )
    parser.add_argument(
        "--unlabelled", metavar="FILE", help="texts without labels to learn from as well: .txt, .csv, .tsv or .jsonl"
    )
    parser.add_argument(
        "--unknown-label",
        metavar="LABEL",
        help="label in DATA of the texts that belong to no other label: never an answer",
    )
    parser.add_argument(
        "--reject-at",
        type=float,
        default=0.99,
        metavar="SHARE",
        help="share of the right answers to keep when texts that belong to no label are rejected (default: 0.99)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    parser.add_argument("--plot", type=png_file, metavar="FILE.png", help="draw the learning curve")
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace an earlier classifier in DIR, a checkpoint of other data or options, and the plot if it exists",
    )


def run(args: argparse.Namespace) -> int:
    """Train, write DIR, and print the scores."""
    options = vars(args)
    plot = options.pop("plot")
    if plot:
        # What can be missing or wrong is found before the work starts.
        import matplotlib.figure  # noqa: F401

        refuse_existing(plot, args.force)
        if args.ngram_kb == 0:
            raise RetvecLiteError("--plot draws the learning curve of n-grams: leave --ngram-kb 0 out.")
    classifier = train(progress=True, **options)
    print(classifier)
    if plot:
        classifier.plot_learning_curve(plot, force=args.force)
    print(f"Written to {args.out}. Next: retvec-lite export {args.out} --out dist")
    return 0


def _validation(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _max_words(text: str) -> int | str:
    return text if text == "auto" else int(text)


_max_words.__name__ = "number of words"  # argparse says "invalid number of words value: 'x'"
