"""What the attacks and `tools.micro` share: options, and tables of counts."""

import argparse
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def attack_options(doc: str | None, files: int) -> argparse.Namespace:
    """Return `files`, `seed` and `quick` of an attack's command line; `files` is the default number."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=files, metavar="N", help=f"hostile files (default: {files:,})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is done to them (default: 0)")
    parser.add_argument("--quick", action="store_true", help="300 files")
    args = parser.parse_args()
    args.files = 300 if args.quick else args.files
    return args


def counts_table(what: str, outcomes: Collection[str], counts: Mapping[str, Counter[str]]) -> str:
    """Return a Markdown table of how many files of each kind had which outcome."""
    rows = [[kind, f"{found.total():,}", *(f"{found[name]:,}" for name in outcomes)] for kind, found in counts.items()]
    return markdown_table((what, "files", *outcomes), rows)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column aligned left, the others right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
