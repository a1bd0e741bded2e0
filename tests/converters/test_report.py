import dataclasses
import json
import math
import re
from pathlib import Path

import pytest
import standin
from exported import EXPORTED

from retvec_lite.card import report_json
from retvec_lite.converters.export_report import Exported, Report
from retvec_lite.converters.format import find_format
from retvec_lite.converters.parity import ArtifactResult, Check, Difference, RuntimeResult
from retvec_lite.manifest import fingerprint


@pytest.fixture(scope="module")
def report() -> Report:
    path, tflite = EXPORTED / "pool" / "classifier-int4.tflite", find_format("tflite")
    checks = (
        Check("words", "computation", 0.0, 0.0, texts=70),
        Check("embedding", "computation", math.nan, 0.02, texts=70, worst=(Difference("a | b\nc", math.nan, "at 0"),)),
        Check("same label", "cost", 0.98, 0.985, True, 300, note="6 different"),
    )
    runs = (
        RuntimeResult("ai-edge-litert", "2.3.0", True, checks, None, 0.5),
        RuntimeResult("tflite-runtime", "2.14.0", False, (), "refused: op | version"),
    )
    result = ArtifactResult(path.name, "int4", path.stat().st_size, (Check("size", "file", 54321.0, 999999),), runs)
    classifier = dataclasses.replace(
        standin.classifier("pool"),
        training={
            "data": "train.csv",
            "validation": {"0.5": {"accuracy": 0.8, "macro_f1": 0.7}, "0": {"accuracy": 0.912345678, "macro_f1": 0.9}},
            "history": [{"epoch": 1}] * 100,
        },
        embedding={"name": "random", "card": {"steps": 0}},
    )
    return Report(
        folder=Path("dist"),
        classifier=classifier,
        artifacts=[
            Exported(tflite, result, {"ai-edge-litert": "2.3.0"}, fingerprint(path), tflite.open(path).contents())
        ],
        texts="300 texts of test.csv",
        golden_texts=70,
        accuracy=0.75,
        skipped=["tflite-runtime", "coreml"],
    )


def test_json_is_sorted_and_has_no_nan(report: Report) -> None:
    data = report_json(report.to_dict())
    found = json.loads(data, parse_constant=pytest.fail)
    assert data == (json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    artifact = found["artifacts"][0]
    assert artifact["recipe"] == "int4"
    assert sum(artifact["sizes"].values()) == artifact["bytes"]
    assert artifact["oldest_runtime"] == {"ai-edge-litert": "2.3.0"}
    assert {"name": "GELU", "version": 1, "count": 5} in artifact["operators"]
    assert artifact["runtimes"][0]["checks"][1]["value"] is None
    assert found["training"]["validation"]["0"]["accuracy"] == 0.912345678


def test_reports_hold_no_dates_durations_or_paths() -> None:
    for name in ("report.json", "golden.json"):
        text = (EXPORTED / "pool" / name).read_text(encoding="utf-8")
        assert not re.search(r"\b20[2-9]\d-\d\d|\bseconds\b|\bms\b|/data/", text), name


@pytest.mark.parametrize(
    ("check", "value", "bound"),
    [
        (Check("words", "computation", 12.0, 0.0), "12", "identical"),
        (Check("embedding", "computation", 3.21e-4, 2e-3), "3.2e-04", "<= 2.0e-03"),
        (Check("embedding cosine", "cost", 0.99951, 0.999, True), "0.999510", ">= 0.999000"),
        (Check("same label", "cost", 0.996, 0.995, True), "99.60%", ">= 99.50%"),
        (Check("size", "file", 338961.0, 999999), "338,961", "<= 999,999"),
    ],
)
def test_figures_are_made_for_people(check: Check, value: str, bound: str) -> None:
    assert check.value_text == value
    assert check.bound_text == bound


def test_a_report_prints_itself(report: Report) -> None:
    assert not report.ok
    assert report.files == (Path("dist/classifier-int4.tflite"),)
    text = str(report)
    for part in (
        "70 golden texts and 300 texts of test.csv",
        "classifier-int4.tflite on ai-edge-litert 2.3.0: embedding is nan, must be <= 2.0e-02. Worst:\n    a | b\nc: nan at 0",
        "classifier-int4.tflite on ai-edge-litert 2.3.0: same label is 98.00%, must be >= 98.50%.",
        "tflite-runtime is not installed: skipped.",
        "Core ML itself runs on macOS only: skipped.",
        f"dist/classifier-int4.tflite: {report.artifacts[0].result.bytes:,} bytes, for ai-edge-litert 2.3.0 or newer",
        "Rounding cost more",
    ):
        assert part in text, part
    (row,) = [line for line in text.splitlines() if line.startswith("int4") and "too old" in line]
    assert "tflite-runtime" in row
