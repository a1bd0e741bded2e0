"""Product codes: vectors of words as a few bytes each (Jegou, Douze and Schmid 2011, https://doi.org/10.1109/TPAMI.2010.57).

The numbers of a vector are cut into subspaces, and a byte names one of 256 centres in each of them.
"""

import warnings
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.ngrams import CODES

Codes = npt.NDArray[np.uint8]

_PASSES: Final = 10
"""Passes of k-means at most: more made codes no better."""
_TINY: Final = 1e-12


def balanced_order(variances: Floats, subspaces: int) -> list[int]:
    """Order axes so that consecutive groups of them, one a subspace, have about as much to say.

    The larger ones first, each goes to the subspace whose product of variances is the smallest so far (Ge et al. 2013, Optimized
    product quantization, https://doi.org/10.1109/CVPR.2013.379, section 3.2).

    Args:
        variances: of each axis, float32 `[width]`.
        subspaces: how many bytes a vector has; a divisor of the width.

    Returns:
        The places of all axes.
    """
    logs = np.log(np.maximum(variances, _TINY))
    logs -= logs.min()
    groups: list[list[int]] = [[] for _ in range(subspaces)]
    for axis in np.argsort(-variances, kind="stable").tolist():
        room = [group for group in groups if len(group) < len(variances) // subspaces]
        min(room, key=lambda group: float(logs[group].sum())).append(axis)
    return [axis for group in groups for axis in group]


def nearest_codebooks(vectors: Floats, importance: Floats, subspaces: int, seed: int) -> Floats:
    """Return the codebooks of k-means in each subspace: float32 `[subspaces, 256, width / subspaces]`.

    Args:
        vectors: float32 `[words, width]`. Up to 256 of them are centres themselves.
        importance: how much each of them counts, float32 `[words]`, above 0.
        subspaces: how many bytes a vector has.
        seed: of the first centres.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    books = np.zeros((subspaces, CODES, vectors.shape[1] // subspaces), np.float32)
    if len(vectors) <= CODES:
        books[:, : len(vectors)] = parts_of(vectors, subspaces)
        return books
    shares = importance.astype(np.float64)
    start = np.random.default_rng((seed, CODES)).choice(len(vectors), CODES, replace=False, p=shares / shares.sum())
    for book, part in zip(books, parts_of(vectors, subspaces), strict=True):
        solver = KMeans(CODES, init=part[start], n_init=1, max_iter=_PASSES, tol=0)
        # Threads would add up in an order of chance.
        with threadpool_limits(1), warnings.catch_warnings():
            # Many vectors may share a part: then fewer centres are needed.
            warnings.simplefilter("ignore", ConvergenceWarning)
            book[:] = solver.fit(part, sample_weight=importance).cluster_centers_
    return books


def codes_of(vectors: Floats, codebooks: Floats) -> Codes:
    """Return the nearest row of each codebook: uint8 `[words, subspaces]`."""
    found = np.empty((len(vectors), len(codebooks)), np.uint8)
    for place, (part, book) in enumerate(zip(parts_of(vectors, len(codebooks)), codebooks, strict=True)):
        # |x - c|^2 without |x|^2, which is the same for all c.
        found[:, place] = (np.square(book).sum(axis=1) - 2 * (part @ book.T)).argmin(axis=1)
    return found


def decoded(codes: Codes, codebooks: Floats) -> Floats:
    """Return what codes stand for: float32 `[words, width]`."""
    return np.concatenate([book[codes[:, place]] for place, book in enumerate(codebooks)], axis=1)


def parts_of(vectors: Floats, subspaces: int) -> Floats:
    """Return the vectors in each subspace: float32 `[subspaces, words, width / subspaces]`."""
    return np.ascontiguousarray(vectors.reshape(len(vectors), subspaces, -1).transpose(1, 0, 2))
