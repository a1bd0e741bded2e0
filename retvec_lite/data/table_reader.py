"""The cells of a table: what the csv module reads, without the blanks that people leave beside quotes."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_CANDIDATES: Final = (",", ";", "\t", "|")
"""Delimiters that are recognized."""


class TableReader:
    r"""The records of a table, quoted as RFC 4180 says; spaces around a quoted cell are no part of it.

    A quote behind spaces opens a cell only where the closing quote ends one. Once a table has such a cell, one may reach over lines as well.
    All other cells stay as they are: ` hi` begins with a space, and `say "hi"` holds quotes.

    Example:
        >>> from retvec_lite.data.table_reader import TableReader
        >>> list(TableReader(['text, label\n', '"hi, you" , "greeting"\n', ' hey, "you" there\n'], ","))
        [['text', ' label'], ['hi, you', 'greeting'], [' hey', ' "you" there']]
    """

    def __init__(self, lines: Iterable[str], delimiter: str) -> None:
        """Read lines with their ends."""
        mark = re.escape(delimiter)
        blank = "[ ]" if delimiter == "\t" else r"[ \t]"
        end = rf"(?={mark}|[\r\n]|\Z)"
        quoted = r'"[^"]*(?:""[^"]*)*'
        # The csv module would take away the spaces of all cells, and those of quoted cells alone are in question.
        self._likely = re.compile(rf'(?:^|{mark}){blank}+"|"{blank}+{end}').search
        self._cells = re.compile(
            rf'(\A|{mark})(?:{blank}*({quoted}"){blank}*{end}|{blank}*({quoted})\Z|[^{mark}\r\n]*)'
        )
        self._rest = re.compile(rf'([^"]*(?:""[^"]*)*"){blank}*{end}')
        self._spaced = self._is_inside = False
        if delimiter != " ":
            lines = map(self._line, lines)
        self._records = csv.reader(lines, delimiter=delimiter, strict=True)

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self._is_inside = False
        return next(self._records)

    @property
    def line_num(self) -> int:
        """How many lines have been read."""
        return self._records.line_num

    def _line(self, line: str) -> str:
        """Return a line without spaces around quoted cells; the csv module asks for a second line only inside of one."""
        begins, self._is_inside = not self._is_inside, True
        if '"' not in line or not self._likely(line):
            return line
        if begins:
            return self._cells.sub(self._cell, line)
        rest = self._rest.match(line)  # of the cell that began on a line before
        return rest[1] + self._cells.sub(self._cell, line[rest.end() :]) if rest else line

    def _cell(self, found: re.Match[str]) -> str:
        mark, whole, opened = found.groups()
        if whole is not None:
            self._spaced = self._spaced or found[0] != mark + whole
            return mark + whole
        if opened is not None and self._spaced:
            return mark + opened
        return found[0]


def first_record(table: Iterable[list[str]]) -> list[str] | None:
    """Return the first row of a table that is not blank."""
    return next((record for record in table if any(map(str.strip, record))), None)


def sniffed(head: Sequence[str], usual: str, required: Sequence[str]) -> str:
    """Return the delimiter that gives a table the required columns, the usual one if it does; else the most columns."""
    most, found = 0, usual
    for delimiter in (usual, *_CANDIDATES):
        try:
            header = first_record(TableReader(head, delimiter)) or ()
        except csv.Error:  # quotes beside another delimiter
            continue
        if required and all(column in header for column in required):
            return delimiter
        if len(header) > most:
            most, found = len(header), delimiter
    return found
