"""What is printed cannot steer the terminal."""

import json

from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.terminal import Table, draw, json_line, one_line, printable

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
