import codecs
import csv
import gc
import gzip
import json
import random
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.data.rows import RowReader
from retvec_lite.data.texts import read_texts
from retvec_lite.data.warnings import check_trainable
from retvec_lite.errors import RetvecLiteError


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_other_columns_can_be_named(tmp_path: Path) -> None:
    dataset = read_dataset(write(tmp_path, "d.csv", "body,kind\nhi,x\n"), text_column="body", label_column="kind")
    assert (dataset.texts, dataset.labels, dataset.classes, len(dataset)) == (("hi",), ("x",), ("x",), 1)


cell = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20).filter(
    lambda text: text.strip()
)


@given(st.lists(cell, min_size=1, max_size=5))
def test_what_pythons_writers_write_is_read_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("round")
    for suffix, delimiter in ((".csv", ","), (".tsv", "\t")):
        path = folder / f"d{suffix}"
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerows([["text", "label"], *([text, "a"] for text in texts)])
        assert read_dataset(path).texts == tuple(texts)
    path = folder / "d.jsonl"
    lines = [json.dumps({"text": text, "label": "a"}, ensure_ascii=False) for text in texts]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    assert read_dataset(path).texts == tuple(texts)


def test_json_labels_become_strings_as_json_writes_them(tmp_path: Path) -> None:
    values = ["true", "1", "1.5", "-2", '"true"', "1e3", "2.0", "1e300", "123456789012345678901234567890"]
    lines = "\n".join(f'{{"text": "x", "label": {value}}}' for value in values)
    labels = read_dataset(write(tmp_path, "d.jsonl", lines)).labels
    assert labels == ("true", "1", "1.5", "-2", "true", "1000", "2", "1e+300", "123456789012345678901234567890")


def test_a_cell_is_as_long_as_it_likes_whatever_else_is_read_meanwhile(tmp_path: Path) -> None:
    """The limit of the csv module is global: readers that put it back refused each other's cells of 200,000 characters."""
    text = "word " * 200_000 + "."
    path = write(tmp_path, "d.csv", f"text,label\nx,a\n{text},a\n{text},b\n")
    before = csv.field_size_limit(131_072)  # Python's own
    try:
        one, other = read_texts(path), read_texts(path)
        assert next(one) == "x"
        assert read_dataset(path).texts == ("x", text, text)
        assert [next(other), next(one), next(other), next(one)] == ["x", text, text, text]
        assert read_dataset(path).texts[2] == next(other) == text
        with RowReader(path, ("text", "label")) as first, RowReader(path, ("text", "label")) as second:
            assert [row.line for pair in zip(first, second, strict=True) for row in pair] == [2, 2, 3, 3, 4, 4]
    finally:
        csv.field_size_limit(before)


LONE = '{"text": "x", "label": "\\ud800"}'


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("d.txt", "x", [".csv", ".jsonl", ".parquet", ".gz"]),
        ("d.csv", "", ["empty"]),
        ("d.csv", " \n\n", ["empty"]),
        ("d.jsonl", codecs.BOM_UTF8, ["There are no rows"]),
        ("d.csv", "text,label\n", ["There are no rows"]),
        ("d.csv", "texts,label,id\nx,a,1\n", ["'text'", "'texts', 'label', 'id'"]),
        ("d.csv", "text,text,label\nx,y,a\n", ["'text'", "twice"]),
        ("d.csv", "text,label\nx,a\ny\n", ["line 3", "1 cell, ", "header has 2"]),
        ("d.csv", "text,label\n\"x\ny\",a\nz,b,c\n", ["line 4", "3 cells"]),
        ("d.csv", "text,label\nx,a\n\"y,b\nz,c\n", ["line 3", "RFC 4180"]),
        ("d.csv", "text,label\nx,a\n \t,b\n", ["line 3", "'text'", "empty"]),
        ("d.csv", "text,label\nx,\n", ["line 2", "'label'", "empty"]),
        ("d.csv", "text,label\nx,\"a\nb\"\n", ["line 2", "more than one line", "'a\\nb'"]),
        ("d.jsonl", '{"text": "x", "label": "a\\u2028b"}', ["line 1", "more than one line"]),
        ("d.jsonl", LONE, ["line 1", "surrogate"]),
        ("d.csv", "text,label\nx,a\ny,b\tc\n", ["line 3", "'b\\tc'", "control character"]),
        ("d.jsonl", '{"text": "x", "label": "\\u001b[2Ja"}', ["line 1", "'\\x1b[2Ja'", "control character"]),
        ("d.jsonl", '{"text": "x", "label": "a\\u009b"}', ["line 1", "control character"]),
        ("d.csv", b"text,label\nx,a\ncaf\xe9,b\n", ["line 3", "0xE9 is not UTF-8", "iconv", "in Excel: CSV UTF-8"]),
        ("d.csv", codecs.BOM_UTF8 + b"text,label\ncaf\xe9,b\n", ["line 2", "0xE9"]),
        ("d.csv", "Größe,text,label\n".encode("latin-1"), ["line 1", "0xF6"]),
        ("d.csv", "text,label\nx,a\ny,b\n".encode("utf-16")[:-1], ["line 3", "0x0A"]),
        ("d.csv", "text,label\n\ud800,a\n".encode("utf-16", "surrogatepass"), ["line 2"]),
        ("d.csv", "text,label\nx,a\n".encode("utf-16-le"), ["NUL", "line 1"]),
        ("d.csv", "text,label\nx,a\ny\0,b\n", ["NUL", "line 3"]),
        ("d.jsonl", '{"text": "x", "label": "a"}\n{"text": "y"', ["line 2", "JSON object"]),
        ("d.xlsx", b"PK", ["Save the sheet as CSV UTF-8"]),
        ("d.json", '[{"text": "x", "label": "a"}, 5]', ["row 1", "not a JSON object"]),
        ("d.json", '[{"text": "x", "label": "a"} {}]', ["row 1", "not a JSON array", "','"]),
        ("d.json", '[{"text": "x", "label": "a"}', ["row 1", "does not end"]),
        ("d.json", '[{"text": "x", "label": "a"}]]', ["row 1", "more follows"]),
        ("d.json", '[{"text": "x", "label": "a}]', ["row 0", "Unterminated"]),
        ("d.json", '{"text": {"0": "x"}, "label": {"0": "a"}}', ["line 1", "orient='records'"]),
        ("d.jsonl", "[" * 100_000, ["row 0", "not a JSON array"]),
        ("d.jsonl", '{"a": ' * 100_000, ["line 1", "not a JSON object"]),
        ("d.jsonl", '{"text": null, "label": "a"}', ["line 1", "the column 'text' is empty"]),
        ("d.jsonl", '\n\n{"text": 1, "label": "a"}', ["line 3"]),
        ("d.jsonl", b'{"text": "caf\xe9", "label": "a"}', ["line 1", "0xE9"]),
        ("d.csv", "text,label\nx,a\u202eb\n", ["line 2", "'a\\u202eb'", "direction mark"]),
        ("d.csv", "text,label\nx,\u2066a\n", ["line 2", "direction mark"]),
        ("d.csv", "text,label\nx,a\u200f\n", ["line 2", "direction mark"]),
        ("d.csv.gz", b"text,label\nx,a\n", ["Not a gzipped file"]),
        ("d.csv.gz", gzip.compress(b"text,label\n" + b"x,a\n" * 999, mtime=0)[:-9], ["ended before"]),
        ("d.parquet", b"text", ["Parquet"]),
        ("d.jsonl", '{"text": "x"}', ["line 1", "'label'", "'text'"]),
        ("d.jsonl", "{}", ["line 1", "none"]),
        ("d.jsonl", '{"text": 3, "label": "a"}', ["line 1", "'text'", "not 3"]),
        ("d.jsonl", '{"text": "x", "label": null}', ["line 1", "the column 'label' is empty"]),
        ("d.jsonl", '{"text": "x", "label": NaN}', ["line 1", "the column 'label' is empty", "--skip-bad-rows"]),
        ("d.jsonl", '{"text": "x", "label": ["a", "b"]}', ["line 1", '["a", "b"]']),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_its_place(tmp_path: Path, name: str, content: str | bytes, parts: list[str]) -> None:
    path = write(tmp_path, name, content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a file left open would be a ResourceWarning
        message = refusal(read_dataset, path)
        gc.collect()
    for part in [name, *parts]:
        assert part in message


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"Cannot read .*no\.csv: No such file"):
        read_dataset(tmp_path / "no.csv")
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(RetvecLiteError, match=r"dir\.csv"):
        read_dataset(tmp_path / "dir.csv")


def test_one_column_cannot_be_text_and_label(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match="two different columns"):
        read_dataset(write(tmp_path, "d.csv", "a,b\nx,y\n"), text_column="a", label_column="a")


def labelled(*labels: str) -> Dataset:
    return Dataset(tuple(f"text {number}" for number in range(len(labels))), labels, Path("d.csv"))


def test_what_cannot_be_trained_is_refused() -> None:
    message = refusal(check_trainable, labelled(*"aaa"))
    assert all(part in message for part in ("d.csv", "2 different labels", "'a'"))
    check_trainable(labelled(*"abb"))


@given(
    st.lists(st.integers(2, 30), min_size=2, max_size=12), st.floats(0.01, 0.99), st.integers(0, 9), st.randoms()
)  # fmt: skip
def test_a_split_is_stratified_and_leaves_every_class_something_to_train_on(
    sizes: list[int], fraction: float, seed: int, shuffle: random.Random
) -> None:
    labels = [f"class {number}" for number, size in enumerate(sizes) for _ in range(size)]
    shuffle.shuffle(labels)
    dataset = labelled(*labels)
    training, validation = dataset.split(fraction, seed)
    assert sorted(training.texts + validation.texts) == sorted(dataset.texts)
    for part in (training, validation):
        rows = [dataset.texts.index(text) for text in part.texts]
        assert rows == sorted(rows) and part.labels == tuple(labels[row] for row in rows)
    held_out, kept = Counter(validation.labels), Counter(training.labels)
    for number, size in enumerate(sizes):
        label = f"class {number}"
        assert kept[label] >= 1
        assert abs(held_out[label] - fraction * size) <= 1
    assert len(validation) >= 1
    if all(fraction * size <= size - 1 for size in sizes):
        assert len(validation) == max(1, round(fraction * len(labels)))


def test_a_split_depends_on_its_seed_only() -> None:
    dataset = labelled(*"aaaaaaaaaabbbbbbbbbb")
    assert dataset.split(0.3, 1)[1].texts == ("text 0", "text 8", "text 9", "text 13", "text 16", "text 19")
    assert dataset.split(0.3, 1) == dataset.split(0.3, 1) != dataset.split(0.3, 2)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1.0, float("nan")])
def test_a_split_of_nothing_or_everything_is_refused(fraction: float) -> None:
    with pytest.raises(RetvecLiteError, match="between 0 and 1"):
        labelled(*"aabb").split(fraction, 0)
