"""JSON that others wrote: whatever it is, it is read or refused in one sentence."""

import json

import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import parse_json

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
    with pytest.raises(RetvecLiteError) as caught:
        parse_json(content, "golden.json")
    message = str(caught.value)
    assert message.startswith("golden.json is not valid JSON: ") and problem in message
    assert "\n" not in message and len(message) < 200


@pytest.mark.parametrize("value", [None, True, 0, 2**70, 1e308, "ä 🙂 \\ud800", [[]], {"a": {"b": [1.5]}}])
def test_valid_json_is_read(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value).encode()):
        assert parse_json(text, "x") == value
