"""`classify_files` and `classify --output`: every format, order, types, resuming, and what is refused."""

import bz2
import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import killed_classify
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from command_line import Main
from light import run_python
from tiny_artifact import LABELS, tiny_artifact

import retvec_lite as rl
from retvec_lite.data import rows
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.worker import WorkerFailed
from retvec_lite.scale import classify_files as scale_files
from retvec_lite.scale import sources

OTHER = LABELS[2]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without worker processes, which take a second to start; `test_processes_answer` has them."""

    class Here:
        def ask(self, function, *arguments, size):
            return function(*arguments)

    monkeypatch.setattr(scale_files, "Worker", Here)


def expected(model: str, texts: list[str]) -> list[str | None]:
    return [found[0].label for found in rl.TextClassifier.load(model).predict_many(texts, top=1)]


def test_processes_answer(place: Path, tiny_model: str, main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ROWS", 100)
    monkeypatch.setattr(scale_files, "_SMALL", 1)
    texts = [f"{'A' * (row % 3)} {row}" for row in range(1000)]
    pq.write_table(pa.table({"id": range(1000), "text": texts}), "in.parquet", row_group_size=300)
    code, output, errors = main(
        "classify", tiny_model, "--input", "in.parquet", "--output", "out.parquet", "--workers", "2"
    )
    assert (code, output) == (0, "") and "1,000 texts in out.parquet" in errors and "2 at a time" in errors
    found = pq.read_table("out.parquet")
    assert found.schema.names == ["id", "text", "label", "probability"]
    assert found["id"].to_pylist() == list(range(1000)) and found["label"].to_pylist() == expected(tiny_model, texts)
    assert found.schema.field("probability").type == pa.float32()
    assert sorted(os.listdir()) == ["in.parquet", "out.parquet"]


def test_a_script_needs_no_main_guard(place: Path, tiny_model: str) -> None:
    Path("texts.txt").write_text("12\n")
    Path("script.py").write_text(
        f"import retvec_lite as rl\nprint(rl.classify_files({tiny_model!r}, 'texts.txt', 'out.csv').rows)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr


def found_in(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.usefixtures("in_this_process")
def test_every_format_in_the_order_given(place: Path, tiny_model: str) -> None:
    pq.write_table(pa.table({"text": ["12"], "n": [1]}), "a.parquet")
    Path("b.csv").write_text('text,n\n"A\nB",007\n')
    Path("c.tsv.gz").write_bytes(gzip.compress(b"text\tn\nAB\t") + gzip.compress(b"2\n"))
    Path("d.jsonl.bz2").write_bytes(bz2.compress('\ufeff{"text": "ab é", "n": 4}\n\n{"text": null}'.encode()))
    Path("e.txt").write_bytes(b"12\xff\r\nx")
    done = rl.classify_files(
        tiny_model, ["a.parquet", "b.csv", "c.tsv.gz", "d.jsonl.bz2", "e.txt", "*.csv"], "out.jsonl"
    )
    assert (done.rows, done.resumed, done.skipped) == (7, 0, 0)
    found = found_in("out.jsonl")
    assert [row["text"] for row in found] == ["12", "A\nB", "AB", "ab é", None, "12\ufffd", "x"]
    assert [row["n"] for row in found] == [1, "007", "2", 4, None, None, None]
    texts = [str(row["text"]) for row in found if row["text"] is not None]
    assert [row["label"] for row in found if row["text"] is not None] == expected(tiny_model, texts)
    assert found[4]["label"] is None and found[4]["probability"] is None


@pytest.mark.usefixtures("in_this_process")
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
    assert found[0]["probability"] == pytest.approx(
        rl.TextClassifier.load(tiny_model).predict("12")[0].probability, 1e-6
    )


@pytest.mark.usefixtures("in_this_process")
def test_json_values_come_out_as_they_went_in(place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ROWS", 2)
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


@pytest.mark.usefixtures("in_this_process")
def test_parquet_types_are_kept_or_widened(place: Path, tiny_model: str) -> None:
    pq.write_table(pa.table({"text": pa.array(["12"]).dictionary_encode(), "n": pa.array([1], pa.int8())}), "a.parquet")
    pq.write_table(pa.table({"text": ["AB"], "n": [2], "more": [[1]]}), "b.parquet")
    rl.classify_files(tiny_model, ["a.parquet", "b.parquet"], "out.parquet")
    found = pq.read_table("out.parquet")
    assert found["n"].type == pa.int64() and found["more"].to_pylist() == [None, [1]]
    assert found["text"].to_pylist() == ["12", "AB"] and found["label"].to_pylist() == ["digits", "CAPITALS"]


@pytest.mark.usefixtures("in_this_process")
def test_several_labels_and_none(place: Path) -> None:
    several = Decision(thresholds=(0.3, 0.3, 0.3)).to_dict()
    Path("several.tflite").write_bytes(tiny_artifact(decision=several))
    Path("unknown.tflite").write_bytes(tiny_artifact(decision=Decision(threshold=0.6).to_dict()))
    Path("in.txt").write_text("12\n1A\n")
    answers = list(rl.TextClassifier.load("several.tflite").predict_many(["12", "1A"]))
    rl.classify_files("several.tflite", "in.txt", "out.parquet")
    found = pq.read_table("out.parquet")
    assert found["label"].to_pylist() == [[one.label for one in each] for each in answers]
    assert len(found["label"][1]) == 2
    rl.classify_files("several.tflite", "in.txt", "out.csv")
    assert '"digits|CAPITALS"' in Path("out.csv").read_text()
    rl.classify_files("unknown.tflite", "in.txt", "none.jsonl")
    rl.classify_files("unknown.tflite", "in.txt", "all.jsonl", reject=False)
    assert [row["label"] for row in found_in("none.jsonl")] == ["digits", None]
    assert [row["label"] for row in found_in("all.jsonl")] == ["digits", "digits"]


@pytest.mark.usefixtures("in_this_process")
def test_a_run_goes_on_with_the_parts_that_are_missing(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ROWS", 10)
    for name in ("a", "b"):
        Path(f"{name}.jsonl").write_text("".join(f'{{"text": "{name} {row}"}}\n' for row in range(35)))
    asked: list[str] = []
    honest = scale_files.write_shard

    def stops(path, chunk, classify):
        asked.append(chunk.content[0]["text"])
        if "b 20" in asked:
            raise KeyboardInterrupt
        return honest(path, chunk, classify)

    monkeypatch.setattr(scale_files, "write_shard", stops)
    with pytest.raises(KeyboardInterrupt):
        rl.classify_files(tiny_model, "*.jsonl", "out.csv")
    assert not Path("out.csv").exists()
    # A file that was repaired, and one that is new: only their parts are made.
    Path("a.jsonl").write_text('{"text": "new"}\n')
    Path("c.jsonl").write_text('{"text": "c"}\n')
    asked.clear()
    monkeypatch.setattr(
        scale_files, "write_shard", lambda *given: [asked.append(given[1].content[0]["text"]), honest(*given)][1]
    )
    done = rl.classify_files(tiny_model, "*.jsonl", "out.csv")
    assert asked == ["new", "b 20", "b 30", "c"]
    assert (done.rows, done.resumed) == (37, 20)
    texts = [row["text"] for row in pa.csv.read_csv("out.csv").to_pylist()]
    assert texts == ["new", *(f"b {row}" for row in range(35)), "c"] and not Path("out.csv.parts").exists()


@pytest.mark.usefixtures("in_this_process")
def test_parts_of_another_run_are_not_mixed(place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.csv").write_text("text\n12\n")
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(scale_files, "write_output", lambda *_: 1 / 0)
        rl.classify_files(tiny_model, "in.csv", "out.csv")
    Path("other.tflite").write_bytes(tiny_artifact(decision=Decision(threshold=0.6).to_dict()))
    with pytest.raises(RetvecLiteError, match=r"out.csv.parts holds the parts of a run with another model. Repeat"):
        rl.classify_files("other.tflite", "in.csv", "out.csv")
    with (
        scale_files._work_folder(Path("busy.csv"), {}),
        pytest.raises(RetvecLiteError, match=r"Another process is writing"),
    ):
        rl.classify_files(tiny_model, "in.csv", "busy.csv")
    assert rl.classify_files(tiny_model, "in.csv", "out.csv").resumed == 1


@pytest.mark.usefixtures("in_this_process")
def test_damaged_parts_are_made_again(
    place: Path, tiny_model: str, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ROWS", 100)
    Path("in.csv").write_text("text\n" + "".join(f"AB {row}\n" for row in range(350)))
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(scale_files, "write_output", lambda *_: 1 / 0)
        rl.classify_files(tiny_model, "in.csv", "out.parquet")
    folder = Path("out.parquet.parts")
    whole = sorted(folder.glob("*.parquet"))
    assert len(whole) == 4
    # One that looks whole from its end.
    content = whole[1].read_bytes()
    whole[1].write_bytes(content[:4] + bytes(400) + content[404:])
    command = ("classify", tiny_model, "--input", "in.csv", "--output", "out.parquet")
    code, _, errors = main(*command)
    message = errors.splitlines()[-1]
    assert code == 2 and message.startswith(f"retvec-lite: error: {whole[1]} is damaged (")
    assert message.endswith("). Remove it and repeat the command: this part alone is made again.")
    whole[1].unlink()
    whole[3].write_bytes(b"PAR1")
    assert main(*command)[0] == 0
    assert [row["text"] for row in pq.read_table("out.parquet").to_pylist()] == [f"AB {row}" for row in range(350)]
    assert not folder.exists()


BAD = {
    "missing column": ("body\n12\n", "No column 'text' in in.csv (found: 'body'). Name it with --text-column."),
    "label is there": ("text,label\n12,x\n", "in.csv already has a column 'label'. Name the new one with --label-column."),
    "fields": ("text,n\n12\n", "in.csv, line 2: 1 fields, but the header has 2."),
    "empty": ("", "in.csv is empty."),
    "open quote": ('text\n12\n"12\nAB\n', "in.csv, line 3: broken quoting (unexpected end of data). Quote fields as RFC 4180 says."),
}  # fmt: skip


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("problem", BAD)
def test_bad_tables_are_one_sentence(place: Path, tiny_model: str, main: Main, problem: str) -> None:
    content, message = BAD[problem]
    Path("in.csv").write_text(content)
    code, _, errors = main("classify", tiny_model, "--input", "in.csv", "--output", "out.parquet")
    assert (code, errors) == (2, f"retvec-lite: error: {message}\n")
    assert not Path("out.parquet").exists()


@pytest.mark.usefixtures("in_this_process")
def test_quotes_of_other_kinds_are_read(place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.csv").write_text('text,n\n5" pipe,1\n"a ""b""\nc",2\n12,3')
    assert rl.classify_files(tiny_model, "in.csv", "out.jsonl").rows == 3
    assert [row["text"] for row in found_in("out.jsonl")] == ['5" pipe', 'a "b"\nc', "12"]
    before = csv.field_size_limit(1000)
    monkeypatch.setattr(rows, "_LONGEST", 1 << 20)
    Path("long.csv").write_text('text\n"' + "x\n" * 2**20)
    with pytest.raises(RetvecLiteError, match=r"long.csv, line 2: broken quoting \(field larger than field limit"):
        rl.classify_files(tiny_model, "long.csv", "out.csv")
    csv.field_size_limit(before)


def wrong_arguments() -> Iterator[tuple[list[str], str]]:
    yield ["--input", "none.csv"], "Cannot read none.csv: No such file or directory."
    yield ["--input", "*.none"], "No file matches *.none."
    yield ["--input", "good.csv", "table.xlsx"], "Cannot read table.xlsx: the name of an input file ends in .parquet, .pq, .csv, .tsv, .jsonl, .ndjson, .json, .txt, also with .gz, .bz2, .zst, .lz4 behind it."  # fmt: skip
    yield ["--input", "no.parquet"], "Cannot read no.parquet: Parquet file size is 4 bytes, smaller than the minimum file footer (8 bytes). Repair it or leave it out; finished parts are kept."  # fmt: skip
    yield ["--input", "csv.parquet"], "Cannot read csv.parquet: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file. Repair it or leave it out; finished parts are kept."  # fmt: skip
    yield (
        ["--input", "column.jsonl"],
        "column.jsonl, line 1: no field 'text' (found: 'body'). Name it with --text-column.",
    )
    yield ["--input", "not.csv.gz"], "Cannot read not.csv.gz: zlib inflate failed: incorrect header check. Repair it or leave it out; finished parts are kept."  # fmt: skip
    yield ["--input", "numbers.parquet"], "The column 'text' of numbers.parquet holds int64, not texts."
    yield ["--input", "cut.csv.gz"], "Cannot read cut.csv.gz: Truncated compressed stream. Repair it or leave it out; finished parts are kept."  # fmt: skip
    yield ["--input", "list.jsonl"], "list.jsonl, line 1: not a JSON object with the field 'text': '[1]'."
    yield (
        ["--input", "bad.jsonl"],
        "bad.jsonl, line 2: not a JSON object with the field 'text': '{\"tex' (Unterminated string starting at: line 1 column 2 (char 1)).",
    )
    yield ["--input", "good.csv", "--output", "there.csv"], "there.csv already exists. Choose another name, or replace it with --force (in Python: force=True)."  # fmt: skip
    yield ["--input", "good.csv", "--output", "out.xlsx"], "Cannot write out.xlsx: its name must end in .parquet, .pq, .csv, .tsv, .jsonl, .ndjson, .json; the latter five also with .gz, .bz2, .zst, .lz4 behind it."  # fmt: skip
    yield (
        ["--input", "good.csv", "--output", "good.csv", "--force"],
        "good.csv is an input, too. Choose another output.",
    )
    yield ["--input", "good.csv", "--why"], "--why is for answers that are printed: leave it out with --output."
    yield [], "--output needs --input with the files to classify."


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(("arguments", "message"), list(wrong_arguments()))
def test_bad_input_is_one_sentence(
    place: Path, tiny_model: str, main: Main, arguments: list[str], message: str
) -> None:
    Path("good.csv").write_text("text\n12\n")
    Path("there.csv").touch()
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


@pytest.mark.usefixtures("in_this_process")
def test_bad_rows_can_be_skipped(place: Path, tiny_model: str, main: Main) -> None:
    Path("in.csv").write_text("text,n\n12,1\n13\nAB,2\n")
    Path("in.jsonl").write_text('{"text": "x"}\n{"text": 5}\nno\n')
    code, _, errors = main("classify", tiny_model, "--input", "in.*", "--output", "out.jsonl", "--skip-bad-rows")
    assert code == 0 and [row["text"] for row in found_in("out.jsonl")] == ["12", "AB", "x"]
    assert "3 bad rows skipped, the first: in.csv, line 3: 1 fields, but the header has 2." in errors


def test_without_pyarrow_one_sentence_tells_what_to_install(place: Path, tiny_model: str) -> None:
    Path("in.csv").write_text("text\n12\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None; from retvec_lite.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    done = run_python(code, "classify", tiny_model, "--input", "in.csv", "--output", "out.csv")
    assert done.returncode == 2
    assert done.stderr.endswith('The package pyarrow is not installed. Run: pip install "retvec-lite[parquet]"\n')
    assert run_python(code, "classify", tiny_model, "--input", "in.csv").stdout.startswith("digits\t")


@pytest.mark.usefixtures("in_this_process")
def test_a_folder_and_an_input_without_rows(place: Path, tiny_model: str) -> None:
    for name in ("data/part-0.csv", "data/sub/part-1.csv", "data/_SUCCESS", "data/_temporary/part-2.csv"):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_text("text\n" if "part-1" in name else "text\n12\n")
    assert rl.classify_files(tiny_model, "data", "out.parquet").rows == 1
    Path("empty.jsonl").touch()
    assert rl.classify_files(tiny_model, ["data/sub", "empty.jsonl"], "empty.parquet").rows == 0
    assert pq.read_schema("empty.parquet").names == ["text", "label", "probability"]


@pytest.mark.parametrize("deaths", [2, 3])
def test_a_shard_whose_process_dies_is_made_again(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    alive: list[bool] = []

    class Mortal:
        def ask(self, function, *arguments, size):
            if len(alive) < deaths:
                raise WorkerFailed("crashed with signal 9")
            return function(*arguments)

        def restart(self):
            alive.append(True)

    monkeypatch.setattr(scale_files, "Worker", Mortal)
    Path("in.txt").write_text("12\n")
    if deaths == 2:
        assert rl.classify_files(tiny_model, "in.txt", "out.csv").rows == 1
    else:
        with pytest.raises(RetvecLiteError, match="killed three times in a row, perhaps for want of memory"):
            rl.classify_files(tiny_model, "in.txt", "out.csv")
        assert Path("out.csv.parts").exists()


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="finds worker processes in /proc")
def test_no_row_is_lost_or_doubled_by_kills(place: Path, tiny_model: str) -> None:
    done = subprocess.run(
        [sys.executable, killed_classify.__file__, tiny_model, str(place), "6", "40000", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["rows"] == 40000 and facts["each row once, in order"] and facts["right answers"]
    assert facts["kills"] == {"command": 3, "worker": 3} and facts["left behind"] == ["labels.parquet"]
