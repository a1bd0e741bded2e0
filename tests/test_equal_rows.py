"""Products of equal rows are equal, wherever they stand. Plain products are not with OpenBLAS's kernels for Haswell and Zen (`OPENBLAS_CORETYPE=Haswell make test`)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.equal_rows import distinct_rows, products


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.5]), min_size=3, max_size=3), max_size=12))
def test_different_rows_stand_once_in_their_order(given_rows: list[list[float]]) -> None:
    rows = np.array(given_rows, np.float32).reshape(-1, 3)
    found, places = distinct_rows(rows)
    expected = list(dict.fromkeys(map(tuple, (rows + np.float32(0)).tolist())))
    assert [tuple(row) for row in found.tolist()] == expected
    np.testing.assert_array_equal(found[places], rows)


@pytest.mark.parametrize("width", [1, 8, 64, 128])
def test_equal_rows_have_equal_products_wherever_they_stand(width: int) -> None:
    draw = np.random.default_rng(width)
    base, other = draw.normal(size=(2, 40, width)).astype(np.float32)
    rows, columns = draw.integers(0, 40, (2, 777))
    found = products(base[rows], other[columns])
    for places in (np.flatnonzero(rows == row) for row in range(40)):
        np.testing.assert_array_equal(found[places], found[places[:1]].repeat(len(places), axis=0))
    for places in (np.flatnonzero(columns == column) for column in range(40)):
        np.testing.assert_array_equal(found[:, places], found[:, places[:1]].repeat(len(places), axis=1))
    np.testing.assert_allclose(found, base[rows] @ other[columns].T, atol=1e-4)


def test_nothing_has_no_products() -> None:
    assert products(np.zeros((0, 4), np.float32), np.ones((2, 4), np.float32)).shape == (0, 2)
