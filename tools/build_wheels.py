"""Build every wheel and the sdist into a folder: `python -m tools.build_wheels [--out dist]`. Needs ziglang, setuptools and wheel.

The sdist has the engine's source, which setup.py compiles. The wheel for any machine has no engine. Each of the others has that of its machine, which zig compiles here: it needs no C library,
so nothing of this machine is in it.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.build_engine import build, zig

ROOT: Final = Path(__file__).parents[1]
HOOK: Final = "setup.py"
FILES: Final = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", HOOK)
FOLDERS: Final = ("retvec_lite", "converters", "engine", "tools")
"""What a release is made of."""

_ALONE: Final = ("-nostdlib", "-ffreestanding", "-DRVL_FREESTANDING", "-s")


@dataclass(frozen=True)
class Machine:
    """What a wheel is for.

    Attributes:
        tags: the platforms that may install it.
        folder: what .NET calls the platform: its folder in the archive of libraries.
        target: zig's name of them.
        library: the engine's name there, as in `retvec_lite.runtime.native`.
        options: of the compiler, beside those of every build.
    """

    tags: str
    folder: str
    target: str
    library: str
    options: tuple[str, ...] = ()


# A library without globals has nothing to do when it is loaded.
_WINDOWS: Final = ("-URVL_API", "-DRVL_API=__declspec(dllexport) extern", "-Wl,--no-entry")

MACHINES: Final = (
    # Without a C library, one file suits that of GNU and that of Alpine.
    Machine("manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64", "linux-x64", "x86_64-linux-gnu.2.17", "libretvec_lite.so"),
    Machine("manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64", "linux-arm64", "aarch64-linux-gnu.2.17", "libretvec_lite.so"),
    Machine("macosx_11_0_arm64", "osx-arm64", "aarch64-macos.11.0", "libretvec_lite.dylib"),
    Machine("macosx_10_13_x86_64", "osx-x64", "x86_64-macos.10.13", "libretvec_lite.dylib"),
    Machine("win_amd64", "win-x64", "x86_64-windows-gnu", "retvec_lite.dll", _WINDOWS),
    Machine("win_arm64", "win-arm64", "aarch64-windows-gnu", "retvec_lite.dll", _WINDOWS),
)  # fmt: skip


def build_all(to: Path) -> Iterator[Path]:
    """Yield the sdist, the wheel without an engine, and one for each of `MACHINES`; ends the program when a step fails."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # From a copy: setuptools writes into the source tree, and ships what an earlier run left there.
        source = Path(folder, "source")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "native"))
        for name in FILES:
            shutil.copy(ROOT / name, source)
        for step in ("build_sdist", "build_wheel"):
            if step == "build_wheel":  # for any machine, so without the hook that compiles the engine
                (source / HOOK).unlink()
            _run(
                "-c",
                f"import sys; from setuptools import build_meta; build_meta.{step}(sys.argv[1])",
                folder,
                cwd=source,
            )
        for made in (*Path(folder).glob("*.tar.gz"), *Path(folder).glob("*.whl")):
            shutil.copy(made, to)
            yield to / made.name
        for machine in MACHINES:
            yield _wheel_for(machine, made, Path(folder, machine.target), to)


def build_library(machine: Machine, folder: Path) -> Path:
    """Compile the engine for a machine into a folder of its own; ends the program where zig is missing."""
    command = zig(machine.target)
    if command is None:
        sys.exit("The compiler is missing: pip install ziglang")
    library = build(command, folder / machine.library, *_ALONE, *machine.options)
    for beside in folder.iterdir():
        if beside != library:  # what a linker of Windows wants
            beside.unlink()
    return library


def _wheel_for(machine: Machine, pure: Path, folder: Path, to: Path) -> Path:
    """Return the wheel of a machine: what the pure one has, and the engine."""
    _run("-m", "wheel", "unpack", "--dest", folder, pure)
    (unpacked,) = folder.iterdir()
    build_library(machine, unpacked / "retvec_lite" / "native")
    (description,) = unpacked.glob("*.dist-info/WHEEL")
    text = description.read_text(encoding="ascii")
    description.write_text(text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false"), encoding="ascii")
    # Both write the hashes of RECORD anew.
    _run("-m", "wheel", "pack", "--dest-dir", folder, unpacked)
    _run("-m", "wheel", "tags", "--remove", "--platform-tag", machine.tags, next(folder.glob("*.whl")))
    (made,) = folder.glob("*.whl")
    return Path(shutil.copy(made, to))


def _run(*arguments: str | Path, cwd: Path | None = None) -> None:
    # setuptools has many words about folders of data; they matter only where it fails.
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


def main() -> None:
    """Build them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder (dist)")
    for made in build_all(parser.parse_args().out):
        print(f"{made}: {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
