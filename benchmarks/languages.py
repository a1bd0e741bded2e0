"""Accuracy of the default file on many languages: 52 locales of MASSIVE and the 113 languages of Tatoeba.

    python benchmarks/languages.py [--set NAME] [--work DIR] [--quick]

Trained with the default options on all training texts (2,000 of each locale of MASSIVE) and measured as the exported int8
file on the test split. Trained classifiers are kept in `--work` and not trained again.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import WORK, Row, Rows, command_parser, markdown_table, result_path
from data_sets import MULTILINGUAL, Task, load_task
from few_shot_systems import accuracy

import retvec_lite as rl
from retvec_lite.model.weight_files import CLASSIFIER_FILE

RATES: Final = (0.0, 0.2, 0.5, 1.0)
PER_LANGUAGE: Final = {"MASSIVE": 2000}
QUICK_PER_LANGUAGE: Final = 10
QUICK_TEST_TEXTS: Final = 500


def measure(task: Task, folder: Path) -> dict[str, Any]:
    """Train unless it is done, export, classify the test texts."""
    texts = [*task.training.texts, *task.validation.texts]
    if not (folder / CLASSIFIER_FILE).is_file():
        began = time.perf_counter()
        rl.train(texts, [*task.training.labels, *task.validation.labels], out=folder, progress=True)
        print(f"trained in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    classifier = rl.load(folder)
    assert isinstance(classifier, rl.Classifier)
    report = classifier.export(folder.parent / f"{folder.name}-dist", force=True)
    exported = rl.load(report.files[0])
    labels = np.array(exported.labels)

    def guess(found: Sequence[str]) -> Sequence[str]:
        answers: list[str] = labels[exported.probabilities(found).argmax(axis=1)].tolist()
        return answers

    ngrams = classifier.model.ngrams
    return {
        "accuracy": {f"{rate:g}": accuracy(guess, task.test, rate) for rate in RATES},
        "texts": len(texts),
        "labels": len(labels),
        "head": classifier.model.head.name,
        "ngrams": ngrams.to_dict() if ngrams else None,
        "bytes": report.files[0].stat().st_size,
    }


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    header = [
        "data",
        "labels",
        "training texts",
        "head",
        "n-grams",
        *(f"{rate:.0%} mistyped" for rate in RATES),
        "int8",
    ]
    body = []
    for row in rows:
        books = row["ngrams"].get("codebooks", 0)
        ngrams = f"{books} codebook{'s' * (books > 1)}" if books else f"{row['ngrams']['buckets']:,} buckets"
        figures = [f"{row['accuracy'][f'{rate:g}']:.3f}" for rate in RATES]
        first = [row["data"], str(row["labels"]), f"{row['texts']:,}", f"`{row['head']}`", ngrams]
        body.append([*first, *figures, f"{row['bytes'] / 1000:.0f} kB"])
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and missing; write the table of everything."""
    parser = command_parser(__doc__, quick="few texts of Tatoeba", data=True)
    parser.add_argument("--set", dest="sets", choices=MULTILINGUAL, action="append", help="a data set; repeatable")
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps trained classifiers")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("languages", quick=args.quick), ("data",), table)
    for name in MULTILINGUAL[1:] if args.quick else args.sets or MULTILINGUAL:
        per_language = QUICK_PER_LANGUAGE if args.quick else PER_LANGUAGE.get(name, 0)
        row: Row = {"data": name, "settings": {"per_language": per_language}}
        if not rows.has(row):
            task = load_task(args.data, name, per_language=per_language, test_rows=QUICK_TEST_TEXTS * args.quick)
            rows.add(row | measure(task, args.work / f"languages-{name}{'-quick' * args.quick}"))
    rows.show()


if __name__ == "__main__":
    main()
