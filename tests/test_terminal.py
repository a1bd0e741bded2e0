"""What is printed cannot steer the terminal."""

import importlib.util
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite import terminal
from retvec_lite.terminal import Table, counted, draw, json_line, one_line, percent, printable, watched, weighted

STEERING = {
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
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


@given(st.floats(0, 1), st.sampled_from([0, 1]))
def test_what_is_neither_none_nor_all_is_not_rounded_to_it(share: float, digits: int) -> None:
    for value in (share, 1 - share, share**9, 1 - share**9):
        told = percent(value, digits)
        assert (float(told.split()[-1][:-1]) in (0, 100)) == (not 1e-9 < value < 1 - 1e-9)
        assert abs(float(told.split()[-1][:-1]) / 100 - value) <= 0.5 / 10 ** (2 + digits) + 1e-9


def test_tables_show_labels_as_they_are_but_for_what_steers() -> None:
    shown = draw("a\x1b[1m", Table("t\x07", ("label",), [("\x1b]0;title\x07[red]",), ("größe 🙂",)]))
    assert not set(shown) & (STEERING - {"\n"})
    assert "\\x1b]0;title\\x07[red]" in shown and "größe 🙂" in shown and "a\\x1b[1m" in shown


WORDS = [("wake", 2.0), ("\x1b[2J", -1.5), ("me", 0.4), ("up", 0.0)]


def test_weights_are_plain_where_nobody_sees_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = "wake +1.00  \\x1b[2J -0.75  me +0.20  up +0.00"
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
    assert re.sub("\x1b\\[[0-9;]*m", "", shown) == "wake +1.00  \\x1b[2J -0.75  me +0.20  up +0.00"
    backgrounds = re.findall(r"48;2;(\d+;\d+;\d+)m", shown)
    assert len(backgrounds) == len(set(backgrounds)) == 3, "for, against, and for by less; nothing for 0"
    assert weighted([]) == "" and weighted([("x", 0.0)]).startswith("x")


def test_what_takes_seconds_is_quiet_in_logs_but_for_what_is_to_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    with watched(True) as report:
        report("Loading.", 0, 0)
        for done in range(101):
            report("reading", done, 100)
    assert capsys.readouterr().err == "Loading.\n"


@pytest.mark.parametrize(
    ("weights", "shown"),
    [((0.0077, 0.00036, -0.0012), "a +1.00  b +0.05  c -0.16"), ((6e-8, 0.0, -6e-8), "a +0.06  b +0.00  c -0.06")],
)
def test_the_weights_of_a_sure_answer_can_be_compared_but_rounding_is_not_blown_up(
    weights: tuple[float, ...], shown: str
) -> None:
    assert weighted(list(zip("abc", weights, strict=True))) == shown


def test_logs_tell_the_time_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 120))
    monkeypatch.setattr("retvec_lite.terminal.time.monotonic", lambda: next(clock))
    with watched(True) as report:
        for done in (40, 50, 54, 60, 100):  # an earlier run had done 40
            report("reading", done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 50 %, 10 min left",
        "reading: 60 %, 12 min left",
        "reading: 100 %",
    ]


def test_without_rich_progress_is_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 20))
    monkeypatch.setattr("retvec_lite.terminal.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("retvec_lite.terminal.importlib.util.find_spec", lambda name: None)
    with watched(True) as report:
        report("reading", 1, 4)
        report("reading", 2, 4)
    assert capsys.readouterr().err == "reading: 50 %\n"


def test_tables_are_columns() -> None:
    rows = [("alarm", "12"), ("\x1b[2J", "7")]
    assert draw("before", Table("Labels", ("label", "texts"), rows, frozenset({"texts"}))).splitlines() == [
        "before", "", "Labels", "label    texts", "alarm       12", "\\x1b[2J      7"
    ]  # fmt: skip


def test_a_terminal_is_told_a_sentence_above_the_bars(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with watched(True) as report:
        report("About [b]1 kB[/b].", 0, 0)
        report("reading", 1, 2)
    shown = capsys.readouterr().err
    assert (
        "About [b]1 kB[/b].\n" in shown and "reading" in shown and "1/2" in re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", shown)
    )


def test_cells_of_several_lines_and_wide_letters_stay_in_their_columns() -> None:
    text = draw(Table("", ("label", "seen on", "verdict"), [("天気", "LiteRT\n2.3.0", "ok"), ("a", "x", "too old")]))
    assert text.splitlines() == [
        "label  seen on  verdict",
        "天気   LiteRT   ok",
        "       2.3.0",
        "a      x        too old",
    ]


@pytest.mark.parametrize(("count", "told"), [(0, "0 texts"), (1, "1 text"), (2, "2 texts"), (1200, "1,200 texts")])
def test_one_is_not_several(count: int, told: str) -> None:
    assert counted(count, "text") == told
