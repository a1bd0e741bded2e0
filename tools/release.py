"""List what a release publishes: `python -m tools.release` writes dist/SHA256SUMS and prints the sizes. `make release-check` runs it."""

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Final

from retvec_lite.version import __version__

CHECKSUMS: Final = "SHA256SUMS"

_OF_MAVEN: Final = (".md5", ".sha1", "maven-metadata.xml")
"""Ends of what Maven writes for itself."""


def release_files(folder: Path) -> list[Path]:
    """Return the files to publish, by path.

    Raises:
        ValueError: where there is none, or one of another version.
    """
    found = [
        path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith((*_OF_MAVEN, CHECKSUMS))
    ]
    if not found:
        raise ValueError(f"{folder} has no files: run `make release-check`.")
    if other := [path.name for path in found if __version__ not in path.name]:
        raise ValueError(f"{', '.join(other)} are not of version {__version__}: delete {folder} and build it again.")
    return found


def write_checksums(folder: Path) -> str:
    """Write SHA256SUMS, as `sha256sum --check` reads it where all files were downloaded to, and return a table of names and sizes."""
    files = [(path.name, path.read_bytes()) for path in release_files(folder)]
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files)
    (folder / CHECKSUMS).write_text(sums, encoding="utf-8", newline="\n")
    width = max(len(name) for name, _ in files)
    return "\n".join(f"{name:<{width}}  {len(content):>11,} bytes" for name, content in files)


def main() -> None:
    """List a folder, or say in one sentence what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("dist"))
    try:
        print(write_checksums(parser.parse_args().folder))
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
