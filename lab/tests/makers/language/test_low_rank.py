"""The linear part of low rank: its hashes are the contract's, it learns, and its weights compute what it computed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers.language.low_rank import (
    LowRank,
    Texts,
    count_hashes,
    curvature,
    fit,
    read_texts,
    rows_of_hashes,
    share_rows,
    weights_of,
)
from retvec_lite.contract import EncoderConfig, codepoints
from retvec_lite.ngrams import CODES, PRIME, NgramConfig, ngram_buckets, ngram_logits
from retvec_lite.terminal import silent
from retvec_lite.windows import read_text

ENCODER = EncoderConfig(max_chars=40, max_words=1, letters_only=True)
WHOLE = NgramConfig(buckets=PRIME, longest=5, rank=4)
RNG = np.random.default_rng(4)
CHARACTERS = st.characters(exclude_categories=["Cs"])


def hashes_of(texts: list[str], config: NgramConfig) -> list[list[int]]:
    counts = count_hashes(read_texts(texts, ENCODER), np.arange(len(texts)), config)
    return [sorted(counts.indices[start:end]) for start, end in zip(counts.indptr, counts.indptr[1:], strict=False)]


@given(
    texts=st.lists(st.text(CHARACTERS, max_size=50), min_size=1, max_size=5),
    longest=st.integers(1, 6),
    shortest=st.integers(1, 6),
)
@settings(deadline=None)
def test_hashes_are_those_of_the_contract(texts: list[str], longest: int, shortest: int) -> None:
    config = NgramConfig(buckets=PRIME, longest=longest, shortest=min(longest, shortest))
    # `codepoints` composes; the fast path takes texts that are composed.
    composed = ["".join(map(chr, np.trim_zeros(codepoints(text, ENCODER.max_chars), "b"))) for text in texts]
    read = [codepoints(read_text(text, ENCODER), ENCODER.max_chars) for text in composed]
    expected = [sorted(ngram_buckets(points, ENCODER, config)) for points in read]
    assert hashes_of(composed, config) == expected


def drawn(count: int) -> tuple[list[str], np.ndarray]:
    """Texts of three languages, each with letters of its own and some of all."""
    alphabets = ("abcde xyz", "fghij xyz", "klmno xyz")
    labels = RNG.integers(0, 3, count)
    return ["".join(RNG.choice(list(alphabets[label]), RNG.integers(2, 20))) for label in labels], labels


def logits_of(model: LowRank, texts: Texts, codes: np.ndarray | None = None) -> np.ndarray:
    counts = count_hashes(texts, np.arange(len(texts)), WHOLE)
    lengths = np.sqrt(np.maximum(np.diff(counts.indptr), 1))[:, None]
    rows = model.rows if codes is None else rows_of_hashes(codes) @ model.rows
    return (counts @ rows) / lengths @ model.projection + model.bias


def accuracy(model: LowRank, codes: np.ndarray | None = None) -> float:
    texts, labels = drawn(500)
    found = logits_of(model, read_texts(texts, ENCODER), codes).argmax(axis=1)
    return float((found == labels).mean())


@pytest.fixture(scope="module")
def fitted() -> LowRank:
    texts, labels = drawn(6000)
    return fit(read_texts(texts, ENCODER), labels, 3, WHOLE, epochs=12, rate=0.05, progress=silent)


def test_it_learns(fitted: LowRank) -> None:
    assert fitted.rows.shape == (PRIME, 4) and fitted.projection.shape == (4, 3)
    assert accuracy(fitted) > 0.9


def test_codebooks_keep_it_and_go_on_learning(fitted: LowRank) -> None:
    config = NgramConfig(buckets=2 * CODES, longest=5, codebooks=2, rank=4)
    texts, labels = drawn(3000)
    frequency = np.asarray(count_hashes(read_texts(texts, ENCODER), np.arange(3000), WHOLE).sum(axis=0)).ravel() + 1e-3
    errors = []
    for rounds in (0, 2):
        rows, codes = share_rows(fitted.rows, frequency, 2, rounds)
        off = np.square(rows_of_hashes(codes) @ rows - fitted.rows).sum(axis=1)
        errors.append(float((off * frequency).sum()))
    assert errors[1] < errors[0] < float((np.square(fitted.rows).sum(axis=1) * frequency).sum())
    start = LowRank(rows, fitted.projection, fitted.bias)
    tuned = fit(
        read_texts(texts, ENCODER), labels, 3, config, epochs=4, rate=0.01, start=start, codes=codes, progress=silent
    )
    assert accuracy(tuned, codes) > 0.85


def test_curvature_is_the_second_derivative_of_the_loss() -> None:
    model = LowRank(
        RNG.normal(0, 1, (PRIME, 3)).astype(np.float32),
        RNG.normal(0, 1, (3, 4)).astype(np.float32),
        RNG.normal(0, 1, 4).astype(np.float32),
    )
    texts = read_texts(["one two", "three"], ENCODER)
    counts = count_hashes(texts, np.arange(2), WHOLE)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    sums = (counts @ model.rows) / np.sqrt(lengths)[:, None]

    def loss(at: np.ndarray) -> float:
        # What the label takes off is linear.
        return float(np.log(np.exp(at @ model.projection.astype(np.float64) + model.bias).sum()))

    steps, size = np.eye(3), 1e-3
    each = [
        [[(loss(at + size * (a + b)) - loss(at + size * a) - loss(at + size * b) + loss(at)) / size**2 for b in steps] for a in steps]
        for at in sums.astype(np.float64)
    ]  # fmt: skip
    second, costs = curvature(model, texts, np.arange(2), WHOLE)
    np.testing.assert_allclose(second, np.mean(each, axis=0), atol=0.02)
    traces = np.trace(np.array(each), axis1=1, axis2=2)
    np.testing.assert_allclose(costs, counts.T @ (traces / lengths), atol=0.01)
    assert costs.max() > 0.02


def test_the_weights_compute_what_was_fitted() -> None:
    config = NgramConfig(buckets=2 * CODES, longest=5, codebooks=2, rank=3)
    codes = RNG.integers(0, CODES, (PRIME, 2)).astype(np.float32)
    model = LowRank(
        RNG.normal(0, 1, (config.buckets, 3)).astype(np.float32),
        RNG.normal(0, 1, (3, 5)).astype(np.float32),
        RNG.normal(0, 1, 5).astype(np.float32),
    )
    weights = weights_of(model, codes)
    table = weights["ngrams/table"]
    assert np.array_equal(table, np.rint(table)) and (np.abs(table).max(axis=0) == 127).all()
    texts = ["Where is it?", "", "日本語 ok", "aaaa"]
    found = logits_of(model, read_texts(texts, ENCODER), codes)
    right = np.stack([ngram_logits(codepoints(text, 40), ENCODER, config, weights) for text in texts])
    # Rounding to 8 bits is all that differs.
    np.testing.assert_allclose(found, right, atol=0.15)
