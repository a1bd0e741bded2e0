"""The linear part of a classifier: hashed n-grams, weighted by TF-IDF, solved as a support vector machine.

The problem is convex, so it has one solution. scikit-learn's LinearSVC finds it (liblinear, Fan et al. 2008,
https://www.jmlr.org/papers/v9/fan08a.html), one label against the rest.
"""

import dataclasses
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import tensorflow as tf
from scipy import sparse

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.model.encoder_graph import sanitize
from retvec_lite.model.grid import EIGHT_BITS, snap
from retvec_lite.model.ngram_graph import find_ngrams
from retvec_lite.ngrams import CODES, INTEGERS, PRIME, NgramConfig
from retvec_lite.runtime.interpreters import codepoint_rows

Matrix = Any  # scipy.sparse.csr_matrix, float32

Kind = tuple[int, int]
"""The shortest and the longest n-grams that are read."""

KINDS: Final[tuple[Kind, ...]] = ((1, 4), (3, 5))
"""What is tried with few labels: the first suits intents and scripts without spaces, the second topics of long texts. Many labels
are usually intents, and get the first."""

_CODES_AT_ONCE: Final = 2**18
_EMBEDDING_SHARE: Final = 0.2
"""Length of a typical mean word vector beside n-grams, whose length is 1: n-grams lead."""

_PENALTY: Final = 1.0
"""LinearSVC's C: its default."""

_UNSEEN: Final = -2.0
"""The score of a label without a text: below that of any label that the solver saw."""


@dataclasses.dataclass(frozen=True)
class Features:
    """What the linear part reads of texts.

    Attributes:
        counts: how often each bucket occurs in each text, float32 CSR `[texts, buckets]`.
        means: the mean word vector of each text, float32 `[texts, dimension]`; None where only n-grams are read.
    """

    counts: Matrix
    means: Floats | None = None

    def __getitem__(self, rows: Any) -> "Features":
        return Features(self.counts[rows], None if self.means is None else self.means[rows])

    def joined(self, others: Sequence["Features"]) -> "Features":
        """Return the texts of these features, then those of others."""
        means = None if self.means is None else np.concatenate([self.means, *(other.means for other in others)])
        return Features(sparse.vstack([self.counts, *(other.counts for other in others)], format="csr"), means)


@dataclasses.dataclass(frozen=True)
class LinearModel:
    """A solved linear part, on the grid of the exported file.

    Attributes:
        weights: `ngrams/table`, `ngrams/squares` and `ngrams/bias`, `ngrams/codes` when the table consists of codebooks, and
            `head/logits/kernel` and `head/logits/bias` when it reads word vectors.
    """

    weights: dict[str, Floats]

    def scores(self, features: Features) -> Floats:
        """Return the logits of texts, float32 `[texts, classes]`; with codebooks, `features` count hashes."""
        table, squares = self.weights["ngrams/table"], self.weights["ngrams/squares"]
        if "ngrams/codes" in self.weights:
            rows = self.weights["ngrams/codes"].astype(np.int64) + np.arange(len(table) // CODES) * CODES
            table, squares = table[rows].sum(axis=1), squares[rows].sum(axis=1)
        lengths = _lengths(features.counts, squares)
        found: Floats = (features.counts @ table) / lengths[:, None] + self.weights["ngrams/bias"]
        if features.means is not None:
            found = found + features.means @ self.weights["head/logits/kernel"] + self.weights["head/logits/bias"]
        return found.astype(np.float32)

    def scaled(self, factor: float) -> "LinearModel":
        """Return the model whose logits are `factor` times these, on a grid again."""
        return LinearModel({name: _scaled(name, value, factor) for name, value in self.weights.items()})


def _scaled(name: str, value: Floats, factor: float) -> Floats:
    if name in ("ngrams/squares", "ngrams/codes"):
        return value
    scaled: Floats = (value * np.float32(factor)).astype(np.float32)
    return snap(scaled, EIGHT_BITS) if scaled.ndim == 2 else scaled


def count_ngrams(texts: Sequence[str], encoder: EncoderConfig, config: NgramConfig) -> Matrix:
    """Return how often each bucket occurs in each text, float32 CSR `[texts, buckets]`, by the graph that is exported."""
    graph = _graph(encoder, config)
    at_once = max(1, _CODES_AT_ONCE // encoder.max_chars)
    parts = []
    for start in range(0, len(texts), at_once):
        buckets, present = graph(codepoint_rows(texts[start : start + at_once], encoder.max_chars))
        buckets, present = buckets.numpy(), present.numpy() > 0
        rows = np.repeat(np.arange(len(buckets)), present.sum(axis=1))
        columns = buckets[present].astype(np.int64)
        ones = np.ones(len(rows), np.float32)
        parts.append(sparse.csr_matrix((ones, (rows, columns)), shape=(len(buckets), config.buckets)))
    return sparse.vstack(parts, format="csr")


def count_hashes(texts: Sequence[str], encoder: EncoderConfig, kind: Kind) -> Matrix:
    """Return how often each n-gram's hash occurs in each text, float32 CSR `[texts, 65521]`."""
    shortest, longest = kind
    return count_ngrams(texts, encoder, NgramConfig(buckets=PRIME, longest=longest, shortest=shortest))


def fold(hashes: Matrix, buckets: int) -> Matrix:
    """Return how often each bucket occurs, from counts of hashes, CSR `[texts, 65521]`: as `count_ngrams` for so many buckets."""
    columns = np.arange(PRIME)
    ones = np.ones(PRIME, np.float32)
    return hashes @ sparse.csr_matrix((ones, (columns, columns % buckets)), shape=(PRIME, buckets))


def mean_vectors(ids: Ints, vectors: Any) -> Floats:
    """Return the mean word vector of each text, float32 `[texts, dimension]`; zeros for a text without words.

    Args:
        ids: int32 `[texts, max_words]`, 0 for the empty slot.
        vectors: float16 `[distinct words, dimension]` by id, zeros for id 0.
    """
    texts, slots = ids.shape
    shape = (texts, len(vectors))
    used = sparse.csr_matrix(
        (np.ones(ids.size, np.float32), ids.reshape(-1), np.arange(texts + 1) * slots), shape=shape
    )
    counts = np.maximum((ids != 0).sum(axis=1, keepdims=True), 1)
    means: Floats = ((used @ vectors.astype(np.float32)) / counts).astype(np.float32)
    return means


def fit_linear(
    features: Features, targets: Ints, classes: int, *, seed: int, weights: Floats | None = None
) -> LinearModel:
    """Solve the linear part.

    Args:
        features: of the training texts.
        targets: see `Task.targets`.
        classes: number of labels; those without a text get low scores.
        seed: of the solver's order.
        weights: float32 `[classes]`, how much the texts of each label count, see `class_weights`; None for all the same.
    """
    squares = _squares(features.counts)
    roots = np.sqrt(squares)
    scaled = sparse.diags(1 / _lengths(features.counts, squares)) @ features.counts @ sparse.diags(roots)
    centre, spread = np.zeros(0, np.float32), 1.0
    if features.means is not None:
        centre = features.means.mean(axis=0)
        spread = float(np.sqrt(np.square(features.means - centre).sum(axis=1).mean())) / _EMBEDDING_SHARE
        scaled = sparse.hstack([scaled, (features.means - centre) / max(spread, 1e-6)])
    kernel, bias = _one_against_rest(scaled.tocsr().astype(np.float32), targets, classes, seed, weights)
    buckets = features.counts.shape[1]
    solved = {
        "ngrams/table": snap(np.ascontiguousarray(kernel[:buckets] * roots[:, None]), EIGHT_BITS),
        "ngrams/squares": squares,
        "ngrams/bias": bias,
    }
    if features.means is not None:
        inner = snap(np.ascontiguousarray(kernel[buckets:] / np.float32(max(spread, 1e-6))), EIGHT_BITS)
        solved["head/logits/kernel"] = inner
        solved["head/logits/bias"] = (-centre @ inner).astype(np.float32)
    return LinearModel(solved)


def _one_against_rest(
    scaled: Matrix, targets: Ints, classes: int, seed: int, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Return the kernel `[features, classes]` and the bias `[classes]` that tell each label from all others."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    kernel = np.zeros((scaled.shape[1], classes), np.float32)
    bias = np.full(classes, _UNSEEN, np.float32)
    # The weights are rounded to 8 bits afterwards, so the default precision of 1e-4 would be wasted time.
    solver = LinearSVC(C=_PENALTY, random_state=seed, tol=0.1)
    with warnings.catch_warnings():
        # What is left to gain after the last pass is lost in rounding as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Two texts a label look like a regression to scikit-learn.
        warnings.simplefilter("ignore", UserWarning)
        if targets.ndim == 2:
            for label, wanted in enumerate(targets.T):
                if wanted.min() == wanted.max():
                    bias[label] = _UNSEEN if wanted[0] == 0 else -_UNSEEN
                    continue
                importance = None if weights is None else np.where(wanted, weights[label], 1.0)
                solver.fit(scaled, wanted, sample_weight=importance)
                kernel[:, label], bias[label] = solver.coef_[0], solver.intercept_[0]
            return kernel, bias
        solver.fit(scaled, targets, sample_weight=None if weights is None else weights[targets])
    # With two labels there is one row, for the second of them.
    rows = solver.coef_ if len(solver.coef_) > 1 else np.concatenate([-solver.coef_, solver.coef_])
    shifts = (
        solver.intercept_ if len(solver.intercept_) > 1 else np.concatenate([-solver.intercept_, solver.intercept_])
    )
    kernel[:, solver.classes_], bias[solver.classes_] = rows.T, shifts
    return kernel, bias


def _squares(counts: Matrix) -> Floats:
    """Return the squared weight of each bucket, integers from 1 to 127 as float32: its smoothed inverse document frequency."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    inverse = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
    squares: Floats = np.maximum(np.rint((inverse / inverse.max()) ** 2 * INTEGERS), 1)
    return squares.astype(np.float32)


def _lengths(counts: Matrix, squares: Floats) -> Floats:
    """Return what the sums of texts are divided by, see `retvec_lite.ngrams.ngram_logits`."""
    lengths: Floats = np.sqrt(np.maximum(counts @ squares, 1.0)).astype(np.float32)
    return lengths


@functools.cache
def _graph(encoder: EncoderConfig, config: NgramConfig) -> Callable[[Ints], Any]:
    graph: Callable[[Ints], Any] = tf.function(
        lambda rows: find_ngrams(sanitize(rows, encoder), config),
        input_signature=[tf.TensorSpec([None, encoder.max_chars], tf.int32)],
        autograph=False,
    )
    return graph
