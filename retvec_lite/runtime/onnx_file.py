"""Run an exported .onnx with NumPy and ONNX Runtime alone."""

import functools
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, codepoint_rows
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.foreign import read_whole

RUNTIME: Final = "onnxruntime"
"""What runs them: a distribution, and its package."""

SUFFIX: Final = ".onnx"

_PROPERTIES: Final = 14
"""Field of a `ModelProto` with the metadata, a `StringStringEntryProto` each: https://onnx.ai/onnx/repo-docs/IR.html."""

_NUMBER, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Kinds of fields: https://protobuf.dev/programming-guides/encoding."""


def is_installed() -> bool:
    """Return whether ONNX Runtime is installed, without importing it."""
    return importlib.util.find_spec(RUNTIME) is not None


def read_parts(file: Path, *names: str) -> tuple[bytes, ...]:
    """Return the whole of a file, and properties of its metadata by their names.

    Raises:
        RetvecLiteError: for a file that is damaged, or was not exported by retvec-lite.
        OSError: for a file that cannot be read.
    """
    content = read_whole(file)
    try:
        entries = (dict(_fields(entry)) for number, entry in _fields(content) if number == _PROPERTIES)
        properties = {entry.get(1): entry.get(2, b"") for entry in entries}
        return content, *(properties[name.encode()] for name in names)
    except (LookupError, ValueError) as error:
        raise RetvecLiteError(
            f"{file} is damaged, or was not exported by retvec-lite ({reason(error)}). Export the model again."
        ) from error


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the numbers of the fields of a message, and what they hold where that has a length."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        kind, size = key & 7, {_FIXED64: 8, _FIXED32: 4}.get(key & 7, 0)
        if kind in (_NUMBER, _BYTES):
            value, at = _number(message, at)
            size = value if kind == _BYTES else 0
        elif not size:
            raise ValueError(f"a field of kind {kind}")
        if at + size > len(message):
            raise ValueError("it is cut short")
        if kind == _BYTES:
            yield key >> 3, message[at : at + size]
        at += size


def _number(message: bytes, at: int) -> tuple[int, int]:
    """Return a number that begins at a place, 7 bits a byte, and the place behind it."""
    found = 0
    for shift in range(0, 70, 7):
        found |= (message[at] & 0x7F) << shift
        at += 1
        if message[at - 1] < 0x80:
            return found, at
    raise ValueError("a number of more than 10 bytes")


def open_session(model: bytes, num_threads: int) -> Any:
    """Return a session of ONNX Runtime, which says nothing; raises what it raises."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class OnnxEngine:
    """One session of a file, for one thread at a time. As `interpreters.Engine`, but for embeddings, which these files do not have."""

    def __init__(self, path: Path, model: bytes, shape: tuple[int, int], num_threads: int) -> None:
        """Start a session for the bytes of a file that takes and answers so many code points and labels.

        Raises:
            RetvecLiteError: when ONNX Runtime is missing, or cannot run the file.
        """
        if not is_installed():
            raise RetvecLiteError(f"Nothing here runs {SUFFIX} files: pip install {RUNTIME}")
        self._path, (max_chars, labels) = path, shape
        self._rows = functools.partial(codepoint_rows, max_chars=max_chars)
        try:
            session = open_session(model, num_threads)
        except Exception as error:  # its errors have no class in common
            raise self._refused(error) from error
        self._run = functools.partial(session.run, ["probabilities"])
        found = self.probabilities([""])
        if found.shape != (1, labels) or found.dtype != np.float32:
            raise RetvecLiteError(
                f"{path} answers {found.shape[1:]} numbers, for {labels} labels. Export the model again."
            )

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Return the probabilities of texts that were read, float32 `[texts, classes]`."""
        try:
            found: list[Any] = [self._run({"codepoints": row[None]})[0][0] for row in self._rows(texts)]
        except Exception as error:  # as above
            raise self._refused(error) from error
        return np.stack(found)

    def _refused(self, error: Exception) -> RetvecLiteError:
        return RetvecLiteError(f"{RUNTIME} cannot run {self._path}: {reason(error)}. Export the model again.")
