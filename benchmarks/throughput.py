"""Texts a second of an exported file: `python benchmarks/throughput.py FILE [--quick]`.

Texts of ten words through `TextClassifier.predict_many` and `probabilities`, with one worker and with one for each core: the ratio
of the two is what more cores bring.
"""

import argparse
import os
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from common import RESULTS, markdown_table, write_results

from retvec_lite.runtime.text_classifier import TextClassifier

WORDS: Final = [
    "please",
    "wake",
    "me",
    "tomorrow",
    "at",
    "seven",
    "thirty",
    "and",
    "play",
    "some",
    "quiet",
    "music",
    "on",
    "the",
    "kitchen",
    "speaker",
    "now",
    "where",
    "is",
    "my",
    "parcel",
]


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true", help="5,000 texts, not 100,000")
    args = parser.parse_args(None if arguments is None else list(arguments))
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=10)) for _ in range(5_000 if args.quick else 100_000)]
    rows = []
    for workers in sorted({1, len(os.sched_getaffinity(0))}):
        classifier = TextClassifier.load(args.file, workers=workers)
        classifier.probabilities(texts[:1000])  # makes every interpreter
        began = time.perf_counter()
        answered = sum(1 for _ in classifier.predict_many(texts, top=1))
        middle = time.perf_counter()
        classifier.probabilities(texts)
        ended = time.perf_counter()
        rows.append(
            {
                "workers": workers,
                "predict_many": round(answered / (middle - began)),
                "probabilities": round(len(texts) / (ended - middle)),
            }
        )
    table = [[str(row["workers"]), f"{row['predict_many']:,}", f"{row['probabilities']:,}"] for row in rows]
    path = RESULTS / ("throughput-quick" if args.quick else "throughput")
    write_results(path, rows, markdown_table(["workers", "predict_many, texts/s", "probabilities, texts/s"], table))


if __name__ == "__main__":
    main()
