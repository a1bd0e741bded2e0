"""Tables of meaning: what tells texts apart is kept in few bytes; every key is found, wrong hits are rare."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meaning_cases import naive_number

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import look_up
from retvec_lite.model.meaning_file import balanced_order, codes_of, decoded, nearest_codebooks
from retvec_lite.training import meaning_table
from retvec_lite.training.meaning_table import build_table, fitting_codes, table_bytes, text_meanings

LETTERS = "abcdefghijklmnopqrstuvwxyzжшα"
BOOKS = np.random.default_rng(1).normal(size=(8, 256, 8)).astype(np.float32)


def codes_for(count: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 256, (count, 8)).astype(np.uint8)


def made_up(count: int, seed: int = 0) -> list[str]:
    chosen = random.Random(seed)
    return list(dict.fromkeys("".join(chosen.choices(LETTERS, k=chosen.randint(3, 12))) for _ in range(count)))


def naive_keys(words: list[str], most: int) -> dict[str, int]:
    """Return the keys by the rule, all of them at first: words, then words without one letter, the first words first."""
    short = [
        (word[:place] + word[place + 1 :], number)
        for number, word in enumerate(words)
        if len(word) > 3
        for place in range(len(word))
    ]
    found: dict[str, int] = {}
    for key, number in itertools.chain(((word, number) for number, word in enumerate(words)), short):
        if key not in found and len(found) < most:
            found[key] = number
    return found


@given(
    st.lists(st.text(st.sampled_from("abcxyz"), min_size=1, max_size=9), min_size=1, max_size=60, unique=True),
    st.data(),
)
def test_every_key_finds_its_word(words: list[str], data: st.DataObject) -> None:
    keys = data.draw(st.integers(len(words), 6 * len(words)))
    config, weights = build_table(words, codes_for(len(words)), BOOKS, keys)
    for key, number in naive_keys(words, keys).items():
        assert naive_number(key, config, weights) == number
        assert look_up([tuple(map(ord, key))], config, weights) == [number]


def test_a_large_table_is_placed_in_little_room_and_misses_what_it_lacks() -> None:
    words = made_up(6000)
    config, weights = build_table(words, codes_for(len(words)), BOOKS, 12_000)
    keys = naive_keys(words, 12_000)
    assert all(naive_number(key, config, weights) == number for key, number in keys.items())
    stored = sum(weights[f"meaning/{name}"].size for name in ("displacements", "rows", "codes"))
    assert stored <= 1.02 * table_bytes(len(words), 12_000) and config.rows <= 1.07 * 12_000
    others = [word for word in made_up(60_000, seed=9) if word not in keys]
    hits = sum(naive_number(word, config, weights) >= 0 for word in others)
    # Every row holds a key with one of 1,023 fingerprints; 60 expected, so 5 standard deviations.
    expected = len(others) * len(keys) / config.rows / 1023
    assert abs(hits - expected) < 5 * expected**0.5


def test_the_same_arguments_give_the_same_table() -> None:
    words = made_up(300)
    first, second = (build_table(words, codes_for(len(words)), BOOKS, 700) for _ in range(2))
    assert first[0] == second[0]
    assert all(np.array_equal(value, second[1][name]) for name, value in first[1].items())


def test_codebooks_become_integers_of_the_same_direction() -> None:
    _, weights = build_table(["word"], codes_for(1), BOOKS, 1)
    integers = weights["meaning/codebooks"]
    assert np.abs(integers).max() == 127 and np.array_equal(integers, np.rint(integers))
    np.testing.assert_allclose(integers * np.abs(BOOKS).max() / 127, BOOKS, atol=np.abs(BOOKS).max() / 250)


def test_no_words_are_refused() -> None:
    with pytest.raises(RetvecLiteError, match="needs a word of plain letters"):
        build_table([], codes_for(0), BOOKS, 0)


def test_keys_that_cannot_be_placed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two words of the same sums stand for keys that never part.
    monkeypatch.setattr(meaning_table, "sums_of", lambda words: np.ones((len(words), 4), np.int32))
    with pytest.raises(RetvecLiteError, match="no free row for some of its 2 keys"):
        build_table(["a", "b"], codes_for(2), BOOKS, 2)


# --- codes for the texts of a training ---------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(2000, 64)).astype(np.float32)
EVEN = np.ones(len(VECTORS), np.float32)


@pytest.fixture(scope="module")
def axis() -> Floats:
    """A direction that is none of the axes."""
    found = RNG.normal(size=64)
    return (found / np.linalg.norm(found)).astype(np.float32)


def test_a_text_is_the_sum_of_its_words() -> None:
    ids = np.array([[1, 2, 2, 0], [0, 0, 0, 0], [3, 0, 0, 0]], np.int32)
    vectors = np.concatenate([np.zeros((3, 64), np.float32), VECTORS[:1]])
    vectors[1, 0], vectors[2, 1] = 2.0, 1.5
    found = text_meanings(ids, vectors)
    np.testing.assert_allclose(found[0, :2], [2 / 13**0.5, 3 / 13**0.5], rtol=1e-6)
    assert not found[1].any()
    np.testing.assert_allclose(found[2], VECTORS[0] / np.linalg.norm(VECTORS[0]), rtol=1e-5)


def left_over(along: Floats, found: Floats) -> float:
    """Return the mean square of what is left of numbers once coded vectors, whose space may be turned, explain them."""
    return float(np.square(along - found @ np.linalg.lstsq(found, along, rcond=None)[0]).mean())


@pytest.mark.parametrize("away", [0.0, 5.0])
def test_a_direction_in_which_texts_differ_is_kept_better(axis: Floats, away: float) -> None:
    """What all of them share does not count."""
    texts = RNG.normal(size=(50, 1)).astype(np.float32) * axis + np.float32(away) * VECTORS[:1]
    codes, books = fitting_codes(VECTORS, EVEN, texts, seed=0)
    assert codes.shape == (2000, 8) and codes.dtype == np.uint8 and books.shape == (8, 256, 8)
    order = balanced_order(VECTORS.var(axis=0), 8)
    plain = nearest_codebooks(VECTORS[:, order], EVEN, 8, 0)
    others = decoded(codes_of(VECTORS[:, order], plain), plain)
    along = VECTORS @ axis
    assert left_over(along, decoded(codes, books)) < 0.15 * left_over(along, others)


def test_texts_without_a_known_word_do_not_count(axis: Floats) -> None:
    texts = RNG.normal(size=(50, 1)).astype(np.float32) * axis + VECTORS[:1]
    plain = fitting_codes(VECTORS, EVEN, texts, seed=0)
    found = fitting_codes(VECTORS, EVEN, np.concatenate([np.zeros_like(texts), texts]), seed=0)
    np.testing.assert_array_equal(found[0], plain[0])


@pytest.mark.parametrize("texts", [1, 3])
def test_texts_without_meanings_or_others_ask_for_no_direction(texts: int) -> None:
    codes, books = fitting_codes(VECTORS, EVEN, np.zeros((texts, 64), np.float32), seed=0)
    assert left_over(VECTORS, decoded(codes, books)) < 0.5 * VECTORS.var()


def test_of_more_directions_those_are_kept_in_which_texts_differ() -> None:
    """Two of 128 directions are, however little words differ in them; others fill what is left of 64."""
    vectors = np.concatenate([VECTORS, RNG.normal(size=VECTORS.shape).astype(np.float32)], axis=1)
    vectors[:, [3, 100]] *= np.float32(0.1)
    texts = np.zeros((40, 128), np.float32)
    texts[:20, 3], texts[20:, 100] = RNG.normal(size=(2, 20))
    codes, books = fitting_codes(vectors, EVEN, texts, seed=0)
    assert codes.shape == (2000, 8) and books.shape == (8, 256, 8)
    found = decoded(codes, books)
    for axis in (3, 100):
        assert left_over(vectors[:, axis], found) < 0.2 * vectors[:, axis].var()
    rest = [left_over(vectors[:, axis], found) / vectors[:, axis].var() for axis in range(128) if axis not in (3, 100)]
    assert 0.5 < np.mean(rest) < 0.6


def test_words_without_meanings_get_codes() -> None:
    codes, books = fitting_codes(np.zeros((300, 128), np.float32), EVEN[:300], np.zeros((3, 128), np.float32), seed=0)
    assert np.isfinite(books).all() and not decoded(codes, books).any()


def test_equal_vectors_have_equal_codes_wherever_they_stand() -> None:
    """There are fewer different words than codes: each is a centre, some of them several times."""
    draw = np.random.default_rng(5)
    few = draw.integers(-126, 127, (54, 128)).astype(np.float32)
    rows = np.resize(draw.permutation(54), 3000)
    codes, _ = fitting_codes(few[rows], draw.random(3000).astype(np.float32), few, seed=0)
    assert len(np.unique(codes, axis=0)) == 54
