"""`retvec-lite pretrain`: words in, a word embedding out."""

import argparse

from retvec_lite.cli import positive_integer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--words",
        nargs="+",
        default=["wordfreq"],
        metavar="FILE",
        help="UTF-8 files, one for each language: one word a line, or CSV with the columns word and count; 'wordfreq' "
        "(default): its 42 languages, and CLDR's words for those it lacks; both may be combined",
    )
    parser.add_argument("--steps", type=int, default=100_000, metavar="N", help="training steps (default: 100,000)")
    parser.add_argument(
        "--batch-size", type=int, default=2048, metavar="N", help="rows of a batch, two a word (default: 2,048)"
    )
    parser.add_argument(
        "--resume", metavar="DIR", help="folder of checkpoints: continue there, or begin there (default: beside --out)"
    )
    parser.add_argument("--out", default="embedding.safetensors", metavar="FILE", help="default: embedding.safetensors")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    parser.add_argument(
        "--optimizer",
        choices=("muon", "adam"),
        default="muon",
        help="of matrices: muon (default) learns more in the same time, adam is the paper's",
    )
    parser.add_argument(
        "--start-from", metavar="FILE", help="begin with the weights of this embedding, not with random ones"
    )
    parser.add_argument(
        "--peak-rate", type=float, default=1e-3, metavar="R", help="highest learning rate (default: 0.001)"
    )
    parser.add_argument(
        "--learned-clipping",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="train the steps of the 4-bit grid too, instead of taking them from the largest weights (default: on)",
    )
    parser.add_argument("--warmup", type=int, default=1000, metavar="N", help="steps of warm-up (default: 1,000)")
    parser.add_argument(
        "--quantized-share",
        type=float,
        default=0.4,
        metavar="SHARE",
        help="last part of the steps, with 4-bit weights; 0 for none (default: 0.4)",
    )
    parser.add_argument(
        "--sampling",
        choices=("kinds", "categories", "shifts"),
        default="shifts",
        help="how often each kind of typo is drawn: all 22 kinds alike, the paper's four categories alike, or shifts of the "
        "rest of the word more often (default)",
    )
    parser.add_argument(
        "--decomposed-share",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="words written in decomposed form, in which an accent is a character of its own (default: 0)",
    )
    parser.add_argument(
        "--dropout",
        type=float,
        default=1 / 16,
        metavar="SHARE",
        help="whole characters hidden from the network (default: 0.0625)",
    )
    parser.add_argument(
        "--weight-decay",
        type=float,
        default=0.0,
        metavar="D",
        help="of the matrices but the last, a share of the learning rate (default: 0)",
    )
    parser.add_argument(
        "--export-at",
        type=int,
        nargs="*",
        default=[],
        metavar="STEP",
        help="also write float weights after these steps",
    )
    parser.add_argument(
        "--evaluate-every", type=int, default=2500, metavar="N", help="steps between measurements (default: 2,500)"
    )
    parser.add_argument(
        "--shares",
        type=positive_integer,
        metavar="N",
        help="shares that words and batches are cut into, a multiple of the workers in TF_CONFIG (default: one each)",
    )
    parser.add_argument(
        "--name", default="retvec-lite", metavar="NAME", help="name inside the file (default: retvec-lite)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing FILE of --out")


def run(args: argparse.Namespace) -> int:
    """Pre-train and write the embedding."""
    from retvec_lite.model.cluster import join_cluster
    from retvec_lite.pretraining.pretrain import pretrain_embedding

    pretrain_embedding(log=_print, **vars(args))
    cluster = join_cluster()
    if cluster is None or cluster.is_chief:
        print(f"Written to {args.out}. Next: retvec-lite train DATA --embedding {args.out} --out DIR")
    return 0


def _print(line: str) -> None:
    print(line, flush=True)
