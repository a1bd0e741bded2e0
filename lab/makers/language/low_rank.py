"""Fit a linear part of low rank: a few numbers for each n-gram, and one dense layer from their sum to the labels.

With many labels, a row of the table for each of them takes too much room. fastText (Joulin et al. 2017,
https://arxiv.org/abs/1607.01759, section 2.1) shares a hidden layer among the labels; so does this multinomial logistic regression.
It sees millions of texts, so it hashes whole arrays of code points and takes small steps (Adam, Kingma and Ba 2015,
https://arxiv.org/abs/1412.6980).
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.ngrams import CODES, FACTOR, INTEGERS, PRIME, NgramConfig, fold
from retvec_lite.normal_form import UNKNOWN_LETTER
from retvec_lite.runtime.native import normal_forms
from retvec_lite.terminal import Progress
from retvec_lite.windows import read_text

Codes = npt.NDArray[np.int64]
Matrix = Any  # scipy.sparse.csr_matrix, float32

_BATCH: Final = 8192
_FIRST, _SECOND, _TINY = 0.9, 0.98, 1e-8
"""Adam's decay of the mean gradient and of its square, and what keeps it from dividing by zero."""

_PASSES: Final = 8
_ROWS: Final = 4096
"""Passes that find the first clusters of `share_rows`, and rows that are compared at a time."""

_SPREAD: Final = 0.05
"""Standard deviation of the first weights."""


@dataclasses.dataclass(frozen=True)
class Texts:
    """Many texts as one array.

    Attributes:
        codes: folded code points, int64 `[characters]`; a mark, 0, for a separator, in front of each text and behind the last.
        starts: where the mark in front of each text stands, and where the last mark is: int64 `[texts + 1]`.
    """

    codes: Codes
    starts: Codes

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclasses.dataclass(frozen=True)
class LowRank:
    """A fitted linear part of low rank.

    Attributes:
        rows: float32 `[buckets, rank]`.
        projection: float32 `[rank, labels]`.
        bias: float32 `[labels]`.
    """

    rows: Floats
    projection: Floats
    bias: Floats


def read_texts(texts: Sequence[str], encoder: EncoderConfig) -> Texts:
    """Read texts and mark where their words end, by the rules of docs/contract.md.

    Args:
        texts: as they are given.
        encoder: how texts are read.
    """
    parts = [
        normal_forms([read_text(text, encoder)[: encoder.max_chars] for text in texts[start : start + _BATCH]], encoder)
        for start in range(0, len(texts), _BATCH)
    ]
    starts = np.cumsum([0, *itertools.chain.from_iterable(1 + counts for _, counts in parts)], dtype=np.int64)
    codes = np.zeros(starts[-1] + 1, np.int64)
    is_mark = np.zeros(len(codes), bool)
    is_mark[starts] = True
    codes[~is_mark] = np.concatenate([np.zeros(0, np.int64), *(fold(found, False) for found, _ in parts)])
    return Texts(codes, starts)


def count_hashes(texts: Texts, chosen: Codes, config: NgramConfig) -> Matrix:
    """Return how often each n-gram's hash occurs in some texts, float32 CSR `[chosen, 65521]`; repeated hashes stand twice.

    Args:
        texts: from `read_texts`.
        chosen: which texts.
        config: which n-grams.
    """
    sizes = texts.starts[chosen + 1] - texts.starts[chosen]
    ends = np.cumsum(sizes)
    places = np.repeat(texts.starts[chosen] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)
    # A window may begin at the mark in front of a text and end at that of the next one.
    codes = np.concatenate([texts.codes[places], np.zeros(config.longest, np.int64)])
    count = len(places)
    is_char, is_known = codes > 0, codes != UNKNOWN_LETTER
    hashed, inner, known = np.ones(count, np.int64), np.ones(count, bool), np.ones(count, bool)
    hashes, present = [], []
    for length in range(1, config.longest + 1):
        last = slice(length - 1, length - 1 + count)
        hashed, known = (hashed * FACTOR + codes[last]) % PRIME, known & is_known[last]
        if length > 2:
            inner = inner & is_char[length - 2 : length - 2 + count]
        if length < config.shortest:
            continue
        any_char = is_char[:count] if length == 1 else is_char[:count] | is_char[1 : 1 + count]
        hashes.append(hashed)
        present.append((inner if length > 2 else any_char) & known)
    kept = np.stack(present, axis=1)
    found = np.stack(hashes, axis=1)[kept].astype(np.int32)
    per_place = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    pointers = per_place[np.concatenate([[0], ends])].astype(np.int32)
    return sparse.csr_matrix((np.ones(len(found), np.float32), found, pointers), shape=(len(chosen), PRIME))


def rows_of_hashes(codes: Floats) -> Matrix:
    """Return which rows of the codebooks each hash adds up, float32 CSR `[65521, 256 * codebooks]`.

    Args:
        codes: `ngrams/codes` `[65521, codebooks]`.
    """
    columns = codes.astype(np.int64) + np.arange(codes.shape[1]) * CODES
    pointers = np.arange(PRIME + 1) * columns.shape[1]
    ones = np.ones(columns.size, np.float32)
    return sparse.csr_matrix((ones, columns.reshape(-1), pointers), shape=(PRIME, columns.shape[1] * CODES))


def fit(
    texts: Texts,
    labels: npt.NDArray[Any],
    classes: int,
    config: NgramConfig,
    *,
    epochs: float,
    rate: float,
    start: LowRank | None = None,
    codes: Floats | None = None,
    progress: Progress,
) -> LowRank:
    """Fit a linear part of low rank.

    Args:
        texts: from `read_texts`.
        labels: integers `[texts]` from 0 to `classes` - 1.
        classes: number of labels.
        config: which n-grams; its buckets are the rows.
        epochs: passes over the texts; a part of one is possible.
        rate: the first step's size; it falls to zero evenly.
        start: weights to go on from.
        codes: `ngrams/codes` `[65521, codebooks]`, where there are codebooks.
        progress: receives (what, done, total).
    """
    rng = np.random.default_rng(0)
    first = start or _first_weights(config, classes, rng)
    weights = [first.rows.copy(), first.projection.copy(), first.bias.copy()]
    moments = [(np.zeros_like(value), np.zeros_like(value)) for value in weights]
    shared = None if codes is None else rows_of_hashes(codes)
    gathered = None if shared is None else shared.T.tocsr()
    steps = max(1, int(epochs * len(texts)) // _BATCH)
    for step, chosen in enumerate(_batches(len(texts), steps, rng)):
        counts = count_hashes(texts, chosen, config)
        table = weights[0] if shared is None else shared @ weights[0]
        hidden, logits = _forward(counts, table, weights[1], weights[2])
        errors = _softmax(logits)
        errors[np.arange(len(chosen)), labels[chosen]] -= 1.0
        errors *= np.float32(1.0 / len(chosen))
        inner = (errors @ weights[1].T) / _lengths(counts)
        gradient = counts.T.tocsr() @ inner
        gradients = [gradient if gathered is None else gathered @ gradient, hidden.T @ errors, errors.sum(axis=0)]
        for value, slope, (mean, square) in zip(weights, gradients, moments, strict=True):
            _adam(value, slope, mean, square, step, rate * (1.0 - step / steps))
        progress("fitting", step + 1, steps)
    return LowRank(weights[0], weights[1], weights[2])


def curvature(model: LowRank, texts: Texts, chosen: Codes, config: NgramConfig) -> tuple[Floats, Floats]:
    """Return where an error in the rows costs most: the loss near the fitted rows grows with the square of the error.

    The loss of a text has the second derivative P (diag(p) - p p^T) P^T to the text's sum, with P the projection and p the
    probabilities. A row enters the sum divided by the root of the number of n-grams.

    Args:
        model: with a row for each hash.
        texts: from `read_texts`.
        chosen: which texts.
        config: which n-grams.

    Returns:
        The mean of the second derivative, float64 `[rank, rank]`, and for each hash the sum of its trace over the texts that have
        the n-gram, each divided by the number of the text's n-grams, float32 `[65521]`.
    """
    projection = model.projection
    second = np.zeros((len(projection), len(projection)))
    costs = np.zeros(PRIME, np.float32)
    for part in np.array_split(chosen, len(chosen) // _BATCH + 1):
        counts = count_hashes(texts, part, config)
        powers = _softmax(_forward(counts, model.rows, projection, model.bias)[1])
        means = powers @ projection.T
        second += (projection * powers.sum(axis=0)) @ projection.T - means.T @ means
        traces = powers @ np.square(projection).sum(axis=0) - np.square(means).sum(axis=1)
        costs += counts.T @ (np.maximum(traces, 0.0) / np.square(_lengths(counts)).ravel())
    return second / len(chosen), costs


def weights_of(model: LowRank, codes: Floats) -> dict[str, Floats]:
    """Return the weights of a classifier: `ngrams/...`, the rows rounded to integers from -127 to 127.

    Every n-gram counts 1 towards the length of a text, in the first codebook.

    Args:
        model: the fitted part.
        codes: `ngrams/codes`.
    """
    scales = np.maximum(np.abs(model.rows).max(axis=0), 1e-9) / np.float32(INTEGERS)
    squares = np.ones(len(model.rows), np.float32)
    squares[CODES:] = 0.0
    return {
        "ngrams/table": np.rint(model.rows / scales).astype(np.float32),
        "ngrams/squares": squares,
        "ngrams/projection": (model.projection * scales[:, None]).astype(np.float32),
        "ngrams/bias": model.bias.astype(np.float32),
        "ngrams/codes": codes,
    }


def share_rows(rows: Floats, frequency: Floats, codebooks: int, rounds: int) -> tuple[Floats, Floats]:
    """Approximate each row by the sum of a row of every codebook: residual quantization, then one codebook after the other again.

    Choosing the codes of one codebook anew while the others stay (iterated conditional modes, Babenko and Lempitsky 2014,
    https://doi.org/10.1109/CVPR.2014.124, section 3) takes off a part of the error that the residuals leave.

    Args:
        rows: float32 `[65521, rank]`.
        frequency: how much each row counts, float32 `[65521]`.
        codebooks: how many.
        rounds: how often each codebook is fitted after the first time.

    Returns:
        The codebooks, float32 `[256 * codebooks, rank]`, and the codes, float32 `[65521, codebooks]`.
    """
    rng = np.random.default_rng(0)
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


def _first_weights(config: NgramConfig, classes: int, rng: np.random.Generator) -> LowRank:
    buckets, rank = config.buckets, config.rank
    rows = (rng.standard_normal((buckets, rank)) * _SPREAD).astype(np.float32)
    projection = (rng.standard_normal((rank, classes)) / np.sqrt(rank)).astype(np.float32)
    return LowRank(rows, projection, np.zeros(classes, np.float32))


def _batches(count: int, steps: int, rng: np.random.Generator) -> Iterator[Codes]:
    """Yield the texts of each step: all of them once, in another order each time."""
    order = np.zeros(0, np.int64)
    for _ in range(steps):
        if len(order) < min(_BATCH, count):
            order = np.concatenate([order, rng.permutation(count)])
        yield order[:_BATCH]
        order = order[_BATCH:]


def _lengths(counts: Matrix) -> Floats:
    """Return the root of the number of n-grams of each text, at least 1: float32 `[texts, 1]`."""
    lengths: Floats = np.sqrt(np.maximum(np.diff(counts.indptr), 1)).astype(np.float32)[:, None]
    return lengths


def _forward(counts: Matrix, table: Floats, projection: Floats, bias: Floats) -> tuple[Floats, Floats]:
    hidden: Floats = (counts @ table) / _lengths(counts)
    logits: Floats = hidden @ projection + bias
    return hidden, logits


def _softmax(logits: Floats) -> Floats:
    powers: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def _adam(value: Floats, slope: Floats, mean: Floats, square: Floats, step: int, rate: float) -> None:
    """Move a weight by one step of Adam, in place."""
    mean *= np.float32(_FIRST)
    mean += np.float32(1 - _FIRST) * slope
    square *= np.float32(_SECOND)
    square += np.float32(1 - _SECOND) * slope * slope
    size = rate * np.sqrt(1 - _SECOND ** (step + 1)) / (1 - _FIRST ** (step + 1))
    value -= np.float32(size) * mean / (np.sqrt(square) + np.float32(_TINY))


def _nearest(rows: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    """Return the nearest centre of each row, int64 `[rows]`."""
    half = np.square(centres).sum(axis=1) / np.float32(2)
    parts = np.array_split(rows, len(rows) // _ROWS + 1)
    return np.concatenate([(part @ centres.T - half).argmax(axis=1) for part in parts])


def _means(rows: Floats, shares: npt.NDArray[Any], codes: npt.NDArray[np.int64], before: Floats) -> Floats:
    """Return the mean of the rows of each code, weighted by their shares; an unused code keeps its row."""
    totals = np.bincount(codes, shares, CODES)
    sums = np.stack([np.bincount(codes, shares * column, CODES) for column in rows.T], axis=1)
    used = totals > 0
    means = before.copy()
    means[used] = sums[used] / totals[used, None]
    return means
