"""Make what English words mean, and the sentence network beside it: both learn from open sentences what two sentence encoders say of them.

python -m makers.sentences train TEXTS... --bge JAR --minilm JAR
"""

import argparse
import sys
from pathlib import Path

from makers.command import Command
from retvec_lite.files import atomic_write


def train(args: argparse.Namespace) -> None:
    """Train table and network on files of sentences."""
    from makers.sentences import learn, table
    from makers.sentences.corpus import Vocabulary, draw_sentences
    from makers.sentences.lessons import FEW, Lessons, Teachers
    from makers.stage import Stage
    from retvec_lite.model.meaning_file import MeaningFile
    from retvec_lite.model.sentence_network import SENTENCES_FILE
    from retvec_lite.terminal import watched

    start = args.start and MeaningFile.load(args.start)
    with watched(True) as progress:
        sentences = draw_sentences(args.texts, progress)[: FEW if args.quick else None]
    lessons = Lessons(sentences, args.out / "teachers", Teachers(args.bge, args.minilm))

    settings = {"sentences": lessons.digest, "words": table.SIZE}
    vocabulary = Stage(args.out / "words.npz", settings).once(
        lambda: Vocabulary.of(sentences, table.SIZE).arrays(), Vocabulary.from_arrays
    )
    rounds = [1, 1] if args.quick else [table.ROUNDS, learn.ROUNDS]
    meaning = table.learn_table(lessons, vocabulary, start, args.out, rounds[0])
    atomic_write(file := args.out / f"meaning_{table.LANGUAGE}.safetensors", meaning.to_bytes())
    print(f"{meaning.card['method']}.\nWritten to {file}.")

    network = learn.learn_network(lessons, meaning, args.out, rounds[1])
    atomic_write(file := args.out / SENTENCES_FILE, network.to_bytes())
    print(f"{network.card['measured']}.\nWritten to {file}.")


def command() -> Command:
    """Declare the command line."""
    found = Command("sentences", __doc__)
    parser = found.add("train", train)
    parser.add_argument(
        "texts",
        nargs="+",
        type=Path,
        metavar="TEXTS",
        help="UTF-8 files, also packed: .txt, a sentence or paragraph a line, or .tsv, English before the first tab",
    )
    for option, name in (("--bge", "bge-small-en-v1.5"), ("--minilm", "all-MiniLM-L6-v2")):
        parser.add_argument(
            option,
            type=Path,
            required=True,
            metavar="JAR",
            help=f"the encoder {name}: README.md says where it is from",
        )
    parser.add_argument(
        "--start",
        type=Path,
        metavar="FILE",
        help="what words mean to begin with, as `makers.meaning texts` makes it (default: noise)",
    )
    return found


if __name__ == "__main__":
    sys.exit(command().main())
