"""The C engine in Python: run a .retvec file with NumPy as the only dependency."""

import ctypes
import functools
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.condensing import MOST_GIVEN
from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import DIMENSION
from retvec_lite.runtime import NOT_BUILT, is_built, library_path
from retvec_lite.runtime.artifact import Artifact
from retvec_lite.windows import Kept, read_limit, read_text

NATIVE: Final = "retvec-lite"
"""What results call the engine; it belongs to this package."""

_WORDS: Final = 384
"""Words whose vectors an engine keeps."""

_UTF32: Final = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"

_ALIGN: Final = 8
"""Where file and block must start, in bytes."""

_Pointer = ctypes.c_void_p
_FUNCTIONS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "rvl_message": (ctypes.c_char_p, [ctypes.c_int]),
    "rvl_block_size": (ctypes.c_int, [_Pointer, ctypes.c_size_t, ctypes.c_uint32, _Pointer]),
    "rvl_open": (ctypes.c_int, [_Pointer, ctypes.c_size_t, ctypes.c_uint32, _Pointer, ctypes.c_size_t, _Pointer]),
    "rvl_labels": (ctypes.c_uint32, [_Pointer]),
    "rvl_dimension": (ctypes.c_uint32, [_Pointer]),
    "rvl_word_dimension": (ctypes.c_uint32, [_Pointer]),
    "rvl_slots": (ctypes.c_uint32, [_Pointer]),
    "rvl_slot_length": (ctypes.c_uint32, [_Pointer]),
    "rvl_many": (None, [_Pointer, _Pointer, _Pointer, ctypes.c_size_t, _Pointer]),
    "rvl_embed_many": (None, [_Pointer, _Pointer, _Pointer, ctypes.c_size_t, _Pointer]),
    "rvl_meaning": (ctypes.c_uint32, [_Pointer, _Pointer, ctypes.c_size_t, _Pointer]),
    "rvl_words": (ctypes.c_uint32, [_Pointer, _Pointer, ctypes.c_size_t, _Pointer, _Pointer]),
    "rvl_condense_by": (ctypes.c_size_t, [_Pointer, _Pointer, ctypes.c_size_t, _Pointer]),
    "rvl_read": (ctypes.c_size_t, [_Pointer, _Pointer, _Pointer, ctypes.c_size_t, _Pointer, _Pointer, _Pointer]),
}


class _Rules(ctypes.Structure):
    """How texts are read without a file: `rvl_rules`."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in ("letters_only", "max_chars"))


@functools.cache
def load_library(path: Path) -> ctypes.CDLL:
    """Return the compiled engine at a path.

    Raises:
        RetvecLiteError: where it is missing, or for another machine.
    """
    if not path.is_file():
        raise RetvecLiteError(NOT_BUILT)
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise RetvecLiteError(f"The engine {path} cannot be loaded: {error}. Install retvec-lite again.") from error
    return library


Texts = Sequence[str] | Ints
"""What `windows.read_text` returns, or rows of code points, int32 `[texts, max_chars]`: any integers, as a .tflite takes them."""


class NativeEngine:
    """One engine of a file, for one thread at a time. As `interpreters.Engine`; it takes rows of code points as well."""

    def __init__(self, artifact: Artifact, library: Path | None = None) -> None:
        """Check the file and start the engine, of the package or at a path; raises RetvecLiteError when it refuses the file."""
        self._library = load_library(library or library_path())
        self._file = _aligned(artifact.model)
        size = ctypes.c_size_t()
        file = (self._file.ctypes.data, self._file.size, _WORDS)
        self._check(artifact, self._library.rvl_block_size(*file, ctypes.byref(size)))
        self._block = _room(size.value)
        self._engine = ctypes.c_void_p()
        opened = self._library.rvl_open(*file, self._block.ctypes.data, self._block.size, ctypes.byref(self._engine))
        self._check(artifact, opened)
        # The engine fills the arrays, so it says how large they are; `read_artifact` compared the metadata with it.
        names = ("labels", "dimension", "word_dimension", "slots", "slot_length")
        self._sizes = {name: getattr(self._library, f"rvl_{name}")(self._engine) for name in names}

    def _check(self, artifact: Artifact, problem: int) -> None:
        if problem:
            message = self._library.rvl_message(problem).decode()
            raise RetvecLiteError(f"{artifact.path}: {message}")

    @property
    def memory(self) -> int:
        """The bytes that the engine takes beside the file."""
        return int(self._block.size)

    def probabilities(self, texts: Texts) -> Floats:
        """Return the probabilities, float32 `[texts, classes]`."""
        return self._answers(self._library.rvl_many, texts, self._sizes["labels"])

    def embeddings(self, texts: Texts) -> Floats:
        """Return the embeddings of texts, float32 `[texts, dimension]`."""
        return self._answers(self._library.rvl_embed_many, texts, self._sizes["dimension"])

    def _answers(self, function: Callable[..., None], texts: Texts, width: int) -> Floats:
        # One call for all texts, and bytes, which ctypes passes as they are: each array would cost as much as a short text.
        if isinstance(texts, np.ndarray):
            codes, lengths = texts.tobytes(), [texts.shape[1]] * len(texts)
        else:
            codes, lengths = _encoded("".join(texts)), list(map(len, texts))
        ends = array("I", accumulate(lengths)).tobytes()
        found = np.empty((len(texts), width), np.float32)
        function(self._engine, codes, ends, len(texts), found.ctypes.data)
        return found

    def meanings(self, texts: Texts) -> Floats:
        """Return what the words of texts mean, float32 `[texts, 64]`; zeros for a file without a table of meaning."""
        found = np.zeros((len(texts), DIMENSION), np.float32)
        for row, (codes, size) in zip(found, _codes(texts), strict=True):
            self._library.rvl_meaning(self._engine, codes, size, row.ctypes.data)
        return found

    def words(self, texts: Texts) -> tuple[Ints, Floats]:
        """Return the slots, int32 `[texts, max_words, word_length]`, and their embeddings, float32 `[texts, max_words, word_dimension]`."""
        slots = np.zeros((len(texts), self._sizes["slots"], self._sizes["slot_length"]), np.int32)
        found = np.zeros((len(texts), self._sizes["slots"], self._sizes["word_dimension"]), np.float32)
        for words, row, (codes, size) in zip(slots, found, _codes(texts), strict=True):
            self._library.rvl_words(self._engine, codes, size, words.ctypes.data, row.ctypes.data)
        return slots, found


def _codes(texts: Texts) -> Iterator[tuple[bytes, int]]:
    """Yield the code points of each text, and how many they are."""
    for text in texts:
        codes = _encoded(text) if isinstance(text, str) else text.tobytes()
        yield codes, len(codes) // 4


def condense_texts(texts: Iterable[str], config: EncoderConfig) -> list[str]:
    """Return `read_text` of each text, by the engine where it is built: five times as fast."""
    if not is_built():
        return [read_text(text, config) for text in texts]
    rules, room = _Rules(config.letters_only, config.max_chars), np.empty(read_limit(config), np.uint32)
    condense, where = load_library(library_path()).rvl_condense_by, (ctypes.addressof(rules), room.ctypes.data)

    def read(text: str) -> str:
        count = condense(where[0], _encoded(text), len(text), where[1])
        return room[:count].tobytes().decode(_UTF32)

    return [text if isinstance(text, Kept) else read(text[:MOST_GIVEN]) for text in texts]


def normal_forms(texts: Sequence[str], config: EncoderConfig) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the normal forms of what `condense_texts` returned, one after the other, and how many code points each has, int64 `[texts]`.

    Runs of characters are left, with one 0 behind each. Invisible characters are dropped, and scripts without spaces have a rule.
    """
    ends = np.cumsum([0, *map(len, texts)], dtype=np.uint32)
    longest, total = max(map(len, texts), default=0), int(ends[-1]) + len(texts)
    characters, found, room = (
        np.empty(total, np.uint32),
        np.zeros(len(texts) + 1, np.uint32),
        np.empty(longest, np.uint16),
    )
    load_library(library_path()).rvl_read(
        ctypes.byref(_Rules(config.letters_only, config.max_chars)),
        _encoded("".join(texts)),
        ends[1:].ctypes.data,
        len(texts),
        room.ctypes.data,
        characters.ctypes.data,
        found[1:].ctypes.data,
    )
    return characters[: found[-1]], np.diff(found.astype(np.int64))


def _encoded(text: str) -> bytes:
    """Return code points of 32 bits each, in this machine's order of bytes."""
    return text.encode(_UTF32, "surrogatepass")


def _aligned(data: bytes) -> npt.NDArray[np.uint8]:
    """Return bytes at a multiple of 8: where they are, which is the rule, or else a copy."""
    found = np.frombuffer(data, np.uint8)
    if found.ctypes.data % _ALIGN == 0:
        return found
    room = _room(len(data))
    room[:] = found
    return room


def _room(size: int) -> npt.NDArray[np.uint8]:
    """Return new bytes at a multiple of `_ALIGN`."""
    room = np.empty(size + _ALIGN, np.uint8)
    start = -room.ctypes.data % _ALIGN
    return room[start : start + size]
