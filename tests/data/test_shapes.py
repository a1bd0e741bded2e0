"""Files that are no table as they should be are read rightly or refused in a sentence that says what to do."""

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refusals import refusal

from retvec_lite.data.dataset import as_dataset, read_dataset
from retvec_lite.data.lines import Skipped
from retvec_lite.data.texts import read_texts
from retvec_lite.data.warnings import check_trainable, data_warnings
from retvec_lite.errors import RetvecLiteError

ROWS = [{"text": "hi", "label": "a"}, {"text": "you", "label": "b"}]


def refused(path: Path, content: str) -> str:
    """The sentence with which all readers of a file refuse it."""
    path.write_text(content)
    told = refusal(read_dataset, path)
    if path.suffix != ".txt":
        assert told == refusal(lambda: list(read_texts(path, skipped=Skipped(False))))
    return told


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("again", ["text,label", "\ufefftext,label", "text, label", '"text","label"'])
def test_a_header_inside_a_file_is_left_out_and_its_line_told(tmp_path: Path, again: str, end: str) -> None:
    path = tmp_path / "d.csv.gz"
    lines = ["text,label", '"hi\nyou",a', "text,b", again, "x,label", again, "y,a", again, again, ""]
    path.write_bytes(gzip.compress(end.join(lines).encode()))
    data = read_dataset(path)
    assert data.texts == ("hi\nyou", "text", "x", "y") and data.labels == ("a", "b", "label", "a")
    told = (
        f"4 rows skipped that hold the names of the columns: {path}, line 5; {path}, line 7; {path}, line 9 and more."
    )
    assert data.left_out == (told,) and f"{path}: {told}" in data_warnings(data)


def test_a_header_with_other_columns_between_is_one(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text,label,id\nhi,a,1\ntext,label,number\nx,b,2\n")
    assert read_dataset(tmp_path / "d.csv").labels == ("a", "b")


def test_a_header_in_another_order_is_refused_even_where_bad_rows_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text,label\nhi,a\nlabel,text\nb,you\n")
    with pytest.raises(RetvecLiteError, match=r"d\.csv, line 3: .* in another order\. Split the file"):
        read_dataset(tmp_path / "d.csv", skip_bad_rows=True)


@pytest.mark.parametrize(
    "data",
    [
        [("hi", "a"), ("text", "label"), ("you", "b")],
        [ROWS[0], {"text": "text", "label": "label"}, ROWS[1]],
        pd.DataFrame([ROWS[0], {"text": "text", "label": "label"}, ROWS[1]]),
    ],
)
def test_a_header_among_rows_in_memory(data: Any) -> None:
    found = as_dataset(data)
    assert found.labels == ("a", "b") and found.left_out == (
        "1 row skipped that holds the names of the columns: the given data, row 1.",
    )


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (json.dumps({"text": ["hi", "you"], "label": ["a", "b"]}), "holds a whole column in 'text'"),
        (pd.DataFrame(ROWS).to_json(), "holds a whole column in 'text'"),
        (json.dumps({"data": ROWS}), "all rows are inside its field 'data'"),
        (json.dumps({"version": 1, "rows": ROWS}), "all rows are inside its field 'rows'"),
        ('{"row_idx": 0, "row": {"text": "hi", "label": "a"}}\n' * 2, "the row is inside its field 'row'"),
        (json.dumps({"data": ROWS}, indent=1), "line 1: the object does not end on its line"),
        ("\n" + json.dumps(ROWS[0], indent=1), "line 2: the object does not end on its line"),
    ],
)
def test_other_shapes_of_json_say_how_to_write_it(tmp_path: Path, content: str, part: str) -> None:
    told = refused(tmp_path / "d.json", content)
    assert part in told and '[{"text": ..., "label": ...}, ...]' in told and "skip" not in told


@pytest.mark.parametrize(
    "other",
    [
        {"meta": {"text": "inner", "source": "mail"}},  # a help desk
        {"meta": {"text": "inner", "label": "inner"}},
        {"tokens": [{"text": "hi", "id": 0}, {"text": "you", "id": 1}]},  # Prodigy
        {"retweeted_status": {"id": 0, "text": "hi"}},  # Twitter
        {"blocks": [{"type": "rich_text", "text": {"text": "hi"}}]},  # Slack
        {"attachments": [{"text": "hi", "label": "x"}]},
        {"quoted": {"text": None}, "thread": [{"text": "a"}, {"text": "b"}]},
        {"data": {"text": "inner"}, "row": {"text": "inner"}},
    ],
)
def test_a_row_with_a_text_of_its_own_is_read_whatever_other_fields_hold(tmp_path: Path, other: dict[str, Any]) -> None:
    rows = [
        {"id": row, "text": text, **other, "label": label}
        for row, (text, label) in enumerate([("hi", "a"), ("you", "b")])
    ]
    for name, content in (("d.jsonl", "\n".join(map(json.dumps, rows))), ("d.json", json.dumps(rows))):
        path = tmp_path / name
        path.write_text(content)
        found = read_dataset(path)
        assert (found.texts, found.labels, found.left_out) == (("hi", "you"), ("a", "b"), ())
        assert list(read_texts(path)) == ["hi", "you"]
        # Another field is no label, and no hint to one.
        with pytest.raises(
            RetvecLiteError, match=r"no field 'intent' \(found: 'id', 'text', .*Name it with --label-column"
        ):
            read_dataset(path, label_column="intent")


@pytest.mark.parametrize("answer", ["reject", "ignore"])  # Prodigy
def test_a_label_that_was_refused_is_not_learned(tmp_path: Path, answer: str) -> None:
    rows = [{**ROWS[place], "answer": said} for place, said in ((0, "accept"), (0, answer), (1, "accept"))]
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(RetvecLiteError, match=f"line 2: its 'answer' is '{answer}', so its label is not right"):
        read_dataset(path)
    found = read_dataset(path, skip_bad_rows=True)
    assert found.labels == ("a", "b") and found.given_rows == (0, 2) and len(list(read_texts(path))) == 3


@pytest.mark.parametrize("sign", "^~:#\x1f-'")
def test_an_unusual_delimiter_is_named(tmp_path: Path, sign: str) -> None:
    told = refused(tmp_path / "d.csv", f"text{sign}label\nhi{sign}a\n")
    typed = {"\x1f": "$'\\x1f'"}.get(sign, shlex.quote(sign))  # what the shell makes that sign of
    assert f"add --delimiter {typed} (delimiter={sign!r})." in told
    assert read_dataset(tmp_path / "d.csv", delimiter=sign).texts == ("hi",)
    told = refused(tmp_path / "d.csv", f"body{sign}kind\nhi{sign}a\n")
    assert "name it with --delimiter (delimiter)" in told


@pytest.mark.parametrize(
    ("name", "content"), [("d.csv", "text,label\nhi,a\n\x1a"), ("d.jsonl", '{"text": "hi", "label": "a"}\n\x1a')]
)
def test_the_end_of_file_of_old_programs_is_named(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(RetvecLiteError, match=r"U\+001A .*delete it"):
        read_dataset(tmp_path / name)


def test_lines_of_fasttext_are_told_how_to_become_a_table(tmp_path: Path) -> None:
    told = refused(tmp_path / "d.txt", "__label__a hi\n")
    assert "fastText" in told and "label<TAB>text" in told


def test_single_quotes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("label;text\n" + "a;'hi you'\nb;it's\n" * 5)
    told = [warning for warning in data_warnings(read_dataset(path)) if "single quotes" in warning]
    assert told and told[0].startswith("5 of 10 rows have a cell in single quotes")
    path.write_text("label;text\na;'hi; you'\n")
    with pytest.raises(RetvecLiteError, match=r"3 cells, but the header has 2\. Cells in single quotes"):
        read_dataset(path)


WORDS = ("nan", "NaN", "null", "NA", "None")


@pytest.mark.parametrize("word", WORDS)
def test_words_for_a_missing_value_are_texts_and_labels_everywhere(tmp_path: Path, word: str) -> None:
    rows = [{"text": word, "label": "a"}, {"text": "hi", "label": word}]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "d.csv").write_text(f"text,label\n{word},a\nhi,{word}\n")
    forms = [tmp_path / "d.jsonl", tmp_path / "d.csv", rows, pd.DataFrame(rows), [(word, "a"), ("hi", word)]]
    for data in map(as_dataset, forms):
        assert data.texts == (word, "hi") and data.labels == ("a", word) and not data.left_out
        told = [warning for warning in data_warnings(data) if "missing value" in warning]
        assert [warning[: warning.index(repr(word))] for warning in told] == ["1 text reads ", "1 label reads "]
    assert as_dataset(["hi", "you"], ["a", word]).labels == ("a", word)


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA])
def test_missing_values_are_missing(value: Any) -> None:
    for data in ([("hi", value), ("x", "a")], [(value, "a"), ("x", "a")]):
        with pytest.raises(RetvecLiteError, match=r"row 0: the column '(text|label)' is empty"):
            as_dataset(data)


def test_nan_of_json_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"text": NaN, "label": null}\n{"text": "x", "label": "a"}\n')
    assert read_dataset(path).texts == ("x",) and list(read_texts(path)) == ["", "x"]


def test_swapped_columns_are_asked_about(tmp_path: Path) -> None:
    texts = [f"text number {row}" for row in range(200)]
    topics = [("delivery", "refund")[row % 2] for row in range(200)]
    with pytest.raises(
        RetvecLiteError, match="200 different labels for 2 different texts: are the columns swapped"
    ) as found:
        check_trainable(as_dataset(topics, texts))
    assert "--text-column" in str(found.value) and "drop" not in str(found.value)
    assert any("swapped" in told for told in data_warnings(as_dataset(topics * 2, texts * 2)))
    check_trainable(as_dataset(texts, topics))
    assert data_warnings(as_dataset(texts, topics)) == []
    # One text a label is few, and no mistake.
    check_trainable(as_dataset(texts, [f"topic {row}" for row in range(200)]))
    check_trainable(as_dataset(["x", "y", "z"], ["a", "a", "b"]))
