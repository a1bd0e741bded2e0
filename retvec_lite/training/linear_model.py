"""A solved linear part: weighted n-grams, what words mean and vectors of texts, told apart by a linear classifier.

Each label gets a support vector machine that tells its texts from the rest. These problems are convex, so each has one solution. scikit-learn
solves them by liblinear (Fan et al. 2008, https://www.jmlr.org/papers/v9/fan08a.html).
"""

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.equal_rows import distinct_rows
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS, snap
from retvec_lite.ngrams import CODES, INTEGERS, MOST_CODEBOOKS, PRIME
from retvec_lite.training.linear_features import Features, Matrix

_DIRECTIONS: Final = 64
"""Principal components of these vectors that are read: all of them are no better, and take twice the time."""

_POWER: Final = 3
"""The squared weight of an n-gram is this power of its inverse document frequency: rare n-grams count more than by TF-IDF, whose power is 2."""
_UNKNOWN: Final = 0.5
"""Share of that weight for n-grams that no text has: they make a text longer, and what is known of it count less."""
PENALTY: Final = 0.5
"""LinearSVC's C for one label a text. These three were chosen on validation texts of 22 sets in 14 languages (docs/benchmarks.md)."""
FIRM: Final = 8.0
"""C where one frequent sign tells texts apart, such as `:)` from `:(`: it counts little beside rare words, and must outweigh them all."""
_MEANING_POWER: Final = -0.25
"""The length of a text's meaning beside n-grams, whose length is 1, is this power of half of the texts a label: n-grams of more texts say more
by themselves. Chosen on the same texts, with 5, 10 and 50 a label, and on Banking77's."""

_PENALTY_OF_SEVERAL: Final = 1.0
"""C for several labels a text: the default of LinearSVC."""
_TOLERANCE: Final = 0.1
"""When LinearSVC ends: weights are rounded to 8 bits afterwards, so its default precision of 1e-4 would be wasted time."""
_UNSEEN: Final = -2.0
"""The score of a label without a text: below that of any label that the solver saw."""


class Vectors(NamedTuple):
    """How vectors of texts are read.

    Attributes:
        length: of a typical one beside n-grams, whose length is 1: n-grams lead.
        levels: of the grid that the layer from them to the labels lies on.
    """

    length: float
    levels: int


SENTENCES: Final = Vectors(length=0.5, levels=FOUR_BITS)
"""Those of the sentence network. On 4 bits, as all its layers, files of every recipe compute the same."""
MEANS: Final = Vectors(length=0.2, levels=EIGHT_BITS)
"""Mean word vectors."""


@dataclasses.dataclass(frozen=True)
class LinearModel:
    """A solved linear part, on the grid of the exported file.

    Its weights are `ngrams/table`, `ngrams/squares` and `ngrams/bias`, `ngrams/codes` when the table consists of codebooks,
    `meaning/projection` when it reads what words mean, and `head/logits/kernel` and `head/logits/bias` when it reads vectors of texts.
    """

    weights: dict[str, Floats]
    vectors: Vectors = MEANS

    def scores(self, features: Features) -> Floats:
        """Return the logits of texts, float32 `[texts, classes]`; with codebooks, `features` count hashes."""
        table, squares = self.weights["ngrams/table"], self.weights["ngrams/squares"]
        if "ngrams/codes" in self.weights:
            rows = self.weights["ngrams/codes"].astype(np.int64) + np.arange(len(table) // CODES) * CODES
            table, squares = table[rows].sum(axis=1), squares[rows].sum(axis=1)
        counts = features.counts.matrix()
        found: Floats = (counts @ table) / _lengths(counts, squares)[:, None] + self.weights["ngrams/bias"]
        if features.vectors is not None:
            found = found + features.vectors @ self.weights["head/logits/kernel"] + self.weights["head/logits/bias"]
        if features.meaning is not None:
            found = found + features.meaning @ self.weights["meaning/projection"]
        return found.astype(np.float32)

    def scaled(self, factor: float) -> "LinearModel":
        """Return the model whose logits are `factor` times these, on a grid again."""
        scaled = {name: (value * np.float32(factor)).astype(np.float32) for name, value in self.weights.items()}
        of_vectors = "head/logits/kernel"
        scaled = {
            name: snap(value, self.vectors.levels if name == of_vectors else EIGHT_BITS) if value.ndim == 2 else value
            for name, value in scaled.items()
        }
        as_they_are = {name: self.weights[name] for name in ("ngrams/squares", "ngrams/codes") if name in self.weights}
        return dataclasses.replace(self, weights=scaled | as_they_are)


def fit_linear(
    features: Features,
    targets: Ints,
    classes: int,
    *,
    seed: int,
    vectors: Vectors = MEANS,
    class_weights: Floats | None = None,
    text_weights: Floats | None = None,
    pieces: Floats | None = None,
    penalty: float = PENALTY,
    variants: int = 1,
) -> LinearModel:
    """Solve the linear part. Labels without a text get low scores.

    What `pieces` say of each bucket, float32 `[buckets, 128]`, is read as well. It adds up as n-grams do, so the table takes it in.
    `class_weights` `[classes]` say how much the texts of each label count, and `text_weights` `[texts]` how much each text does. The `penalty` is
    that of wrong answers, where a text has one label. The rows are so many `variants` of each text.
    """
    shares = np.ones(len(targets), np.float32) if text_weights is None else text_weights
    meaning_length = max(len(targets) / variants / classes / 2, 1.0) ** _MEANING_POWER
    scaled, squares = weighted(features.counts.matrix())
    roots = np.sqrt(squares)
    read = [scaled]
    if pieces is not None:
        said = _Centred.of(scaled @ (pieces / roots[:, None]), meaning_length)
        read.append(said.values)
    if features.vectors is not None:
        centred = _Centred.of(features.vectors, vectors.length)
        read.append(centred.values)
    if features.meaning is not None:
        read.append(meaning_length * features.meaning)
    scaled = sparse.hstack(read, "csr") if len(read) > 1 else scaled
    weights = np.ones(classes, np.float32) if class_weights is None else class_weights
    if targets.ndim == 2:
        kernel, bias = _one_against_rest(scaled, targets, classes, seed, weights, shares)
    else:
        from sklearn.svm import LinearSVC

        # Left to choose, scikit-learn takes the primal problem for more texts than features: two to three times slower here.
        solver = LinearSVC(C=penalty, dual=True, random_state=seed, tol=_TOLERANCE)
        kernel, bias = solve_together(solver, scaled, targets, classes, weights[targets] * shares, _UNSEEN)
    kernels = iter(np.split(kernel, np.cumsum([part.shape[1] for part in read[:-1]])))
    table = next(kernels) * roots[:, None]
    if pieces is not None:
        inner = said.basis @ next(kernels)
        table += pieces @ inner
        bias = (bias - said.centre @ inner).astype(np.float32)
    solved = {
        "ngrams/table": snap(np.ascontiguousarray(table), EIGHT_BITS),
        "ngrams/squares": squares,
        "ngrams/bias": bias,
    }
    if features.vectors is not None:
        inner = snap(centred.basis @ next(kernels), vectors.levels)
        solved["head/logits/kernel"] = inner
        solved["head/logits/bias"] = (-centred.centre @ inner).astype(np.float32)
    if features.meaning is not None:
        solved["meaning/projection"] = snap(np.ascontiguousarray(next(kernels) * meaning_length), EIGHT_BITS)
    return LinearModel(solved, vectors)


class _Centred(NamedTuple):
    """Vectors of texts beside n-grams: `values` are what is left of them without the `centre`, along a `basis`."""

    centre: Floats
    basis: Floats
    values: Floats

    @classmethod
    def of(cls, vectors: Floats, length: float) -> "_Centred":
        """Return vectors, float32 `[texts, dimension]`, centred and so that a typical one has this length."""
        centre = vectors.mean(axis=0)
        basis = _main_directions(vectors - centre, length)
        return cls(centre, basis, (vectors - centre) @ basis)


def solve_together(
    solver: Any, scaled: Matrix | Floats, targets: Ints, classes: int, shares: Floats, unseen: float
) -> tuple[Floats, Floats]:
    """Solve for all labels at once; return the kernel `[features, classes]` and the bias `[classes]`, `unseen` for a label without a text.

    Each text counts its share, float32 `[texts]`.
    """
    kernel, bias = np.zeros((scaled.shape[1], classes), np.float32), np.full(classes, unseen, np.float32)
    _solve(solver, scaled, targets, shares)
    # With two labels there is one row, the difference of their scores.
    sign = np.ones(1) if len(solver.coef_) > 1 else np.array([-0.5, 0.5])
    kernel[:, solver.classes_] = (solver.coef_ * sign[:, None]).T
    bias[solver.classes_] = solver.intercept_ * sign
    return kernel, bias


def _one_against_rest(
    scaled: Matrix, targets: Ints, classes: int, seed: int, weights: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    """Return kernel and bias, as `solve_together` does, of a machine for each label that tells texts with it from all others."""
    from sklearn.svm import LinearSVC

    kernel, bias = np.zeros((scaled.shape[1], classes), np.float32), np.full(classes, _UNSEEN, np.float32)
    solver = LinearSVC(C=_PENALTY_OF_SEVERAL, dual=True, random_state=seed, tol=_TOLERANCE)
    for label, wanted in enumerate(targets.T):
        if wanted.min() == wanted.max():
            bias[label] = _UNSEEN if wanted[0] == 0 else -_UNSEEN
            continue
        _solve(solver, scaled, wanted, np.where(wanted, weights[label], 1.0) * shares)
        kernel[:, label], bias[label] = solver.coef_[0], solver.intercept_[0]
    return kernel, bias


def _solve(solver: Any, scaled: Matrix | Floats, targets: Ints, shares: Floats) -> None:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # What is left to gain after the last pass is lost in rounding as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Two texts a label look like a regression to scikit-learn.
        warnings.simplefilter("ignore", UserWarning)
        solver.fit(scaled, targets, sample_weight=shares)


def _main_directions(centred: Floats, length: float) -> Floats:
    """Return the principal components of vectors, float32 `[dimension, components]`, scaled so that a typical one has this length."""
    values, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    spread = max(float(np.sqrt(values.sum())) / length, 1e-6)
    return (directions[:, ::-1][:, :_DIRECTIONS] / spread).astype(np.float32)


def weighted(counts: Matrix) -> tuple[Matrix, Floats]:
    """Return counts as the problem has them, float64 CSR `[texts, buckets]`, each text divided by its length, see `_lengths`, and buckets' squared weights.

    The values are in float64, as liblinear wants them, made in place, beside the same indices: of many texts, each copy takes gigabytes.
    """
    squares = _squares(counts)
    values = counts.data.astype(np.float64)
    values *= np.sqrt(squares)[counts.indices]
    values /= np.repeat(_lengths(counts, squares), np.diff(counts.indptr))
    return sparse.csr_matrix((values, counts.indices, counts.indptr), counts.shape), squares


def _squares(counts: Matrix) -> Floats:
    """Return the squared weight of each bucket, integers from 1 to 127 as float32: a power of its smoothed inverse document frequency."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    inverse = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
    weights = (inverse / inverse.max()) ** _POWER * np.where(frequency > 0, 1.0, _UNKNOWN)
    squares: Floats = np.maximum(np.rint(weights / weights.max() * INTEGERS), 1)
    return squares.astype(np.float32)


def _lengths(counts: Matrix, squares: Floats) -> Floats:
    """Return what the sums of texts are divided by, see `retvec_lite.ngrams.ngram_logits`."""
    lengths: Floats = np.sqrt(np.maximum(counts @ squares, 1.0)).astype(np.float32)
    return lengths


# --- codebooks in place of a table of n-grams ---
#
# Residual vector quantization (Chen, Guan and Wang 2010, https://doi.org/10.3390/s101211259): the first codebook holds the 256 rows that come
# nearest to the table's, the second those nearest to what is left, and so on. N-grams that say the same about the labels share a row. The
# modulo lets them share by chance, which costs many points where the table has far fewer rows than texts have n-grams.

_CROWDED: Final = PRIME // 2
"""Distinct n-grams from which codebooks can pay: a code for each hash takes 65 kB, however few hashes occur."""

_CLUSTERING_PASSES: Final = 8
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
    from threadpoolctl import threadpool_limits

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
        max_iter=_CLUSTERING_PASSES,
        reassignment_ratio=0,
        random_state=seed,
    )
    distinct, places = distinct_rows(values)
    # The other cores are busy with the network: threads on them would mostly wait for each other.
    with threadpool_limits(1, "openmp"):
        found = solver.fit(values[seen], sample_weight=shares[seen]).predict(distinct)[places]
    totals = np.bincount(found, shares, CODES)
    sums = np.stack([np.bincount(found, shares * column, CODES) for column in values.T], axis=1)
    means = np.where(totals[:, None] > 0, sums / np.maximum(totals, 1e-30)[:, None], solver.cluster_centers_)
    return found, means.astype(np.float32)
