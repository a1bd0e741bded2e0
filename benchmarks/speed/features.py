"""What n-grams and `explain` cost on the device: exported files of 77 labels and 64 slots, on LiteRT, one thread.

    python -m benchmarks.speed.features [--quick]

The classifiers are not trained: time does not depend on the weights. Files take turns, and the least time of each counts,
so that other work on the machine disturbs all of them alike.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.common import Row, command_parser, result_path, run_module, write_results
from benchmarks.tables.cells import markdown_table
from retvec_lite import TextClassifier
from retvec_lite.contract import codepoints
from retvec_lite.runtime.interpreters import import_runtime

HEADS: Final = ("pool", "cnn")
NGRAMS: Final = ("2,500 buckets", "8,192 buckets", "2 codebooks")
TEXT: Final = "please tell me where my new card is right now"
TEXTS: Final = {10: "classify_16", 60: "classify"}
"""Words of the text -> the signature that answers it."""
EXPLAINED: Final = "8,192 buckets"
EXPLAIN_RECIPES: Final = ("int8", "int8-dynamic")
WORDS: Final = (5, 10, 20, 40)
ROUNDS: Final = 100


def text_of(words: int) -> str:
    """Return a text of so many words."""
    return " ".join((TEXT.split() * words)[:words])


def least_times(calls: Mapping[Any, Callable[[], object]], rounds: int) -> dict[Any, float]:
    """Return the least seconds of each call; they take turns."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            least[key] = min(least[key], time.perf_counter() - start)
    return least


def measure_ngrams(folder: Path, rounds: int) -> list[Row]:
    """Return a row for each head and text: microseconds without n-grams, and more with each kind."""
    calls: dict[tuple[str, str, int], Callable[[], object]] = {}
    for head in HEADS:
        for name in ("none", *NGRAMS):
            for words, signature in TEXTS.items():
                file = folder / f"{head}-{name}-int8.tflite"
                interpreter = import_runtime("ai-edge-litert")[1](model_path=str(file), num_threads=1)
                interpreter.allocate_tensors()
                runner = interpreter.get_signature_runner(signature)
                length = int(runner.get_input_details()["codepoints"]["shape"][1])
                row = codepoints(text_of(words), length)[None]
                calls[head, name, words] = lambda runner=runner, row=row: runner(codepoints=row)
    least = {key: seconds * 1e6 for key, seconds in least_times(calls, 3 * rounds).items()}
    rows: list[Row] = []
    for head in HEADS:
        for words in TEXTS:
            plain = least[head, "none", words]
            added = {name: round(least[head, name, words] - plain, 1) for name in NGRAMS}
            rows.append({"head": head, "words": words, "microseconds": round(plain, 1), "added": added})
    return rows


def measure_explain(folder: Path, rounds: int) -> list[Row]:
    """Return a row for each file: milliseconds by the words of the text."""
    calls: dict[tuple[str, str, int], Callable[[], object]] = {}
    for head in HEADS:
        for recipe in EXPLAIN_RECIPES:
            classifier = TextClassifier.load(folder / f"{head}-{EXPLAINED}-{recipe}.tflite", workers=1)
            for words in WORDS:
                text = text_of(words)
                assert len(classifier.explain(text).spans) == words
                calls[head, recipe, words] = lambda classifier=classifier, text=text: classifier.explain(text)
    least = least_times(calls, rounds)
    return [
        {
            "head": head,
            "recipe": recipe,
            "milliseconds": {str(words): round(least[head, recipe, words] * 1e3, 2) for words in WORDS},
        }
        for head in HEADS
        for recipe in EXPLAIN_RECIPES
    ]


def ngram_table(rows: Sequence[Row]) -> str:
    """Return the rows of `measure_ngrams` as Markdown."""
    body = [
        [
            f"{row['head']}, {row['words']}",
            f"{row['microseconds']:.0f} µs",
            *(f"+{row['added'][name]:.0f} µs" for name in NGRAMS),
        ]
        for row in rows
    ]
    return markdown_table(["head, words of the text", "without n-grams", *NGRAMS], body)


def explain_table(rows: Sequence[Row]) -> str:
    """Return the rows of `measure_explain` as Markdown."""
    body = [
        [f"{row['head']}, {row['recipe']}", *(f"{row['milliseconds'][str(words)]:.1f} ms" for words in WORDS)]
        for row in rows
    ]
    return markdown_table(["head, recipe", *(f"{words} words" for words in WORDS)], body)


def main(arguments: Sequence[str] | None = None) -> None:
    args = command_parser(__doc__, quick="few rounds").parse_args(arguments)
    rounds = 3 if args.quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        run_module("benchmarks.speed.files", "features", folder)
        ngrams, explain = measure_ngrams(Path(folder), rounds), measure_explain(Path(folder), rounds)
    write_results(result_path("ngram_latency", quick=args.quick), ngrams, ngram_table(ngrams))
    write_results(result_path("explain_latency", quick=args.quick), explain, explain_table(explain))


if __name__ == "__main__":
    main()
