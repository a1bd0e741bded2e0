"""Accuracy of the exported int8 files on official test splits, with 0 / 20 / 50 / 100 % of the words mistyped.

    python benchmarks/classification.py [--data DIR] [--only NAME] [--head HEAD] [--quick]

For each data set: `retvec-lite train`, `retvec-lite export --recipe int8 float32`, then both files classify the test split.
Head and settings of each data set were chosen on rows set aside from training (docs/benchmarks.md tells how); the
seed is fixed.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from common import DATA, RESULTS, markdown_table, read_results, write_results

from retvec_lite import TextClassifier
from retvec_lite.data.dataset import read_dataset
from retvec_lite.data.scores import typo_curve

RATES: Final = (0.0, 0.2, 0.5, 1.0)


class Task(NamedTuple):
    """A data set, the arguments of `retvec-lite train` for it (DATA is its folder), and the targets at `RATES`."""

    folder: str
    arguments: tuple[str, ...]
    target: tuple[float, ...]


TASKS: Final = {
    "AG News": Task("ag_news", ("--head", "cnn", "--fine-tune-embedding"), (0.91, 0.90, 0.885, 0.84)),
    "Banking77": Task("banking77", ("--head", "cnn"), (0.90, 0.89, 0.865, 0.80)),
    "CLINC150": Task(
        "clinc150", ("--head", "cnn", "--fine-tune-embedding", "--validation", "DATA/dev.csv"), (0.79, 0.77, 0.74, 0.66)
    ),
    "SMS spam": Task("sms_spam", ("--head", "cnn"), (0.992, 0.991, 0.990, 0.985)),
}


def measure(name: str, task: Task, data: Path, work: Path, extra: Iterable[str]) -> dict[str, Any]:
    """Train, export and classify; one row of results."""
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
    curve = typo_curve(classifiers["int8"].probabilities, classifiers["int8"].labels, test, RATES)
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
        "target": dict(zip((f"{rate:g}" for rate in RATES), task.target, strict=True)),
    }


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure the chosen data sets and write the table of all that have been measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", choices=tuple(TASKS), action="append", help="a data set (default: all)")
    parser.add_argument("--head", help="another head for all of them")
    parser.add_argument("--work", type=Path, help="keep trained and exported files here")
    parser.add_argument("--quick", action="store_true", help="Banking77 with the pool head and 8 epochs")
    args = parser.parse_args(None if arguments is None else list(arguments))
    chosen = {name: TASKS[name] for name in args.only or TASKS}
    extra: list[str] = ["--head", args.head] if args.head else []
    if args.quick:
        chosen, extra = {"Banking77": TASKS["Banking77"]}, ["--head", "pool", "--epochs", "8"]
    path = RESULTS / ("classification-quick" if args.quick else f"classification{'-' + args.head if args.head else ''}")
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
                *(f"{row['accuracy'][rate]:.3f} (target {target:g})" for rate, target in row["target"].items()),
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
