"""Compile the engine for six platforms into one archive, for C# and all that loads shared libraries.

Run `python -m tools.native_archive [--out FOLDER]`; it needs `pip install ziglang`. The folders are those of NuGet packages.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Final

from retvec_lite.version import __version__
from tools.build_wheels import MACHINES, build_library
from tools.c_archive import HEADER, ROOT, write_zip

NAME: Final = f"retvec-lite-native-{__version__}.zip"


def write(folder: Path) -> Path:
    """Write the archive into a folder and return its path."""
    files: dict[str, str | bytes] = {
        HEADER: (ROOT / "engine" / HEADER).read_text(encoding="utf-8"),
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }
    with tempfile.TemporaryDirectory() as place:
        for machine in MACHINES:
            library = build_library(machine, Path(place, machine.folder))
            files[f"runtimes/{machine.folder}/native/{machine.library}"] = library.read_bytes()
    return write_zip(folder / NAME, files)


def main() -> None:
    """Write the archive of this version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder (dist)")
    written = write(parser.parse_args().out)
    print(f"{written}: {written.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
