"""`retvec-lite verify`: the artifacts of a folder against the float reference, on every installed runtime."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retvec_lite.runtime.artifact import CLASSIFY

_CHECKS: Final = ("words", "bits", "embedding", "probabilities", "embedding cosine", "same label")
_COLUMNS: Final = ("recipe", "runtime", "words", "bits", "embed.", "output", "cosine", "labels", "result")
"""What the table shows, the checks under shorter names so that it fits into 80 columns."""

if TYPE_CHECKING:
    from retvec_lite.converters.parity.checks import Check, RuntimeResult
    from retvec_lite.converters.parity.verify import ArtifactResult


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
    from retvec_lite.converters.parity.verify import verify

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
    """Print one line for each file and runtime, then which bounds are broken, where, by how much.

    A runtime that is older than a file says it needs is `too old` when it refuses the file, and `unstated` otherwise.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from retvec_lite.converters.report import why_skipped

    table = Table(*_COLUMNS, box=None, padding=(0, 1, 0, 0))
    broken: list[str] = []
    for artifact in artifacts:
        name = artifact.file.removeprefix("classifier-").removesuffix(".tflite").removesuffix(".mlpackage")
        for check in artifact.checks:
            broken += _complaints(artifact.file, check)
        if artifact.problem is not None:
            broken.append(f"{artifact.file}: {artifact.problem}")
        if not artifact.runtimes:
            table.add_row(name, *[""] * (len(_COLUMNS) - 2), "broken")
        for run in artifact.runtimes:
            for signature in dict.fromkeys([CLASSIFY, *(check.signature for check in run.checks)]):
                checks = [check for check in run.checks if check.signature == signature]
                values = {check.name: _value(check) for check in checks}
                cells = [values.get(check, "") for check in _CHECKS]
                title = name if signature == CLASSIFY else f"{name}\n{signature}"
                table.add_row(*map(Text, (title, f"{run.runtime}\n{run.version}", *cells, _verdict(run, checks))))
            if run.promised:
                place = f"{artifact.file} on {run.runtime} {run.version}"
                broken += [f"{place}: {run.refusal}"] if run.refusal else []
                broken += [line for check in run.checks for line in _complaints(place, check)]
    broken += [f"{why_skipped(name)}: skipped." for name in skipped]
    console = Console()
    console.print(table)
    for line in broken:
        console.print(Text(line), soft_wrap=True)


def _value(check: "Check") -> str:
    from retvec_lite.converters.report import format_value

    return format_value(check) if check.value or check.at_least else "same"


def _verdict(run: "RuntimeResult", checks: Sequence["Check"]) -> str:
    """Of one signature, whose checks these are."""
    if run.promised:
        return "ok" if run.refusal is None and all(check.ok for check in checks) else "broken"
    return "too old" if run.refusal else "unstated"


def _complaints(place: str, check: "Check") -> list[str]:
    if check.ok:
        return []
    from retvec_lite.converters.report import format_bound, format_value, name_of

    lines = [
        f"{place}: {name_of(check)} is {format_value(check)}, must be {format_bound(check)}"
        + (". Worst:" if check.worst else ".")
    ]
    return lines + [f"    {item.text}: {item.amount:.3g} {item.where}".rstrip() for item in check.worst]
