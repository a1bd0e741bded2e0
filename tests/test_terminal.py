"""What is printed cannot steer the terminal."""

import importlib.util
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite import terminal
from retvec_lite.terminal import Table, draw, json_line, one_line, printable, watched, weighted

STEERING = {
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
}


@given(st.text(st.characters(codec=None)))
def test_control_characters_are_escaped_and_the_rest_stays(text: str) -> None:
    assert not set(printable(text)) & (STEERING - set("\n\t"))
    assert not set(one_line(text)) & STEERING
    if not set(text) & STEERING:
        assert printable(text) == one_line(text) == text


@given(
    st.recursive(st.text(st.characters(codec=None)), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_json_stays_the_same_value_on_one_line(value: object) -> None:
    line = json_line(value)
    assert json.loads(line) == value and not set(line) & STEERING


def test_tables_show_labels_as_they_are_but_for_what_steers() -> None:
    shown = draw("a\x1b[1m", Table("t\x07", ("label",), [("\x1b]0;title\x07[red]",), ("größe 🙂",)]))
    assert not set(shown) & (STEERING - {"\n"})
    assert "\\x1b]0;title\\x07[red]" in shown and "größe 🙂" in shown and "a\\x1b[1m" in shown


WORDS = [("wake", 2.0), ("\x1b[2J", -1.5), ("me", 0.4), ("up", 0.0)]


def test_weights_are_plain_where_nobody_sees_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = "wake +2  \\x1b[2J -1.5  me +0.4  up +0"
    assert weighted(WORDS) == plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert weighted(WORDS) == plain, "without rich"


def test_a_terminal_shows_weights_in_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = weighted(WORDS)
    assert re.sub("\x1b\\[[0-9;]*m", "", shown) == "wake +2  \\x1b[2J -1.5  me +0.4  up +0"
    backgrounds = re.findall(r"48;2;(\d+;\d+;\d+)m", shown)
    assert len(backgrounds) == len(set(backgrounds)) == 3, "for, against, and for by less; nothing for 0"
    assert weighted([]) == "" and weighted([("x", 0.0)]).startswith("x")


def test_logs_tell_the_time_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 120))
    monkeypatch.setattr("retvec_lite.terminal.time.monotonic", lambda: next(clock))
    with watched(True) as report:
        for done in (40, 50, 54, 60, 100):  # an earlier run had done 40
            report("reading", done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 40 %",
        "reading: 50 %, 10 min left",
        "reading: 60 %, 12 min left",
        "reading: 100 %",
    ]


def test_without_rich_progress_is_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retvec_lite.terminal.importlib.util.find_spec", lambda name: None)
    with watched(True) as report:
        report("reading", 1, 2)
    assert capsys.readouterr().err == "reading: 50 %\n"
