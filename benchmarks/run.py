"""Run the benchmarks one after another, and renew the tables in the docs.

    python benchmarks/run.py [--quick] [--data DIR] [--v1 FILE]

The first that fails ends the run. Rows that were measured are kept.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).resolve().parent


class Script(NamedTuple):
    """A command: its file, the arguments it needs, and which of the shared options it has."""

    name: str
    needed: tuple[str, ...] = ()
    data: bool = True
    v1: bool = False


SCRIPTS: Final = (
    Script("latency.py", data=False),
    Script("ngram_latency.py", data=False),
    Script("explain_latency.py", data=False),
    Script("speed.py", v1=True),
    Script("comparison.py", v1=True),
    Script("few_shot.py", ("--shots", "5", "10", "20", "50", "0")),
    Script("languages.py"),
    Script("rejection.py"),
    Script("multi_label.py"),
    Script("typo_resilience.py", v1=True),
    Script("adversarial.py", v1=True),
    Script("pareto.py", v1=True),
    Script("embedding_choice.py", ("default",)),
    Script("embedding_ablation.py"),
    Script("clean_training.py", v1=True),
    Script("pretraining_worth.py", v1=True),
)


def main() -> None:
    """Run all, then renew the pages; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="quick forms, a few minutes each")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the data sets")
    parser.add_argument("--v1", type=Path, metavar="FILE", help="RETVec v1, as `retvec-lite import-embedding` wrote it")
    args = parser.parse_args()
    for script in SCRIPTS:
        command = [sys.executable, str(FOLDER / script.name), *script.needed]
        command += ["--quick"] if args.quick else []
        command += ["--data", str(args.data)] if args.data and script.data else []
        command += ["--v1", str(args.v1)] if args.v1 and script.v1 else []
        print(f"== {script.name}", file=sys.stderr, flush=True)
        subprocess.run(command, check=True)
    if not args.quick:
        subprocess.run([sys.executable, str(FOLDER / "pages.py")], check=True)


if __name__ == "__main__":
    main()
