"""Many languages: 52 locales of MASSIVE and the 113 languages of Tatoeba, the default file and hashed n-grams below 1 MB.

    python -m benchmarks.experiments.languages [--set NAME] [--only SYSTEM] [--work DIR] [--quick]

The default file is trained on all training texts (2,000 of each locale of MASSIVE) and measured on the test split. It is kept in
`--work` and not trained again. Naive Bayes takes minutes, the linear SVM up to an hour.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import retvec_lite as rl
from benchmarks.common import WORK, Row, Rows, command_parser, result_path
from benchmarks.data.sets import MULTILINGUAL, Corpus, load_corpus
from benchmarks.systems import linear
from benchmarks.systems.names import BAYES, DEFAULT_FILE, LINEAR
from benchmarks.systems.trained import accuracies
from benchmarks.systems.whole import train
from benchmarks.tables.cells import markdown_table, values_of
from retvec_lite.data.dataset import Dataset

RATES: Final = (0.0, 0.2, 0.5, 1.0)
PER_LANGUAGE: Final = {"MASSIVE": 2000}
QUICK_PER_LANGUAGE: Final = 10
QUICK_TEST_TEXTS: Final = 500
SYSTEMS: Final = (DEFAULT_FILE, BAYES, LINEAR)


def measure(system: str, corpus: Corpus, folder: Path) -> Row:
    """Train on the training and validation texts, and classify the test texts."""
    texts = (*corpus.training.texts, *corpus.validation.texts)
    every = Dataset(texts, (*corpus.training.labels, *corpus.validation.labels), corpus.training.path)
    trained = train(system, every, folder=folder)
    row = {"accuracy": accuracies(trained, corpus.test, RATES), "texts": len(every), "labels": len(every.classes)}
    if system == DEFAULT_FILE:
        classifier = rl.load(folder)
        assert isinstance(classifier, rl.Classifier)
        ngrams = classifier.model.ngrams
        row |= {"head": classifier.model.head.name, "ngrams": ngrams.to_dict() if ngrams else None}
    return row | dict(trained.facts)


def table(rows: Sequence[Row]) -> str:
    header = ["data", "system", "labels", "training texts", "head", "n-grams"]
    header += [*(f"{rate:.0%} mistyped" for rate in RATES), "int8"]
    body = []
    for row in rows:
        head = f"`{row['head']}`" if row["system"] == DEFAULT_FILE else "-"
        first = [row["data"], row["system"], str(row["labels"]), f"{row['texts']:,}", head, _ngrams(row)]
        figures = [f"{value:.3f}" for rate in RATES for value in values_of([row], rate)]
        body.append([*first, *figures, f"{row['bytes'] / 1000:.0f} kB"])
    return markdown_table(header, body)


def _ngrams(row: Row) -> str:
    if row["system"] != DEFAULT_FILE:
        return f"{linear.buckets_for(row['labels']):,} buckets"
    books = row["ngrams"].get("codebooks", 0)
    return f"{books} codebook{'s' * (books > 1)}" if books else f"{row['ngrams']['buckets']:,} buckets"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="few texts of Tatoeba", data=True)
    parser.add_argument("--set", dest="sets", choices=MULTILINGUAL, action="append", help="a data set; repeatable")
    systems = "a system; repeatable (default: the default file and naive Bayes)"
    parser.add_argument("--only", dest="systems", choices=SYSTEMS, action="append", help=systems)
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps trained classifiers")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("languages", quick=args.quick), ("data", "system"), table)
    for name in MULTILINGUAL[1:] if args.quick else args.sets or MULTILINGUAL:
        per_language = QUICK_PER_LANGUAGE if args.quick else PER_LANGUAGE.get(name, 0)
        corpus = load_corpus(args.data, name, per_language=per_language, test_rows=QUICK_TEST_TEXTS * args.quick)
        for system in args.systems or SYSTEMS[:2]:
            row: Row = {"data": name, "system": system, "settings": {"per_language": per_language}}
            row["settings"] |= {} if system == DEFAULT_FILE else linear.settings_of(system)
            rows.fill(row, measure, system, corpus, args.work / f"languages-{name}{'-quick' * args.quick}")
    rows.show()


if __name__ == "__main__":
    main()
