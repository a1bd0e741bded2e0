"""`retvec-lite pretrain`: words in, a word embedding out."""

import argparse

from retvec_lite.pretraining.settings import PretrainOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    PretrainOptions.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Pre-train and write the embedding."""
    from retvec_lite.pretraining.pretrain import pretrain_embedding

    pretrain_embedding(log=_print, **vars(args))
    print(f"Written to {args.out}. Next: retvec-lite train DATA --embedding {args.out} --out DIR")
    return 0


def _print(line: str) -> None:
    print(line, flush=True)
