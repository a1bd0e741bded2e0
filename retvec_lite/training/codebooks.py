"""Squeeze the table of a solved linear part: from a row for each hash to a code for each hash and a few codebooks.

Residual vector quantization (Chen, Guan and Wang 2010, https://doi.org/10.3390/s101211259): the first codebook holds the 256 rows
that come nearest to the table's, the second those nearest to what is left, and so on. N-grams that say the same about the labels
share a row. The modulo lets them share by chance, which costs many points where the table has far fewer rows than texts have n-grams.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.model.grid import EIGHT_BITS, snap
from retvec_lite.ngrams import CODES, INTEGERS
from retvec_lite.training.linear import LinearModel

_PASSES: Final = 8
_BATCH: Final = 4096
_SQUARES_SHARE: Final = 0.3
"""Weight of the squares beside the labels: they decide no answer, only the length that all labels are divided by."""


def squeeze(model: LinearModel, frequency: Floats, codebooks: int, *, seed: int) -> LinearModel:
    """Return nearly the same model with codebooks in place of its table.

    Args:
        model: with a row for each hash.
        frequency: how often each hash occurs in the training texts, float32 `[65521]`: frequent n-grams are approximated best.
        codebooks: how many.
        seed: of the clustering.
    """
    table, squares = model.weights["ngrams/table"], model.weights["ngrams/squares"]
    typical = float(np.sqrt(np.square(table).sum(axis=1).mean())) or 1.0
    scale = np.float32(_SQUARES_SHARE * typical / INTEGERS)
    rest = np.concatenate([table, squares[:, None] * scale], axis=1)
    books, codes = [], []
    for book in range(codebooks):
        found, rows = _nearest_rows(rest, frequency, seed + book)
        rest = rest - rows[found]
        books.append(rows)
        codes.append(found)
    rows = np.concatenate(books)
    weights = {
        **model.weights,
        "ngrams/table": snap(np.ascontiguousarray(rows[:, :-1]), EIGHT_BITS),
        "ngrams/squares": np.clip(np.rint(rows[:, -1] / scale), -INTEGERS, INTEGERS).astype(np.float32),
        "ngrams/codes": np.stack(codes, axis=1).astype(np.float32),
    }
    return LinearModel(weights)


def _nearest_rows(values: Floats, frequency: Floats, seed: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the cluster of each row, and the clusters' means, float32 `[256, columns]` (k-means, in small batches)."""
    from sklearn.cluster import MiniBatchKMeans

    shares: npt.NDArray[Any] = frequency.astype(np.float64) / frequency.sum()
    seen = np.flatnonzero(shares)
    start = np.random.default_rng(seed).choice(len(values), CODES, replace=False, p=shares)
    solver = MiniBatchKMeans(
        CODES,
        init=values[start],
        n_init=1,
        batch_size=_BATCH,
        max_iter=_PASSES,
        reassignment_ratio=0,
        random_state=seed,
    )
    found = solver.fit(values[seen], sample_weight=shares[seen]).predict(values)
    totals = np.bincount(found, shares, CODES)
    sums = np.stack([np.bincount(found, shares * column, CODES) for column in values.T], axis=1)
    means = np.where(totals[:, None] > 0, sums / np.maximum(totals, 1e-30)[:, None], solver.cluster_centers_)
    return found, means.astype(np.float32)


def share_rows(
    rows: Floats, frequency: Floats, codebooks: int, *, rounds: int = 3, seed: int = 0
) -> tuple[Floats, Floats]:
    """Approximate each row by the sum of a row of every codebook: residual quantization, then one codebook after the other again.

    Choosing the codes of one codebook anew while the others stay (iterated conditional modes, Babenko and Lempitsky 2014,
    https://doi.org/10.1109/CVPR.2014.124, section 3) takes off a part of the error that the residuals leave.

    Args:
        rows: float32 `[65521, rank]`.
        frequency: how much each row counts, float32 `[65521]`.
        codebooks: how many.
        rounds: how often each codebook is fitted after the first time.
        seed: of the first clusters.

    Returns:
        The codebooks, float32 `[256 * codebooks, rank]`, and the codes, float32 `[65521, codebooks]`.
    """
    rng = np.random.default_rng(seed)
    counts = frequency.astype(np.float64)
    shares: npt.NDArray[Any] = counts / counts.sum()
    books = np.zeros((codebooks, CODES, rows.shape[1]), np.float32)
    codes = np.zeros((codebooks, len(rows)), np.int64)
    rest = rows.astype(np.float32)
    for turn in range(1 + rounds):
        for book in range(codebooks):
            if turn == 0:
                books[book] = rest[rng.choice(len(rows), CODES, replace=False, p=shares)]
            else:
                rest = rest + books[book][codes[book]]
            for _ in range(_PASSES if turn == 0 else 2):
                codes[book] = _nearest(rest, books[book])
                books[book] = _means(rest, shares, codes[book], books[book])
            codes[book] = _nearest(rest, books[book])
            rest = rest - books[book][codes[book]]
    return books.reshape(-1, rows.shape[1]), codes.T.astype(np.float32)


def _nearest(rows: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    """Return the nearest centre of each row, int64 `[rows]`."""
    half = np.square(centres).sum(axis=1) / np.float32(2)
    parts = np.array_split(rows, len(rows) // _BATCH + 1)
    return np.concatenate([(part @ centres.T - half).argmax(axis=1) for part in parts])


def _means(rows: Floats, shares: npt.NDArray[Any], codes: npt.NDArray[np.int64], before: Floats) -> Floats:
    """Return the mean of the rows of each code, weighted by their shares; an unused code keeps its row."""
    totals = np.bincount(codes, shares, CODES)
    sums = np.stack([np.bincount(codes, shares * column, CODES) for column in rows.T], axis=1)
    used = totals > 0
    means = before.copy()
    means[used] = sums[used] / totals[used, None]
    return means
