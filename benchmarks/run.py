"""Every benchmark, one after another: `python benchmarks/run.py [--quick] [--data DIR]`."""

import argparse
import subprocess
import sys
from pathlib import Path

WITH_DATA = ("unspaced.py", "classification.py")
WITHOUT_DATA = ("latency.py",)


def main() -> None:
    """Run them all; the first that fails stops the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="forms of a few minutes")
    parser.add_argument("--data", type=Path, help="folder of data sets (see docs/benchmarks.md)")
    args = parser.parse_args()
    quick = ["--quick"] if args.quick else []
    data = ["--data", str(args.data)] if args.data else []
    for script in (*WITHOUT_DATA, *WITH_DATA):
        command = [sys.executable, str(Path(__file__).parent / script), *quick]
        subprocess.run([*command, *data] if script in WITH_DATA else command, check=True)


if __name__ == "__main__":
    main()
