"""What `explain` costs: the words of a text left out one by one, with an exported file on LiteRT, one thread.

    python -m benchmarks.speed.explain_latency [--quick]

The classifiers are not trained: time does not depend on the weights. Files take turns, and the least time of each counts,
so that other work on the machine disturbs all of them alike.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import Row, markdown_table, measure_built

HEADS: Final = ("pool", "cnn")
RECIPES: Final = ("int8", "int8-dynamic")
SLOTS: Final = 64
BUCKETS: Final = 8_192
TEXT: Final = ("please", "tell", "me", "where", "my", "new", "card", "is", "right", "now")
WORDS: Final = (5, 10, 20, 40)
ROUNDS: Final = 100


def build(folder: Path) -> None:
    """Write all files. In a process of its own: LiteRT and TensorFlow do not share one here."""
    from benchmarks.speed.latency_build import untrained
    from benchmarks.speed.ngram_latency import with_ngrams
    from retvec_lite.converters.export import convert, package
    from retvec_lite.converters.recipes import RECIPES as ALL
    from retvec_lite.converters.tflite.quantize import quantize
    from retvec_lite.model import heads

    for head in HEADS:
        classifier = with_ngrams(untrained(heads.HEADS[head](), SLOTS), BUCKETS)
        float32 = convert(classifier)
        for recipe in RECIPES:
            oldest = dict([ALL[recipe].oldest_runtime])
            content = package(quantize(float32, recipe), classifier, ALL[recipe], oldest)
            (folder / f"{head}-{recipe}.tflite").write_bytes(content)


def measure(folder: Path, rounds: int) -> list[Row]:
    """Return a row for each file: milliseconds by the words of the text."""
    from retvec_lite.runtime.text_classifier import TextClassifier

    texts = {words: " ".join(TEXT[at % len(TEXT)] for at in range(words)) for words in WORDS}
    files = {
        (head, recipe): TextClassifier.load(folder / f"{head}-{recipe}.tflite", workers=1)
        for head in HEADS
        for recipe in RECIPES
    }
    least = {(*key, words): float("inf") for key in files for words in WORDS}
    for _ in range(rounds):
        for key, classifier in files.items():
            for words, text in texts.items():
                start = time.perf_counter()
                found = classifier.explain(text)
                least[(*key, words)] = min(least[(*key, words)], time.perf_counter() - start)
                assert len(found.spans) == words
    return [
        {
            "head": head,
            "recipe": recipe,
            "milliseconds": {str(words): round(least[head, recipe, words] * 1e3, 2) for words in WORDS},
        }
        for head, recipe in files
    ]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    body = [
        [f"{row['head']}, {row['recipe']}", *(f"{row['milliseconds'][str(words)]:.1f} ms" for words in WORDS)]
        for row in rows
    ]
    return markdown_table(["head, recipe", *(f"{words} words" for words in WORDS)], body)


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the files, measure them, and write the table."""
    measure_built(
        __doc__,
        "benchmarks.speed.explain_latency",
        build,
        lambda folder, quick: measure(folder, 3 if quick else ROUNDS),
        table,
        arguments,
    )


if __name__ == "__main__":
    main()
