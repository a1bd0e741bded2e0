"""What people's files look like that are no table as they should be: how each kind is told, and what to do about it, in words."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from retvec_lite.contract import BLANK

ONE_A_ROW: Final = (
    'Write one JSON object a row, on lines of their own or in an array: [{"text": ..., "label": ...}, ...]. '
    "pandas does so with df.to_json(..., orient='records')"
)

FASTTEXT: Final = " Of fastText's lines, such as '__label__x some text', make a .tsv: the header label<TAB>text, then x<TAB>some text."

_END: Final = "\x1a"
_BLANK_OR_MARK: Final = f"{BLANK}\ufeff"
"""A byte order mark begins each of the files that were joined."""


def cells_of_header(record: Sequence[str], columns: Sequence[str]) -> bool:
    """Return whether a row repeats the names of columns, as where files were joined: two at least, since a text may be the word text.

    Raises:
        ValueError: when they are in another order, which says that the rows behind it are, too.
    """
    cells = [cell.strip(_BLANK_OR_MARK) for cell in record]
    if len(cells) > 1 and cells != list(columns) and sorted(cells) == sorted(columns):
        raise ValueError("here the names of the columns come again, in another order. Split the file before this line")
    return sum(cell == column for cell, column in zip(cells, columns, strict=True)) > 1


def delimiter_hint(header: Sequence[str], required: Sequence[str]) -> str:
    """Return what to say about a header without the required columns that may be separated by an unusual character."""
    line = header[0]
    signs = dict.fromkeys(re.findall(r"[^\w \t\"]", line)) if len(header) == 1 else ()
    for sign in signs:
        if {part.strip() for part in line.split(sign)}.issuperset(required):
            return f" It looks separated by {sign!r}: add --delimiter {sign!r} (delimiter={sign!r})."
    return " If another character separates them, name it with --delimiter (delimiter)." if signs else ""


def cells_hint(record: Sequence[str]) -> str:
    """Return what to say about a row of a table with too many cells or too few."""
    if any(_END in cell for cell in record):
        return ". It holds U+001A (Ctrl-Z), with which old programs end a file: delete it"
    if any(cell.startswith("'") for cell in record):
        return '. Cells in single quotes are no quoted cells: quote them with " (in Python: csv.reader(..., quotechar="\'") reads them)'
    return ""


def json_hint(fields: Mapping[str, Any], column: str) -> str | None:
    """Return what is wrong with the shape of a JSON object that has no text of its own; None where another field is meant."""
    if isinstance(fields.get(column), list | dict):
        return f"it holds a whole column in {column!r}. {ONE_A_ROW}"
    for name, value in fields.items():
        row = value[0] if isinstance(value, list) and value else value
        if isinstance(row, dict) and column in row:
            kind = "all rows are" if isinstance(value, list) else "the row is"
            return f"{kind} inside its field {name!r}. {ONE_A_ROW}"
    return None
