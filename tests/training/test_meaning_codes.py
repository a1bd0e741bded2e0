"""Codes of words for the texts of a training: what tells these texts apart is kept, in few bytes."""

import numpy as np
import pytest

from retvec_lite.contract import Floats
from retvec_lite.model.product_codes import balanced_order, codes_of, decoded, nearest_codebooks
from retvec_lite.training.meaning_codes import fitting_codes, side_by_side, text_meanings

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


def test_neither_of_two_tables_drowns_the_other_because_its_numbers_are_larger() -> None:
    found = side_by_side(2 * VECTORS, 100 * VECTORS[::-1])
    lengths = np.linalg.norm(found.reshape(2000, 2, 64), axis=2).mean(axis=0)
    np.testing.assert_allclose(lengths, [0.5, 1.0], rtol=1e-4)
    assert found[5, :64] @ VECTORS[5] > 0 < found[5, 64:] @ VECTORS[-6]
