"""What teaching does: new labels beside old ones, corrections, a wrong text, and what it costs.

    python -m benchmarks.experiments.teaching [--draws 0 1 2] [--data DIR] [--quick]

Of each data set, 15 labels are drawn. The default file is trained with ten texts of each of ten of them, and taught three texts of each of
the other five. Then it is taught what it got wrong of 20 further texts a label; and one text with a wrong label, 20 times. All of that from
the training file; answers are counted on the test split. The rule's numbers were chosen on other draws, from the training files alone.
"""

import ctypes
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import read_part
from benchmarks.tables.cells import grouped, markdown_table
from retvec_lite import Classifier, train
from retvec_lite.runtime import library_path
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine

SETS: Final = ("Banking77", "CLINC150")
DRAWS: Final = (0, 1, 2)
NEW, OLD = 5, 10
TAUGHT, TRAINED, FURTHER, WRONG = 3, 10, 20, 20
SETTINGS: Final = {"new": NEW, "old": OLD, "taught": TAUGHT, "trained": TRAINED, "further": FURTHER}

TEXTS: Final = 200
"""Texts of which the cost is measured."""

COLUMNS: Final = {
    "new labels right": "new",
    "old answers kept": "kept",
    "the file alone": "before",
    "corrected": "corrected",
    "with a wrong text, changed": "changed",
    "ms to teach": "ms",
    "block of 200, kB": "block_kb",
    "texts in it": "taught",
    "file, kB": "file_kb",
}

Pairs = list[tuple[str, str]]


def draw_labels(data: Path, name: str, seed: int) -> tuple[list[str], list[str], dict[str, list[str]], Pairs]:
    """Return new labels, old labels, training texts of each in an order of their own, and the test texts of both."""
    training, test = read_part(data, name, "train"), read_part(data, name, "test")
    draw, texts = Random(100 + seed), dict[str, list[str]]()
    for text, label in zip(training.texts, training.labels, strict=True):
        texts.setdefault(label, []).append(text)
    labels = sorted(label for label, found in texts.items() if len(found) >= 50 and label != "oos")
    draw.shuffle(labels)
    labels = labels[: NEW + OLD]
    for label in labels:
        draw.shuffle(texts[label])
    asked = [pair for pair in zip(test.texts, test.labels, strict=True) if pair[1] in labels]
    return labels[:NEW], labels[NEW:], texts, asked


def measure(data: Path, name: str, seed: int) -> Row:
    """Train, teach and count."""
    new, old, texts, asked = draw_labels(data, name, seed)
    pairs = [(text, label) for label in old for text in texts[label][:TRAINED]]
    classifier = train(pairs)
    old_asked, new_asked = ([pair for pair in asked if pair[1] in labels] for labels in (old, new))
    before = answers(classifier, old_asked)
    right = [answer == label for answer, (_, label) in zip(before, old_asked, strict=True)]
    for label in new:
        for text in texts[label][:TAUGHT]:
            classifier.teach(text, label)
    after = answers(classifier, old_asked)
    found: Row = {
        "before": mean(right),
        "new": mean(
            [answer == label for answer, (_, label) in zip(answers(classifier, new_asked), new_asked, strict=True)]
        ),
        "kept": mean([a == b for a, b, was_right in zip(before, after, right, strict=True) if was_right]),
    }
    forget(classifier)
    further = [(text, label) for label in old for text in texts[label][TRAINED : TRAINED + FURTHER]]
    wrong = [pair for pair, answer in zip(further, answers(classifier, further), strict=True) if answer != pair[1]]
    for text, label in wrong:
        classifier.teach(text, label)
    found["corrected"] = mean(
        [a == label for a, (_, label) in zip(answers(classifier, old_asked), old_asked, strict=True)]
    )
    forget(classifier)
    draw, changed = Random(seed), []
    for text, label in draw.sample(further, WRONG):
        classifier.teach(text, draw.choice([other for other in old if other != label]))
        changed.append(mean([a != b for a, b in zip(before, answers(classifier, old_asked), strict=True)]))
        forget(classifier)
    return {
        **found,
        "changed": mean(changed),
        **cost(classifier, [pair for label in new + old for pair in texts[label][30:45]]),
    }


def answers(classifier: Classifier, pairs: Pairs) -> list[str | None]:
    return [found[0].label for found in classifier.predict([text for text, _ in pairs], top=1)]


def forget(classifier: Classifier) -> None:
    for text, _ in classifier.memory.texts:
        classifier.forget(text)


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def cost(classifier: Classifier, texts: list[str]) -> dict[str, float]:
    """Return what the engine in C needs for `TEXTS` texts of 15 labels, beyond reading each once for its answer and once for its vector."""
    with tempfile.TemporaryDirectory() as folder:
        classifier.export(folder, formats="engine", force=True)
        (file,) = Path(folder).glob("*.retvec")
        # Two engines, so that neither has kept the words of the other.
        reading, taught = (NativeEngine(read_artifact(file)) for _ in range(2))
    library, handle = ctypes.CDLL(str(library_path())), taught._engine
    library.rvl_memory_size.restype = library.rvl_memory_save.restype = ctypes.c_size_t
    size = library.rvl_memory_size(handle, TEXTS)
    block = ctypes.create_string_buffer(size)
    library.rvl_memory_open(handle, block, ctypes.c_size_t(size))
    chosen, codes, began = [text.encode() for text in texts[:TEXTS]], [], time.perf_counter()
    for text in texts[:TEXTS]:
        reading.probabilities([text]), reading.embeddings([text])
    read, began = time.perf_counter() - began, time.perf_counter()
    for place, text in enumerate(chosen):
        codes.append(library.rvl_teach_utf8(handle, text, ctypes.c_size_t(len(text)), b"label %d" % (place % 15)))
    return {
        "ms": (time.perf_counter() - began - read) / len(chosen) * 1e3,
        "taught": codes.count(0),
        "block_kb": size / 1e3,
        "file_kb": library.rvl_memory_save(handle, None, ctypes.c_size_t(0)) / 1e3,
    }


def table(rows: list[Row]) -> str:
    """Return a line for each data set: means over the draws."""
    lines = [
        [name, *(f"{mean([row[key] for row in found]):.3g}" for key in COLUMNS.values())]
        for (name,), found in grouped(rows, ["data"]).items()
    ]
    return markdown_table(("", *COLUMNS), lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="one draw of one data set", data=True)
    parser.add_argument("--draws", type=int, nargs="+", default=DRAWS, metavar="N", help="seeds (default: 0 1 2)")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("teaching", quick=args.quick), ("data", "seed"), table)
    for name in SETS[:1] if args.quick else SETS:
        for seed in args.draws[:1] if args.quick else args.draws:
            row: dict[str, Any] = {"data": name, "seed": seed, "settings": SETTINGS}
            rows.fill(row, measure, args.data, name, seed)
    rows.show()


if __name__ == "__main__":
    main()
