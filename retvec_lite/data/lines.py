"""The lower half of reading files: from bytes to lines or items of JSON, and what becomes of those that are no row.

An invalid byte becomes U+DC00 plus its value. No valid text holds such a code point, so `problem_in` finds it later, where the line
or row is known; the rest of the file can still be read.
"""

import bz2
import codecs
import contextlib
import gzip
import io
import itertools
import json
import os
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

from retvec_lite.data.wrong_encoding import encoding_hint
from retvec_lite.errors import RetvecLiteError, SystematicError, reason
from retvec_lite.foreign import require_size
from retvec_lite.terminal import counted

COMPRESSION: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Suffix of a packed file -> how it is packed. The latter two need pyarrow."""

_PACKED: Final = {
    b"\x1f\x8b": "packed by gzip: let its name end in .gz",
    b"BZh9": "packed by bzip2: let its name end in .bz2",
    b"\x28\xb5\x2f\xfd": "packed by zstd: let its name end in .zst",
    b"\x04\x22\x4d\x18": "packed by lz4: let its name end in .lz4",
    b"PK\x03\x04": "an archive (.zip) or a sheet (.xlsx): take the file out of it, or save the sheet as CSV UTF-8",
    b"PAR1": "a Parquet file: let its name end in .parquet",
}
"""How a file begins that is no text -> what it is, and what to do."""

_READ_ERRORS: Final = (OSError, ValueError, EOFError, zlib.error)
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
    """Return a stream of what a file holds; `codec` is one of the values of `COMPRESSION`.

    Raises RetvecLiteError for what begins like a file of another kind, whatever its name says.
    """
    stream: Any = file
    if codec in ("gzip", "bz2"):
        stream = gzip.GzipFile(fileobj=file) if codec == "gzip" else bz2.BZ2File(file)
    elif codec:
        import pyarrow

        stream = io.BufferedReader(pyarrow.CompressedInputStream(file, codec))
    head = stream.peek(4)
    for begins, what in _PACKED.items():
        if head.startswith(begins):
            raise RetvecLiteError(f"{file.name} is {what}.")
    return stream


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
    return f"the byte 0x{ord(found[0]) - 0xDC00:02X} is not UTF-8. {encoding_hint(text)}"


def unreadable(path: object, error: BaseException) -> RetvecLiteError:
    """Return the error to raise when a file cannot be opened or is damaged."""
    problem = error.strerror if isinstance(error, OSError) and error.strerror else reason(error)
    return RetvecLiteError(f"Cannot read {path}: {problem}.")


@contextlib.contextmanager
def explained(path: object) -> Iterator[None]:
    """Turn what reading a damaged file raises into RetvecLiteError."""
    try:
        yield
    except _READ_ERRORS as error:
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


_PART: Final = 1 << 16
"""Characters of a JSON array that are read at a time, at least."""

_NEAR: Final = 16
"""Characters before the end of what has been read in which an error may come from what has not."""

_SPACE: Final = re.compile(r"\s*")


def array_items(head: str, read: Callable[[int], str]) -> Iterator[str]:
    """Yield the JSON of each item of an array of any size, a few at a time; `head` is its beginning, and `read` returns more of it.

    Raises:
        ValueError: for what is no JSON, or an item of more than `LONGEST` characters.
    """
    decode = json.JSONDecoder().raw_decode
    buffer, place, is_first = head, head.index("[") + 1, True

    def has_more() -> bool:
        nonlocal buffer, place
        # Doubled each time, and never more than shows that an item is too long.
        more = read(min(max(_PART, len(buffer) - place), LONGEST + 1))
        buffer, place = buffer[place:] + more, 0
        return bool(more)

    def sign() -> str:
        """Return the next character that is no space."""
        nonlocal place
        while (place := cast(re.Match[str], _SPACE.match(buffer, place)).end()) == len(buffer):
            if not has_more():
                raise ValueError("it does not end")
        return buffer[place]

    while sign() != "]":
        if not is_first:
            if buffer[place] != ",":
                raise ValueError("Expecting ',' delimiter")
            place += 1
            sign()
        end, is_first = -1, False
        while end < 0:
            try:
                _, end = decode(buffer, place)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > len(buffer) - _NEAR
                if len(buffer) - place <= LONGEST and not (is_cut and has_more()):
                    raise
            if max(end, len(buffer) if end < 0 else 0) - place > LONGEST:
                raise ValueError(f"longer than {LONGEST:,} characters")
            if end == len(buffer) and has_more():  # a number may go on
                end = -1
        yield buffer[place:end]
        place = end
    if (buffer[place + 1 :] + read(_PART)).strip():
        raise ValueError("more follows behind its end")


_ADVICE: Final = "--skip-bad-rows (skip_bad_rows=True) leaves such rows out."

_PLACES: Final = 3
"""Repeated headers whose places are told."""


class Skipped:
    """What becomes of rows that hold no text: empty ones are counted; bad ones too, with what was wrong with the first, or an error."""

    def __init__(self, bad_rows: bool | None = None) -> None:
        """Count bad rows if `bad_rows` is on; otherwise the first is an error, which names the option unless there is none (None)."""
        self._bad_rows, self._advice = bad_rows, "" if bad_rows is None else _ADVICE
        self.empty, self.count, self.first = 0, 0, ""
        self.headers: list[str] = []
        """Where rows repeat the names of the columns, as in files that were joined."""
        self.notes: list[str] = []
        """What else a report says of how the data were read."""

    def bad(self, error: RetvecLiteError) -> None:
        """Take the error of a bad row, or raise it."""
        if not self._bad_rows:
            advice = "" if isinstance(error, SystematicError) else self._advice
            raise RetvecLiteError(f"{error} {advice}".rstrip()) from error
        self.count += 1
        self.first = self.first or str(error)

    def sentences(self) -> tuple[str, ...]:
        """Return what a report says about them."""
        found = [*self.notes]
        if self.empty:
            found.append(f"{counted(self.empty, 'empty row')} skipped.")
        if self.headers:
            places = "; ".join(self.headers[:_PLACES]) + " and more" * (len(self.headers) > _PLACES)
            hold = "holds" if len(self.headers) == 1 else "hold"
            found.append(f"{counted(len(self.headers), 'row')} skipped that {hold} the names of the columns: {places}.")
        if self.count:
            found.append(f"{counted(self.count, 'bad row')} skipped, the first: {self.first}")
        return tuple(found)


ONE_A_ROW: Final = (
    'Write one JSON object a row, on lines of their own or in an array: [{"text": ..., "label": ...}, ...]. '
    "pandas does so with df.to_json(..., orient='records')"
)

FASTTEXT: Final = " Of fastText's lines, such as '__label__x some text', make a .tsv: the header label<TAB>text, then x<TAB>some text."

UNREAD: Final = {
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), " Save the sheet as CSV UTF-8."),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), " Unpack it first."),
    ".txt": FASTTEXT,
}
"""Suffix of a file that is not read -> what to do."""

_END: Final = "\x1a"


def delimiter_hint(header: Sequence[str], required: Sequence[str]) -> str:
    """Return what to say about a header without the required columns that may be separated by an unusual character."""
    line = header[0]
    signs = dict.fromkeys(re.findall(r"[^\w \t\"]", line)) if len(header) == 1 else ()
    for sign in signs:
        if {part.strip() for part in line.split(sign)}.issuperset(required):
            typed = shlex.quote(sign) if sign.isprintable() else f"${sign!r}"
            return f" It looks separated by {sign!r}: add --delimiter {typed} (delimiter={sign!r})."
    return " If another character separates them, name it with --delimiter (delimiter)." if signs else ""


def cells_hint(record: Sequence[str]) -> str:
    """Return what to say about a row of a table with too many cells or too few."""
    if any(_END in cell for cell in record):
        return ". It holds U+001A (Ctrl-Z), with which old programs end a file: delete it"
    if any(cell.startswith("'") for cell in record):
        return '. Cells in single quotes are no quoted cells: quote them with " (in Python: csv.reader(..., quotechar="\'") reads them)'
    return ""


def no_text(value: object) -> str:
    """Return what is wrong with a value of JSON or Parquet where a text belongs."""
    written = json.dumps(value, default=repr)[:40]
    hint = f'. If it is a text, write it as a string: "{written}"' if isinstance(value, int | float) else ""
    return f"must be a string, not {written}{hint}"


def row_object(source: str) -> tuple[Any, set[str]]:
    """Return what the JSON of a row says, None for NaN, and the names that the row has twice; raises ValueError for no JSON."""
    names: list[str] = []

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names[:] = [name for name, _ in pairs]  # the row ends last
        return dict(pairs)

    found = json.loads(
        source, object_pairs_hook=fields, parse_constant=lambda name: None if name == "NaN" else float(name)
    )
    return found, {name for name, count in Counter(names).items() if count > 1}


def json_hint(fields: Mapping[str, Any], column: str) -> str | None:
    """Return what is wrong with the shape of a JSON object that has no text of its own; None where another field is meant."""
    if isinstance(fields.get(column), list | dict):
        return f"it holds a whole column in {column!r}. {ONE_A_ROW}"
    for name, value in fields.items() if column not in fields else ():
        row = value[0] if isinstance(value, list) and value else value
        if isinstance(row, dict) and column in row:
            kind = "all rows are" if isinstance(value, list) else "the row is"
            return f"{kind} inside its field {name!r}. {ONE_A_ROW}"
    return None
