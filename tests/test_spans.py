"""`detect_spans`: where a text changes its language, and where it does not."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import retvec_lite as rl
from retvec_lite.__main__ import main

SEVERAL = Path(__file__).parents[1] / "models" / "retvec_lite_models" / "emotion.retvec"
GERMAN = "Das Wetter ist heute wirklich schön."
ENGLISH = "Where is the nearest railway station?"
JAPANESE = "明日の天気はどうですか。"
RUSSIAN = "Где находится ближайшая станция?"


def parts(text: str, **options: Any) -> list[tuple[str, str | None]]:
    """Return the parts of a text with their languages; spans cover the text, and neighbours differ."""
    spans = rl.detect_spans(text, **options)
    edges = [0, *(span.end for span in spans)]
    assert [span.start for span in spans] == edges[:-1] and edges[-1] == len(text)
    assert all(before.label != after.label for before, after in itertools.pairwise(spans))
    assert all(0 <= span.probability <= 1 for span in spans)
    return [(text[span.start : span.end], span.label) for span in spans]


def test_a_text_is_cut_where_its_language_changes() -> None:
    assert parts(f"{GERMAN} {ENGLISH}") == [(f"{GERMAN} ", "de"), (ENGLISH, "en")]
    found = parts(f"{JAPANESE}{ENGLISH}\n{RUSSIAN}")
    assert [label for _, label in found] == ["ja", "en", "ru"]


@pytest.mark.parametrize("text", [GERMAN, ENGLISH, RUSSIAN, JAPANESE, " ".join([ENGLISH] * 30)])
def test_a_text_in_one_language_has_one_span_with_the_answer_of_predict(text: str) -> None:
    (span,) = rl.detect_spans(text)
    (answer,) = rl.load("language").predict(text, top=1)
    assert (span.label, span.probability) == (answer.label, pytest.approx(answer.probability, abs=1e-6))


def test_what_is_no_language_is_covered_too() -> None:
    assert parts("") == []
    assert parts("12:30") == [("12:30", None)]
    assert len(parts(" \u200b\n")) == 1
    assert [label for _, label in parts(f"  {GERMAN} 🙂 42 ")] == ["de"]


def test_accents_that_are_apart_are_counted_as_they_are_given() -> None:
    apart = "Das Wetter ist heute wirklich scho\u0308n."
    assert parts(f"{apart} {ENGLISH}") == [(f"{apart} ", "de"), (ENGLISH, "en")]


def test_only_the_languages_that_are_named() -> None:
    found = parts(f"{GERMAN} {ENGLISH}", languages=["fr", "en"])
    assert {label for _, label in found} <= {"fr", "en", None} and found[-1][1] == "en"
    with pytest.raises(rl.RetvecLiteError, match="languages"):
        rl.detect_spans(GERMAN, rl.load("language"), languages=["de"])


def test_several_labels_a_text_have_no_spans() -> None:
    with pytest.raises(rl.RetvecLiteError, match="one label"):
        rl.detect_spans(GERMAN, SEVERAL)


def test_the_command_prints_a_line_for_each_span(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect-spans", f"{GERMAN} {ENGLISH}", "--languages", "de,en"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(label, part) for label, _, part in lines] == [("de", GERMAN), ("en", ENGLISH)]
    assert main(["detect-spans", GERMAN, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["start"], found["end"], found["label"], found["text"]) == (0, len(GERMAN), "de", GERMAN)


def test_the_command_prints_nothing_else() -> None:
    command = [sys.executable, "-m", "retvec_lite", "detect-spans", f"{GERMAN} {ENGLISH}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 2 and done.stderr == ""
