"""`retvec-lite import-embedding`: released RETVec v1 weights in, an embedding file of our own format out."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source", metavar="SOURCE", help="SavedModel folder, TF.js folder, or .npz with k0, b0, ..., k2, b2"
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="embedding file to write (.safetensors)")
    parser.add_argument("--force", action="store_true", help="replace an existing FILE")


def run(args: argparse.Namespace) -> int:
    """Import and write FILE."""
    from retvec_lite.pretraining.import_v1 import import_embedding

    import_embedding(**vars(args))
    print(f"Written to {args.out}. Next: retvec-lite train DATA --embedding {args.out} --out DIR")
    return 0
