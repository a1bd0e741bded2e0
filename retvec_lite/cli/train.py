"""`retvec-lite train`: a labelled file in, a trained classifier and its scores out."""

import argparse

from retvec_lite.api import train
from retvec_lite.cli import add_column_arguments
from retvec_lite.model.heads import HEADS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "data", metavar="DATA", help="labelled CSV, TSV or JSON Lines file; 'starter': the built-in data"
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the trained classifier")
    add_column_arguments(parser)
    parser.add_argument(
        "--validation",
        type=_validation,
        default=0.1,
        metavar="FILE|SHARE",
        help="labelled file, or share of DATA to set aside (default: 0.1)",
    )
    parser.add_argument("--head", choices=tuple(HEADS), default="pool", help="classifier head (default: pool)")
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
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    parser.add_argument("--force", action="store_true", help="replace an earlier classifier in DIR")


def run(args: argparse.Namespace) -> int:
    """Train, write DIR, and print the scores."""
    print(train(progress=True, **vars(args)))
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
