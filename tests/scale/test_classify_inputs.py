"""`classify_files` and `classify --output`: every format, types, and what is refused."""

import bz2
import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from command_line import Main
from light import run_python
from tiny_artifact import LABELS, tiny_artifact

import retvec_lite as rl
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.scale import classify_files as scale_files

OTHER = LABELS[2]


def expected(model: str, texts: list[str]) -> list[str | None]:
    return [found[0].label for found in rl.load(model).predict_many(texts, top=1)]


def found_in(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_every_format_in_the_order_given(place: Path, tiny_model: str) -> None:
    pq.write_table(pa.table({"text": ["12"], "n": [1]}), "a.parquet")
    Path("b.csv").write_text('text,n\n"A\nB",007\n')
    Path("c.tsv.gz").write_bytes(gzip.compress(b"text\tn\nAB\t") + gzip.compress(b"2\n"))
    Path("d.jsonl.bz2").write_bytes(bz2.compress('\ufeff{"text": "ab é", "n": 4}\n\n{"text": null}'.encode()))
    Path("e.txt").write_bytes(b"12\r\nx")
    done = rl.classify_files(
        tiny_model, ["a.parquet", "b.csv", "c.tsv.gz", "d.jsonl.bz2", "e.txt", "*.csv"], "out.jsonl"
    )
    assert (done.rows, done.skipped) == (7, 0)
    found = found_in("out.jsonl")
    assert [row["text"] for row in found] == ["12", "A\nB", "AB", "ab é", None, "12", "x"]
    assert [row["n"] for row in found] == [1, "007", "2", 4, None, None, None]
    texts = [str(row["text"]) for row in found if row["text"] is not None]
    assert [row["label"] for row in found if row["text"] is not None] == expected(tiny_model, texts)
    assert found[4]["label"] is None and found[4]["probability"] is None


@pytest.mark.parametrize("output", ["out.parquet", "out.csv", "out.tsv.gz", "out.jsonl.zst", "out.json"])
def test_every_output_holds_the_same(place: Path, tiny_model: str, output: str) -> None:
    Path("in.csv").write_text("text,n\n12,1\nAB,\n")
    rl.classify_files(tiny_model, "in.csv", output)
    if output.endswith("parquet"):
        found = pq.read_table(output).to_pylist()
    else:
        with pa.input_stream(output, compression="detect") as stream:
            content = stream.read()
        if "json" in output:
            found = [json.loads(line) for line in content.splitlines()]
        else:
            options = pa.csv.ParseOptions(delimiter="\t" if "tsv" in output else ",")
            text = pa.csv.ConvertOptions(column_types={"n": pa.string()})
            found = pa.csv.read_csv(pa.BufferReader(content), parse_options=options, convert_options=text).to_pylist()
    assert [(row["text"], row["n"], row["label"]) for row in found] == [("12", "1", "digits"), ("AB", "", "CAPITALS")]
    assert found[0]["probability"] == pytest.approx(rl.load(tiny_model).predict("12")[0].probability, 1e-6)


def test_json_values_come_out_as_they_went_in(place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_files, "_ROWS", 2)
    given = [
        {"text": "a", "tags": ["x", 1], "mixed": "1", "late": None, "when": "2026-01-01", "number": 1, "flag": True},
        {"text": "b", "tags": {"y": None}, "mixed": 1, "late": None, "when": "2026-01-02", "number": 2, "flag": False},
        {"text": "c", "tags": [], "mixed": "3", "late": "z", "when": "no", "number": 2.5, "flag": 1},
        {"text": "d", "tags": None, "mixed": None, "late": None, "when": "", "number": 2**70, "flag": None},
    ]
    Path("in.jsonl").write_text("\n".join(map(json.dumps, given)))
    rl.classify_files(tiny_model, "in.jsonl", "out.jsonl")
    found = found_in("out.jsonl")
    assert [{name: row[name] for name in given[0]} for row in found] == given
    rl.classify_files(tiny_model, "in.jsonl", "out.parquet")
    table = pq.read_table("out.parquet")
    assert table["mixed"].to_pylist() == ['"1"', "1", '"3"', None] and table["late"].to_pylist()[2] == "z"


def test_parquet_types_are_kept_or_widened(place: Path, tiny_model: str) -> None:
    pq.write_table(pa.table({"text": pa.array(["12"]).dictionary_encode(), "n": pa.array([1], pa.int8())}), "a.parquet")
    pq.write_table(pa.table({"text": ["AB"], "n": [2], "more": [[1]]}), "b.parquet")
    rl.classify_files(tiny_model, ["a.parquet", "b.parquet"], "out.parquet")
    found = pq.read_table("out.parquet")
    assert found["n"].type == pa.int64() and found["more"].to_pylist() == [None, [1]]
    assert found["text"].to_pylist() == ["12", "AB"] and found["label"].to_pylist() == ["digits", "CAPITALS"]


def test_several_labels_and_none(place: Path) -> None:
    several = Decision(thresholds=(0.3, 0.3, 0.3)).to_dict()
    Path("several.tflite").write_bytes(tiny_artifact(decision=several))
    Path("unknown.tflite").write_bytes(tiny_artifact(decision=Decision(threshold=0.6).to_dict()))
    Path("in.txt").write_text("12\n1A\n")
    answers = list(rl.load("several.tflite").predict_many(["12", "1A"]))
    rl.classify_files("several.tflite", "in.txt", "out.parquet")
    found = pq.read_table("out.parquet")
    assert found["label"].to_pylist() == [[one.label for one in each] for each in answers]
    assert len(found["label"][1]) == 2
    rl.classify_files("several.tflite", "in.txt", "out.csv")
    assert "digits|CAPITALS" in Path("out.csv").read_text()
    rl.classify_files("unknown.tflite", "in.txt", "none.jsonl")
    rl.classify_files("unknown.tflite", "in.txt", "all.jsonl", reject=False)
    assert [row["label"] for row in found_in("none.jsonl")] == ["digits", None]
    assert [row["label"] for row in found_in("all.jsonl")] == ["digits", "digits"]


def test_bytes_and_numbers_that_are_none(place: Path, tiny_model: str) -> None:
    """Bytes were `b'x'` in JSON and CSV, and NaN is no JSON."""
    columns = {
        "text": pa.array([b"12", b"AB", None], pa.binary()),
        "b": pa.array(["é".encode(), b"a\xff", None], pa.large_binary()),
        "number": [1.5, float("nan"), float("inf")],
        "nested": [[float("-inf"), 1.0], None, []],
        "struct": [{"b": b"x", "f": float("nan")}, None, None],
    }
    pq.write_table(pa.table(columns), "in.parquet")
    rl.classify_files(tiny_model, "in.parquet", "out.jsonl")
    found = found_in("out.jsonl")
    assert [row["text"] for row in found] == ["12", "AB", None]
    assert [row["label"] for row in found] == ["digits", "CAPITALS", None]
    assert [row["b"] for row in found] == ["é", "a\\xff", None]
    assert [row["number"] for row in found] == [1.5, None, None]
    assert [row["nested"] for row in found] == [[None, 1.0], None, []] and found[0]["struct"] == {"b": "x", "f": None}
    assert "NaN" not in Path("out.jsonl").read_text() and "Infinity" not in Path("out.jsonl").read_text()
    rl.classify_files(tiny_model, "in.parquet", "out.csv")
    with Path("out.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["b"] for row in table] == ["é", "a\\xff", ""] and table[0]["nested"] == "[null, 1.0]"
    rl.classify_files(tiny_model, "in.parquet", "out.parquet")
    assert pq.read_table("out.parquet")["b"].to_pylist() == ["é".encode(), b"a\xff", None]
    # JSON that Python writes, read again.
    Path("nan.jsonl").write_text('{"text": "12", "n": NaN}\n{"text": "x", "n": [Infinity, "a"]}\n')
    rl.classify_files(tiny_model, "nan.jsonl", "nan.out.jsonl")
    assert [row["n"] for row in found_in("nan.out.jsonl")] == [None, [None, "a"]]
    pq.write_table(pa.table({"text": [b"12", b"\xff"]}), "bad.parquet")
    with pytest.raises(RetvecLiteError, match=r"bad.parquet, row 1: the byte 0xFF is not UTF-8"):
        rl.classify_files(tiny_model, "bad.parquet", "out.json")
    # Bytes that their file calls texts.
    wrong = pa.array([b"\xff"], pa.binary()).view(pa.string())
    for columns in ({"text": wrong}, {"text": ["12"], "b": wrong}):
        pq.write_table(pa.table(columns), "wrong.parquet")
        with pytest.raises(RetvecLiteError, match=r"Cannot read wrong.parquet: 'utf-8' codec"):
            rl.classify_files(tiny_model, "wrong.parquet", "out.json", force=True)
    pq.write_table(pa.table({"text": wrong}), "wrong.parquet")
    with pytest.raises(RetvecLiteError, match=r"Cannot read wrong.parquet: 'utf-8' codec"):
        list(rl.read_texts("wrong.parquet"))


SKIP = "--skip-bad-rows (skip_bad_rows=True) leaves such rows out."


def wrong_arguments() -> Iterator[tuple[list[str], str]]:
    yield ["--input", "none.csv"], "Cannot read none.csv: No such file or directory."
    yield ["--input", "there.csv"], "there.csv is empty."
    yield (
        ["--input", "labelled.csv"],
        "labelled.csv already has a column 'label'. Name the new one with --label-column (label_column).",
    )
    yield ["--input", "*.none"], "No file matches *.none."
    yield ["--input", "good.csv", "table.xlsx"], "Cannot read table.xlsx: the name of an input file ends in .csv, .tsv, .jsonl, .ndjson, .json, .parquet, .pq, .txt, also with .gz, .bz2, .zst, .lz4 behind it. Save the sheet as CSV UTF-8."  # fmt: skip
    yield ["--input", "no.parquet"], "Cannot read no.parquet: Parquet file size is 4 bytes, smaller than the minimum file footer (8 bytes)."  # fmt: skip
    yield ["--input", "csv.parquet"], "Cannot read csv.parquet: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file."  # fmt: skip
    yield (
        ["--input", "column.jsonl"],
        "column.jsonl, line 1: no field 'text' (found: 'body'). Name it with --text-column (text_column). " + SKIP,
    )
    yield ["--input", "not.csv.gz"], "Cannot read not.csv.gz: Not a gzipped file (b'te')."  # fmt: skip
    yield (
        ["--input", "numbers.parquet"],
        "numbers.parquet, row 0: 'text' must be a string, not 1. If it is a text, write it as a string: \"1\". " + SKIP,
    )
    yield ["--input", "cut.csv.gz"], "Cannot read cut.csv.gz: Compressed file ended before the end-of-stream marker was reached."  # fmt: skip
    yield ["--input", "list.jsonl"], "list.jsonl, row 0: not a JSON object with the field 'text': '1'. " + SKIP
    yield (
        ["--input", "bad.jsonl"],
        "bad.jsonl, line 2: not a JSON object with the field 'text': '{\"tex' (Unterminated string starting at: line 1 column 2 (char 1)). "
        + SKIP,
    )
    yield ["--input", "good.csv", "--output", "there.csv"], "there.csv already exists. Choose another name, or replace it with --force (in Python: force=True)."  # fmt: skip
    yield ["--input", "good.csv", "--output", "out.xlsx"], "Cannot write out.xlsx: its name must end in .csv, .tsv, .jsonl, .ndjson, .json, .parquet, .pq; the first five also with .gz, .bz2, .zst, .lz4 behind it."  # fmt: skip
    yield (
        ["--input", "good.csv", "--output", "good.csv", "--force"],
        "good.csv is an input, too. Choose another output.",
    )
    yield ["--input", "good.csv", "--why"], "--why is for answers that are printed: leave it out with --output."
    yield [], "--output needs --input with the files to classify."


@pytest.mark.parametrize(("arguments", "message"), list(wrong_arguments()))
def test_bad_input_is_one_sentence(
    place: Path, tiny_model: str, main: Main, arguments: list[str], message: str
) -> None:
    Path("good.csv").write_text("text\n12\n")
    Path("there.csv").touch()
    Path("labelled.csv").write_text("text,label\n12,x\n")
    Path("table.xlsx").touch()
    Path("no.parquet").write_text("text")
    pq.write_table(pa.table({"text": [1]}), "numbers.parquet")
    Path("cut.csv.gz").write_bytes(gzip.compress(b"text\n" + b"12\n" * 99)[:-9])
    Path("csv.parquet").write_text("text\n12 and more\n")
    Path("column.jsonl").write_text('{"body": "12"}\n')
    Path("not.csv.gz").write_text("text\n12\n")
    Path("list.jsonl").write_text("[1]\n")
    Path("bad.jsonl").write_text('{"text": "x"}\n{"tex')
    output = [] if "--output" in arguments else ["--output", "out.parquet"]
    code, _, errors = main("classify", tiny_model, *arguments, *output)
    assert (code, errors.splitlines()[-1]) == (2, f"retvec-lite: error: {message}")
    assert not Path("out.parquet").exists()


def test_bad_rows_can_be_skipped(place: Path, tiny_model: str, main: Main) -> None:
    Path("in.csv").write_text("text,n\n12,1\n13\nAB,2\n")
    Path("in.jsonl").write_text('{"text": "x"}\n{"text": 5}\nno\n')
    code, _, errors = main("classify", tiny_model, "--input", "in.*", "--output", "out.jsonl", "--skip-bad-rows")
    assert code == 0 and [row["text"] for row in found_in("out.jsonl")] == ["12", "AB", "x"]
    assert "3 bad rows skipped, the first: in.csv, line 3: 1 cell, but the header has 2." in errors


def test_bad_rows_of_parquet_can_be_skipped(place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_files, "_ROWS", 2)
    texts = [b"12", b"", None, b"caf\xe9", b"AB"]
    pq.write_table(pa.table({"text": pa.array(texts, pa.binary()), "n": range(5)}), "in.parquet")
    with pytest.raises(RetvecLiteError, match=r"in.parquet, row 3: the byte 0xE9 is not UTF-8\. --skip-bad-rows"):
        rl.classify_files(tiny_model, "in.parquet", "out.jsonl")
    done = rl.classify_files(tiny_model, "in.parquet", "out.jsonl", skip_bad_rows=True)
    assert (done.rows, done.skipped) == (4, 1)
    assert [(row["text"], row["n"]) for row in found_in("out.jsonl")] == [("12", 0), ("", 1), (None, 2), ("AB", 4)]


@pytest.mark.parametrize("wrong", [None, 5, b"in.csv", 1.5])
def test_what_names_no_file_is_one_sentence(place: Path, tiny_model: str, wrong: object) -> None:
    Path("in.csv").write_text("text\n12\n")
    with pytest.raises(RetvecLiteError, match="The name of a file must be a string or a path, not "):
        rl.classify_files(tiny_model, ["in.csv", wrong], "out.csv")


def test_without_pyarrow_tables_and_json_work_and_one_sentence_tells_what_parquet_needs(
    place: Path, tiny_model: str
) -> None:
    Path("in.csv").write_text("text\n12\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None; from retvec_lite.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = (code, "classify", tiny_model, "--input", "in.csv", "--output")
    assert run_python(*command, "out.csv").returncode == run_python(*command, "out.jsonl").returncode == 0
    assert Path("out.csv").read_text().startswith("text,label,probability\n12,digits,0.")
    done = run_python(*command, "out.parquet")
    assert done.returncode == 2 and not Path("out.parquet").exists()
    assert done.stderr.endswith(
        'The package pyarrow is not installed. Run `pip install ".[parquet]"` in your checkout of retvec-lite.\n'
    )


def test_a_folder_and_an_input_without_rows(place: Path, tiny_model: str) -> None:
    for name in ("data/part-0.csv", "data/sub/part-1.csv", "data/_SUCCESS", "data/_temporary/part-2.csv"):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_text("text\n" if "part-1" in name else "text\n12\n")
    assert rl.classify_files(tiny_model, "data", "out.parquet").rows == 1
    Path("empty.jsonl").touch()
    assert rl.classify_files(tiny_model, ["data/sub", "empty.jsonl"], "empty.parquet").rows == 0
    assert pq.read_schema("empty.parquet").names == ["text", "label", "probability"]
