"""`retvec-lite verify`: the artifacts of a folder against the float reference, on every installed runtime."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retvec_lite.converters.checks import Check, RuntimeResult
    from retvec_lite.converters.verify import ArtifactResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("dist", metavar="DIST", help="the folder that 'retvec-lite export' wrote")
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="real texts to compare labels on: CSV, TSV or JSON Lines (default: starter texts)",
    )
    parser.add_argument("--text-column", default="text", metavar="NAME", help="column of the texts (default text)")
    parser.add_argument("--label-column", default="label", metavar="NAME", help="column of the labels (default label)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")


def run(args: argparse.Namespace) -> int:
    """Verify; 1 when a bound is broken."""
    from retvec_lite.converters.verify import verify

    found = verify(
        args.dist, args.data, args.text_column, args.label_column, tell=lambda line: print(line, file=sys.stderr)
    )
    if args.json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))
        return 0 if found.ok else 1
    print(f"{found.golden_texts} golden texts and {found.texts}")
    print_results(found.artifacts, found.skipped)
    if found.accuracy is not None:
        print(f"Accuracy of the float32 reference on these texts: {found.accuracy:.4f}")
    for problem in found.problems:
        print(problem)
    print("Every bound holds." if found.ok else "Not every bound holds: see above.")
    return 0 if found.ok else 1


def print_results(artifacts: Sequence["ArtifactResult"], skipped: Sequence[str]) -> None:
    """Print a table of all checks, then what is wrong and where."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("file", "runtime", "check", "value", "bound", "result", "note")
    broken = []
    for artifact in artifacts:
        for cells, lines in _rows(artifact):
            table.add_row(*map(Text, cells))  # names are data: rich must not read its markup into them
            broken += lines
        table.add_section()
    for name in skipped:
        table.add_row("", name, "", "", "", "skipped", "not installed")
    console = Console()
    console.print(table)
    for line in broken:
        console.print(Text(line), soft_wrap=True)


def _rows(artifact: "ArtifactResult") -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """For each line of the table its cells and what to say below it."""
    name = artifact.file
    if artifact.problem is not None:
        yield (name, "", "", "", "", "broken", "see below"), [f"{name}: {artifact.problem}"]
    for check in artifact.checks:
        yield (name, "", *_cells(check)), _complaints(name, check)
    for run in artifact.runtimes:
        place = f"{run.runtime} {run.version}"
        if run.refusal is not None:
            told = [f"{name} on {place}: {run.refusal}"] if run.promised else []
            yield (name, place, "runs", "refused", "", _result(run, False), "see below" if told else ""), told
        for check in run.checks:
            value, bound, note = _cells(check)[1:3] + _cells(check)[4:]
            told = _complaints(f"{name} on {place}", check) if run.promised else []
            yield (name, place, check.name, value, bound, _result(run, check.ok), note), told


def _cells(check: "Check") -> tuple[str, str, str, str, str]:
    from retvec_lite.converters.report import format_bound, format_value

    return check.name, format_value(check), format_bound(check), "ok" if check.ok else "broken", check.note


def _result(run: "RuntimeResult", ok: bool) -> str:
    if run.promised:
        return "ok" if ok else "broken"
    return "ok (not promised)" if ok else "not promised"


def _complaints(place: str, check: "Check") -> list[str]:
    if check.ok:
        return []
    from retvec_lite.converters.report import format_bound, format_value

    lines = [f"{place}: {check.name} is {format_value(check)}, must be {format_bound(check)}. Worst:"]
    return lines + [f"    {item.text}: {item.amount:.3g} {item.where}".rstrip() for item in check.worst]
