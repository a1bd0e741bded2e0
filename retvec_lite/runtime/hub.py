"""Models on the Hugging Face hub: `hf://user/model` is fetched once, with `huggingface_hub`, which keeps it."""

import os
import re
from pathlib import Path
from typing import Final

from retvec_lite.errors import RetvecLiteError

PREFIX: Final = "hf://"

_ADDRESS: Final = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@([\w.-]+))?(?:/([^\\]+))?")
_PATTERNS: Final = ("*.retvec", "*.tflite")
"""What is fetched of a model whose file is not named, and in which order it is chosen."""


def is_on_hub(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the address of a model on the hub."""
    return isinstance(path, str) and path.startswith(PREFIX)


def fetch(address: str) -> Path:
    """Return the local copy of `hf://user/model[@revision][/file]`; without a file, a `.retvec` if there is one, and int8.

    Raises:
        RetvecLiteError: for another address, a model that cannot be fetched, one without an exported file, or when `huggingface_hub` is not
            installed.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or ".." in address.split("/"):
        raise RetvecLiteError(f"{address} is no address of a model: write hf://user/model, or hf://user/model/file.")
    repository, revision, file = found.groups()
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RevisionResolutionError
    except ModuleNotFoundError as error:
        raise RetvecLiteError('Models on a hub need huggingface_hub. Run: pip install "retvec-lite[hub]"') from error
    try:
        folder = Path(
            snapshot_download(
                repository,
                revision=revision,
                allow_patterns=[file] if file else list(_PATTERNS),
                library_name="retvec-lite",
            )
        )
    except (OSError, ValueError, RevisionResolutionError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise RetvecLiteError(f"Cannot fetch {address}: {reason}") from error
    places = [folder / file] if file else [place for pattern in _PATTERNS for place in sorted(folder.glob(pattern))]
    places = [place for place in places if place.is_file()]
    if not places:
        raise RetvecLiteError(f"{address} has no {file or 'exported .retvec or .tflite'}: upload what `export` wrote.")
    return next((place for place in places if place.stem.endswith("-int8")), places[0])
