"""`retvec-lite evaluate`: accuracy, confusions and the typo curve of an exported file on labelled data."""

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from retvec_lite.cli.options import add_runtime_argument, load_quietly
from retvec_lite.data.dataset import read_dataset, starter_file
from retvec_lite.data.scores import (
    TYPO_RATES,
    TYPO_SEED,
    Evaluation,
    TypoPoint,
    check_labels,
    plot_typo_curves,
    score,
    typo_curve,
)
from retvec_lite.files import refuse_existing
from retvec_lite.runtime.text_classifier import TextClassifier

_CHUNK = 512
"""Texts between two updates of the progress bar."""

_WORST = 10
"""Confusions and classes that the tables show; `--json` has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="an exported .tflite")
    parser.add_argument(
        "--data", required=True, metavar="FILE", help="labelled .csv, .tsv or .jsonl; 'starter': the built-in set"
    )
    parser.add_argument("--text-column", default="text", metavar="NAME", help="column of the texts (default text)")
    parser.add_argument("--label-column", default="label", metavar="NAME", help="column of the labels (default label)")
    parser.add_argument(
        "--typos",
        type=percentages,
        default=TYPO_RATES,
        metavar="PERCENT,...",
        help="shares of mistyped words (default 0,10,20,50,100)",
    )
    parser.add_argument("--seed", type=int, default=TYPO_SEED, metavar="N", help=f"of the typos (default {TYPO_SEED})")
    parser.add_argument("--plot", type=png_file, metavar="FILE.png", help="draw the typo curve")
    parser.add_argument("--force", action="store_true", help="replace the plot if it exists")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_runtime_argument(parser)


def percentages(text: str) -> tuple[float, ...]:
    """An argparse type: comma-separated percentages as shares from 0 to 1, without repeats, ascending."""
    rates = sorted({float(part) / 100 for part in text.split(",")})
    if not all(0 <= rate <= 1 for rate in rates):
        raise argparse.ArgumentTypeError(f"expected percentages from 0 to 100, received {text!r}")
    return tuple(rates)


percentages.__name__ = "list of percentages"  # argparse puts it into "invalid list of percentages value: 'x'"


def png_file(text: str) -> str:
    """An argparse type: the name of a PNG file."""
    if not text.lower().endswith(".png"):
        raise argparse.ArgumentTypeError(f"expected a name that ends in .png, received {text!r}")
    return text


def run(args: argparse.Namespace) -> int:
    """Score, print, and draw."""
    # Everything that can be missing or wrong is found before the work starts.
    if not args.json:
        import rich.console  # noqa: F401
    if args.plot:
        import matplotlib.figure  # noqa: F401

        refuse_existing(args.plot, args.force)
    path = starter_file("test") if args.data == "starter" else args.data
    dataset = read_dataset(path, args.text_column, args.label_column)
    classifier = load_quietly(args.model, args.runtime)
    check_labels(dataset, classifier.labels)
    mistyped = [rate for rate in args.typos if rate]
    with _progress(len(dataset) * (1 + len(mistyped)), hidden=args.json) as advance:

        def classify(texts: Sequence[str]) -> npt.NDArray[np.float32]:
            parts = []
            for start in range(0, len(texts), _CHUNK):
                parts.append(classifier.probabilities(texts[start : start + _CHUNK]))
                advance(len(parts[-1]))
            return np.concatenate(parts)

        clean = score(dataset.labels, classify(dataset.texts), classifier.labels)
        curve = typo_curve(classify, classifier.labels, dataset, mistyped, args.seed)
    if 0.0 in args.typos:
        curve = (TypoPoint(0.0, clean.accuracy, clean.macro_f1), *curve)
    if args.json:
        print(json.dumps(_report(args, classifier, clean, curve), ensure_ascii=False))
    else:
        _print_tables(args, clean, curve)
    if args.plot:
        plot_typo_curves({classifier.metadata.get("recipe", "model"): curve}, args.plot, dataset.path.name)
    return 0


@contextlib.contextmanager
def _progress(total: int, hidden: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error; yields what moves it on by a number of texts."""
    if hidden:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Classifying", total=total)
        yield lambda texts: progress.advance(task, texts)


def _report(
    args: argparse.Namespace, classifier: TextClassifier, clean: Evaluation, curve: Sequence[TypoPoint]
) -> dict[str, Any]:
    return {
        "model": args.model,
        "data": args.data,
        "runtime": classifier.runtime,
        "seed": args.seed,
        **clean.to_dict(),
        "typos": [point._asdict() for point in curve],
    }


def _print_tables(args: argparse.Namespace, clean: Evaluation, curve: Sequence[TypoPoint]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        drawn = Table(title=title, title_justify="left")
        for column in columns:
            drawn.add_column(column, justify="left" if column in ("label", "expected", "predicted") else "right")
        for row in rows:
            drawn.add_row(*map(Text, row))  # labels are data: rich must not read its markup into them
        console.print(drawn)

    console = Console()
    summary = f"{clean.texts:,} texts of {args.data}: accuracy {clean.accuracy:.4f}, macro F1 {clean.macro_f1:.4f}"
    console.print(Text(summary), soft_wrap=True)
    table(
        "Mistyped words",
        ("share", "accuracy", "macro F1"),
        [(f"{100 * point.rate:g} %", f"{point.accuracy:.4f}", f"{point.macro_f1:.4f}") for point in curve],
    )
    weakest = sorted(clean.classes, key=lambda row: row.f1)[:_WORST]
    table(
        "Classes" if len(weakest) == len(clean.classes) else f"The {_WORST} weakest of {len(clean.classes)} classes",
        ("label", "texts", "precision", "recall", "F1"),
        [(row.label, str(row.texts), f"{row.precision:.3f}", f"{row.recall:.3f}", f"{row.f1:.3f}") for row in weakest],
    )
    if clean.confusions:
        table(
            "Most frequent confusions",
            ("expected", "predicted", "texts"),
            [(row.expected, row.predicted, str(row.texts)) for row in clean.confusions[:_WORST]],
        )
