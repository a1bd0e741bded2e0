import subprocess
from pathlib import Path

import browser
import latency_web
import pytest
from latency_web import Row, measure_web, missing
from tiny_artifact import tiny_signatures_artifact

REASON = missing()


def words_of_one_letter(words: int) -> str:
    """So short that the tiny model takes them."""
    return " ".join("a" * words)


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Row], list[Row]]:
    """Contestants and starts of the tiny file."""
    if REASON:
        pytest.skip(f"{REASON}: nothing was measured in a browser")
    monkeypatch.setattr(latency_web, "START_WORDS", (2, 8))
    monkeypatch.setattr(latency_web, "text_of", words_of_one_letter)
    file = tmp_path / "tiny.tflite"
    file.write_bytes(tiny_signatures_artifact())
    plain = {"name": "tiny, plain", "file": str(file), "words": (2, 8), "max_chars": 32}
    short = {"name": "tiny, signature", "file": str(file), "words": (2,), "max_chars": 8, "signature": "classify_2"}
    return [plain, short], [{"name": "tiny", "file": str(file)}]


def test_every_signature_is_timed_in_chromium_and_the_start_of_a_page(order: tuple[list[Row], list[Row]]) -> None:
    contestants, starts = order
    *timed, start = measure_web(contestants, starts, (2, 8), rounds=1, runs=1)
    names = ["tiny, plain", "tiny, signature", "control: tiny, plain", "tiny, plain", "control: tiny, plain"]
    assert [row["name"] for row in timed] == names
    assert [row["words"] for row in timed] == [2, 2, 2, 8, 8]
    for row in timed:
        assert row["runtime"].startswith("LiteRT.js 2.")
        assert row["microseconds"] > 0
    assert start["bytes"] == Path(starts[0]["file"]).stat().st_size
    assert start["runtime_ms"] > 0
    assert start["load_ms"] > 0
    assert start["first_ms"] > 0
    assert start["wasm_bytes"] >= start["empty_bytes"] > 1_000_000


def test_a_text_that_is_not_read_whole_is_not_measured(
    order: tuple[list[Row], list[Row]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(latency_web, "text_of", lambda words: words_of_one_letter(words - 1))
    with pytest.raises(subprocess.CalledProcessError):
        measure_web(order[0], [], (2,), rounds=1, runs=0)
    assert "classify_2 read 1 words of 2." in capfd.readouterr().err


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = {"node"}
    monkeypatch.setattr("shutil.which", lambda name: name if name in installed else None)
    monkeypatch.delenv("RETVEC_CHROMIUM", raising=False)
    monkeypatch.setattr(browser, "MODULES", tmp_path)
    assert missing() == "web_demo/node_modules is missing (`npm ci` in web_demo)"
    for name in ("playwright-core", "@litertjs/core"):
        (tmp_path / name).mkdir(parents=True)
    assert missing() == "Chromium is not installed, and RETVEC_CHROMIUM names none"
    installed.add("google-chrome")
    assert missing() is None
    monkeypatch.setenv("RETVEC_CHROMIUM", "/nowhere/chromium")
    assert missing() == "no program at RETVEC_CHROMIUM=/nowhere/chromium"
    installed.remove("node")
    assert missing() == "Node.js is not installed"
