"""Spaces around quoted cells are no part of them, on one line or several; all other cells stay as the csv module reads them."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data.dataset import read_dataset
from retvec_lite.data.rows import TableReader
from retvec_lite.data.texts import read_texts


def read(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(TableReader(io.StringIO(text, newline=""), delimiter))


@pytest.mark.parametrize(
    ("text", "delimiter", "expected"),
    [
        ('a, "b"\n', ",", [["a", "b"]]),
        (' "a, b" , "c"\r\n', ",", [["a, b", "c"]]),
        ('a;  "b; ""c"" "\n', ";", [["a", 'b; "c" ']]),
        ('a\t "b"\n', "\t", [["a", "b"]]),
        ('a,\t"b"\n', ",", [["a", "b"]]),
        (', ""\n "", x\n', ",", [["", ""], ["", " x"]]),
        ('a, "b"\nc, "d\n, ""e"" ,\nf" , "g"\nh, i\n', ",", [["a", "b"], ["c", 'd\n, "e" ,\nf', "g"], ["h", " i"]]),
        ('a,"b\nc" , "d"\n', ",", [["a", "b\nc", "d"]]),
        # Spaces and quotes that belong to the text.
        (' a, b \n" a"," ""b"""\n', ",", [[" a", " b "], [" a", ' "b"']]),
        ('a, "b" said c\n, 5" pipe\n', ",", [["a", ' "b" said c'], ["", ' 5" pipe']]),
        ('a, "b\nc,d\n', ",", [["a", ' "b'], ["c", "d"]]),
        ('"he said, ""x"" , ""y""",z\n', ",", [['he said, "x" , "y"', "z"]]),
        ('"a\n, ""b"" ,\n",c\n', ",", [['a\n, "b" ,\n', "c"]]),
    ],
)  # fmt: skip
def test_cells(text: str, delimiter: str, expected: list[list[str]]) -> None:
    assert read(text, delimiter) == expected


CELLS = st.lists(st.lists(st.text('ab ,;\t"\n\r^]\\', max_size=9), min_size=2, max_size=4), min_size=1, max_size=5)


@given(CELLS, st.sampled_from(",;\t|^]\\ -"), st.sampled_from((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)))
def test_what_is_quoted_as_rfc_4180_says_stays_as_it_is(rows: list[list[str]], delimiter: str, quoting: int) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    assert read(written.getvalue(), delimiter) == rows


@given(CELLS, st.sampled_from(",;\t|^]\\-"), st.sampled_from(("", " ", "   ")), st.sampled_from(("", "  ")))
def test_all_spaces_around_quoted_cells_are_dropped(
    rows: list[list[str]], delimiter: str, before: str, behind: str
) -> None:
    """The first row shows that a cell behind spaces may reach over lines."""
    rows = [["a", "b"], *rows]
    quoted = ('"' + cell.replace('"', '""') + '"' for row in rows for cell in row)
    lines = [delimiter.join(f"{before}{next(quoted)}{behind}" for _ in row) for row in rows]
    assert read("\r\n".join(lines), delimiter) == rows


def test_labels_and_texts_of_a_file(tmp_path: Path) -> None:
    """Two labels came of it, `delivery` and `"delivery"`."""
    (tmp_path / "d.csv").write_text('text, label\nwhere is it, "delivery"\n"my, parcel", delivery\n "x", "refund"\n')
    data = read_dataset(tmp_path / "d.csv")
    assert data.classes == ("delivery", "refund") and data.texts == ("where is it", "my, parcel", "x")
    (tmp_path / "d.tsv").write_text('"label"; "text"\nx; "a; b"\ny; c\n')
    assert read_dataset(tmp_path / "d.tsv").texts == ("a; b", " c")
    assert list(read_texts(tmp_path / "d.tsv")) == ["a; b", " c"]
