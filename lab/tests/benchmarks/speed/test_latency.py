"""The benchmark of latency without its stopwatch's figures: who takes turns with whom, and what is made of the rows."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import common
from benchmarks.common import read_results, write_results
from benchmarks.speed import latency
from benchmarks.speed.latency import Bench, tables

Row = dict[str, Any]
NOTHING: dict[str, list[Row]] = {step: [] for step in latency.STEPS}


def timed(name: str, words: int, microseconds: float) -> Row:
    return {"runtime": "LiteRT", "threads": 1, "words": words, "name": name, "microseconds": microseconds}


START = [
    {"runtime": "ai-edge-litert", "name": "pool int8", "bytes": 410_000, "resident_mb": 60.0}
    | {"import_ms": 70.0, "load_ms": 9.5, "first_ms": 0.9, "second_ms": 0.206}
]


def test_a_run_of_some_steps_keeps_the_rows_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def start(bench: Bench) -> list[Row]:
        run.append("start")
        return START

    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(Bench, "build", lambda bench: run.append("build"))
    monkeypatch.setattr(Bench, "start", start)
    times = [timed("pool int8, plain", 10, 1150.0)]
    write_results(tmp_path / "latency-quick", [{"step": "tflite-runtime", "rows": times}], "", show=False)
    latency.main(["--quick", "--only", "start"])
    assert run == ["build", "start"]
    rows = {part["step"]: part["rows"] for part in read_results(tmp_path / "latency-quick")}
    assert rows == {**NOTHING, "tflite-runtime": times, "start": START}
    assert "| 9.5 ms | 0.9 ms | 206 µs | 60 MB |" in (tmp_path / "latency-quick.md").read_text(encoding="utf-8")


def test_a_table_has_no_empty_cells() -> None:
    rows = [timed("a, plain", 10, 1.2), timed("a, plain", 60, 7.0), timed("b, plain", 60, 8.0)]
    made = tables(NOTHING | {"ai-edge-litert": rows}).split("**LiteRT, 1 thread**\n\n")[1:]
    assert [table.splitlines()[2:3] for table in made] == [["| a, plain | 1 | 7 |"], ["| b, plain | 8 |"]]
    assert made[1].startswith("| microseconds | 60 words |")
