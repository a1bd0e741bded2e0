"""The small tables of pages for users: they show what was measured, and bold only what leads."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.systems.names import SETFIT
from benchmarks.tables import pages
from benchmarks.tables.short import OF_TEN, RIVALS, WORDS, first_steps, litert, ten_texts


@pytest.mark.parametrize("name", ["first_steps", "ten_texts", "litert"])
def test_it_shows_what_was_measured(name: str) -> None:
    written = (pages.RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert written == pages.SUMMARIES[name](pages.RESULTS), "run python -m benchmarks.tables.pages"


def row(data: str, system: str, shots: int, accuracy: float, seconds: float = 2.0) -> dict[str, Any]:
    measured = {"accuracy": {"0": accuracy, "0.5": accuracy}, "training_seconds": seconds}
    return {"data": data, "system": system, "shots": shots, "settings": {"test_texts": 3000}, **measured}


def test_what_was_not_measured_is_a_dash(tmp_path: Path) -> None:
    named = [{"data": "Banking77", "way": "names", "clean": {"accuracy": 0.5}}]
    (tmp_path / "names.json").write_text(json.dumps(named))
    (tmp_path / "few_shot.json").write_text(json.dumps([row("CLINC150", "default file", 5, 0.25)]))
    lines = first_steps(tmp_path).splitlines()
    assert lines[2] == "| names | - | .50 | - |"
    assert lines[6] == "| 5 texts of each label | - | - | .25 |"


def test_only_the_leader_is_bold_and_seconds_are_from_least_to_most(tmp_path: Path) -> None:
    best = next(iter(RIVALS))
    rows = [row(data, system, 10, 0.9 if system == best else 0.5) for data in OF_TEN for system in RIVALS]
    rows = [found for found in rows if (found["data"], found["system"]) != ("SMS spam", SETFIT)]
    rows += [row("Banking77", best, 10, 0.9, seconds=5.0), row("Banking77", best, 20, 0.1)]
    (tmp_path / "few_shot.json").write_text(json.dumps(rows))
    lines = ten_texts(tmp_path).splitlines()
    assert lines[3] == "| Banking77 | **.900** / **.900** |" + " .500 / .500 |" * (len(RIVALS) - 1)
    assert lines[5] == "| SMS spam | **.900** / **.900** |" + " .500 / .500 |" * (len(RIVALS) - 2) + " - / - |"
    assert lines[6] == "| seconds to train, Banking77 | 2 to 5 |" + " 2 |" * (len(RIVALS) - 1)


def test_a_text_costs_what_one_thread_took(tmp_path: Path) -> None:
    timed = [
        {"name": f"pool {recipe}, {kind}", "threads": threads, "words": words, "microseconds": words * threads}
        for recipe in ("int8", "int8-dynamic")
        for kind in ("plain", "classifier")
        for threads in (1, 2)
        for words in WORDS
    ]
    start = [
        {"runtime": "new", "name": f"pool {recipe}", "bytes": 1_234_567, "load_ms": 7.54, "resident_mb": 59.3}
        for recipe in ("int8", "int8-dynamic")
    ]
    steps = [{"step": "new", "rows": timed}, {"step": "start", "rows": start}]
    (tmp_path / "latency.json").write_text(json.dumps(steps))
    assert litert(tmp_path).splitlines()[2:] == ["| new, int8 | 10 | 30 | 60 | 120 | 1,235 kB | 7.5 ms | 59 MB |"]
