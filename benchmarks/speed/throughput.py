"""Texts a second of an exported file: `python -m benchmarks.speed.throughput FILE [--quick]`.

Texts of ten words through `TextClassifier.predict_many` and `probabilities`, with one worker and with one for each core.
The ratio shows the gain of more cores.
"""

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import command_parser, result_path, write_results
from benchmarks.tables.cells import markdown_table
from retvec_lite import TextClassifier

_WORDS: Final = (
    "please wake me tomorrow at seven thirty and play some quiet music on the kitchen speaker now where is my parcel"
)


def sample_texts(count: int) -> list[str]:
    """Return texts of ten words each."""
    rng = random.Random(0)
    return [" ".join(rng.choices(_WORDS.split(), k=10)) for _ in range(count)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="5,000 texts instead of 100,000")
    parser.add_argument("file", type=Path, help="an exported .tflite")
    args = parser.parse_args(arguments)
    texts = sample_texts(5_000 if args.quick else 100_000)
    rows = []
    for workers in sorted({1, len(os.sched_getaffinity(0))}):
        classifier = TextClassifier.load(args.file, workers=workers)
        classifier.probabilities(texts[:1000])  # creates every interpreter
        began = time.perf_counter()
        answered = sum(1 for _ in classifier.predict_many(texts, top=1))
        middle = time.perf_counter()
        classifier.probabilities(texts)
        ended = time.perf_counter()
        rates = {"predict_many": answered / (middle - began), "probabilities": len(texts) / (ended - middle)}
        rows.append({"workers": workers} | {name: round(rate) for name, rate in rates.items()})
    table = [[str(row["workers"]), f"{row['predict_many']:,}", f"{row['probabilities']:,}"] for row in rows]
    path = result_path("throughput", quick=args.quick)
    write_results(path, rows, markdown_table(["workers", "predict_many, texts/s", "probabilities, texts/s"], table))


if __name__ == "__main__":
    main()
