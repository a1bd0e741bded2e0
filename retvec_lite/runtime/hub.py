"""Models on the Hugging Face hub: `hf://user/model` is fetched once, with `huggingface_hub`, which keeps it."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from retvec_lite.errors import RetvecLiteError, install
from retvec_lite.terminal import one_line

PREFIX: Final = "hf://"

_NAME: Final = r"(?!\.)[\w.-]{1,96}"
_PART: Final = r"(?!\.\.?(?:/|$))[^\x00-\x1f\x7f/\\:*?\[\]\"<>|%]{1,255}(?<![. ])"
"""Of the path of a file: no way out of a folder on any system, nothing that a pattern or an address would read as something else."""
_ADDRESS: Final = re.compile(rf"hf://({_NAME}/{_NAME})(?:@({_NAME}))?(?:/({_PART}(?:/{_PART})*))?", re.ASCII)
_LONGEST: Final = 1024
"""Characters of an address."""
_SHOWN: Final = 100
"""Characters of an address in an error."""
_PATTERNS: Final = ("*.retvec", "*.tflite")
"""What is fetched of a model whose file is not named, and in which order it is chosen."""


def is_on_hub(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the address of a model on the hub."""
    return isinstance(path, str) and path.startswith(PREFIX)


def fetch(address: str, patterns: Sequence[str] = _PATTERNS) -> Path:
    """Return the local copy of `hf://user/model[@revision][/file]`; without a file, a `.retvec` if there is one, and int8.

    Other `patterns` name other files, which are all fetched, and of which the first is returned.

    Raises:
        RetvecLiteError: for another address, a model that cannot be fetched, one without an exported file, or when `huggingface_hub` is not
            installed.
    """
    found = _ADDRESS.fullmatch(address) if len(address) <= _LONGEST else None
    if found is None:
        raise RetvecLiteError(
            f"{one_line(address, _SHOWN)} is no address of a model: write hf://user/model, or hf://user/model/file."
        )
    repository, revision, file = found.groups()
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RevisionResolutionError
    except ModuleNotFoundError as error:
        raise RetvecLiteError(f"Models on a hub need huggingface_hub. Run {install('.[hub]')}.") from error
    try:
        folder = Path(
            snapshot_download(
                repository,
                revision=revision,
                allow_patterns=[file] if file else list(patterns),
                library_name="retvec-lite",
            )
        )
    except (OSError, ValueError, RevisionResolutionError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise RetvecLiteError(f"Cannot fetch {address} ({reason}). Offline, name a downloaded copy.") from error
    places = [folder / file] if file else [place for pattern in patterns for place in sorted(folder.glob(pattern))]
    try:
        places = [place for place in places if place.is_file()]
    except OSError as error:  # a part that is longer in bytes than this file system allows
        raise RetvecLiteError(f"Cannot read {one_line(address, _SHOWN)}: {error.strerror}.") from error
    if outside := next((place for place in places if not _is_inside(folder, place)), None):
        raise RetvecLiteError(f"{address}: {outside.name} is a link that leads out of the downloaded model.")
    if not places:
        raise RetvecLiteError(f"{address} has no {file or ' or '.join(patterns)}.")
    return next((place for place in places if place.stem.endswith("-int8")), places[0])


def _is_inside(snapshot: Path, place: Path) -> bool:
    """Return whether a file is one of the snapshot, or of the blobs beside all snapshots, to which the hub's cache links."""
    roots = [snapshot]
    if snapshot.parent.name == "snapshots":
        roots.append(snapshot.parent.parent / "blobs")
    real = place.resolve()
    return any(root.resolve() in real.parents for root in roots)
