"""Checkpoint files: arrays and what they belong to, as one NumPy archive."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.files import atomic_write
from retvec_lite.foreign import require_file
from retvec_lite.json_text import parse_json

_BELONGS_TO: Final = "settings"

_BAD_FILE: Final = (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
"""What NumPy raises for a damaged archive."""


def write_arrays(path: Path, belongs_to: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a checkpoint whole or not at all; `belongs_to` is all that it depends on, by the names that messages use."""
    content = io.BytesIO()
    np.savez(content, **{_BELONGS_TO: np.asarray(json.dumps(belongs_to))}, **arrays)
    atomic_write(path, content.getvalue(), follow=False)


def read_arrays(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return what a checkpoint belongs to, and its arrays; raises RetvecLiteError for a damaged one."""
    try:
        require_file(path)
        with np.load(io.BytesIO(path.read_bytes())) as stored:
            arrays = {name: stored[name] for name in stored.files}
        belongs_to = parse_json(str(arrays.pop(_BELONGS_TO)), "its settings", finite=False)
        if not isinstance(belongs_to, dict):
            raise ValueError("it does not name its settings")
    except (*_BAD_FILE, OSError, TypeError, AttributeError, RetvecLiteError) as error:
        raise damaged(path, error) from error
    return belongs_to, arrays


def require_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse, with RetvecLiteError, to go on in a folder whose checkpoint belongs to something else; both by names for messages."""
    changed = [name for name in dict.fromkeys((*now, *before)) if before.get(name) != now.get(name)]
    if changed:
        was = ", ".join(f"{name}={before.get(name)}" for name in changed)
        given = ", ".join(f"{name}={now.get(name)}" for name in changed)
        raise RetvecLiteError(
            f"The run in {folder} has {was}. Resume it with the same settings, not {given}, or name another folder "
            "with --resume."
        )


def damaged(path: Path, problem: object) -> RetvecLiteError:
    """Return the error to raise for a checkpoint that cannot be read."""
    return RetvecLiteError(f"{path} is damaged ({reason(problem)}). Remove it to begin again.")
