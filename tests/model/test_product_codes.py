"""Product codes: the nearest rows, and codebooks of k-means."""

import numpy as np
import pytest

from retvec_lite.model.meaning_file import balanced_order, codes_of, decoded, nearest_codebooks

EVEN = np.ones(1500, np.float32)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(1500, 12)) @ rng.normal(size=(12, 64)) / 12).astype(np.float32)


@pytest.mark.parametrize("subspaces", [8, 16])
def test_codes_are_those_of_the_nearest_rows(vectors: np.ndarray, subspaces: int) -> None:
    width = 64 // subspaces
    books = np.random.default_rng(1).normal(0, 0.3, (subspaces, 256, width)).astype(np.float32)
    codes = codes_of(vectors, books)
    assert codes.shape == (1500, subspaces) and codes.dtype == np.uint8
    parts = vectors.reshape(-1, subspaces, width)
    distances = np.square(parts[:, :, None] - books[None]).sum(axis=-1)
    chosen = np.take_along_axis(distances, codes[..., None].astype(int), axis=-1)[..., 0]
    np.testing.assert_allclose(chosen, distances.min(axis=-1), atol=1e-5)
    np.testing.assert_array_equal(decoded(codes, books)[7, width : 2 * width], books[1, codes[7, 1]])


def test_k_means_is_nearer_than_words_drawn_by_chance(vectors: np.ndarray) -> None:
    books = nearest_codebooks(vectors, EVEN, 8, 0)
    np.testing.assert_array_equal(books, nearest_codebooks(vectors, EVEN, 8, 0))
    drawn = vectors.reshape(-1, 8, 8)[:256].transpose(1, 0, 2)
    errors = [np.square(decoded(codes_of(vectors, each), each) - vectors).mean() for each in (books, drawn)]
    assert errors[0] < 0.7 * errors[1]


def test_few_words_are_exact(vectors: np.ndarray) -> None:
    books = nearest_codebooks(vectors[:200], EVEN[:200], 8, 0)
    np.testing.assert_array_equal(decoded(codes_of(vectors[:200], books), books), vectors[:200])


def test_words_that_are_alike_need_no_more_centres(vectors: np.ndarray) -> None:
    twins = np.repeat(vectors[:100], 5, axis=0)
    books = nearest_codebooks(twins, EVEN[:500], 8, 0)
    np.testing.assert_allclose(decoded(codes_of(twins, books), books), twins, atol=0.05)


def test_subspaces_have_as_much_to_say() -> None:
    order = balanced_order(np.array([8.0, 4.0, 2.0, 1.0], np.float32), 2)
    assert order == [0, 3, 1, 2] and sorted(balanced_order(np.zeros(64, np.float32), 8)) == list(range(64))


@pytest.mark.parametrize("count", [1, 7, 40])
def test_equal_vectors_have_equal_codes_wherever_they_stand(count: int) -> None:
    """Each vector lies in the middle between two centres, so that the last bit decides."""
    draw = np.random.default_rng(count)
    few, away = draw.normal(size=(2, count, 64)).astype(np.float32)
    books = np.resize(np.concatenate([few + away, few - away]), (256, 64)).reshape(256, 8, 8).transpose(1, 0, 2)
    rows = draw.integers(0, count, 1999)
    codes = codes_of(few[rows], np.ascontiguousarray(books))
    assert len(np.unique(codes, axis=0)) == len(np.unique(rows))
