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
