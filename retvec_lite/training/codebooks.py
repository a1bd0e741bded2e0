"""Codebooks in place of a table of n-grams: when they pay, and how the rows of a solved table become codes.

Residual vector quantization (Chen, Guan and Wang 2010, https://doi.org/10.3390/s101211259): the first codebook holds the 256 rows
that come nearest to the table's, the second those nearest to what is left, and so on. N-grams that say the same about the labels
share a row. The modulo lets them share by chance, which costs many points where the table has far fewer rows than texts have n-grams.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.model.grid import EIGHT_BITS, snap
from retvec_lite.ngrams import CODES, INTEGERS, MOST_CODEBOOKS, PRIME

_CROWDED: Final = PRIME // 2
"""Distinct n-grams from which codebooks can pay: a code for each hash takes 65 kB, however few hashes occur."""

_PASSES: Final = 8
_BATCH: Final = 4096
_SQUARES_SHARE: Final = 0.3
"""Weight of the squares beside the labels: they decide no answer, only the length that all labels are divided by."""


def choose_codebooks(distinct: int, buckets: int, classes: int) -> int:
    """Return how many codebooks to use in place of `buckets` rows; 0 for none.

    They pay where the texts have many n-grams, in many languages for example, and the table has room for few rows. Otherwise, most
    n-grams have a row of their own anyway, or at least the frequent ones do (docs/benchmarks.md). `distinct` says how many there are.
    """
    return codebooks_in(buckets, classes) if is_crowded(distinct, buckets) else 0


def is_crowded(distinct: int, buckets: int) -> bool:
    """Return whether the texts have many n-grams, and rows for less than half of them."""
    return distinct >= _CROWDED and buckets <= distinct // 2


def codebooks_in(buckets: int, classes: int) -> int:
    """Return how many codebooks take the bytes of so many hashed rows."""
    return min(buckets * (classes + 1) // (PRIME + CODES * (classes + 1)), MOST_CODEBOOKS)


def squeeze(weights: Mapping[str, Floats], frequency: Floats, codebooks: int, *, seed: int) -> dict[str, Floats]:
    """Return the weights of nearly the same linear part, with codebooks in place of its table, which has a row for each hash.

    N-grams that occur often in the training texts (`frequency`, float32 `[65521]`) are approximated best.
    """
    table, squares = weights["ngrams/table"], weights["ngrams/squares"]
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
    return {
        **weights,
        "ngrams/table": snap(np.ascontiguousarray(rows[:, :-1]), EIGHT_BITS),
        "ngrams/squares": np.clip(np.rint(rows[:, -1] / scale), -INTEGERS, INTEGERS).astype(np.float32),
        "ngrams/codes": np.stack(codes, axis=1).astype(np.float32),
    }


def _nearest_rows(values: Floats, frequency: Floats, seed: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the cluster of each row, and the clusters' means, float32 `[256, columns]` (k-means, in small batches)."""
    from sklearn.cluster import MiniBatchKMeans

    # In float64 throughout: sums of millions of texts are not exact in float32, and the shares would not add up to 1.
    shares: npt.NDArray[Any] = frequency.astype(np.float64)
    shares /= shares.sum()
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
