"""Reading and writing safetensors files with errors that a user can act on."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError


def read_safetensors(path: str | Path) -> tuple[dict[str, npt.NDArray[np.float32]], dict[str, str]]:
    """Tensors as float32 and the string metadata of a safetensors file.

    Raises:
        RetvecLiteError: when the file is missing, unreadable or no safetensors file, or the package is not installed.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise RetvecLiteError('Reading weights needs safetensors: pip install "retvec-lite[train]".') from error
    try:
        with safe_open(str(path), framework="numpy") as file:
            tensors = {name: np.asarray(file.get_tensor(name), np.float32) for name in sorted(file.keys())}
            return tensors, dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise RetvecLiteError(f"Expected a safetensors file at {path}, received nothing: no such file.") from error
    except (SafetensorError, OSError, TypeError) as error:  # TypeError: a dtype that NumPy lacks (bfloat16)
        raise RetvecLiteError(
            f"Expected a safetensors file at {path}, received one that cannot be read: {error}."
        ) from error


def safetensors_bytes(tensors: Mapping[str, npt.NDArray[np.float32]], metadata: Mapping[str, str]) -> bytes:
    """A safetensors file's bytes, the same for equal contents.

    The library writes the header's metadata in the random order of a hash map, so its header is written again, sorted
    (format: https://huggingface.co/docs/safetensors/index#format: 8 bytes of header length, JSON header, data).
    """
    from safetensors.numpy import save

    data = save(
        {name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}, metadata=dict(metadata)
    )
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(
        json.loads(data[8 : 8 + length]), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    header += b" " * (-len(header) % 8)
    rewritten: bytes = len(header).to_bytes(8, "little") + header + data[8 + length :]
    return rewritten
