"""The commands about word embeddings: `pretrain`, `evaluate-embedding` and `import-embedding`."""

import argparse
import functools

from retvec_lite.pretraining.options import PretrainOptions


def declare_pretrain(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    PretrainOptions.add_arguments(parser)


def run_pretrain(args: argparse.Namespace) -> int:
    """Pre-train and write the embedding."""
    from retvec_lite.model import import_tensorflow

    import_tensorflow()
    from retvec_lite.pretraining.pretrain import pretrain_embedding

    pretrain_embedding(log=functools.partial(print, flush=True), **vars(args))
    print(f"Written to {args.out}. Next: retvec-lite train DATA --embedding {args.out} --out DIR")
    return 0


def declare_evaluate_embedding(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="embedding file (.safetensors); 'default': the built-in one")
    parser.add_argument(
        "--against", nargs="+", default=[], metavar="FILE", help="other embedding files to compare with"
    )
    parser.add_argument(
        "--words",
        metavar="DIR",
        help="folder of frequency lists <language>.csv with the columns word,count; languages that it lacks, and all "
        "without it, use the words of wordfreq that pre-training leaves out",
    )
    parser.add_argument(
        "--misspellings",
        metavar="FILE",
        help="human misspellings of English words: .csv with the columns text (as written) and label (right)",
    )
    parser.add_argument("--languages", nargs="+", metavar="LANG", help="only these languages (default: all)")
    parser.add_argument(
        "--trained-on",
        nargs="+",
        default=[],
        metavar="FILE",
        help="word lists that an embedding was pre-trained on besides wordfreq: their words are not asked for",
    )
    parser.add_argument(
        "--queries", type=int, default=500, metavar="N", help="mistyped words a language (default: 500)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the typos (default: 0)")
    parser.add_argument("--out", metavar="DIR", help="folder for the report as JSON, Markdown and plots")
    parser.add_argument("--force", action="store_true", help="replace an earlier report")


def run_evaluate_embedding(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    from retvec_lite.pretraining.evaluation import evaluate_embedding

    print(evaluate_embedding(progress=True, **vars(args)))
    if args.out:
        print(f"Written to {args.out}.")
    return 0


def declare_import_embedding(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source", metavar="SOURCE", help="SavedModel folder, TF.js folder, or .npz with k0, b0, ..., k2, b2"
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="embedding file to write (.safetensors)")
    parser.add_argument("--force", action="store_true", help="replace an existing FILE")


def run_import_embedding(args: argparse.Namespace) -> int:
    """Import and write FILE."""
    from retvec_lite.pretraining.import_v1 import import_embedding

    import_embedding(**vars(args))
    print(f"Written to {args.out}. Next: retvec-lite train DATA --embedding {args.out} --out DIR")
    return 0
