"""Reading and running exported files, with NumPy and one runtime alone; and here, where the compiled C engine is.

This module imports neither NumPy nor the engine: the build of this package and `--version` ask it.
"""

import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "native"
LIBRARY: Final = {"win32": "retvec_lite.dll", "darwin": "libretvec_lite.dylib"}.get(sys.platform, "libretvec_lite.so")
"""The compiled engine, a part of the package."""

NOT_BUILT: Final = (
    "The engine for .retvec files is not built. Install a C compiler (gcc or clang), then this package again: "
    "`pip install --force-reinstall --no-deps .` in your checkout of retvec-lite."
)
"""What a user is told who needs the engine, and how to get it."""


def library_path() -> Path:
    """Return where the compiled engine of the package is."""
    return FOLDER / LIBRARY


def is_built() -> bool:
    """Return whether the compiled engine is there."""
    return library_path().is_file()
