"""Compile the C engine for this machine into the package, or for another one. Run `python -m tools.build_engine`."""

import argparse
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from retvec_lite.runtime import library_path

SOURCE: Final = Path(__file__).parents[1] / "engine" / "retvec_lite.c"

FLAGS: Final = ("-std=c99", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-shared", "-fPIC")
"""Of every build: floats are never contracted, so that all machines compute the same bits."""

EXPORTED: Final = '-DRVL_API=__attribute__((visibility("default"))) extern'


def compiler() -> list[str] | None:
    """Return the C compiler of this machine: that of the variable CC, the system's, or zig's from PyPI; None without any."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    return [found] if found else zig()


def zig(target: str | None = None) -> list[str] | None:
    """Return zig's C compiler, for another machine such as "aarch64-linux-musl" if named; None where `ziglang` is not installed."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    return [sys.executable, "-m", "ziglang", "cc", *(["-target", target] if target else [])]


def build(command: Sequence[str], to: Path, *options: str) -> Path:
    """Compile the engine to a shared library; raises CalledProcessError with the compiler's words on standard error."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, *FLAGS, EXPORTED, *options, "-o", str(to), str(SOURCE)], check=True)
    return to


def main() -> None:
    """Build the engine of the package."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    command = compiler()
    if command is None:
        print("No C compiler: .retvec files cannot be run. Install one, or `pip install ziglang`.", file=sys.stderr)
        return
    print(build(command, library_path()))


if __name__ == "__main__":
    main()
