"""`retvec-lite train`: a labelled file in, a trained classifier and its table out."""

import argparse
from pathlib import Path

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HEADS
from retvec_lite.training.settings import recommended

OUTPUT_FILES = ("classifier.safetensors", "training.json", "labels.txt")
_ROOM = 8_000_000
"""Bytes of the largest classifier with its report: asked of the disk beforehand, so that no training is for nothing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "data", metavar="DATA", help="labelled CSV, TSV or JSON Lines file; 'starter' for the built-in set"
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the trained classifier")
    parser.add_argument("--text-column", default="text", help="column of the texts (default: text)")
    parser.add_argument("--label-column", default="label", help="column of the labels (default: label)")
    parser.add_argument(
        "--validation", default="0.1", metavar="FILE|FRACTION", help="labelled file, or share of DATA (default: 0.1)"
    )
    parser.add_argument("--head", choices=tuple(HEADS), default="pool", help="classifier head (default: pool)")
    parser.add_argument(
        "--embedding", default="default", metavar="default|raw|FILE", help="word embedding (default: the built-in one)"
    )
    parser.add_argument(
        "--fine-tune-embedding",
        action="store_true",
        help="train the word embedding with the head, and character features beside it: more accurate, slower",
    )
    parser.add_argument(
        "--character-filters",
        type=int,
        metavar="N",
        help="character features of --fine-tune-embedding (default: 128; 0: none)",
    )
    parser.add_argument(
        "--max-words", default="auto", metavar="auto|N", help="word slots (default: 99th percentile of the texts)"
    )
    parser.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="passes over the data at most (default: by the size of the data; twice as many with --fine-tune-embedding)",
    )
    parser.add_argument(
        "--typo-rate",
        type=float,
        metavar="R",
        help="mean share of mistyped words in augmented texts (default: 0.4; 0: off)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default: 0)")
    parser.add_argument("--force", action="store_true", help="replace an existing classifier in DIR")


def run(args: argparse.Namespace) -> int:
    """Train and write DIR; the table goes to standard output."""
    from retvec_lite.files import atomic_directory, explain_os_error, refuse_existing, require_room

    max_words = _max_words(args.max_words)
    chosen = _chosen_settings(args)
    refuse_existing(args.out, args.force)

    from retvec_lite.data.dataset import check_trainable, read_dataset, starter_file
    from retvec_lite.model import load_tensorflow

    path = starter_file("train") if args.data == "starter" else Path(args.data)
    dataset = read_dataset(path, args.text_column, args.label_column)
    check_trainable(dataset)
    validation = _validation(args.validation)
    if isinstance(validation, Path):
        held_out = read_dataset(validation, args.text_column, args.label_column)

    load_tensorflow()

    from retvec_lite.progress import watched
    from retvec_lite.cli.train_report import print_report, training_json
    from retvec_lite.training.trainer import choose_embedding, train

    embedding = choose_embedding(args.embedding)
    require_room(args.out, _ROOM)
    with atomic_directory(args.out, force=args.force, owned=OUTPUT_FILES) as folder:
        with watched(True) as report:
            trained = train(
                dataset,
                held_out if isinstance(validation, Path) else validation,
                head=args.head,
                embedding=embedding,
                fine_tune=args.fine_tune_embedding,
                max_words=max_words,
                settings=recommended(len(dataset), fine_tune=args.fine_tune_embedding, **chosen),
                report=report,
            )
        labels = "".join(f"{label}\n" for label in trained.classifier.labels)
        contents = (trained.classifier.to_bytes(), training_json(trained).encode(), labels.encode())
        try:
            for name, content in zip(OUTPUT_FILES, contents, strict=True):
                (folder / name).write_bytes(content)
        except OSError as error:
            raise explain_os_error(error, args.out) from error
    print_report(trained, args.out)
    return 0


def _max_words(value: str) -> int | None:
    if value == "auto":
        return None
    if not value.isdecimal() or not 1 <= int(value) <= 4096:
        raise RetvecLiteError(f"Expected --max-words to be 'auto' or an integer from 1 to 4096, received {value!r}.")
    return int(value)


def _chosen_settings(args: argparse.Namespace) -> dict[str, float]:
    if args.typo_rate is not None and not 0.0 <= args.typo_rate <= 1.0:
        raise RetvecLiteError(
            f"Expected --typo-rate to be a share of the words from 0 to 1, received {args.typo_rate}."
        )
    if args.epochs is not None and args.epochs < 1:
        raise RetvecLiteError(f"Expected --epochs to be at least 1, received {args.epochs}.")
    if not 0 <= args.seed < 2**31:
        raise RetvecLiteError(f"Expected --seed to be an integer from 0 to {2**31 - 1}, received {args.seed}.")
    if args.character_filters is not None and not (args.fine_tune_embedding and 0 <= args.character_filters <= 1024):
        raise RetvecLiteError(
            "Expected --character-filters to be an integer from 0 to 1024 and to come with --fine-tune-embedding, "
            f"received {args.character_filters} {'with' if args.fine_tune_embedding else 'without'} it."
        )
    chosen = {
        "epochs": args.epochs,
        "character_filters": args.character_filters,
        "typo_rate": args.typo_rate,
        "seed": args.seed,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _validation(value: str) -> Path | float:
    """A share of the training data between 0 and 1, or a file."""
    try:
        share = float(value)
    except ValueError:
        return Path(value)
    if not 0.0 < share < 1.0:
        raise RetvecLiteError(f"Expected --validation to be a file or a share between 0 and 1, received {value}.")
    return share
