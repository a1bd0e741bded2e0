"""The reference of meaning: words, look-up, the text's vector."""

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meaning_cases import WORDS, naive_look_up, naive_vector, table

from retvec_lite.contract import EncoderConfig, codepoints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import (
    MeaningConfig,
    check_weights,
    factors,
    is_meaning_letter,
    letter_table,
    look_up,
    meaning_logits,
    meaning_shapes,
    meaning_words,
    text_vector,
    word_limit,
)
from retvec_lite.ngrams import LOWER_CASE_END, folded_letters

ENCODER = EncoderConfig(max_chars=120)


def words_of(text: str, encoder: EncoderConfig = ENCODER) -> list[str]:
    return ["".join(map(chr, word)) for word in meaning_words(codepoints(text, encoder.max_chars), encoder)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Where is my PARCEL?", ["where", "is", "my", "parcel"]),
        ("don't — e-mail, naïve café", ["don", "t", "e", "mail", "naive", "cafe"]),
        ("2024 @home a|b", ["zoza", "ahome", "alb"]),
        ("abcdefghijklmnop abcdefghijklmnopq x", ["abcdefghijklmnop", "x"]),
        ("Fгее ｈｅｒｅ f.r.e.e s\u200bo", ["free", "here", "free", "so"]),
        ("iPhone手机 한국 great👍", ["iphone", "great"]),
        ("Где посылка? Φλέγμα हिन्दी", ["где", "посылка", "φλέγμα", "हिन्दी"]),
    ],
)
def test_words_are_runs_of_plain_letters(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_words_beyond_the_limit_are_not_read() -> None:
    assert word_limit(512) == 102 and word_limit(3) == 1
    assert len(words_of("a1 b " * 30, EncoderConfig(max_chars=120))) == 24
    # A run that is too long takes its place.
    text = "abcdefghijklmnopq " + "ab " * 11
    assert words_of(text, EncoderConfig(max_chars=50)) == ["ab"] * 9


def test_the_letter_table_folds_and_tells_letters() -> None:
    found = letter_table()
    assert len(found.places) == LOWER_CASE_END + 1 and len(found.levels) <= 64
    for code in range(LOWER_CASE_END + 1):
        level, letter = found.levels[found.places[code]], found.letters[found.places[code]]
        folded = int(level - 2**21) if level > 2**20 else code + int(level)
        assert folded == folded_letters(True).get(code, code)
        assert letter == is_meaning_letter(folded)


def test_letters_by_example() -> None:
    for letter in "aßжяαωكشहნກ":
        assert is_meaning_letter(ord(letter)), letter
    for other in " '-_.,#0\u2019手한\U0001f600\ufffd":
        assert not is_meaning_letter(ord(other)), other


def test_factors_are_roots_that_never_repeat() -> None:
    found = factors()
    assert found.shape == (16, 4) and found.min() >= 1 and found.max() <= 126
    assert all(len(set(column)) == 16 for column in found.T.tolist())
    # The largest sum plus the largest step times the largest displacement.
    assert 2048 * int(found.sum(axis=0).max()) + 255 * 251 < 2**22


def typos(word: str) -> st.SearchStrategy[str]:
    letters, places = st.sampled_from("abcxyz"), st.integers(0, len(word) - 1)
    return st.one_of(
        st.builds(lambda place: word[:place] + word[place + 1 :], places),
        st.builds(lambda place, letter: word[:place] + letter + word[place:], places, letters),
        st.builds(lambda place, letter: word[:place] + letter + word[place + 1 :], places, letters),
    )


@given(
    st.sampled_from(["parcel", "terrible", "arrived", "yesterday"]).flatmap(
        lambda word: st.tuples(st.just(word), typos(word))
    )
)
def test_one_typo_is_undone(pair: tuple[str, str]) -> None:
    word, typed = pair
    config, weights = table(keys=250)
    assert WORDS[look_up([tuple(map(ord, typed))], config, weights)[0]] == word


@given(st.text(st.sampled_from("abcdefghiotw"), max_size=16))
def test_look_up_is_that_of_the_contract(word: str) -> None:
    config, weights = table()
    assert look_up([tuple(map(ord, word))], config, weights) == [naive_look_up(word, config, weights)]


# Single letters would be joined by rule 2d.
@given(
    st.lists(
        st.sampled_from([*(word for word in WORDS if len(word) > 1), "prcel", "unknown", "'", "1", "q" * 20]),
        max_size=12,
    ).map(" ".join)
)
def test_the_vector_is_the_sum_of_the_words(text: str) -> None:
    config, weights = table()
    row = codepoints(text, ENCODER.max_chars)
    # Fold the test's own way: its texts have no other marks.
    plain = unicodedata.normalize("NFC", text).replace("1", "i")[: ENCODER.max_chars]
    runs = [run for run in re.split(r"[ '\0]+", plain) if run][: word_limit(ENCODER.max_chars)]
    right = naive_vector([run for run in runs if len(run) <= 16], config, weights)
    found = text_vector(row, ENCODER, config, weights)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, right, atol=1e-6)
    np.testing.assert_allclose(
        meaning_logits(row, ENCODER, config, weights), right @ weights["meaning/projection"], atol=1e-5
    )


def test_config_round_trip_and_limits() -> None:
    config = MeaningConfig(words=9, rows=23, displacements=10)
    assert MeaningConfig.from_dict(config.to_dict()) == config
    assert meaning_shapes(config, 3)["meaning/rows"] == (23, 3)
    for wrong in ({"words": 0}, {"words": 2**14 - 1 + 1}, {"rows": True}, {"displacements": 65_537}):
        with pytest.raises(RetvecLiteError, match="must be an integer"):
            MeaningConfig(**{**config.to_dict(), **wrong})
    for fields in ({**config.to_dict(), "form": 2}, {"words": 3}, [1], None):
        with pytest.raises(RetvecLiteError, match="Use the release that wrote the file"):
            MeaningConfig.from_dict(fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("rows", 256), ("rows", 0.5), ("codes", -1), ("codebooks", 128), ("displacements", 300)]
)
def test_damaged_weights_are_refused(name: str, value: float) -> None:
    config, weights = table()
    check_weights(config, weights)
    damaged = weights[f"meaning/{name}"].copy()
    damaged.flat[0] = value
    with pytest.raises(RetvecLiteError, match=f"meaning/{name} needs whole numbers"):
        check_weights(config, {**weights, f"meaning/{name}": damaged})


def test_rows_that_name_missing_words_are_refused() -> None:
    config, weights = table()
    with pytest.raises(RetvecLiteError, match="meaning/rows names words from 3 on"):
        check_weights(MeaningConfig(words=3, rows=config.rows, displacements=config.displacements), weights)
