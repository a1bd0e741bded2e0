"""`retvec-lite pretrain-meaning`: open text or translations in, what their words mean out."""

import argparse

from retvec_lite.pretraining.meaning.options import PretrainMeaningOptions


def declare_pretrain_meaning(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="TEXTS",
        help="UTF-8 text files, a sentence or paragraph a line, in which neighbouring lines belong together: .txt, also packed",
    )
    PretrainMeaningOptions.add_arguments(parser)


def run_pretrain_meaning(args: argparse.Namespace) -> int:
    """Learn and write the file."""
    from retvec_lite.pretraining.meaning.pretrain import pretrain_meaning

    found = pretrain_meaning(progress=True, **vars(args))
    print(f"{found.card['counts']}.\nWritten to {args.out}.")
    return 0
