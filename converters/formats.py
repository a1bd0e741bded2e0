"""The formats: one line for each. They are imported on first use, because their packages are optional."""

import functools
import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retvec_lite.errors import RetvecLiteError

if TYPE_CHECKING:
    from retvec_lite.converters.format import Format

FORMATS: Final[Mapping[str, str]] = {
    "tflite": "retvec_lite.converters.tflite.format.TFLite",
    "coreml": "retvec_lite.converters.coreml.format.CoreML",
}
"""What users type -> the `Format`, in the order of reports."""

ALL: Final = "all"


@functools.cache
def find_format(name: str) -> "Format":
    """Return the format called `name`, a key of `FORMATS`."""
    module, _, kind = FORMATS[name].rpartition(".")
    found: Format = getattr(importlib.import_module(module), kind)()
    return found


def every_format() -> tuple["Format", ...]:
    """Return all formats, in the order of reports."""
    return tuple(find_format(name) for name in FORMATS)


def chosen_formats(names: Iterable[str]) -> tuple["Format", ...]:
    """Return the formats of given names, in the order of reports.

    Raises:
        RetvecLiteError: for an unknown name.
    """
    wanted = set(names)
    for name in wanted - {*FORMATS, ALL}:
        raise RetvecLiteError(f"Unknown format {name!r}. Choose from {', '.join(FORMATS)}, {ALL}.")
    return tuple(find_format(name) for name in FORMATS if wanted & {name, ALL})


def find_artifacts(paths: Iterable[Path]) -> list[tuple["Format", Path]]:
    """Return which of the files and folders are artifacts, with their formats, in the order of reports and names."""
    listed = sorted(paths)
    return [(found, path) for found in every_format() for path in listed if path.suffix == found.suffix]


def skipped_lines(runtimes: Iterable[str]) -> list[str]:
    """Return why nothing ran on some runtimes."""
    reasons = {runtime: why for found in every_format() for runtime, why in found.runtimes.items()}
    return [reasons[runtime] for runtime in runtimes]
