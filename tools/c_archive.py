"""Write the C engine as an archive of two sources, for other projects, and the Go module and the Swift package with it.

Run `python -m tools.c_archive [--out FOLDER]`.
"""

import argparse
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from retvec_lite.version import __version__

ROOT: Final = Path(__file__).parents[1]
HEADER: Final = "retvec_lite.h"
NAME: Final = f"retvec-lite-c-{__version__}.zip"
GO_NAME: Final = f"retvec-lite-go-{__version__}.zip"
SWIFT_NAME: Final = f"retvec-lite-swift-{__version__}.zip"

_INCLUDE: Final = re.compile(r'^#include "([\w.]+)"\n', re.MULTILINE)
_DATE: Final = (2026, 1, 1, 0, 0, 0)
"""Of every file: the same sources make the same archive."""


def source() -> str:
    """Return the engine as one file, which includes nothing of this project but its header."""
    folder = ROOT / "engine"

    def inlined(found: re.Match[str]) -> str:
        name = found.group(1)
        return found.group() if name == HEADER else (folder / name).read_text(encoding="utf-8")

    return _INCLUDE.sub(inlined, (folder / "retvec_lite.c").read_text(encoding="utf-8"))


def vendored() -> dict[str, str]:
    """Return the two sources of the engine by name."""
    return {"retvec_lite.c": source(), HEADER: (ROOT / "engine" / HEADER).read_text(encoding="utf-8")}


def rust_crate(folder: Path) -> Path:
    """Copy the Rust crate into a new folder, with the engine, so that `cargo package` finds all of it there; return the folder."""
    shutil.copytree(ROOT / "bindings" / "rust", folder, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    (folder / "engine").mkdir()
    for name, text in vendored().items():
        (folder / "engine" / name).write_text(text, encoding="utf-8", newline="\n")
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


def go_module() -> dict[str, str]:
    """Return the files of the Go module by name: in a checkout, its C file includes the engine; here that file is the engine."""
    own = (*sorted((ROOT / "bindings" / "go").iterdir()), ROOT / "LICENSE")
    return {path.name: path.read_text(encoding="utf-8") for path in own} | vendored()


def swift_package() -> dict[str, str]:
    """Return the files of the Swift package by name, without its tests; a checkout would bring the history of the repository along."""
    parts = "LICENSE engine/*.[ch] swift/CRetvecLite/**/*.[ch] swift/Retvec*/*.* examples/swift/*.swift examples/swift/S*/**/*.swift"
    own = sorted(path for part in parts.split() for path in ROOT.glob(part))
    files = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in own}
    manifest = (ROOT / "Package.swift").read_text(encoding="utf-8")
    return {**files, "Package.swift": re.sub(r" *\.testTarget\(.*\n", "", manifest)}


def write(folder: Path) -> Path:
    """Write the archive into a folder and return its path."""
    own = (ROOT / "engine" / "Makefile", ROOT / "LICENSE")
    return write_zip(folder / NAME, vendored() | {path.name: path.read_text(encoding="utf-8") for path in own})


def write_zip(target: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write an archive, the same bytes for the same files, and return its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return target


def main() -> None:
    """Write the archives of this version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder (dist)")
    folder = parser.parse_args().out
    others = {GO_NAME: go_module(), SWIFT_NAME: swift_package()}
    for written in (write(folder), *(write_zip(folder / name, files) for name, files in others.items())):
        print(f"{written}: {written.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
