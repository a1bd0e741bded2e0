"""The reader of files: delimiters, encodings, packed files, JSON arrays and Parquet give the same rows, and what is left out is counted."""

import bz2
import codecs
import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retvec_lite.data import lines
from retvec_lite.data.dataset import read_dataset
from retvec_lite.data.lines import Skipped
from retvec_lite.data.rows import RowReader
from retvec_lite.data.texts import read_texts
from retvec_lite.errors import RetvecLiteError

TEXTS, LABELS = ("wake me; up, now", "spiel Jazz für mich 🙂", 'a "b"|c'), ("alarm", "music", "other")


def table(delimiter: str, end: str = "\r\n") -> str:
    """The rows as spreadsheets write them: each cell in quotes that needs them."""
    cells = [("label", "text"), *zip(LABELS, TEXTS, strict=True)]
    return "".join(
        delimiter.join('"' + cell.replace('"', '""') + '"' if set(cell) & set(' ;,|"') else cell for cell in row) + end
        for row in cells
    )


def as_json(**options: Any) -> str:
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    return json.dumps(rows, ensure_ascii=False, **options)


def parquet(folder: Path) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    texts = pyarrow.array([text.encode() for text in TEXTS], pyarrow.binary())  # as Impala writes strings
    write_table(pyarrow.table({"n": [1, 2, 3], "text": texts, "label": LABELS}), folder / "x", row_group_size=2)
    return (folder / "x").read_bytes()


FILES: dict[str, tuple[str, Callable[[Path], bytes]]] = {
    "comma": ("d.csv", lambda _: table(",").encode()),
    "semicolon of a German Excel": ("d.csv", lambda _: codecs.BOM_UTF8 + (table(";") + ";\r\n;\r\n").encode()),
    "said by the first line": ("d.csv", lambda _: codecs.BOM_UTF8 + ("sep=;\r\n" + table(";")).encode()),
    "TAB in .csv": ("d.csv", lambda _: table("\t").encode()),
    "bar": ("d.csv", lambda _: table("|").encode()),
    "semicolon in .tsv": ("d.tsv", lambda _: table(";", "\n").encode()),
    "columns that were emptied": ("d.csv", lambda _: table(";").replace("\r\n", ";;\r\n").encode()),
    "UTF-16 of Excel": ("d.tsv", lambda _: table("\t").encode("utf-16")),
    "UTF-16, big end first": ("d.csv", lambda _: codecs.BOM_UTF16_BE + table(";").encode("utf-16-be")),
    "UTF-32": ("d.csv", lambda _: table(",").encode("utf-32")),
    "gz": ("d.csv.gz", lambda _: gzip.compress(table(";").encode("utf-16"))),
    "bz2": ("d.CSV.BZ2", lambda _: bz2.compress(table(",").encode())),
    "array of pandas": ("d.json", lambda _: as_json().encode()),
    "indented array": ("d.json", lambda _: as_json(indent=2).encode("utf-16")),
    "array behind blank lines, packed": ("d.json.gz", lambda _: gzip.compress(("\n \n" + as_json() + "\n\n").encode())),
    "JSON Lines, packed": ("d.jsonl.gz", lambda _: gzip.compress(as_json()[1:-1].replace("}, {", "}\n{").encode())),
    "Parquet": ("d.parquet", parquet),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_file_holds_the_same_rows(tmp_path: Path, kind: str) -> None:
    name, content = FILES[kind]
    (tmp_path / name).write_bytes(content(tmp_path))
    data = read_dataset(tmp_path / name)
    assert (data.texts, data.labels) == (TEXTS, LABELS)
    assert data.left_out == (("2 empty rows skipped.",) if kind == "semicolon of a German Excel" else ())
    assert tuple(read_texts(tmp_path / name)) == TEXTS


def test_packed_in_ways_that_pyarrow_knows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for codec, suffix in (("zstd", "zst"), ("lz4", "lz4")):
        path = tmp_path / f"d.csv.{suffix}"
        with pyarrow.CompressedOutputStream(str(path), codec) as file:
            file.write(table(";").encode("utf-16"))
        assert read_dataset(path).texts == TEXTS


@pytest.mark.parametrize(
    ("header", "required", "expected"),
    [
        ("text,a;b;c", ["text"], ["text", "a;b;c"]),  # the usual one, where it gives the column
        ("text;a,b,c", ["text"], ["text", "a,b,c"]),
        ("a,b,c;text;label", ["text", "label"], ["a,b,c", "text", "label"]),
        ("text", ["text"], ["text"]),
        ("text, label , x", ["text", "label"], ["text", "label", "x"]),
    ],
)
def test_the_header_decides(tmp_path: Path, header: str, required: list[str], expected: list[str]) -> None:
    (tmp_path / "d.csv").write_text(f"{header}\n")
    with RowReader(tmp_path / "d.csv", required) as rows:
        assert rows.columns == expected


def test_a_wrong_column_is_named_beside_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("Kategorie;Nachricht\nalarm;weck mich, bitte\n")
    with pytest.raises(RetvecLiteError, match=r"No column 'text' in .* \(found: 'Kategorie', 'Nachricht'\)"):
        read_dataset(tmp_path / "d.csv")
    with pytest.raises(RetvecLiteError, match=r"\(found: 'Kategorie;Nachricht'\)"):
        read_dataset(tmp_path / "d.csv", delimiter=",")


def test_a_delimiter_that_is_given_counts(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text#label\nhi#a\n")
    assert read_dataset(tmp_path / "d.csv", delimiter="#").texts == ("hi",)
    (tmp_path / "e.csv").write_text("text,a;b\n1,2;3\n")
    assert list(read_texts(tmp_path / "e.csv", "b", delimiter=";")) == ["3"]


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", 5])
def test_what_is_no_delimiter_is_one_sentence(tmp_path: Path, delimiter: Any) -> None:
    (tmp_path / "d.csv").write_text("text;label\nhi;a\n")
    with pytest.raises(
        RetvecLiteError, match=r"delimiter must be (one character, such as ';', or tab|a string or None), not "
    ):
        read_dataset(tmp_path / "d.csv", delimiter=delimiter)


def test_rows_without_anything_are_counted_and_rows_that_lack_something_are_bad(tmp_path: Path) -> None:
    content = "id,text,label\n1,hi,a\n,,\n , ,\t\n\n2,,\n3,,b\n4,x,\n6,y\n7,z,c,\n"
    (tmp_path / "d.csv").write_text(content)
    data = read_dataset(tmp_path / "d.csv", skip_bad_rows=True)
    assert (data.texts, data.labels) == (("hi", "z"), ("a", "c"))
    problem = f"{tmp_path / 'd.csv'}, line 9: 2 cells, but the header has 3."
    assert data.left_out == ("3 empty rows skipped.", f"3 bad rows skipped, the first: {problem}")
    # Without labels, a row with a number is a row.
    skipped = Skipped(bad_rows=True)
    assert list(read_texts(tmp_path / "d.csv", skipped=skipped)) == ["hi", "", "", "x", "z"]
    assert (skipped.empty, skipped.count) == (2, 1)
    (tmp_path / "d.csv").write_text("text;label\n;\n;\n")
    with pytest.raises(RetvecLiteError, match=r"There are no rows in .*d\.csv\. 2 empty rows skipped\.$"):
        read_dataset(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("content", "last", "kind"),
    [('"y\n' + "z\n" * 5, 7, "unexpected end of data"), ('"' + "y\n" * 300, 140, "field larger than field limit")],
)
def test_a_quote_that_is_never_closed_is_an_error_even_where_bad_rows_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, last: int, kind: str
) -> None:
    """What it swallows are good rows."""
    before = csv.field_size_limit(256)
    monkeypatch.setattr(lines, "LONGEST", 256)
    (tmp_path / "d.csv").write_text("text\n" + content)
    with pytest.raises(
        RetvecLiteError, match=rf"d\.csv, line 2: broken quoting in a row that reaches line \d+ \({kind}"
    ):
        list(read_texts(tmp_path / "d.csv", skipped=Skipped(bad_rows=True)))
    csv.field_size_limit(before)
    # Where only the last line is cut, nothing else is lost; where the quote ends, the sentence says how far it reaches.
    (tmp_path / "d.csv").write_text('text\n"y\nz" x\nok\n"cut')
    skipped = Skipped(bad_rows=True)
    assert list(read_texts(tmp_path / "d.csv", skipped=skipped)) == ["ok"]
    assert skipped.count == 2 and "line 2: broken quoting in a row that reaches line 3 (" in skipped.first


def test_a_table_of_one_column_has_texts_that_are_empty(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('text\nhi\n""\n\nho\n')
    assert list(read_texts(tmp_path / "d.csv")) == ["hi", "", "ho"]


@pytest.mark.parametrize("name", ["d.json", "d.jsonl", "d.parquet"])
def test_nothing_is_an_empty_text_and_no_label(tmp_path: Path, name: str) -> None:
    rows = [{"text": "hi", "label": "a"}, {"text": None, "label": None}, {"text": None, "label": "b"}]
    if name.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow.parquet import write_table

        write_table(pyarrow.Table.from_pylist(rows), tmp_path / name)
    else:
        (tmp_path / name).write_text(json.dumps(rows) if name == "d.json" else "\n".join(map(json.dumps, rows)))
    assert list(read_texts(tmp_path / name)) == ["hi", "", ""]
    with pytest.raises(
        RetvecLiteError,
        match=rf", {'line 3' if name == 'd.jsonl' else 'row 2'}: the column 'text' is empty\. --skip-bad-rows \(skip_bad_rows=True\) leaves",
    ):
        read_dataset(tmp_path / name)
    data = read_dataset(tmp_path / name, skip_bad_rows=True)
    assert data.texts == ("hi",) and len(data.left_out) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_an_array_is_read_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(lines, "_PART", size)
    items = [{"text": 'a "long" text \\ ' * 9, "n": [1, {"x": None}]}, "word", 12.5, -300, True, {}, [], "é\u2028🙂"]
    for content in (json.dumps(items), json.dumps(items, indent=3, ensure_ascii=False) + " \n", "[]", " [ \n]"):
        read: list[int] = []

        def more(count: int, rest: str = content[4:], read: list[int] = read) -> str:
            read.append(count)
            start = sum(read[:-1])
            return rest[start : start + count]

        found = [json.loads(item) for item in lines.array_items(content[:4], more)]
        assert found == json.loads(content) and max(read) < 4 * len(json.dumps(items[0])) + size


def test_a_broken_array_is_not_read_to_its_end() -> None:
    """What is no JSON is told where it is; a reader that waited for more of it would fill the memory."""
    read: list[int] = []

    def more(count: int) -> str:
        read.append(count)
        return "x" * count if len(read) < 99 else ""

    with pytest.raises(ValueError, match="double quotes"):
        list(lines.array_items('[{"a": 1}, {a: 1' + " " * 99, more))
    assert len(read) <= 1


def test_a_byte_that_is_no_text_costs_its_row_only(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b'text,label\nok,a\n"caf\xe9\nx",b\nfine,c\nn\0l,d\n')
    data = read_dataset(tmp_path / "d.csv", skip_bad_rows=True)
    assert data.texts == ("ok", "fine") and "2 bad rows skipped, the first: " in data.left_out[0]
    assert "line 3: the byte 0xE9 is not UTF-8." in data.left_out[0]
    # An escape in JSON is no byte.
    (tmp_path / "d.jsonl").write_text('{"text": "\\udce9", "label": "a"}')
    assert read_dataset(tmp_path / "d.jsonl").texts == ("\udce9",)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.csv", b"text,label\ncaf\xe9,a\n"),
        ("d.jsonl", b'{"text": "caf\xe9", "label": "a"}'),
        ("d.json", b'{"text": {"0": "x"}, "label": {"0": "a"}}'),
        ("d.csv", b"text,label\nx,a\tb\n"),
        ("d.jsonl", b'{"text": "x", "label": ["a", "b"]}'),
    ],
)
def test_skipping_is_no_advice_where_all_rows_are_alike(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(RetvecLiteError, match=r"line \d") as caught:
        read_dataset(file)
    assert "--skip-bad-rows" not in str(caught.value)


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.json"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(b"text,label\n"), r" is packed by gzip: let its name end in \.gz\.$"),
        (bz2.compress(b"text,label\n"), r" is packed by bzip2: let its name end in \.bz2\.$"),
        (b"\x28\xb5\x2f\xfd\0", r" is packed by zstd: let its name end in \.zst\.$"),
        (b"PK\x03\x04\x14\0", r" is an archive \(\.zip\) or a sheet \(\.xlsx\): "),
        (b"PAR1\x15\x04", r" is a Parquet file: let its name end in \.parquet\.$"),
    ],
)
def test_a_file_of_another_kind_than_its_name_says_is_told(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    for file, whole in ((tmp_path / name, content), (tmp_path / f"{name}.gz", gzip.compress(content))):
        file.write_bytes(whole)
        with pytest.raises(RetvecLiteError, match=f"{re.escape(file.name)}{told}"):
            read_dataset(file)


@pytest.mark.parametrize("name", ["d.zip", "d.tar.gz", "d.7z"])
def test_an_archive_is_to_be_unpacked(tmp_path: Path, name: str) -> None:
    with pytest.raises(RetvecLiteError, match=r"Unpack it first\.$"):
        read_dataset(tmp_path / name)


def test_a_field_that_stands_twice_and_a_number_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    for row, told in (
        ('{"text": "a", "label": "b", "text": "c"}', "line 1: the field 'text' stands twice"),
        ('{"label": "b", "text": "a", "label": "c"}', "line 1: the field 'label' stands twice"),
        (
            '{"text": 1000, "label": "a"}',
            "'text' must be a string, not 1000. If it is a text, write it as a string: \"1000\"",
        ),
    ):
        file.write_text(row)
        with pytest.raises(RetvecLiteError, match=re.escape(told)):
            read_dataset(file)
    file.write_text(
        '{"text": "a", "label": "b", "id": 1, "id": 2, "meta": {"text": 1, "text": 2}, "list": [{"label": 1, "label": 1}]}'
    )
    assert read_dataset(file).texts == ("a",), "what is not read may be as it likes"


def test_a_wrong_delimiter_and_a_missing_header_are_told(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("text;label\nhi;a\n", encoding="utf-8")
    with pytest.raises(RetvecLiteError, match=r"The header looks separated by ';', not ','"):
        read_dataset(file, delimiter=",")
    file.write_text("hi,a\nho,b\n", encoding="utf-8")
    with pytest.raises(RetvecLiteError, match=r"The first row must hold the names of the columns\.$"):
        read_dataset(file)


def test_spaces_before_quotes_are_dropped_where_a_file_has_them(tmp_path: Path) -> None:
    """Two labels came of it, `delivery` and `"delivery"`."""
    (tmp_path / "d.csv").write_text('text, label\nwhere is it, "delivery"\n"my, parcel", delivery\n "x\ny", "refund"\n')
    data = read_dataset(tmp_path / "d.csv")
    assert data.classes == ("delivery", "refund") and data.texts == ("where is it", "my, parcel", "x\ny")
    (tmp_path / "d.tsv").write_text('"label"; "text"\nx; "a; b"\n')
    assert read_dataset(tmp_path / "d.tsv").texts == ("a; b",)
    (tmp_path / "e.csv").write_text('text,label\n hi,a\n5" pipe,b\n "you" there,c\n')
    assert read_dataset(tmp_path / "e.csv").texts == (" hi", '5" pipe', ' "you" there')
