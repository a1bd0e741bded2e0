"""`classify_files` and `classify --output`: order, whole or not at all, trained folders, and what a killed run leaves."""

import os
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Main
from light import run_python

import retvec_lite as rl
from retvec_lite.errors import RetvecLiteError
from retvec_lite.scale import classify_files as scale_files


def expected(model: str, texts: list[str]) -> list[str | None]:
    return [found[0].label for found in rl.load(model).predict_many(texts, top=1)]


def test_many_rows_in_their_order(place: Path, tiny_model: str, main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_files, "_ROWS", 300)
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


def test_cells_that_spreadsheets_take_for_formulas_stay_as_they_are(place: Path, tiny_model: str) -> None:
    texts = ["=1+1", "+12", "-5 AB", "@12"]
    Path("in.txt").write_text("\n".join(texts))
    rl.classify_files(tiny_model, "in.txt", "out.csv")
    assert list(rl.read_texts("out.csv")) == texts


@pytest.mark.parametrize("output", ["out.csv.gz", "out.jsonl", "out.parquet"])
def test_a_run_that_fails_leaves_what_was_there(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setattr(scale_files, "_ROWS", 2)
    Path("in.csv").write_text("text,n\n" + "12,1\n" * 5 + "13\n" + "AB,2\n" * 5)
    Path(output).write_text("mine")
    with pytest.raises(RetvecLiteError, match=r"in.csv, line 7: 1 cell, but the header has 2\."):
        rl.classify_files(tiny_model, "in.csv", output, force=True)
    assert Path(output).read_text() == "mine" and sorted(os.listdir()) == ["in.csv", output]
    done = rl.classify_files(tiny_model, "in.csv", output, force=True, skip_bad_rows=True)
    assert (done.rows, done.skipped) == (10, 1) and Path(output).read_bytes() != b"mine"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals that kill")
def test_a_killed_run_leaves_no_output_and_the_next_one_works(place: Path, tiny_model: str) -> None:
    Path("in.txt").write_text("12\n")
    code = f"""
import os, signal, retvec_lite as rl
rl.classify_files({tiny_model!r}, "in.txt", "out.csv", progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""
    assert run_python(code).returncode == -signal.SIGKILL and not Path("out.csv").exists()
    assert rl.classify_files(tiny_model, "in.txt", "out.csv").rows == 1
    assert sorted(os.listdir()) == ["in.txt", "out.csv"]


def test_a_trained_folder_classifies_files_as_its_engine_does(place: Path) -> None:
    texts, labels = (
        ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 3,
        ["a", "a", "d", "d"] * 3,
    )
    trained = rl.train(texts, labels, head="linear", ngram_kb=20, out="trained")
    Path("in.txt").write_text("\n".join(texts))
    rl.classify_files("trained", "in.txt", "out.parquet", workers=1)
    found = pq.read_table("out.parquet")
    assert found["label"].to_pylist() == labels
    assert found["probability"].to_pylist() == [row[0].probability for row in trained.predict(texts)]
