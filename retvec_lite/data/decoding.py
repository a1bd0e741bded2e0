"""From the bytes of a file to lines of text: unpacked, in UTF-8 or what a byte order mark says, with invalid bytes marked.

An invalid byte becomes U+DC00 plus its value. No valid text holds such a code point, so `problem_in` finds it later, where the line
or row is known; the rest of the file can still be read.
"""

import bz2
import codecs
import contextlib
import gzip
import io
import itertools
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.foreign import require_size

COMPRESSION: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Suffix of a packed file -> how it is packed. The latter two need pyarrow."""

READ_ERRORS: Final = (OSError, ValueError, EOFError, zlib.error)
"""What reading a damaged file raises; pyarrow's errors are among them."""

_ENCODINGS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # it begins like the one of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order mark -> encoding."""

_MARKED: Final = re.compile("[\udc00-\udcff]")
_NUL: Final = "\udc00"


def _mark(error: UnicodeError) -> tuple[str, int]:
    found = cast(UnicodeDecodeError, error)
    return "".join(chr(0xDC00 + byte) for byte in found.object[found.start : found.end]), found.end


codecs.register_error("retvec-lite-mark", _mark)


def unpacked(file: BinaryIO, codec: str | None) -> Any:
    """Return a stream of what a file holds; `codec` is one of the values of `COMPRESSION`."""
    if codec == "gzip":
        return gzip.GzipFile(fileobj=file)
    if codec == "bz2":
        return bz2.BZ2File(file)
    if codec is None:
        return file
    import pyarrow

    return io.BufferedReader(pyarrow.CompressedInputStream(file, codec))


def open_lines(stream: Any, newline: Literal["", "\n"] = "\n") -> io.TextIOWrapper:
    """Return the text of a buffered stream of bytes; `newline` as in `io.TextIOWrapper`."""
    head = stream.peek(4)[:4]
    encoding = next((name for mark, name in _ENCODINGS.items() if head.startswith(mark)), "utf-8")
    return io.TextIOWrapper(stream, encoding, "retvec-lite-mark", newline=newline)


LONGEST: Final = 1 << 26
"""Characters of a cell or a line. Longer ones come from a quote that is never closed or a file that is no text, and would fill the memory."""


def too_long(what: str) -> RetvecLiteError:
    """Return the error to raise for a line or a row, as soon as so much of it has been read."""
    return RetvecLiteError(
        f"{what}: longer than {LONGEST:,} characters. Is a quote never closed, or is this another kind of file?"
    )


def marked(lines: io.TextIOWrapper, name: object) -> Iterator[str]:
    """Yield the lines with NUL marked as well: it comes from UTF-16 without a byte order mark, or from no text at all.

    Raises RetvecLiteError, calling the source by its name, for a line longer than `LONGEST`, of which no more is read.
    """
    for number in itertools.count(1):
        line = lines.readline(LONGEST + 1)
        if not line:
            return
        if len(line) > LONGEST:
            raise too_long(f"{name}, line {number}")
        yield line.replace("\0", _NUL)


def problem_in(text: str) -> str | None:
    """Return what is wrong with a text from `marked`: its first invalid byte; None for nothing."""
    found = None if text.isascii() else _MARKED.search(text)
    if found is None:
        return None
    if found[0] == _NUL:
        return "NUL byte. Is this UTF-16 without a byte order mark, or a binary file? Convert it to UTF-8"
    return (
        f"the byte 0x{ord(found[0]) - 0xDC00:02X} is not UTF-8. Save the file as UTF-8 (in Excel: CSV UTF-8), or convert it, "
        "for example with iconv -f WINDOWS-1252 -t UTF-8"
    )


def not_utf_8(place: str, error: UnicodeDecodeError) -> RetvecLiteError:
    """Return the error to raise when the bytes of a cell are no text."""
    return RetvecLiteError(f"{place}: the byte 0x{error.object[error.start]:02X} is not UTF-8.")


def unreadable(path: object, error: BaseException) -> RetvecLiteError:
    """Return the error to raise when a file cannot be opened or is damaged."""
    problem = error.strerror if isinstance(error, OSError) and error.strerror else reason(error)
    return RetvecLiteError(f"Cannot read {path}: {problem}.")


@contextlib.contextmanager
def explained(path: object) -> Iterator[None]:
    """Turn what reading a damaged file raises into RetvecLiteError."""
    try:
        yield
    except READ_ERRORS as error:
        raise unreadable(path, error) from error


def read_text(path: Path) -> str:
    """Return the text of a small file; raises RetvecLiteError with the line of what is no text."""
    with explained(path), path.open("rb") as file, open_lines(file) as opened:
        require_size(path, os.fstat(file.fileno()).st_size)
        lines = list(marked(opened, path))
    for line, text in enumerate(lines, 1):
        if problem := problem_in(text):
            raise RetvecLiteError(f"{path}, line {line}: {problem}.")
    return "".join(lines)
