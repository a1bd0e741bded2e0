"""Accuracy of the exported int8 files on test splits, with 0 / 20 / 50 / 100 % of the words mistyped.

    python benchmarks/classification.py [--data DIR] [--only NAME] [--head HEAD] [--work DIR] [--quick]

For each data set: `retvec-lite train`, `retvec-lite export --recipe int8 float32`, then both files classify the test split.
Head and settings of each data set were chosen on rows set aside from training (docs/benchmarks.md); the seed is fixed.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from common import command_parser, markdown_table, read_results, result_path, write_results

from retvec_lite import TextClassifier
from retvec_lite.data.dataset import read_dataset
from retvec_lite.data.scores import evaluate

RATES: Final = (0.0, 0.2, 0.5, 1.0)


class Task(NamedTuple):
    """A data set's folder and the arguments of `retvec-lite train` for it, where DATA stands for the folder."""

    folder: str
    arguments: tuple[str, ...]


TASKS: Final = {
    "AG News": Task("ag_news", ("--head", "cnn", "--fine-tune-embedding")),
    "Banking77": Task("banking77", ("--head", "cnn")),
    "CLINC150": Task("clinc150", ("--head", "cnn", "--fine-tune-embedding", "--validation", "DATA/dev.csv")),
    "SMS spam": Task("sms_spam", ("--head", "cnn")),
}


def measure(name: str, task: Task, data: Path, work: Path, extra: Iterable[str]) -> dict[str, Any]:
    """Train, export and classify; return one row of results."""
    folder = data / task.folder
    trained, dist = work / f"{task.folder}-trained", work / f"{task.folder}-dist"
    arguments = [*task.arguments, *extra]
    given = [argument.replace("DATA", str(folder)) for argument in arguments]
    _run("train", str(folder / "train.csv"), "--out", str(trained), "--force", *given)
    _run("export", str(trained), "--out", str(dist), "--recipe", "int8", "float32", "--force")
    test = read_dataset(folder / "test.csv")
    files = {recipe: dist / f"classifier-{recipe}.tflite" for recipe in ("int8", "float32")}
    classifiers = {recipe: TextClassifier.load(file) for recipe, file in files.items()}
    clean = {recipe: found.probabilities(test.texts).argmax(axis=1) for recipe, found in classifiers.items()}
    curve = evaluate(classifiers["int8"].probabilities, classifiers["int8"].labels, test, typos=RATES).typos
    labels = np.array(classifiers["float32"].labels)
    return {
        "data": name,
        "arguments": arguments,
        "test_texts": len(test),
        "accuracy": {f"{point.rate:g}": point.accuracy for point in curve},
        "macro_f1": {f"{point.rate:g}": point.macro_f1 for point in curve},
        "float32_accuracy": float((labels[clean["float32"]] == np.array(test.labels)).mean()),
        "same_label_as_float32": float((clean["int8"] == clean["float32"]).mean()),
        "bytes": {recipe: file.stat().st_size for recipe, file in files.items()},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen data sets; write the table of everything measured so far."""
    parser = command_parser(__doc__, quick="Banking77 with the pool head and 8 epochs", data=True)
    parser.add_argument("--only", choices=tuple(TASKS), action="append", help="a data set; repeatable (default: all)")
    parser.add_argument("--head", help="another head for all data sets")
    parser.add_argument("--work", type=Path, metavar="DIR", help="folder that keeps trained and exported files")
    args = parser.parse_args(arguments)
    chosen = {name: TASKS[name] for name in args.only or TASKS}
    extra: list[str] = ["--head", args.head] if args.head else []
    if args.quick:
        chosen, extra = {"Banking77": TASKS["Banking77"]}, ["--head", "pool", "--epochs", "8"]
    path = result_path(f"classification-{args.head}" if args.head else "classification", quick=args.quick)
    rows = {row["data"]: row for row in read_results(path)}
    with tempfile.TemporaryDirectory() as temporary:
        for name, task in chosen.items():
            rows[name] = measure(name, task, args.data, args.work or Path(temporary), extra)
            ordered = [rows[name] for name in TASKS if name in rows]
            write_results(path, ordered, _table(ordered))


def _run(*arguments: str) -> None:
    print("retvec-lite", *arguments, file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "retvec_lite", *arguments], check=True)


def _table(rows: list[dict[str, Any]]) -> str:
    header = [
        "data set",
        *(f"{rate:.0%} mistyped" for rate in RATES),
        "float32, clean",
        "same label",
        "int8 file",
        "trained with",
    ]
    return markdown_table(
        header,
        [
            [
                row["data"],
                *(f"{row['accuracy'][f'{rate:g}']:.3f}" for rate in RATES),
                f"{row['float32_accuracy']:.3f}",
                f"{row['same_label_as_float32']:.1%}",
                f"{row['bytes']['int8'] / 1000:.0f} kB",
                f"`{' '.join(row['arguments'])}`",
            ]
            for row in rows
        ],
    )


if __name__ == "__main__":
    main()
