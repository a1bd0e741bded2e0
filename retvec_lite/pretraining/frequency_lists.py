"""Frequency lists: CSV files of words and their counts, one for each language."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from retvec_lite.contract import SEPARATORS
from retvec_lite.errors import RetvecLiteError

WHITE_SPACE: Final = frozenset(map(chr, SEPARATORS))


def read_frequency_list(path: Path) -> list[tuple[str, float]]:
    """Return the words and counts of a CSV file with the columns `word` and `count`, most frequent first.

    Words with white space inside are left out: the encoder would cut them.

    Raises:
        RetvecLiteError: for another header, a count that is no number, a file that is not UTF-8.
    """
    words = [row for row in _rows(path) if row[0] and not WHITE_SPACE & set(row[0])]
    return sorted(words, key=lambda row: -row[1])


def check_header(path: Path) -> None:
    """Refuse a file without the columns of a frequency list.

    Raises:
        RetvecLiteError: as `read_frequency_list` does, for what is wrong with its first rows.
    """
    next(_rows(path), None)


def _rows(path: Path) -> Iterator[tuple[str, float]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not _has_columns(reader.fieldnames):
                found = ", ".join(reader.fieldnames or []) or "none"
                raise RetvecLiteError(f"No columns 'word' and 'count' in {path} (found: {found}).")
            for row in reader:
                try:
                    yield row["word"] or "", float(row["count"])
                except (TypeError, ValueError):
                    raise RetvecLiteError(
                        f"The count in {path}, line {reader.line_num}, is no number: {row['count']!r}."
                    ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RetvecLiteError(f"Cannot read the frequency list {path} as UTF-8 text: {error}.") from error


def _has_columns(names: Sequence[str] | None) -> bool:
    return names is not None and {"word", "count"} <= set(names)
