"""Vectorizers under the same heads, and whole products: accuracy with 0 / 20 / 50 / 100 % of the words mistyped.

    python -m benchmarks.experiments.comparison --v1 V1.safetensors [--set NAME] [--only SYSTEM] [--head HEAD] [--seeds 0 1 2] [--quick]

Follows the RETVec paper's table of vectorizers and models (arXiv:2302.09207), on the test splits.
Parameters and bytes count everything a device needs, vocabulary included. Rows already in the JSON are kept; rows
measured with other settings are measured again. Baselines need the environment described in benchmarks/README.md.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.common import (
    SIZE_LIMIT,
    Row,
    Rows,
    grouped,
    kilobytes,
    markdown_table,
    result_path,
    spread,
    unlike,
    with_earlier_heads,
)
from benchmarks.data.sets import FOLDERS, MULTILINGUAL, Task, script_of
from benchmarks.experiments.trials import HEADS, Scope, comparison_parser, lines_of, parse_comparison, trials
from benchmarks.systems.networks import OURS, SYSTEMS, V1, Product, build, settings_of
from retvec_lite.data.scores import TYPO_SEED, score
from retvec_lite.data.typos import mistype_many

RATES: Final = (0.0, 0.2, 0.5, 1.0)
KEY: Final = ("data", "system", "head", "seed")
FULL: Final = Scope(tuple(FOLDERS), SYSTEMS, HEADS)
QUICK: Final = Scope(("Banking77",), ("Whitespace, under 1 MB", OURS, "fastText"), ("cnn", "pool"))


def pairs(systems: Sequence[str], heads: Sequence[str]) -> list[tuple[str, str]]:
    """Return (system, head) of the table's lines. Only ours and v1 have the product's own head `pool`."""
    return [(system, head) for system, head in lines_of(systems, heads) if head != "pool" or system in (OURS, V1)]


def measure(product: Product, task: Task) -> dict[str, Any]:
    """Return accuracy and macro F1 at each rate, and accuracy by language where texts have one."""
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and missing; write the tables of everything."""
    parser = comparison_parser(__doc__, "Banking77 (1,500 texts), three systems, cnn and pool")
    parser.add_argument(
        "--per-language",
        type=int,
        default=2000,
        metavar="N",
        help="training texts of each MASSIVE locale (default: 2,000; 0: all 11,514)",
    )
    args = parse_comparison(parser, arguments, FULL, QUICK)
    rows = Rows(result_path("comparison", quick=args.quick), KEY, tables)
    for task, plan in trials(args, per_language=args.per_language):
        for system, head in pairs(args.systems, args.heads):
            row: Row = {"data": task.name, "system": system, "head": head, "seed": plan.seed}
            row["settings"] = settings_of(system, head, plan, task) | {"test_texts": len(task.test)}
            done = rows.has(row)
            state = "already measured" if done else "..."
            print(f"{task.name}, {system}, {head}, seed {plan.seed}: {state}", file=sys.stderr, flush=True)
            if done:
                continue
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
    """Return language -> the script of most letters in its test texts."""
    texts: dict[str, list[str]] = {}
    for text, language in zip(task.test.texts, task.languages, strict=True):
        texts.setdefault(language, []).append(text)
    return {language: script_of(found) for language, found in sorted(texts.items())}


def tables(rows: list[Row]) -> str:
    """Return a table for each data set; for multilingual ones also tables by script and by language."""
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
                kilobytes(size) + ("" if size < SIZE_LIMIT else " (over 1 MB)"),
                *(spread([row["accuracy"][f"{rate:g}"] for row in found]) for rate in RATES),
                f"{len(found)}",
            ]
        )
    return markdown_table(header, table)


def _table_by(rows: list[Row], *, by_script: bool) -> str:
    """Return the mean accuracy by script or language, one column for each system and head."""
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
