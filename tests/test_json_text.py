"""JSON that others wrote: whatever it is, it is read or refused in one sentence."""

import json

import pytest
from refusals import refusal

from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import (
    COUNT,
    FLAG,
    NOTHING,
    SHARE,
    TEXT,
    Kind,
    check_fields,
    either,
    listed,
    mapped,
    number,
    parse_json,
    structured,
)  # fmt: skip

DEEP = 100_000


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        (b"\xff\xfe\xff", "decode"),
        ("[" * DEEP, "it is nested too deep"),
        ('{"a":' * DEEP, "it is nested too deep"),
        ("[" * DEEP + "]" * DEEP, "it is nested too deep"),
        ("NaN", "the number 'NaN' is not finite"),
        ('{"a": [-Infinity]}', "the number '-Infinity' is not finite"),
        ("1e400", "the number '1e400' is not finite, or too large"),
        (f"[{10**400}]", "is not finite, or too large"),
        ("-" + "9" * 1_000_000, "is not finite, or too large"),
        (r'{"label": "\ud800"}', "half of a character"),
        (r'{"\udfff": 1}', "half of a character"),
        (rb'["\uDE00"]', "half of a character"),
    ],
)
def test_what_is_no_json_is_refused_in_a_sentence(content: str | bytes, problem: str) -> None:
    message = refusal(parse_json, content, "golden.json")
    assert message.startswith("golden.json is not valid JSON: ") and problem in message
    assert "\n" not in message and len(message) < 200


@pytest.mark.parametrize("value", [None, True, 0, 2**70, 1e308, "ä 🙂 \\ud800", [[]], {"a": {"b": [1.5]}}])
def test_valid_json_is_read(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value).encode()):
        assert parse_json(text, "x") == value


VALUES = (
    *(None, True, 0, 3, -1, 0.5, 1.5, float("nan"), float("inf"), 10**400, "", "a"),
    *([], [1], ["a"], {}, {"a": 1}, {"a": "b"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fitting"),
    [
        (NOTHING, [None]),
        (FLAG, [True]),
        (COUNT, [0, 3]),
        (SHARE, [0, 0.5]),
        (number(-1, 1), [0, -1, 0.5]),
        (number(0), [0, 3, 0.5, 1.5]),
        (TEXT, ["", "a"]),
        (listed(TEXT), [[], ["a"]]),
        (listed(COUNT), [[], [1]]),
        (mapped(TEXT), [{}, {"a": "b"}]),
        (either(NOTHING, FLAG), [None, True]),
        (structured({"a": COUNT}), [{}, {"a": 1}]),
    ],
    ids=lambda value: value.words if isinstance(value, Kind) else "",
)
def test_kinds(kind: Kind, fitting: list[object]) -> None:
    assert [repr(value) for value in VALUES if kind.fits(value)] == [
        repr(value) for value in VALUES if any(repr(value) == repr(other) for other in fitting)
    ]
    for value in VALUES:
        if not kind.fits(value):
            with pytest.raises(RetvecLiteError, match="field must be") as caught:
                check_fields({"field": value}, {"field": kind})
            assert len(str(caught.value)) < 200
    check_fields({"other": 1}, {"field": kind})
