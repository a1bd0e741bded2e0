"""Tables of meaning: every key is found, wrong hits are rare, and what cannot be placed is refused."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meaning_cases import naive_number

from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import look_up
from retvec_lite.training import meaning_table
from retvec_lite.training.meaning_table import build_table, table_bytes

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


@pytest.mark.parametrize(
    ("words", "keys", "message"),
    [
        ([], 1, "needs 1 to 16,383 words"),
        (["a", "a"], 2, "some of them occur twice"),
        (["don't"], 1, 'unlike "don\'t"'),
        (["x" * 17], 1, "1 to 16 plain letters"),
        (["手机"], 1, "plain letters and nothing else"),
        (["a", "b"], 1, "2 to 62,900 keys, not 1"),
        (["a"], 65_000, "1 to 62,900 keys"),
    ],
)
def test_what_does_not_fit_is_refused(words: list[str], keys: int, message: str) -> None:
    with pytest.raises(RetvecLiteError, match=message):
        build_table(words, codes_for(len(words)), BOOKS, keys)


def test_codes_of_another_shape_are_refused() -> None:
    with pytest.raises(RetvecLiteError, match=r"need codes uint8 \[2, 8\]"):
        build_table(["a", "b"], codes_for(3), BOOKS, 2)


def test_keys_that_cannot_be_placed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two words of the same sums stand for keys that never part.
    monkeypatch.setattr(meaning_table, "sums_of", lambda words: np.ones((len(words), 4), np.int32))
    with pytest.raises(RetvecLiteError, match="no free row for some of its 2 keys"):
        build_table(["a", "b"], codes_for(2), BOOKS, 2)
