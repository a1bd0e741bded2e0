"""How many words one core mistypes in a second: `python benchmarks/augmentation.py [--quick]`.

Batches as pre-training makes them, with all 22 kinds of typos equally often and with pre-training's own shares. Processor
time, so that other work on the machine does not count. Copying the same rows is measured too: the ratio carries over to
other machines.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from common import command_parser, markdown_table, result_path, write_results

from retvec_lite.pretraining.augment import augment
from retvec_lite.pretraining.batches import CHUNK, SAMPLING
from retvec_lite.pretraining.settings import PretrainSettings
from retvec_lite.pretraining.words import wordfreq_words

LANGUAGES: Final = ("en", "de", "ru", "ar", "hi", "ko", "zh")


def words_a_second(work: Callable[[], object], rows: int, repeats: int) -> int:
    """Return rows per processor second: the median of the repeats, after a warm-up."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return round(rows / statistics.median(seconds))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the table."""
    args = command_parser(__doc__, quick="5 repeats instead of 30").parse_args(arguments)
    rng = np.random.default_rng(0)
    listed = np.concatenate([wordfreq_words(language)[0] for language in LANGUAGES])
    rows = listed[rng.integers(0, len(listed), CHUNK * PretrainSettings().batch_size)]
    repeats = 5 if args.quick else 30
    measured = {
        "all 22 kinds alike": words_a_second(lambda: augment(rows, rng), len(rows), repeats),
        "shifts more often": words_a_second(lambda: augment(rows, rng, weights=SAMPLING["shifts"]), len(rows), repeats),
        "copying the rows": words_a_second(lambda: [rows.copy() for _ in range(100)], 100 * len(rows), repeats),
    }
    path = result_path("augmentation", quick=args.quick)
    table = [[name, f"{speed:,}"] for name, speed in measured.items()]
    write_results(
        path,
        [{"work": name, "words_a_second": speed} for name, speed in measured.items()],
        markdown_table(["one core", "words a second"], table),
    )


if __name__ == "__main__":
    main()
