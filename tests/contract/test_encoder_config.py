"""EncoderConfig and the character tables: checked against Python's Unicode data, validation, JSON round trip."""

import dataclasses
import itertools
import json
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from retvec_lite.contract import (
    BITS,
    CONTRACT_VERSION,
    HAN_RANGES,
    INVISIBLE,
    KANA_RANGES,
    MAX_CODE_POINT,
    REPLACEMENT,
    SEA_RANGES,
    SEPARATORS,
    UNSPACED,
    EncoderConfig,
)
from retvec_lite.errors import RetvecLiteError

# --- character sets ---------------------------------------------------------------------------------------------------


def test_separators_are_unicodes_white_space() -> None:
    """Python's `isspace` is White_Space plus the four information separators."""
    spaces = {code for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert set(SEPARATORS) == spaces - {0x1C, 0x1D, 0x1E, 0x1F}
    assert len(SEPARATORS) == 25 and list(SEPARATORS) == sorted(set(SEPARATORS))


def test_invisible_characters_are_format_characters() -> None:
    assert {unicodedata.category(chr(code)) for code in INVISIBLE} == {"Cf"}
    bidi_controls = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    joiners_and_marks = {0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF}
    assert bidi_controls | joiners_and_marks <= set(INVISIBLE)
    assert list(INVISIBLE) == sorted(set(INVISIBLE)) and not set(INVISIBLE) & {0, *SEPARATORS}


def _inside(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


@pytest.mark.parametrize(
    ("ranges", "inside", "outside"),
    [
        (
            HAN_RANGES,
            ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL", "KANGXI"),
            ("LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI", "HANGUL", "THAI", "DIGIT", "EMOJI", "FULLWIDTH", "BOPOMOFO", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC FULL STOP"),
        ),
        (
            KANA_RANGES,
            ("HIRAGANA LETTER", "KATAKANA LETTER", "HALFWIDTH KATAKANA LETTER"),
            ("LATIN", "HANGUL", "CJK", "KANGXI", "FULLWIDTH", "BOPOMOFO", "KATAKANA MIDDLE DOT", "IDEOGRAPHIC FULL STOP"),
        ),
        (
            SEA_RANGES,
            ("THAI ", "LAO ", "MYANMAR LETTER", "MYANMAR VOWEL", "MYANMAR CONSONANT", "KHMER"),
            ("LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI", "HANGUL", "CJK", "TIBETAN", "TAI THAM", "HIRAGANA"),
        ),
    ],
)  # fmt: skip
def test_unspaced_scripts_are_whole(
    ranges: tuple[tuple[int, int], ...], inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    for code in range(0x20, 0x40000):
        name = unicodedata.name(chr(code), "")
        if name.startswith(inside):
            assert _inside(code, ranges), f"U+{code:04X} {name}"
        elif name.startswith(outside):
            assert not _inside(code, ranges), f"U+{code:04X} {name}"


def test_every_code_point_has_one_class() -> None:
    ranges = sorted(span for spans in UNSPACED.values() for span in spans)
    assert all(first <= last for first, last in ranges)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ranges))
    assert not any(_inside(code, tuple(ranges)) for code in (0, REPLACEMENT, *SEPARATORS, *INVISIBLE))
    assert not any(_inside(code, tuple(ranges)) for code in range(0xD800, 0xE000))


def test_bits_hold_every_code_point() -> None:
    assert MAX_CODE_POINT == sys.maxunicode and MAX_CODE_POINT.bit_length() == BITS


# --- values -----------------------------------------------------------------------------------------------------------


def any_config() -> st.SearchStrategy[EncoderConfig]:
    return st.builds(
        EncoderConfig,
        max_chars=st.integers(1, 65536),
        max_words=st.integers(1, 4096),
        word_length=st.integers(6, 64),
        letters_only=st.booleans(),
    )


@given(any_config())
def test_json_round_trip_is_exact(config: EncoderConfig) -> None:
    again = EncoderConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config and hash(again) == hash(config)


def test_letters_only_is_told_only_where_it_is_on() -> None:
    assert [EncoderConfig(letters_only=on).to_dict().get("letters_only") for on in (False, True)] == [None, True]


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        EncoderConfig().max_words = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, value) for name in ("max_chars", "max_words", "word_length") for value in (0, -1, 1 << 20, 1.0, "8", None, True, [8])),
        ("max_chars", 65537),
        ("max_words", 4097),
        ("word_length", 65),
        ("word_length", 5),
        *(("letters_only", value) for value in (1, 0, None, "true", [])),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused(field: str, value: Any) -> None:
    message = refusal(EncoderConfig, **{field: value})
    assert message.startswith(f"{field} must be ") and message.endswith(f", not {value!r}.")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("overflow", value) for value in ("truncate", "Wrap", "", None, True, 0, ["wrap"])),
        *(("drop_invisible", value) for value in (False, 1, 1.0, None, "true", [])),
        *(
            (name, value)
            for name in UNSPACED
            for value in ([9, 1], [1], [2, 1, 1], [1.0, 1], [True, True], 2, "21", None)
        ),
    ],
)
def test_a_file_with_another_value_of_a_fixed_setting_is_refused(field: str, value: Any) -> None:
    """Files name them, and readers in other languages rely on them."""
    message = refusal(EncoderConfig.from_dict, {**EncoderConfig().to_dict(), field: value})
    assert message.startswith(f"{field} must be ") and "`retvec-lite train`" in message
    with pytest.raises(TypeError):
        EncoderConfig(**{field: value})


@pytest.mark.parametrize("version", [0, 1, 2, 4, -1, 3.5, "3", None, [3], True, 3.0])
def test_another_contract_version_is_refused_before_its_unknown_fields(version: Any) -> None:
    fields = {**EncoderConfig().to_dict(), "contract_version": version, "something_new": 1}
    message = refusal(EncoderConfig.from_dict, fields)
    assert f"contract version is {version!r}, but" in message and f"reads version {CONTRACT_VERSION} only" in message


@pytest.mark.parametrize("name", sorted(EncoderConfig().to_dict()))
def test_a_missing_field_is_refused(name: str) -> None:
    fields = EncoderConfig().to_dict()
    del fields[name]
    message = refusal(EncoderConfig.from_dict, fields)
    expected = "The contract version is None" if name == "contract_version" else f"The encoder config lacks {name}."
    assert message.startswith(expected)


def test_an_unknown_field_is_refused() -> None:
    message = refusal(EncoderConfig.from_dict, {**EncoderConfig().to_dict(), "lowercase": True})
    assert "unknown fields: 'lowercase'." in message


@given(st.dictionaries(st.sampled_from([*EncoderConfig().to_dict(), "other"]), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())))  # fmt: skip
def test_any_json_object_gives_a_config_or_one_line(changes: dict[str, Any]) -> None:
    try:
        config = EncoderConfig.from_dict({**EncoderConfig().to_dict(), **changes})
    except RetvecLiteError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        assert config.to_dict() == {**EncoderConfig().to_dict(), **changes}
