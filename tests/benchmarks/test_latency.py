"""The benchmark of latency without its stopwatch's figures: who takes turns with whom, and what is made of the rows."""

from pathlib import Path
from typing import Any

import common
import latency
import latency_build
import latency_measure
import pytest
from common import read_results, write_results
from latency import Bench
from latency_tables import Line, curve_plot, fitted_line, tables

from retvec_lite.runtime.artifact import classify_signatures, read_artifact

Row = dict[str, Any]
NOTHING: dict[str, list[Row]] = {step: [] for step in latency.STEPS}


def timed(name: str, words: int, microseconds: float) -> Row:
    return {"runtime": "LiteRT", "threads": 1, "words": words, "name": name, "microseconds": microseconds}


@pytest.mark.parametrize(
    ("together", "turns"),
    [
        (False, [["a 10", "control: a 10"], ["a 60", "b 60", "control: a 60"]]),
        (True, [["a 10", "a 60", "b 60", "control: a 10"]]),
    ],
)
def test_contestants_take_turns_beside_a_control(
    together: bool, turns: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    made: list[list[str]] = []

    def make_call(one: Row, runtime: str, words: int, threads: int) -> latency_measure.Call:
        return lambda: seen.append(f"{one['name']} {words}")

    def take_turns(calls: dict[tuple[str, int], latency_measure.Call], rounds: int) -> dict[tuple[str, int], float]:
        seen.clear()
        for call in calls.values():
            call()
        made.append(list(seen))
        return dict.fromkeys(calls, 7.0)

    monkeypatch.setattr(latency_measure, "make_call", make_call)
    monkeypatch.setattr(latency_measure, "take_turns", take_turns)
    contestants = [{"name": "a", "words": [10, 60]}, {"name": "b", "words": [60]}]
    order = {"runtime": "LiteRT", "threads": [1], "words": [10, 60, 90], "rounds": 3, "contestants": contestants}
    rows = latency_measure.measure_times({**order, "together": together})
    assert [turn for turn in made if turn] == turns
    assert [f"{row['name']} {row['words']}" for row in rows] == [name for turn in turns for name in turn]
    assert {row["microseconds"] for row in rows} == {7.0}


def test_warming_up_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency_measure, "TURNS_BEFORE", 2)
    calls = []
    clock = iter(range(0, 10**9, 500))
    monkeypatch.setattr("time.perf_counter_ns", lambda: next(clock))
    found = latency_measure.take_turns({("a", 10): lambda: calls.append(1)}, rounds=3)
    assert found == {("a", 10): 0.5}
    assert len(calls) == (2 + 3) * 4


def test_the_line_is_that_of_least_squares() -> None:
    exact = fitted_line([(4, 20.0), (8, 30.0), (16, 50.0)])
    assert exact == pytest.approx(Line(10.0, 2.5, 1.0, 0.0), abs=1e-9)
    steps = fitted_line([(1, 1.0), (2, 1.0), (3, 3.0), (4, 3.0)])
    assert steps == pytest.approx(Line(0.0, 0.8, 0.8, 0.6), abs=1e-9)


def test_tables_say_how_close_to_a_line_the_cost_is(tmp_path: Path) -> None:
    curve = [timed("pool float32, classifier", words, 10 + 2 * words) for words in (4, 8, 12)]
    curve += [timed("pool float32, 8, 16", words, 10 + 2 * words + (words == 8)) for words in (4, 8, 12)]
    curve += [timed("pool float32, plain", words, 50.0) for words in (4, 8, 12)]
    sizes = [
        {"name": "pool float32, classifier", "bytes": 1000},
        {"name": "pool float32, 8, 16", "bytes": 20_000},
        {"name": "pool int8-dynamic, classifier", "bytes": 3},  # two lengths or fewer: no line
    ]
    printed = tables({**NOTHING, "curve": [*curve, *sizes]})
    assert "| pool float32, as exported | 1,000 | 10 + 2.00 a word | 1.000 | 0 | 26 |" in printed
    assert "| pool float32, 8, 16 | 20,000 | 10 + 2.00 a word | 0.995 | 1 | 26 |" in printed
    assert "int8-dynamic" not in printed
    curve_plot(curve, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_tables_have_the_browser_or_say_that_it_was_skipped() -> None:
    assert "LiteRT.js: skipped." in tables(NOTHING)
    start = {"runtime_ms": 70.0, "load_ms": 48.2, "first_ms": 17.9, "empty_bytes": 17_629_184, "wasm_bytes": 20e6}
    rows = [timed("pool int8, plain", 10, 1150.0), {"name": "pool int8", "bytes": 410_423, **start}]
    printed = tables({**NOTHING, "web": rows})
    assert "skipped" not in printed.replace("fastText: skipped", "")
    assert "| pool int8, plain | 1150 |" in printed
    assert "| pool int8 | 410 kB | 70 ms | 48 ms | 18 ms | 17.6 MB | 20.0 MB |" in printed


WEB = [timed("pool int8, plain", 10, 1150.0)]
START = [{"wall_ms": 250.0, "peak_mb": 80.0}]


@pytest.fixture
def steps_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was built and measured, on a machine without a browser; results, with rows of `web`, are in tmp_path."""
    run: list[str] = []

    def start(bench: Bench) -> list[Row]:
        run.append("start")
        return START

    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(latency, "missing", lambda: "Chromium is not installed")
    monkeypatch.setattr(Bench, "build", lambda bench: run.append("build"))
    monkeypatch.setattr(Bench, "start", start)
    write_results(
        tmp_path / "latency-quick", [{"step": "web", "rows": WEB}], tables({**NOTHING, "web": WEB}), show=False
    )
    return run


def test_rows_of_the_browser_outlive_a_run_without_one(
    steps_run: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(SystemExit) as stop:
        latency.main(["--quick", "--only", "web"])
    assert stop.value.code == 1
    assert capsys.readouterr().out == "Skipped: LiteRT.js (Chromium is not installed); its rows in the results stay.\n"
    assert steps_run == []
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_other_steps_run_where_one_is_skipped(
    steps_run: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latency.main(["--quick", "--only", "archived,web,start"])
    assert steps_run == ["build", "start"]
    archived, web, *_ = capsys.readouterr().out.splitlines()
    assert archived == "Skipped: the archived project and fastText (no --archived PYTHON)."
    assert web == "Skipped: LiteRT.js (Chromium is not installed); its rows in the results stay."
    rows = {part["step"]: part["rows"] for part in read_results(tmp_path / "latency-quick")}
    assert rows == {**NOTHING, "web": WEB, "start": START}
    written = (tmp_path / "latency-quick.md").read_text(encoding="utf-8")
    assert "| pool int8, plain | 1150 |" in written
    assert "LiteRT.js: skipped" not in written
    assert "one text, the whole process: 0.25 s" in written


@pytest.mark.exhaustive
def test_other_short_graphs_are_built_than_the_products(tmp_path: Path) -> None:
    latency_build.build_ladder(tmp_path, (8, 16))
    file = latency_build.ladder_file(tmp_path, (8, 16), latency_build.LADDER_RECIPES[0])
    slots = [signature.max_words for signature in classify_signatures(read_artifact(file).signatures)]
    assert slots == [8, 16, 64]
