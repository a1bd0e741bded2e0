"""Accuracy of the linear part alone by the bytes of its table: hashed rows against codebooks.

    python benchmarks/codebooks.py [--set NAME] [--quick]

Measured on validation texts with none, 20 % and 50 % of the words mistyped, which are averaged. Each model is LinearSVC on
n-grams of one to four characters of clean texts. *Whole* has a row for each of the 65,521 hashes; the codebooks approximate
it, and hashed rows of as many bytes are fitted by themselves.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import Row, Rows, command_parser, markdown_table, result_path
from data_sets import load_task, sampled

from retvec_lite.data.dataset import Dataset, load_starter, split

STARTER: Final = "starter data"
PER_LANGUAGE: Final = {"MASSIVE": 250, "Tatoeba": 150}
SETS: Final = (STARTER, "Tatoeba", "MASSIVE", "Banking77", "CLINC150")
CODEBOOKS: Final = (1, 2, 3)
QUICK_TEXTS: Final = 1500


def load(data: Path, name: str) -> tuple[Dataset, Dataset]:
    """Return training and validation texts; those of the product's own starter data need no folder."""
    if name == STARTER:
        return split(load_starter("train"), 0.1, 0)
    task = load_task(data, name, per_language=PER_LANGUAGE.get(name, 0))
    return task.training, task.validation


def measure(training: Dataset, validation: Dataset) -> dict[str, Any]:
    """Return bytes and mean accuracy of the whole table, of codebooks, and of hashed rows."""
    from retvec_lite.model import load_tensorflow

    load_tensorflow()
    from retvec_lite.ngrams import CODES, PRIME, NgramConfig
    from retvec_lite.training.codebooks import squeeze
    from retvec_lite.training.examples import prepare
    from retvec_lite.training.linear import Features, LinearModel, count_ngrams, fit_linear, fold

    data = prepare(training, validation, copies=1, typo_rate=0.0, seed=0)
    config, classes = NgramConfig(buckets=PRIME), len(data.labels)
    counts = count_ngrams(data.clean, data.config, config)
    held_out = [count_ngrams(texts, data.config, config) for texts in data.held_out_texts.values()]

    def fit(buckets: int) -> LinearModel:
        features = Features(counts if buckets == PRIME else fold(counts, buckets))
        return fit_linear(features, data.examples.targets, classes, seed=0)

    def accuracy(model: LinearModel, buckets: int) -> float:
        found = [model.scores(Features(part if buckets == PRIME else fold(part, buckets))) for part in held_out]
        return float(np.mean([(part.argmax(axis=1) == data.held_out.truth).mean() for part in found]))

    whole = fit(PRIME)
    frequency = np.bincount(counts.indices, counts.data, PRIME).astype(np.float32)
    tables = []
    for books in CODEBOOKS:
        size = books * (PRIME + CODES * (classes + 1))
        rows = size // (classes + 1)
        squeezed = accuracy(squeeze(whole, frequency, books, seed=0), PRIME)
        hashed = accuracy(whole if rows >= PRIME else fit(rows), min(rows, PRIME))
        tables.append({"bytes": size, "codebooks": squeezed, "hashed": hashed})
    distinct = int((frequency > 0).sum())
    return {"labels": classes, "distinct": distinct, "whole": accuracy(whole, PRIME), "tables": tables}


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    header = ["data", "labels", "distinct n-grams", "whole"]
    header += [f"{books} codebook{'s' * (books > 1)} / hashed rows" for books in CODEBOOKS]
    body = []
    for row in rows:
        cells = [
            f"{found['codebooks']:.3f} / {found['hashed']:.3f} ({found['bytes'] / 1000:.0f} kB)"
            for found in row["tables"]
        ]
        body.append([row["data"], str(row["labels"]), f"{row['distinct']:,}", f"{row['whole']:.3f}", *cells])
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and missing; write the table of everything."""
    parser = command_parser(__doc__, quick="starter data, few texts", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("codebooks", quick=args.quick), ("data",), table)
    for name in SETS[:1] if args.quick else args.sets or SETS:
        training, validation = load(args.data, name)
        if args.quick:
            training = training.select(sampled(len(training), QUICK_TEXTS))
        row: Row = {"data": name, "settings": {"texts": len(training)}}
        if not rows.has(row):
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows.add(row | measure(training, validation))
    rows.show()


if __name__ == "__main__":
    main()
