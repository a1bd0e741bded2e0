"""Make the word embedding of the package, and measure it.

python -m makers.embedding train
python -m makers.embedding evaluate out/makers/embedding/default_embedding.safetensors --against v1.safetensors
python -m makers.embedding import-v1 SAVED_MODEL v1.safetensors
"""

import argparse
import functools
import sys
from pathlib import Path

from makers.command import Command, count

_tell = functools.partial(print, flush=True)


def train(args: argparse.Namespace) -> None:
    """Pre-train an embedding and write default_embedding.safetensors."""
    from makers.embedding.train import make_embedding
    from retvec_lite.model import import_tensorflow

    import_tensorflow()
    steps, batch_size = (20, 64) if args.quick else (args.steps, 2048)
    out = make_embedding(args.words, args.out, steps=steps, seed=args.seed, batch_size=batch_size, tell=_tell)
    print(f"Written to {out}. Train a classifier with it: retvec-lite train DATA --embedding {out} --out DIR")


def evaluate(args: argparse.Namespace) -> None:
    """Measure how many mistyped words embeddings find, language by language."""
    from makers.embedding.evaluate import evaluate_embeddings

    queries = 20 if args.quick else 500
    print(evaluate_embeddings([args.file, *args.against], args.words, args.misspellings, args.out, queries=queries))


def import_v1(args: argparse.Namespace) -> None:
    """Write the released RETVec v1 weights as an embedding file."""
    from makers.embedding.import_v1 import import_embedding

    import_embedding(args.source, args.file)
    print(f"Written to {args.file}.")


def command() -> Command:
    """Declare the command line."""
    from makers.embedding.words import WORDFREQ

    found = Command("embedding", __doc__)
    parser = found.add("train", train)
    parser.add_argument(
        "--words",
        nargs="+",
        type=Path,
        default=[Path(WORDFREQ)],
        metavar="FILE",
        help="UTF-8 files, one for each language and named after it: one word a line, or CSV with the columns word and count; "
        "'wordfreq' (default): its 42 languages, and CLDR's words for those it lacks; both may be combined",
    )
    parser.add_argument("--steps", type=count, default=50_000, metavar="N", help="of the first round (default: 50,000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of everything random (default: 0)")
    parser = found.add("evaluate", evaluate)
    parser.add_argument("file", type=Path, metavar="FILE", help="embedding file, or `default` for the packaged one")
    parser.add_argument("--against", nargs="+", type=Path, default=[], metavar="FILE", help="others to compare with")
    parser.add_argument(
        "--words",
        type=Path,
        metavar="DIR",
        help="folder of frequency lists <language>.csv with the columns word and count; languages that it lacks use the words of "
        "wordfreq that pre-training leaves out",
    )
    parser.add_argument(
        "--misspellings",
        type=Path,
        metavar="FILE",
        help="human misspellings of English words: .csv with the columns text (as written) and label (right)",
    )
    parser = found.add("import-v1", import_v1, makes=False)
    parser.add_argument("source", type=Path, help="SavedModel folder, or .npz with k0, b0, ..., k2, b2")
    parser.add_argument("file", type=Path, metavar="FILE", help="embedding file to write (.safetensors)")
    return found


if __name__ == "__main__":
    sys.exit(command().main())
