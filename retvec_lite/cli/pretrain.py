"""`retvec-lite pretrain`: arguments and what they start (also `python -m retvec_lite.training.pretrain_command`)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# The light imports only: the command line builds its parser without loading Keras.
METRIC_LANGUAGES = ("en", "de", "fi", "ru", "ar", "hi", "ko")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `retvec-lite pretrain`."""
    parser.add_argument(
        "--words",
        nargs="+",
        default=["wordfreq"],
        metavar="FILE",
        help="'wordfreq' (default: its 42 languages and CLDR's words for those it lacks), or UTF-8 files, one word a line",
    )
    parser.add_argument("--steps", type=int, default=100_000, help="training steps (default %(default)s)")
    parser.add_argument(
        "--batch-size", type=int, default=2048, help="rows of a batch, two a word (default %(default)s)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="DIR", help="folder of checkpoints: continue there, or begin there"
    )
    parser.add_argument("--out", type=Path, default=Path("embedding.safetensors"), help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    parser.add_argument(
        "--optimizer",
        choices=("muon", "adam"),
        default="muon",
        help="for matrices: muon (default) learns more in the same time, adam is the paper's",
    )
    parser.add_argument(
        "--start-from", type=Path, metavar="FILE", help="begin with the weights of this embedding, not with random ones"
    )
    parser.add_argument("--peak-rate", type=float, default=1e-3, help="highest learning rate (default %(default)s)")
    parser.add_argument(
        "--learned-clipping",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="train the grid's steps, too, and do not take the largest weight of each output for its limit (default: train them)",
    )
    parser.add_argument("--warmup", type=int, default=1000, help="steps of warm-up (default %(default)s)")
    parser.add_argument(
        "--quantized-share",
        type=float,
        default=0.4,
        help="last part of the steps with 4-bit weights; 0 for none (default %(default)s)",
    )
    parser.add_argument(
        "--export-at", type=int, nargs="*", default=[], metavar="STEP", help="also write float weights then"
    )
    parser.add_argument("--evaluate-every", type=int, default=2500, help="steps (default %(default)s)")
    parser.add_argument("--name", default="retvec-lite", help="name inside the file (default %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Pre-train as the arguments say; 0 when the file is written."""
    from retvec_lite.model.weight_files import load_embedding
    from retvec_lite.pretraining.model import NetworkSettings
    from retvec_lite.pretraining.pretrain import PretrainSettings, pretrain
    from retvec_lite.pretraining.retrieval import retrieval_task, wordfreq_tasks
    from retvec_lite.pretraining.words import load_files, load_wordfreq

    settings = PretrainSettings(
        steps=args.steps,
        batch_size=args.batch_size,
        seed=args.seed,
        warmup=min(args.warmup, args.steps // 10),
        quantized_share=args.quantized_share,
        muon=args.optimizer == "muon",
        peak_rate=args.peak_rate,
        network=NetworkSettings(learned_clipping=args.learned_clipping),
    )
    if args.words == ["wordfreq"]:
        words = load_wordfreq()
        tasks = wordfreq_tasks(METRIC_LANGUAGES, seed=args.seed)
    else:
        words = load_files([Path(name) for name in args.words])
        spans = list(words.languages.items())[: len(METRIC_LANGUAGES)]
        tasks = [retrieval_task(name, words.rows[first:last], seed=args.seed) for name, (first, last) in spans]
    pretrain(
        words,
        settings,
        args.out,
        run_dir=args.resume or args.out.with_name(args.out.stem + "-run"),
        tasks=tasks,
        name=args.name,
        command=" ".join(["retvec-lite pretrain", *_told(args)]),
        initial=load_embedding(args.start_from) if args.start_from else None,
        evaluate_every=args.evaluate_every,
        export_at=args.export_at,
    )
    return 0


def _told(args: argparse.Namespace) -> list[str]:
    """The arguments that decide the weights, as one would type them."""
    told = ["--words", *(Path(name).name for name in args.words)]
    for name in ("steps", "batch_size", "seed", "optimizer", "peak_rate", "warmup", "quantized_share"):
        told += [
            f"--{name.replace('_', '-')}",
            f"{getattr(args, name):g}" if name.endswith("rate") else str(getattr(args, name)),
        ]
    if not args.learned_clipping:
        told.append("--no-learned-clipping")
    if args.start_from:
        told += ["--start-from", args.start_from.name]
    return told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Pre-train the word embedding.")
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
