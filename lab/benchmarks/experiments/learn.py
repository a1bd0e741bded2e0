"""Going on learning, beside a training of all texts anew: accuracy and seconds.

    python -m benchmarks.experiments.learn [--set NAME] [--texts N] [--new-labels] [--quick]

A classifier that was trained with `rl.train` on some of the training texts learns a fifth as many more (`TrainedClassifier.learn`), and another
one is trained on all of them. With `--new-labels`, the texts that are learned are all texts of ten labels of 77, which the first training
does not have. Tested on at most 3,000 test texts, clean and with half of the words mistyped. Seconds are of the same machine, one after
the other; the comparison with the earlier classifier is part of those of `learn`.
"""

import random
import time
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import read_part, sampled
from benchmarks.tables.cells import markdown_table
from retvec_lite.classifier import Classifier
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many

TEXTS: Final = {"Banking77": (1500, 2000, 7500), "SMS spam": (1000, 2000), "AG News": (1000, 10_000)}
"""Data set -> texts of the first training: few texts, and many."""
MORE: Final = 0.2
NEW_LABELS: Final = 10
TEST_TEXTS: Final = 3000
QUICK_TEXTS: Final = 300
MISTYPED: Final = 0.5


def divided(data: Dataset, texts: int, new_labels: bool) -> tuple[Dataset, Dataset]:
    """Return the texts of the first training, and those that are learned then; labels with a single text among the former are left out."""
    rows = list(range(len(data)))
    random.Random(0).shuffle(rows)
    counts = Counter(data.labels[row] for row in rows[:texts])
    rows = [row for row in rows[: round((1 + MORE) * texts)] if counts[data.labels[row]] > 1]
    if new_labels:
        new = set(random.Random(1).sample(sorted(counts), NEW_LABELS))
        parts = [[row for row in rows if (data.labels[row] in new) == is_new] for is_new in (False, True)]
    else:
        parts = [rows[:texts], rows[texts:]]
    first, more = (data.select(part) for part in parts)
    return first, more


def measure(first: Dataset, more: Dataset, test: Dataset) -> Row:
    """Train, learn, and train anew; return accuracies and seconds."""
    both = Dataset((*first.texts, *more.texts), (*first.labels, *more.labels), first.path)
    new = set(more.classes) - set(first.classes)
    found: Row = {"texts": len(first), "learned": len(more), "labels": len(both.classes), "new_labels": len(new)}
    earlier = rl.train(first)
    began = time.perf_counter()
    later = earlier.learn(more)
    found["learn_seconds"] = time.perf_counter() - began
    began = time.perf_counter()
    anew = rl.train(both)
    found["train_seconds"] = time.perf_counter() - began
    for name, classifier in (("before", earlier), ("learn", later), ("anew", anew)):
        found[name] = accuracies(classifier, test, new)
    return found


def accuracies(classifier: Classifier, test: Dataset, new: Collection[str]) -> Row:
    """Return the accuracy on clean texts, on mistyped ones, and on clean texts of new and of earlier labels."""
    texts = {"clean": test.texts, "mistyped": mistype_many(test.texts, MISTYPED, seed=1)}
    rights = {
        name: [
            found[0].label == label
            for found, label in zip(classifier.predict(some, 1, reject=False), test.labels, strict=True)
        ]
        for name, some in texts.items()
    }
    found = {name: sum(right) / len(right) for name, right in rights.items()}
    for name, is_new in (("new", True), ("old", False)):
        some = [right for right, label in zip(rights["clean"], test.labels, strict=True) if (label in new) == is_new]
        found[name] = sum(some) / len(some) if new else 0.0
    return found


def table(rows: Sequence[Row]) -> str:
    header = ["data", "texts", "before", "`learn`", "anew", "mistyped: `learn`", "anew", "`learn`, s", "anew, s"]
    body = []
    for row in rows:
        name = f"{row['data']}, {row['new_labels']} new labels" if row["new_labels"] else row["data"]
        clean = [f"{row[which]['clean']:.3f}" for which in ("before", "learn", "anew")]
        mistyped = [f"{row[which]['mistyped']:.3f}" for which in ("learn", "anew")]
        seconds = [f"{row[which]:.1f}" for which in ("learn_seconds", "train_seconds")]
        body.append([name, f"{row['texts']:,} + {row['learned']:,}", *clean, *mistyped, *seconds])
    labels = [
        f"{row['data']}, {row['texts']:,} + {row['learned']:,}: new labels {row['learn']['new']:.3f} (anew {row['anew']['new']:.3f}), "
        f"the others {row['learn']['old']:.3f} (anew {row['anew']['old']:.3f})\n"
        for row in rows
        if row["new_labels"]
    ]
    return "\n".join([markdown_table(header, body), *labels])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick=f"{QUICK_TEXTS} texts of SMS spam", data=True)
    parser.add_argument("--set", dest="sets", choices=TEXTS, action="append", help="a data set; repeatable")
    parser.add_argument("--texts", type=int, metavar="N", help="texts of the first training (default: few, and many)")
    parser.add_argument("--new-labels", action="store_true", help="ten labels of Banking77 are new")
    args = parser.parse_args(arguments)
    sets = ("SMS spam",) if args.quick else ("Banking77",) if args.new_labels else args.sets or tuple(TEXTS)
    rows = Rows(result_path("learn", quick=args.quick), ("data", "first", "labels_are_new"), table)
    for name in sets:
        training, every = read_part(args.data, name, "train"), read_part(args.data, name, "test")
        test = every.select(sampled(len(every), QUICK_TEXTS if args.quick else TEST_TEXTS))
        for texts in (QUICK_TEXTS,) if args.quick else (args.texts,) if args.texts else TEXTS[name]:
            row: Row = {
                "data": name,
                "first": texts,
                "labels_are_new": args.new_labels,
                "settings": {"test": len(test)},
            }
            rows.fill(row, measure, *divided(training, texts, args.new_labels), test)
    rows.show()


if __name__ == "__main__":
    main()
