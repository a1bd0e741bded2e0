"""Vectorizers under the same heads, and whole products: accuracy with 0 / 20 / 50 / 100 % of the words mistyped.

    python -m benchmarks.experiments.comparison --v1 V1.safetensors [--set NAME] [--only SYSTEM] [--head HEAD] [--seeds 0 1 2] [--quick]

Follows the RETVec paper's table of vectorizers and models (arXiv:2302.09207), on the test splits.
Parameters and bytes count everything a device needs, vocabulary included. Rows already in the JSON are kept; rows
measured with other settings are measured again. Baselines need the environment described in lab/benchmarks/README.md.
"""

import time
from collections.abc import Sequence
from typing import Final

import numpy as np

from benchmarks.common import SIZE_LIMIT, Row, Rows, result_path
from benchmarks.data.sets import FOLDERS, MULTILINGUAL, Corpus, script_of
from benchmarks.experiments.trials import HEADS, Scope, comparison_parser, parse_comparison, trials
from benchmarks.systems.names import COMPARED, FASTTEXT, NETWORK, SMALL, V1, WHITESPACE, lines_of
from benchmarks.systems.networks import Plan, build, settings_of
from benchmarks.tables.cells import grouped, kilobytes, markdown_table, spread, unlike, values_of, with_earlier_heads
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.scores import TYPO_SEED, score
from retvec_lite.data.typos import mistype_many

RATES: Final = (0.0, 0.2, 0.5, 1.0)
KEY: Final = ("data", "system", "head", "seed")
FULL: Final = Scope(tuple(FOLDERS), COMPARED, HEADS)
QUICK: Final = Scope(("Banking77",), (WHITESPACE + SMALL, NETWORK, FASTTEXT), ("cnn", "pool"))


def pairs(systems: Sequence[str], heads: Sequence[str]) -> list[tuple[str, str]]:
    """Return (system, head) of the table's lines. Only the network alone and v1 have the product's own head `pool`."""
    return [(system, head) for system, head in lines_of(systems, heads) if head != "pool" or system in (NETWORK, V1)]


def measure(system: str, head: str, corpus: Corpus, plan: Plan) -> Row:
    """Return accuracy and macro F1 at each rate, accuracy by language where texts have one, and what the system costs."""
    trained = build(system, head, corpus, plan)
    began = time.perf_counter()
    row: Row = {"accuracy": {}, "macro_f1": {}, "by_language": {}}
    languages = np.array(corpus.languages)
    for rate in RATES:
        texts = mistype_many(corpus.test.texts, rate, TYPO_SEED)
        outcome = Outcome.of(corpus.test, texts, trained.probabilities(texts), trained.labels)
        result, right = score(outcome), outcome.is_right
        row["accuracy"][f"{rate:g}"], row["macro_f1"][f"{rate:g}"] = result.accuracy, result.macro_f1
        for language in sorted(set(corpus.languages)):
            row["by_language"].setdefault(language, {})[f"{rate:g}"] = float(right[languages == language].mean())
    row |= {name: trained.facts[name] for name in ("bytes", "parameters")}
    row |= {"training_seconds": trained.facts["seconds"], "test_seconds": time.perf_counter() - began}
    return row | ({"scripts": scripts_of(corpus)} if corpus.languages else {})


def main(arguments: Sequence[str] | None = None) -> None:
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
    for corpus, plan in trials(args, per_language=args.per_language):
        for system, head in pairs(args.systems, args.heads):
            row: Row = {"data": corpus.name, "system": system, "head": head, "seed": plan.seed}
            row["settings"] = settings_of(system, head, plan, corpus) | {"test_texts": len(corpus.test)}
            rows.fill(row, measure, system, head, corpus, plan)
    rows.show()


def scripts_of(corpus: Corpus) -> dict[str, str]:
    """Return language -> the script of most letters in its test texts."""
    texts: dict[str, list[str]] = {}
    for text, language in zip(corpus.test.texts, corpus.languages, strict=True):
        texts.setdefault(language, []).append(text)
    return {language: script_of(found) for language, found in sorted(texts.items())}


def tables(rows: list[Row]) -> str:
    """Return a table for each data set; for multilingual ones also tables by script and by language."""
    parts = []
    order = {name: place for place, name in enumerate(FOLDERS)}
    lines = {line: place for place, line in enumerate(pairs(COMPARED, HEADS))}
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
    for line, found in grouped(rows, ["system", "head"]).items():
        parameters, size = found[0]["parameters"], max(row["bytes"] for row in found)
        costs = [
            "-" if parameters is None else f"{parameters:,}",
            kilobytes(size) + " (over 1 MB)" * (size >= SIZE_LIMIT),
        ]
        table.append([*line, *costs, *(spread(values_of(found, rate)) for rate in RATES), f"{len(found)}"])
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
    found = [row["by_language"][language] for row in rows for language in languages if language in row["by_language"]]
    return " / ".join(f"{np.mean([accuracy[rate] for accuracy in found]):.3f}" for rate in ("0", "0.5"))


if __name__ == "__main__":
    main()
