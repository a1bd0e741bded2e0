"""What n-grams cost on the device: a text through `classify` of the same file with and without them, on LiteRT, one thread.

    python -m benchmarks.speed.ngram_latency [--quick]

The classifiers are not trained: time does not depend on the weights. Files take turns, and the least time of each counts,
so that other work on the machine disturbs all of them alike.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.common import Row, markdown_table, measure_built

if TYPE_CHECKING:
    from retvec_lite.model.weight_files import TrainedModel

NGRAMS: Final = {"none": (0, 0), "2,500 buckets": (2_500, 0), "8,192 buckets": (8_192, 0), "2 codebooks": (512, 2)}
"""Name -> buckets and codebooks."""
HEADS: Final = ("pool", "cnn")
SLOTS: Final = 64
RECIPE: Final = "int8"
TEXT: Final = "please tell me where my new card is right now "
TEXTS: Final = {10: ("classify_16", TEXT), 60: ("classify", TEXT * 6)}
"""Words of the text -> the signature that answers it, and the text."""
ROUNDS: Final = 60
CALLS: Final = 5


def name_of(head: str, ngrams: str) -> str:
    """Return the name of a file."""
    return f"{head}-{ngrams}.tflite"


def build(folder: Path) -> None:
    """Write all files. In a process of its own: LiteRT and TensorFlow do not share one here."""
    from benchmarks.speed.latency_build import untrained
    from retvec_lite.converters.export import convert
    from retvec_lite.converters.tflite.quantize import quantize
    from retvec_lite.model import heads

    for head in HEADS:
        plain = untrained(heads.HEADS[head](), SLOTS)
        for name, (buckets, codebooks) in NGRAMS.items():
            classifier = with_ngrams(plain, buckets, codebooks) if buckets else plain
            (folder / name_of(head, name)).write_bytes(quantize(convert(classifier), RECIPE))


def with_ngrams(plain: "TrainedModel", buckets: int, codebooks: int = 0) -> "TrainedModel":
    """Return a classifier with n-grams that mean nothing."""
    from retvec_lite.model.grid import EIGHT_BITS, snap
    from retvec_lite.ngrams import CODES, PRIME, NgramConfig

    rng = np.random.default_rng(0)
    labels = len(plain.labels)
    weights = {
        "ngrams/table": snap(rng.normal(0, 1, (buckets, labels)).astype(np.float32), EIGHT_BITS),
        "ngrams/squares": rng.integers(1, 128, buckets).astype(np.float32),
        "ngrams/bias": np.zeros(labels, np.float32),
    }
    if codebooks:
        weights["ngrams/codes"] = rng.integers(0, CODES, (PRIME, codebooks)).astype(np.float32)
    config = NgramConfig(buckets=buckets, codebooks=codebooks)
    return replace(plain, weights={**plain.weights, **weights}, ngrams=config)


def measure(folder: Path, rounds: int) -> list[Row]:
    """Return a row for each head and text: microseconds without n-grams, and more with each kind."""
    from ai_edge_litert.interpreter import Interpreter

    from retvec_lite.contract import codepoints

    calls: dict[tuple[str, str, int], tuple[Any, Any]] = {}
    for head in HEADS:
        for name in NGRAMS:
            for words, (signature, text) in TEXTS.items():
                runner = Interpreter(str(folder / name_of(head, name)), num_threads=1).get_signature_runner(signature)
                length = int(runner.get_input_details()["codepoints"]["shape"][1])
                calls[head, name, words] = runner, codepoints(text.strip(), length)[None]
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for key, (runner, row) in calls.items():
            for _ in range(CALLS):
                start = time.perf_counter()
                runner(codepoints=row)
                least[key] = min(least[key], time.perf_counter() - start)
    rows: list[Row] = []
    for head in HEADS:
        for words in TEXTS:
            plain = least[head, "none", words] * 1e6
            added = {name: round(least[head, name, words] * 1e6 - plain, 1) for name in list(NGRAMS)[1:]}
            rows.append({"head": head, "words": words, "microseconds": round(plain, 1), "added": added})
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    header = ["head, words of the text", "without n-grams", *list(NGRAMS)[1:]]
    body = [
        [
            f"{row['head']}, {row['words']}",
            f"{row['microseconds']:.0f} µs",
            *(f"+{row['added'][name]:.0f} µs" for name in list(NGRAMS)[1:]),
        ]
        for row in rows
    ]
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the files, measure them, and write the table."""
    measure_built(
        __doc__,
        "benchmarks.speed.ngram_latency",
        build,
        lambda folder, quick: measure(folder, 3 if quick else ROUNDS),
        table,
        arguments,
    )


if __name__ == "__main__":
    main()
