"""Vectorizers under the same heads, and whole products: accuracy with 0 / 20 / 50 / 100 % of the words mistyped.

    python benchmarks/comparison.py --v1 V1.safetensors [--set NAME] [--only SYSTEM] [--head HEAD] [--seeds 0 1 2] [--quick]

After the RETVec paper's table of vectorizers x models (NeurIPS 2023, section 4), on the official test splits. Parameters and
bytes are those of everything a device needs, vocabulary included. Rows that are in the JSON already are kept; those
of another way of measuring are measured again. Baselines need the environment that benchmarks/baselines.py describes.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from common import (
    QUICK_AUTOTUNE,
    QUICK_EPOCHS,
    QUICK_ROWS,
    QUICK_TEST_ROWS,
    RESULTS,
    Row,
    Rows,
    add_common_arguments,
    grouped,
    kilobytes,
    markdown_table,
    spread,
    unlike,
    with_earlier_heads,
)
from data_sets import FOLDERS, MULTILINGUAL, Task, load_task, script_of
from systems import NO_HEAD, OURS, SYSTEMS, V1, WHOLE, Product, available, build, plan_of, settings_of

from retvec_lite.data.scores import TYPO_SEED, score
from retvec_lite.data.typos import mistype_many

RATES: Final = (0.0, 0.2, 0.5, 1.0)
HEADS: Final = ("rnn", "cnn", "bert", "pool")
KEY: Final = ("data", "system", "head", "seed")
LIMIT: Final = 1_000_000
"""Bytes: the size class that the project is in."""

QUICK_SYSTEMS: Final = ("Whitespace, under 1 MB", OURS, "fastText")


def pairs(systems: Sequence[str], heads: Sequence[str]) -> list[tuple[str, str]]:
    """(system, head) of the table's lines. `pool` is the product's own fast head: ours and, to compare, v1 alone have it."""
    found = []
    for system in systems:
        if system in WHOLE:
            found.append((system, NO_HEAD))
        else:
            found += [(system, head) for head in heads if head != "pool" or system in (OURS, V1)]
    return found


def measure(product: Product, task: Task) -> dict[str, Any]:
    """Accuracy and macro F1 at each rate, and accuracy by language where texts have one."""
    accuracy, macro_f1 = {}, {}
    by_language: dict[str, dict[str, float]] = {}
    truth = np.array(task.test.labels)
    languages = np.array(task.languages)
    for rate in RATES:
        found = product.probabilities(mistype_many(task.test.texts, rate, TYPO_SEED))
        result = score(task.test.labels, found, product.labels)
        accuracy[f"{rate:g}"], macro_f1[f"{rate:g}"] = result.accuracy, result.macro_f1
        right = np.array(product.labels)[found.argmax(axis=1)] == truth
        for language in sorted(set(task.languages)):
            by_language.setdefault(language, {})[f"{rate:g}"] = float(right[languages == language].mean())
    return {"accuracy": accuracy, "macro_f1": macro_f1, "by_language": by_language}


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure what was asked for and is not there yet, and write the tables of all that is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_arguments(parser, "Banking77 (1,500 texts), three systems, cnn and pool")
    parser.add_argument("--set", dest="sets", choices=tuple(FOLDERS), action="append", help="a data set (default: all)")
    parser.add_argument("--only", choices=SYSTEMS, action="append", help="a system (default: all)")
    parser.add_argument("--head", dest="heads", choices=HEADS, action="append", help="a head (default: all)")
    parser.add_argument(
        "--per-language",
        type=int,
        default=2000,
        metavar="N",
        help="training texts of each MASSIVE locale (0: all 11,514)",
    )
    args = parser.parse_args(None if arguments is None else list(arguments))
    sets, systems, heads = args.sets or tuple(FOLDERS), args.only or SYSTEMS, args.heads or HEADS
    limits = {"per_language": args.per_language}
    if args.quick:
        sets, systems, heads = ("Banking77",), args.only or QUICK_SYSTEMS, args.heads or ("cnn", "pool")
        limits = {"rows": QUICK_ROWS, "test_rows": QUICK_TEST_ROWS}
        args.epochs, args.autotune = args.epochs or QUICK_EPOCHS, QUICK_AUTOTUNE
    lines = pairs(available(systems, args.v1, asked_for=bool(args.only)), heads)
    rows = Rows(RESULTS / ("comparison-quick" if args.quick else "comparison"), KEY, tables)
    for name in sets:
        task = load_task(args.data, name, **limits)
        for seed in args.seeds:
            plan = plan_of(args, seed)
            for system, head in lines:
                row: Row = {"data": name, "system": system, "head": head, "seed": seed}
                row["settings"] = settings_of(system, head, plan, task) | {"test_texts": len(task.test)}
                if rows.has(row):
                    print(f"{name}, {system}, {head}, seed {seed}: is there already", file=sys.stderr, flush=True)
                    continue
                print(f"{name}, {system}, {head}, seed {seed} ...", file=sys.stderr, flush=True)
                product = build(system, head, task, plan)
                began = time.perf_counter()
                row |= measure(product, task)
                row |= {"bytes": product.bytes, "parameters": product.parameters}
                row |= {"training_seconds": product.facts["seconds"], "test_seconds": time.perf_counter() - began}
                if task.languages:
                    row["scripts"] = scripts_of(task)
                rows.add(row)
    rows.show()


def scripts_of(task: Task) -> dict[str, str]:
    """Language -> the script that most of its test texts' letters are in."""
    texts: dict[str, list[str]] = {}
    for text, language in zip(task.test.texts, task.languages, strict=True):
        texts.setdefault(language, []).append(text)
    return {language: script_of(found) for language, found in sorted(texts.items())}


def tables(rows: list[Row]) -> str:
    """A table for each data set, and for multilingual ones those by script and by language."""
    parts = []
    order = {name: place for place, name in enumerate(FOLDERS)}
    lines = {line: place for place, line in enumerate(pairs(SYSTEMS, HEADS))}
    rows = sorted(rows, key=lambda row: (order[row["data"]], lines[row["system"], row["head"]], row["seed"]))
    for (name,), found in grouped(with_earlier_heads(rows), ["data"]).items():
        texts = found[0]["settings"]["test_texts"]
        parts.append(f"**{name}**, {texts:,} test texts\n\n{_accuracy_table(found)}{unlike(found)}")
        if name in MULTILINGUAL:
            parts.append(f"**{name} by script**, clean / 50 % mistyped\n\n{_table_by(found, by_script=True)}")
            parts.append(f"**{name} by language**, clean / 50 % mistyped\n\n{_table_by(found, by_script=False)}")
    return "\n".join(parts)


def _accuracy_table(rows: list[Row]) -> str:
    header = ["system", "head", "parameters", "bytes on a device", *(f"{rate:.0%} mistyped" for rate in RATES), "seeds"]
    table = []
    for (system, head), found in grouped(rows, ["system", "head"]).items():
        parameters, size = found[0]["parameters"], max(row["bytes"] for row in found)
        table.append(
            [
                system,
                head,
                "-" if parameters is None else f"{parameters:,}",
                kilobytes(size) + ("" if size < LIMIT else " (over 1 MB)"),
                *(spread([row["accuracy"][f"{rate:g}"] for row in found]) for rate in RATES),
                f"{len(found)}",
            ]
        )
    return markdown_table(header, table)


def _table_by(rows: list[Row], *, by_script: bool) -> str:
    """Mean accuracy of languages, one line for each script or language and one column for each system and head."""
    columns = grouped(rows, ["system", "head"])
    languages = sorted({language for row in rows for language in row["by_language"]})
    scripts = {language: script for row in rows for language, script in row["scripts"].items()}
    lines: dict[str, list[str]] = {}
    for language in languages:
        lines.setdefault(scripts[language] if by_script else language, []).append(language)
    header = ["script (languages)" if by_script else "language", *(f"{system}, {head}" for system, head in columns)]
    table = []
    for line, members in sorted(lines.items()):
        cells = [_mean_of(found, members) for found in columns.values()]
        table.append([f"{line} ({len(members)})" if by_script else line, *cells])
    table.append(["mean of languages", *(_mean_of(found, languages) for found in columns.values())])
    return markdown_table(header, table)


def _mean_of(rows: list[Row], languages: list[str]) -> str:
    clean, typos = (
        float(
            np.mean(
                [
                    row["by_language"][language][rate]
                    for row in rows
                    for language in languages
                    if language in row["by_language"]
                ]
            )
        )
        for rate in ("0", "0.5")
    )
    return f"{clean:.3f} / {typos:.3f}"


if __name__ == "__main__":
    main()
