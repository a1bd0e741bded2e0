"""Codebooks: what they keep of a table, and that training, reference and file read them alike."""

import numpy as np
import pytest
from fitted import linear_of
from scipy import sparse
from tiny_data import TINY_CONFIG, tiny_dataset

from retvec_lite import contract
from retvec_lite.model.grid import EIGHT_BITS, snap
from retvec_lite.ngrams import CODES, PRIME, ngram_logits
from retvec_lite.training import budget, linear_model, linear_part, request
from retvec_lite.training.budget import Budget
from retvec_lite.training.examples import make_examples
from retvec_lite.training.linear_features import Features, NgramCounts
from retvec_lite.training.linear_model import LinearModel, choose_codebooks, squeeze
from retvec_lite.training.plan import FitSettings

RNG = np.random.default_rng(3)
TABLE = RNG.normal(0, 1, (PRIME, 3)).astype(np.float32)
SQUARES = RNG.integers(1, 128, PRIME).astype(np.float32)


def model_of(table: np.ndarray, squares: np.ndarray) -> LinearModel:
    bias = np.array([0.5, 0.0, -0.5], np.float32)
    return LinearModel({"ngrams/table": table, "ngrams/squares": squares, "ngrams/bias": bias})


def texts(count: int) -> Features:
    """Texts of forty n-grams, some more frequent than others."""
    hashes = (PRIME * RNG.random((count, 40)) ** 3).astype(np.int64)
    rows = np.repeat(np.arange(count), 40)
    runs = sparse.csr_matrix((np.ones(rows.size, np.float32), (rows, hashes.reshape(-1))), (count, PRIME))
    return Features(NgramCounts(runs, sparse.identity(PRIME, np.float32, "csr")))


def frequency_of(features: Features) -> np.ndarray:
    return features.counts.totals()


def test_rows_that_repeat_are_kept() -> None:
    kinds = RNG.integers(0, 40, PRIME)
    model = model_of(snap(TABLE[:40], EIGHT_BITS)[kinds], SQUARES[:40][kinds])
    features = texts(300)
    found = LinearModel(squeeze(model.weights, frequency_of(features), 2, seed=0))
    assert {name: value.shape for name, value in found.weights.items()} == {
        "ngrams/table": (2 * CODES, 3),
        "ngrams/squares": (2 * CODES,),
        "ngrams/bias": (3,),
        "ngrams/codes": (PRIME, 2),
    }
    # Rounding to 8 bits is all that is lost.
    np.testing.assert_allclose(found.scores(features), model.scores(features), atol=0.03)


def test_another_codebook_comes_nearer_and_frequent_ngrams_come_nearest() -> None:
    model, features = model_of(TABLE, SQUARES), texts(2000)
    right, errors = model.scores(features), []
    for books in (1, 2):
        squeezed = LinearModel(squeeze(model.weights, frequency_of(features), books, seed=0))
        errors.append(float(np.abs(squeezed.scores(features) - right).mean()))
    assert errors[1] < 0.7 * errors[0]
    rows = squeezed.weights["ngrams/codes"].astype(int) + np.arange(2) * CODES
    distance = np.abs(squeezed.weights["ngrams/table"][rows].sum(axis=1) - TABLE).mean(axis=1)
    frequency = frequency_of(features)
    assert distance[frequency > 20].mean() < 0.8 * distance[frequency == 0].mean()


def test_so_many_texts_that_float32_does_not_count_them_exactly() -> None:
    frequency = (1e5 * np.random.default_rng(5).pareto(1.0, PRIME)).astype(np.float32)
    assert abs((frequency.astype(np.float64) / frequency.sum()).sum() - 1) > 1e-8, "float32 is not enough"
    found = squeeze(model_of(TABLE, SQUARES).weights, frequency, 1, seed=0)
    assert found["ngrams/codes"].shape == (PRIME, 1)


def test_weights_fit_their_bytes_and_equal_seeds_give_equal_weights() -> None:
    features = texts(500)
    one, other = (squeeze(model_of(TABLE, SQUARES).weights, frequency_of(features), 2, seed=4) for _ in range(2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    codes, squares = one["ngrams/codes"], one["ngrams/squares"]
    assert codes.min() >= 0 and codes.max() < CODES and np.array_equal(codes, np.rint(codes))
    assert np.abs(squares).max() <= 127 and np.array_equal(squares, np.rint(squares))
    np.testing.assert_allclose(snap(one["ngrams/table"], EIGHT_BITS), one["ngrams/table"], rtol=1e-6)


@pytest.mark.parametrize(
    ("distinct", "buckets", "classes", "books"),
    [
        (60_000, 17_700, 10, 2),
        (60_000, 2_900, 60, 2),
        (60_000, 50_000, 10, 0),
        (10_000, 2_800, 77, 0),
        (60_000, 600, 113, 0),
        (65_521, 30_000, 100, 8),
    ],
)
def test_codebooks_are_for_many_ngrams_in_little_room(distinct: int, buckets: int, classes: int, books: int) -> None:
    assert choose_codebooks(distinct, buckets, classes) == books
    assert books * (PRIME + CODES * (classes + 1)) <= buckets * (classes + 1)


@pytest.mark.parametrize(
    ("few", "many_labels", "crowded", "buckets", "kilobytes", "head"),
    [
        (3000, 4, 10, 90, None, "pool"),
        (10, 4, 10, 90, None, "pool"),
        (10, 20, 10, 90, None, "cnn"),
        (10, 4, 50_000, 90, None, "cnn"),
        (10, 4, 10, 40_000, None, "cnn"),
        (10, 4, 10, 0, 0, "cnn"),
    ],
)
def test_pool_is_for_few_texts_and_for_many_ngrams_of_many_labels_in_little_room(
    monkeypatch: pytest.MonkeyPatch,
    few: int,
    many_labels: int,
    crowded: int,
    buckets: int,
    kilobytes: int | None,
    head: str,
) -> None:
    monkeypatch.setattr(request, "FEW", few)
    monkeypatch.setattr(budget, "_MANY_LABELS", many_labels)
    monkeypatch.setattr(linear_model, "_CROWDED", crowded)
    monkeypatch.setattr(Budget, "buckets", lambda *_: buckets)
    training = tiny_dataset(9)
    data = make_examples(training, training, variants=1, typo_rate=0.0, seed=0, config=TINY_CONFIG)
    room = Budget(data.labels, data.config, {}, ngram_kb=kilobytes)
    found, _ = budget.choose_parts(room, data, "auto", lambda: 300)
    assert found.name == head


def test_training_computes_what_the_reference_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores of training are the logits of the exported file."""
    monkeypatch.setattr(linear_part, "choose_codebooks", lambda distinct, buckets, classes: 3)
    training = tiny_dataset(12)
    data = make_examples(training, training, variants=1, typo_rate=0.2, seed=3, config=TINY_CONFIG)
    fitter = linear_of(data, 100, FitSettings())
    fitter.fit_and_answer()
    assert fitter.config.buckets == 3 * CODES and fitter.config.codebooks == 3
    weights = fitter.model.scaled(0.5).weights
    rows = [contract.codepoints(text, TINY_CONFIG.max_chars) for text in training.texts]
    expected = np.stack([ngram_logits(row, TINY_CONFIG, fitter.config, weights) for row in rows])
    found = LinearModel(weights).scores(fitter._learned[0])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert (found.argmax(axis=1) == data.examples.targets).mean() > 0.95
