"""Many languages: 52 locales of MASSIVE and the 113 languages of Tatoeba, the default file and hashed n-grams below 1 MB.

    python -m benchmarks.experiments.languages [--set NAME] [--only SYSTEM] [--work DIR] [--quick]

Ours is trained with the default options on all training texts (2,000 of each locale of MASSIVE) and measured as the exported
int8 file on the test split. Trained classifiers are kept in `--work` and not trained again. hashed_ngrams.py has the others;
naive Bayes takes minutes, the linear SVM up to an hour.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import WORK, Row, Rows, command_parser, markdown_table, result_path
from benchmarks.data.sets import MULTILINGUAL, Task, load_task
from benchmarks.systems import hashed_ngrams
from benchmarks.systems.few_shot_systems import accuracy
from retvec_lite.data.dataset import Dataset
from retvec_lite.model.weight_files import CLASSIFIER_FILE

RATES: Final = (0.0, 0.2, 0.5, 1.0)
PER_LANGUAGE: Final = {"MASSIVE": 2000}
QUICK_PER_LANGUAGE: Final = 10
QUICK_TEST_TEXTS: Final = 500
OURS: Final = "ours"
SYSTEMS: Final = (OURS, hashed_ngrams.BAYES, hashed_ngrams.LINEAR)


def measure(system: str, task: Task, folder: Path) -> dict[str, Any]:
    """Train on the training and validation texts, and classify the test texts."""
    if system == OURS:
        return measure_ours(task, folder)
    texts = (*task.training.texts, *task.validation.texts)
    every = Dataset(texts, (*task.training.labels, *task.validation.labels), task.training.path)
    guess, facts = hashed_ngrams.train(system, every)
    found = {f"{rate:g}": accuracy(guess, task.test, rate) for rate in RATES}
    return {"accuracy": found, "texts": len(every), "labels": len(every.classes), **facts}


def measure_ours(task: Task, folder: Path) -> dict[str, Any]:
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
        "system",
        "labels",
        "training texts",
        "head",
        "n-grams",
        *(f"{rate:.0%} mistyped" for rate in RATES),
        "int8",
    ]
    body = []
    for row in rows:
        figures = [f"{row['accuracy'][f'{rate:g}']:.3f}" for rate in RATES]
        head = f"`{row['head']}`" if row["system"] == OURS else "-"
        first = [row["data"], row["system"], str(row["labels"]), f"{row['texts']:,}", head, _ngrams(row)]
        body.append([*first, *figures, f"{row['bytes'] / 1000:.0f} kB"])
    return markdown_table(header, body)


def _ngrams(row: Row) -> str:
    if row["system"] != OURS:
        return f"{hashed_ngrams.buckets_for(row['labels']):,} buckets"
    books = row["ngrams"].get("codebooks", 0)
    return f"{books} codebook{'s' * (books > 1)}" if books else f"{row['ngrams']['buckets']:,} buckets"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and missing; write the table of everything."""
    parser = command_parser(__doc__, quick="few texts of Tatoeba", data=True)
    parser.add_argument("--set", dest="sets", choices=MULTILINGUAL, action="append", help="a data set; repeatable")
    parser.add_argument(
        "--only",
        dest="systems",
        choices=SYSTEMS,
        action="append",
        help="a system; repeatable (default: ours and naive Bayes)",
    )
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps trained classifiers")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("languages", quick=args.quick), ("data", "system"), table)
    for name in MULTILINGUAL[1:] if args.quick else args.sets or MULTILINGUAL:
        per_language = QUICK_PER_LANGUAGE if args.quick else PER_LANGUAGE.get(name, 0)
        task = load_task(args.data, name, per_language=per_language, test_rows=QUICK_TEST_TEXTS * args.quick)
        for system in args.systems or SYSTEMS[:2]:
            row: Row = {"data": name, "system": system, "settings": {"per_language": per_language}}
            row["settings"] |= {} if system == OURS else hashed_ngrams.settings(system)
            if not rows.has(row):
                rows.add(row | measure(system, task, args.work / f"languages-{name}{'-quick' * args.quick}"))
    rows.show()


if __name__ == "__main__":
    main()
