"""Run the benchmarks one after another, and renew the tables in the docs.

    python -m benchmarks.run [--quick] [--data DIR] [--v1 FILE]

The first that fails ends the run. Rows that were measured are kept.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.common import command_parser


class Script(NamedTuple):
    """A command: its module, the arguments it needs, which of the shared options it has, and the package without which it is left out."""

    name: str
    needed: tuple[str, ...] = ()
    data: bool = True
    v1: bool = False
    package: str = "numpy"


SCRIPTS: Final = (
    Script("speed.latency", data=False),
    Script("experiments.comparison", v1=True),
    Script("experiments.few_shot", ("--shots", "5", "10", "20", "50", "0")),
    Script("experiments.languages"),
    Script("experiments.typo_resilience", v1=True),
    Script("experiments.adversarial", v1=True, package="textattack"),
    Script("experiments.robustness"),
)


def main() -> None:
    parser = command_parser(__doc__, quick="quick forms, a few minutes each", data=True)
    parser.add_argument("--v1", type=Path, metavar="FILE", help="RETVec v1, as `makers.embedding import-v1` wrote it")
    args = parser.parse_args()
    for script in SCRIPTS:
        if importlib.util.find_spec(script.package) is None:
            print(f"== {script.name} is left out: install {script.package} (see lab/benchmarks)", file=sys.stderr)
            continue
        command = [sys.executable, "-m", f"benchmarks.{script.name}", *script.needed]
        command += ["--quick"] if args.quick else []
        command += ["--data", str(args.data)] if script.data else []
        command += ["--v1", str(args.v1)] if args.v1 and script.v1 else []
        print(f"== {script.name}", file=sys.stderr, flush=True)
        subprocess.run(command, check=True)
    if not args.quick:
        subprocess.run([sys.executable, "-m", "benchmarks.tables.pages"], check=True)


if __name__ == "__main__":
    main()
