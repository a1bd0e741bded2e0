"""Codes of words for the labels of a training: what tells labels apart is kept, in few bytes."""

import numpy as np
import pytest

from retvec_lite.contract import Floats
from retvec_lite.model.product_codes import balanced_order, codes_of, decoded, nearest_codebooks
from retvec_lite.training.meaning_codes import telling_codes, telling_directions, text_meanings

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


def test_directions_are_those_of_the_labels(axis: Floats) -> None:
    texts = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    targets = (texts @ axis > 0).astype(np.int32)
    found = telling_directions(texts, targets, seed=0)
    main = np.linalg.svd(found)[0][:, 0]
    assert abs(main @ axis) > 0.95
    several = telling_directions(texts, np.stack([targets, 0 * targets, 1 - targets], axis=1), seed=0)
    assert abs(np.linalg.svd(several)[0][:, 0] @ axis) > 0.95, "a label that no text has tells nothing"
    assert not telling_directions(texts, 0 * targets, seed=0).any()


def test_three_labels_tell_two_directions() -> None:
    texts = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    spectrum = np.linalg.svd(telling_directions(texts, texts[:, :3].argmax(axis=1), seed=0))[1]
    assert spectrum[2] < 1e-3 * spectrum[1]


def test_what_tells_labels_apart_is_kept_better(axis: Floats) -> None:
    codes, books = telling_codes(VECTORS, EVEN, axis[:, None], seed=0)
    assert codes.shape == (2000, 8) and codes.dtype == np.uint8 and books.shape == (8, 256, 8)
    found = decoded(codes, books)
    # The space is turned: what the axis says is found again by least squares.
    along = VECTORS @ axis
    left = along - found @ np.linalg.lstsq(found, along, rcond=None)[0]
    order = balanced_order(VECTORS.var(axis=0), 8)
    plain = nearest_codebooks(VECTORS[:, order], EVEN, 8, 0)
    others = decoded(codes_of(VECTORS[:, order], plain), plain)
    left_of_others = along - others @ np.linalg.lstsq(others, along, rcond=None)[0]
    assert np.square(left).mean() < 0.1 * np.square(left_of_others).mean()


def test_without_directions_all_count_alike() -> None:
    codes, books = telling_codes(VECTORS, EVEN, np.zeros((64, 1), np.float32), seed=0)
    found = decoded(codes, books)
    turned = np.linalg.lstsq(found, VECTORS, rcond=None)[0]
    assert np.square(VECTORS - found @ turned).mean() < 0.5 * VECTORS.var()
