"""Classifiers on frozen embeddings: the same `pool` head, data and training, so that only the embedding differs.

    python benchmarks/embedding_classifiers.py FILE [FILE ...] [--data DIR] [--only NAME] [--quick]

A FILE is an embedding (from `retvec-lite pretrain`, or from `retvec-lite import-embedding` for the released RETVec v1
weights), or `default`. Measures the accuracy of the exported int8 file on the test splits, with 0 / 20 / 50 / 100 %
of the words mistyped, and of the float32 file on clean texts.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from classification import RATES, TASKS, Task, measure
from common import command_parser, markdown_table, read_results, result_path, write_results

HEAD: Final = ("--head", "pool")


def frozen(task: Task) -> Task:
    """Return the task with the `pool` head on the frozen embedding."""
    validation = task.arguments[-2:] if "--validation" in task.arguments else ()
    return task._replace(arguments=(*HEAD, *validation))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen data sets; write the table of everything measured so far."""
    parser = command_parser(__doc__, quick="SMS spam only, 4 epochs", data=True)
    parser.add_argument("files", nargs="+", metavar="FILE", help="an embedding, or `default`")
    parser.add_argument("--only", choices=tuple(TASKS), action="append", help="a data set; repeatable (default: all)")
    args = parser.parse_args(arguments)
    path = result_path("embedding_classifiers", quick=args.quick)
    extra = ("--epochs", "4") if args.quick else ()
    known = {(row["data"], row["embedding"]): row for row in read_results(path)}
    for name in args.only or (["SMS spam"] if args.quick else TASKS):
        for file in args.files:
            with tempfile.TemporaryDirectory() as work:
                row = measure(name, frozen(TASKS[name]), args.data, Path(work), (*extra, "--embedding", file))
            kept = {key: row[key] for key in ("data", "accuracy", "float32_accuracy", "macro_f1", "test_texts")}
            known[name, Path(file).stem] = {**kept, "embedding": Path(file).stem}
            rows = [known[key] for key in sorted(known)]
            header = ["data set", "embedding", *(f"{rate:.0%} mistyped" for rate in RATES), "float32, clean"]
            table = [
                [
                    row["data"],
                    row["embedding"],
                    *(f"{row['accuracy'][f'{rate:g}']:.3f}" for rate in RATES),
                    f"{row['float32_accuracy']:.3f}",
                ]
                for row in rows
            ]
            write_results(path, rows, markdown_table(header, table))


if __name__ == "__main__":
    main()
