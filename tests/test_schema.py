"""Kinds of values: each fits what it says, and nothing that only looks like it."""

import pytest

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
    structured,
)  # fmt: skip

VALUES = (
    None,
    True,
    0,
    3,
    -1,
    0.5,
    1.5,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "a",
    [],
    [1],
    ["a"],
    {},
    {"a": 1},
    {"a": "b"},
)


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
