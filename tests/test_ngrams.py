"""The rules of n-grams: the reference against a plain implementation of its own, the tables, and the exactness of the hash."""

import unicodedata

import numpy as np
import pytest
from contract_cases import HOSTILE, code_points, configs, padded
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.contract import SEPARATORS, EncoderConfig, codepoints, visible_characters
from retvec_lite.errors import RetvecLiteError
from retvec_lite.ngrams import (
    FACTOR,
    LETTER,
    LOWER_CASE,
    LOWER_CASE_END,
    MOST_BUCKETS,
    PRIME,
    NgramConfig,
    fold_table,
    hash_of,
    ngram_buckets,
    ngram_logits,
    table_integers,
)

ENCODER = EncoderConfig(max_chars=40, max_words=8)
FOLDED = {
    code: code + difference for first, last, step, difference in LOWER_CASE for code in range(first, last + 1, step)
}


def plain_ngrams(values: list[int], encoder: EncoderConfig, lengths: range) -> list[str]:
    """N-grams as strings, by way of Python's own strings: split at separators, add marks to each word, cut."""
    visible = visible_characters(values, encoder)
    text = "".join("\0" if code in SEPARATORS else chr(FOLDED.get(code, code)) for code in visible)
    found = []
    for word in text.split("\0"):
        marked = f"\0{word}\0"
        found += [marked[i : i + n] for n in lengths for i in range(len(marked) - n + 1) if word]
    return [ngram for ngram in found if ngram.strip("\0") and "\u02ad" not in ngram]


def plain_hash(ngram: str) -> int:
    """The hash as one polynomial."""
    codes = [1, *map(ord, ngram)]
    return sum(code * FACTOR**power for power, code in enumerate(reversed(codes))) % PRIME


@given(data=st.data(), longest=st.integers(1, 6), buckets=st.integers(16, MOST_BUCKETS))
def test_any_text_has_the_buckets_of_a_plain_implementation(data: st.DataObject, longest: int, buckets: int) -> None:
    shortest = data.draw(st.integers(1, longest))
    encoder = data.draw(configs())
    row = padded(data.draw(code_points(encoder.max_chars)), encoder.max_chars)
    expected = [
        plain_hash(text) % buckets for text in plain_ngrams(row.tolist(), encoder, range(shortest, longest + 1))
    ]
    found = ngram_buckets(row, encoder, NgramConfig(buckets=buckets, longest=longest, shortest=shortest))
    assert sorted(found) == sorted(expected)


def test_the_ngrams_of_one_text() -> None:
    row = codepoints("Ab\u200b  c", ENCODER.max_chars)
    ngrams = ["a", "b", "c", "\0a", "ab", "b\0", "\0c", "c\0", "\0ab", "ab\0", "\0c\0", "\0ab\0"]
    found = ngram_buckets(row, ENCODER, NgramConfig(buckets=MOST_BUCKETS))
    assert sorted(found) == sorted(plain_hash(ngram) % MOST_BUCKETS for ngram in ngrams)
    assert hash_of([0x61]) == FACTOR + 0x61
    assert hash_of([0x10FFFF, 0]) == (FACTOR + 0x10FFFF) % PRIME * FACTOR % PRIME


def test_ngrams_with_an_unknown_letter_are_left_out() -> None:
    row = codepoints("a\u02adb c", ENCODER.max_chars)
    config = NgramConfig(buckets=MOST_BUCKETS, longest=3)
    ngrams = ["a", "b", "c", "\0a", "b\0", "\0c", "c\0", "\0c\0"]
    assert sorted(ngram_buckets(row, ENCODER, config)) == sorted(plain_hash(ngram) % MOST_BUCKETS for ngram in ngrams)


def test_a_text_that_fills_its_row_ends_with_a_mark() -> None:
    encoder = EncoderConfig(max_chars=2, max_words=1)
    found = ngram_buckets(codepoints("ab", 2), encoder, NgramConfig(buckets=MOST_BUCKETS, longest=2))
    assert sorted(found) == sorted(plain_hash(ngram) % MOST_BUCKETS for ngram in ("a", "b", "\0a", "ab", "b\0"))


def test_lower_case_is_python_s_where_it_folds() -> None:
    """Each folded letter is one letter in lower case, of an age that every Python knows; `İ` becomes `i`, without its dot."""
    for code, folded in FOLDED.items():
        assert unicodedata.category(chr(code)) == "Lu", hex(code)
        assert chr(folded) == (chr(code).lower() if code != 0x130 else "i"), hex(code)
        assert folded not in FOLDED, hex(code)
    assert max(FOLDED) < LOWER_CASE_END
    for first, last in ((0x41, 0x5A), (0xC0, 0x17F), (0x386, 0x3AB), (0x400, 0x42F), (0x531, 0x556), (0x1E00, 0x1E95)):
        upper = {code for code in range(first, last + 1) if chr(code).isupper()}
        assert upper <= set(FOLDED), [hex(code) for code in sorted(upper - set(FOLDED))]


def folded(code: int, plain_letters: bool = False) -> int:
    """What the table of graphs makes of a code point."""
    places, levels = fold_table(plain_letters)
    level = int(levels[places[code]])
    return level - int(LETTER) if level > LETTER / 2 else code + level


def test_the_table_of_graphs_folds_the_same() -> None:
    places, levels = fold_table(False)
    assert len(places) == LOWER_CASE_END + 1 and len(levels) <= 16 and len(fold_table(True)[1]) <= 64
    for code in range(LOWER_CASE_END + 1):
        assert folded(code) == FOLDED.get(code, code)


def test_plain_letters_have_no_accents_and_digits_are_letters() -> None:
    text = "Füße, ÁÇÉ łøđ ệ п4ss 0123456789 Ñandú Ёё ΰ"
    plain = "fuße, ace lod e пass oizeasgtbg nandu ёё ΰ"
    assert "".join(chr(folded(ord(char), plain_letters=True)) for char in text) == plain
    for code in range(LOWER_CASE_END + 1):
        found = folded(code, plain_letters=True)
        assert found == folded(found, plain_letters=True), "a second pass changes nothing"
        base = unicodedata.normalize("NFD", chr(code).lower())[0]
        assert found == (ord(base) if base.isascii() and base.isalpha() else found)
        assert found == folded(code) or (found < 0x80 and chr(found).isalpha())


def test_accents_and_digits_change_no_bucket_of_plain_letters() -> None:
    config = NgramConfig(buckets=MOST_BUCKETS, plain_letters=True)
    rows = [codepoints(text, ENCODER.max_chars) for text in ("Free móney", "fr33 m0n3y", "free money")]
    found = [ngram_buckets(row, ENCODER, config) for row in rows]
    assert found[0] == found[1] == found[2] != ngram_buckets(rows[0], ENCODER, NgramConfig(buckets=MOST_BUCKETS))


def modulo(values: np.ndarray, divisor: int) -> np.ndarray:
    """What the graphs compute, in float32."""
    quotient = np.floor((values + np.float32(0.5)) * np.float32(1 / divisor))
    return values - quotient * np.float32(divisor)


def test_float32_finds_every_remainder_of_the_hash() -> None:
    every = np.arange((PRIME - 1) * FACTOR + 0x10FFFF + 1)
    assert every[-1] < 2**22
    found = modulo(every.astype(np.float32), PRIME)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, every % PRIME)


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_float32_finds_every_bucket(step: int) -> None:
    every = np.arange(PRIME)
    values = every.astype(np.float32)
    rng = np.random.default_rng(step)
    for buckets in {
        *range(16, 64),
        *range(16 + rng.integers(step), MOST_BUCKETS, step),
        MOST_BUCKETS - 1,
        MOST_BUCKETS,
    }:
        np.testing.assert_array_equal(modulo(values, int(buckets)), every % buckets)


def test_logits_are_the_sum_over_the_root_of_the_squares() -> None:
    config = NgramConfig(buckets=16, longest=1)
    weights = {
        "ngrams/table": np.arange(32, dtype=np.float32).reshape(16, 2),
        "ngrams/squares": np.arange(16, dtype=np.float32) + 3,
        "ngrams/bias": np.array([0.5, -1.0], np.float32),
    }
    row = codepoints("aA b", ENCODER.max_chars)
    a, b = ((FACTOR + ord(char)) % 16 for char in "ab")
    length = np.sqrt(2 * (a + 3) + b + 3)
    expected = [(4 * a + 2 * b) / length + 0.5, (4 * a + 2 * b + 3) / length - 1.0]
    found = ngram_logits(row, ENCODER, config, weights)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(
        ngram_logits(np.zeros(40, np.int32), ENCODER, config, weights), weights["ngrams/bias"]
    )
    zeros = weights | {"ngrams/squares": np.zeros(16, np.float32)}
    np.testing.assert_allclose(ngram_logits(row, ENCODER, config, zeros)[0], 4 * a + 2 * b + 0.5)


@given(st.lists(st.sampled_from(HOSTILE), min_size=40, max_size=40))
def test_no_int32_value_leaves_the_buckets(values: list[int]) -> None:
    found = ngram_buckets(values, ENCODER, NgramConfig(buckets=17, longest=6))
    assert all(0 <= bucket < 17 for bucket in found)


def test_a_table_becomes_integers_and_scales() -> None:
    scales = np.array([3, 1, 0.25], np.float32) / 128
    integers = np.array([[127, -127, 0], [5, 90, -127]])
    found, steps = table_integers((integers * scales).astype(np.float32))
    np.testing.assert_array_equal(found, integers)
    assert (found.dtype, steps.dtype) == (np.int8, np.float32)
    np.testing.assert_array_equal(steps, scales)
    nothing, one = table_integers(np.zeros((4, 2), np.float32))
    assert not nothing.any() and one.tolist() == [1, 1]


def test_a_config_survives_its_dict() -> None:
    config = NgramConfig(buckets=8192, longest=5)
    assert config.to_dict() == {"buckets": 8192, "longest": 5, "shortest": 1}
    assert NgramConfig.from_dict(config.to_dict()) == config
    assert NgramConfig(buckets=16).longest == 4


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"buckets": 15, "longest": 4, "shortest": 1},
            "buckets of the n-grams must be an integer from 16 to 65521, not 15",
        ),
        ({"buckets": 65522, "longest": 4, "shortest": 1}, "from 16 to 65521, not 65522"),
        ({"buckets": 16.0, "longest": 4, "shortest": 1}, "not 16.0"),
        ({"buckets": "16", "longest": 4, "shortest": 1}, "not '16'"),
        ({"buckets": 16, "longest": 0, "shortest": 1}, "longest of the n-grams must be an integer from 1 to 6, not 0"),
        ({"buckets": 16, "longest": 7, "shortest": 1}, "not 7"),
        ({"buckets": 16, "longest": True, "shortest": 1}, "not True"),
        ({"buckets": 16}, "The n-grams need the fields buckets, longest, shortest, not .'buckets'."),
        ({"buckets": 16, "longest": 4, "shortest": 1, "seed": 1}, "not .'buckets', 'longest', 'shortest', 'seed'."),
    ],
)
def test_bad_fields_are_refused(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        NgramConfig.from_dict(fields)


def test_an_ngram_has_a_row_in_every_codebook() -> None:
    config = NgramConfig(buckets=512, longest=1, codebooks=2)
    codes = np.zeros((PRIME, 2), np.float32)
    codes[hash_of([ord("a")])] = 7, 255
    values = codepoints("ab", 2)
    assert sorted(ngram_buckets(values, ENCODER, config, codes)) == [0, 7, 256, 511]
    weights = {
        "ngrams/table": np.arange(1024, dtype=np.float32).reshape(512, 2),
        "ngrams/squares": np.full(512, 4, np.float32),
        "ngrams/bias": np.zeros(2, np.float32),
        "ngrams/codes": codes,
    }
    np.testing.assert_allclose(ngram_logits(values, ENCODER, config, weights), np.array([1548, 1552]) / 4)


def test_settings_without_codebooks_are_written_as_before_there_were_any() -> None:
    plain, coded = NgramConfig(buckets=512), NgramConfig(buckets=512, codebooks=2)
    assert "codebooks" not in plain.to_dict()
    assert [NgramConfig.from_dict(config.to_dict()) for config in (plain, coded)] == [plain, coded]
    with pytest.raises(RetvecLiteError, match=r"^2 codebooks of n-grams have 512 buckets, not 500\.$"):
        NgramConfig(buckets=500, codebooks=2)
