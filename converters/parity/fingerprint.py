"""Telling whether an artifact is still the one that export wrote."""

import hashlib
from collections.abc import Mapping
from pathlib import Path


def fingerprint(data: bytes | Mapping[str, bytes]) -> str:
    """SHA-256 in hexadecimal of a file, or of a package.

    Args:
        data: the bytes of a .tflite, or those of each file of an .mlpackage by their paths in it. The hash of a package is
            that of its files' hashes and names, as `sha256sum` lists them, sorted by name.
    """
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(data.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def fingerprint_of(path: Path) -> str:
    """The same of what lies on the disk; every file in a package's folder counts."""
    if path.is_file():
        return fingerprint(path.read_bytes())
    files = (file for file in path.rglob("*") if file.is_file())
    return fingerprint({file.relative_to(path).as_posix(): file.read_bytes() for file in files})
