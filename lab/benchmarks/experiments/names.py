"""Accuracy from the names of labels, from names and a description of each, and with one text of each beside these.

    python -m benchmarks.experiments.names [--set NAME] [--draws 0 1 2] [--validation] [--again] [--quick]

The descriptions (`benchmarks/data/labels`) were written from the names alone, before anybody looked at a text. `no` and `w2` of CLINC150,
whose names have no word, are always described. Tested on at most 3,000
texts of the test split, or with `--validation`, which chose the constants, on texts of the training file that no training saw. The label
of CLINC150's texts of no label is left out. "Answered" is the share of the texts that get a label, as the threshold decides.
"""

import csv
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import FOLDERS, STARTER, load_corpus, sampled, sampled_of_each
from benchmarks.systems.trained import fingerprint
from benchmarks.tables.cells import grouped, markdown_table, ordered
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.descriptions import SAYS, plain_name
from retvec_lite.data.typos import mistype_many

SETS: Final = ("AG News", "Banking77", "CLINC150", STARTER)
WAYS: Final = ("names", "descriptions", "one text", "one text, descriptions")
DRAWS: Final = (0, 1, 2)
TEST_TEXTS: Final = 3000
QUICK_TEXTS: Final = 300
NONE: Final = "oos"
KEY: Final = ("data", "way", "seed")
TYPOS: Final = 0.5
_LABELS: Final = Path(__file__).parents[1] / "data" / "labels"


def read_labels(name: str) -> Mapping[str, str]:
    """Return the descriptions of a set's labels."""
    path = _LABELS / f"{FOLDERS.get(name, 'starter')}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {row["label"]: row["description"] for row in csv.DictReader(file)}


def without_none(dataset: Dataset) -> Dataset:
    """Leave out the texts of no label."""
    return dataset.select(row for row, label in enumerate(dataset.labels) if label != NONE)


def measure(way: str, training: Dataset, test: Dataset, described: Mapping[str, str], seed: int) -> Row:
    """Train, and return how good the answers are."""
    # A name without a word, such as w2, is refused without a description.
    labels = {
        label: text if "descriptions" in way or not SAYS.search(plain_name(label)) else None
        for label, text in described.items()
    }
    drawn = training.select(sampled_of_each(training.labels, 1, seed)) if "text" in way else None
    began = time.perf_counter()
    classifier = rl.train(drawn) if way == "one text" else rl.train(drawn, labels)
    seconds = round(time.perf_counter() - began, 1)
    found: Row = {"labels": len(described), "training_seconds": seconds}
    for title, texts in (("clean", test.texts), ("mistyped", mistype_many(test.texts, TYPOS, 0))):
        table = classifier.probabilities(list(texts))
        right = np.array(classifier.labels)[table.argmax(axis=1)] == np.array(test.labels)
        answered = ~classifier.decision.unknown(list(texts), table, classifier.labels)
        found[title] = {
            "accuracy": float(right.mean()),
            "answered": float(answered.mean()),
            "right": float((right & answered).mean()),
        }
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="AG News from names, few texts", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    parser.add_argument("--way", dest="ways", choices=WAYS, action="append", help="what is learned from; repeatable")
    parser.add_argument("--draws", type=int, nargs="+", default=DRAWS, metavar="N", help="seeds of drawn texts")
    parser.add_argument("--validation", action="store_true", help="test on texts of the training file")
    parser.add_argument("--again", action="store_true", help="measure rows again that are there")
    args = parser.parse_args(arguments)
    if args.quick:
        args.sets, args.ways = SETS[:1], WAYS[:1]
    name = "names-validation" if args.validation else "names"
    rows = Rows(result_path(name, quick=args.quick), KEY, table_of)
    for data in args.sets or SETS:
        corpus = load_corpus(args.data, data)
        training, test = (
            without_none(corpus.training),
            without_none(corpus.validation if args.validation else corpus.test),
        )
        test = test.select(sampled(len(test), QUICK_TEXTS if args.quick else TEST_TEXTS))
        described = read_labels(data)
        settings = {
            "test": fingerprint([*test.texts, *test.labels]),
            "test_texts": len(test),
            "descriptions": fingerprint([cell for row in described.items() for cell in row]),
        }
        for way in args.ways or WAYS:
            for seed in args.draws if "text" in way else DRAWS[:1]:
                row: Row = {"data": data, "way": way, "seed": seed, "settings": settings}
                rows.fill(row, measure, way, training, test, described, seed, again=args.again)
    rows.show()


def table_of(rows: list[Row]) -> str:
    """Return a line for each data set and way."""
    header = ["data", "labels", "learned from", "accuracy", "half of the words mistyped", "answered", "right of these"]
    lines = []
    for (data, way), line in grouped(ordered(rows, KEY, {"data": SETS, "way": WAYS}), ["data", "way"]).items():
        mean = {
            (title, what): float(np.mean([row[title][what] for row in line]))
            for title in ("clean", "mistyped")
            for what in ("accuracy", "answered", "right")
        }
        right = mean["clean", "right"] / max(mean["clean", "answered"], 1e-9)
        figures = (mean["clean", "accuracy"], mean["mistyped", "accuracy"], mean["clean", "answered"], right)
        lines.append([data, str(line[0]["labels"]), way, *(f"{figure:.2f}" for figure in figures)])
    return markdown_table(header, lines)


if __name__ == "__main__":
    main()
