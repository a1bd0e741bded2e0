"""The linear part: it learns, from two labels or many, on the grid of the file, and the reference computes the same."""

from collections.abc import Sequence

import numpy as np
import pytest
from contract_cases import KINDS
from modeling_cases import random_embedding
from ngram_counts import count_ngrams
from tiny_data import TINY_CONFIG, WORDS, tiny_dataset

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.model import reference_network
from retvec_lite.model.heads import LinearHead
from retvec_lite.model.linear_graph import table_integers
from retvec_lite.ngrams import MOST_BUCKETS, NgramConfig, ngram_buckets, ngram_logits
from retvec_lite.training import linear_model
from retvec_lite.training.linear_features import Features, mean_vectors
from retvec_lite.training.linear_model import LinearModel, fit_linear
from retvec_lite.training.reading import TextReader
from retvec_lite.windows import read_text

NGRAMS = NgramConfig(buckets=512)
EMBEDDING = random_embedding(dimension=64).weights
ODD = ["x", " !\u200b", "ÀÉ Straße ŞİI", "漢字かな", "🙂 \ud800", "a" * 80, "".join(chr(code) for kind in KINDS for code in kind if 0 < code <= 0x10FFFF)]  # fmt: skip


def vectors_of(texts: Sequence[str], config: EncoderConfig) -> tuple[Ints, Floats]:
    """Word ids, and the reference's word vectors by id as training keeps them."""
    reader = TextReader(texts, config)
    vectors = reference_network.embed(contract.bits(reader.words), EMBEDDING)
    vectors[0] = 0.0
    return reader.word_ids(texts), vectors.astype(np.float16)


def features_of(texts: Sequence[str], *, words: bool, config: NgramConfig = NGRAMS) -> Features:
    means = mean_vectors(*vectors_of(texts, TINY_CONFIG)) if words else None
    return Features(count_ngrams(texts, TINY_CONFIG, config), means)


def targets_of(dataset: Dataset) -> Ints:
    return np.array([dataset.classes.index(label) for label in dataset.labels], np.int32)


def fitted(dataset: Dataset, *, words: bool, seed: int = 0) -> LinearModel:
    found = features_of(dataset.texts, words=words)
    return fit_linear(found, targets_of(dataset), len(dataset.classes), seed=seed)


@pytest.fixture(scope="module", params=[False, True], ids=["n-grams", "and words"])
def words(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def model(words: bool) -> LinearModel:
    return fitted(tiny_dataset(20), words=words)


# --- learning ---------------------------------------------------------------------------------------------------------


def accuracy(model: LinearModel, dataset: Dataset, *, words: bool) -> float:
    guess = model.scores(features_of(dataset.texts, words=words)).argmax(axis=1)
    return float((guess == targets_of(dataset)).mean())


def test_it_learns(model: LinearModel, words: bool) -> None:
    assert accuracy(model, tiny_dataset(10, seed=1), words=words) > 0.9


def test_two_labels_are_each_other_s_opposite(words: bool) -> None:
    counts = dict.fromkeys(list(WORDS)[:2], 20)
    found = fitted(tiny_dataset(counts=counts), words=words)
    test = tiny_dataset(counts=counts, seed=1)
    assert accuracy(found, test, words=words) > 0.9
    scores = found.scores(features_of(test.texts, words=words))
    assert scores.shape == (40, 2)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-5)


def test_a_label_without_texts_is_never_the_answer(words: bool) -> None:
    """A fold may lack a label: its column is there, below all others."""
    dataset = tiny_dataset(counts=dict.fromkeys(list(WORDS)[:3], 12))
    targets = np.array([0, 2, 3], np.int32)[targets_of(dataset)]
    features = features_of(dataset.texts, words=words)
    found = fit_linear(features, targets, 5, seed=0)
    scores = found.scores(features)
    assert scores.shape == (36, 5) and set(scores.argmax(axis=1)) == {0, 2, 3}
    assert (scores[:, [1, 4]] < scores[:, [0, 2, 3]].max(axis=1, keepdims=True)).all()
    assert not found.weights["ngrams/table"][:, [1, 4]].any()


def test_equal_seeds_give_equal_weights(model: LinearModel, words: bool) -> None:
    again = fitted(tiny_dataset(20), words=words)
    assert again.weights.keys() == model.weights.keys()
    for name, value in model.weights.items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(again.weights[name], value, err_msg=name)


# --- the file's grid --------------------------------------------------------------------------------------------------


def assert_on_its_grid(model: LinearModel) -> None:
    for name, value in model.weights.items():
        if value.ndim == 2:
            integers, scales = table_integers(value)
            assert np.abs(integers.astype(int)).max() == 127
            np.testing.assert_array_equal(integers * scales, value, err_msg=name)
    squares = model.weights["ngrams/squares"]
    np.testing.assert_array_equal(squares, np.rint(squares))
    assert 1 <= squares.min() and squares.max() == 127


def test_weights_are_on_the_grid_of_eight_bits(model: LinearModel) -> None:
    assert_on_its_grid(model)


@pytest.mark.parametrize("factor", [0.37, 8.0])
def test_scaled_scores_are_so_many_times_the_scores(model: LinearModel, words: bool, factor: float) -> None:
    features = features_of(tiny_dataset(3, seed=2).texts, words=words)
    scaled = model.scaled(factor)
    assert_on_its_grid(scaled)
    np.testing.assert_array_equal(scaled.weights["ngrams/squares"], model.weights["ngrams/squares"])
    expected = model.scores(features) * factor
    np.testing.assert_allclose(scaled.scores(features), expected, atol=0.01 * np.abs(expected).max())


def test_scaled_by_nothing_says_nothing(model: LinearModel, words: bool) -> None:
    features = features_of(tiny_dataset(3, seed=2).texts, words=words)
    assert not model.scaled(0.0).scores(features).any()


# --- the reference ----------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_reference(words: bool) -> None:
    found = fitted(tiny_dataset(20), words=words)
    texts = [*tiny_dataset(4, seed=3).texts, *ODD]
    scores = found.scores(features_of(texts, words=words))
    ids, vectors = vectors_of(texts, TINY_CONFIG)
    for row, text in enumerate(texts):
        codes = contract.codepoints(read_text(text, TINY_CONFIG), TINY_CONFIG.max_chars)
        expected = ngram_logits(codes, TINY_CONFIG, NGRAMS, found.weights)
        if words:
            slots = vectors[ids[row]].astype(np.float32)
            expected = expected + reference_network.head_logits(slots, ids[row] != 0, LinearHead(), found.weights)
        np.testing.assert_allclose(scores[row], expected, atol=1e-4, err_msg=repr(text))


def test_mean_vectors_leave_empty_slots_out() -> None:
    vectors = np.array([[0, 0], [1, 2], [3, -4]], np.float16)
    ids = np.array([[1, 2, 0, 0], [2, 2, 2, 2], [0, 0, 0, 0]], np.int32)
    np.testing.assert_array_equal(mean_vectors(ids, vectors), [[2, -1], [3, -4], [0, 0]])


def test_rare_ngrams_count_more() -> None:
    """By a power of ln((1 + texts) / (1 + texts with it)) + 1."""
    texts = ["a", "a", "a b"]
    config = NgramConfig(buckets=64, longest=1)
    targets = np.array([0, 0, 1], np.int32)
    a, b = (ngram_buckets(contract.codepoints(text, 64), TINY_CONFIG, config)[0] for text in "ab")
    counts = Features(count_ngrams(texts, TINY_CONFIG, config))
    squares = fit_linear(counts, targets, 2, seed=0).weights["ngrams/squares"]
    common, rare = (np.log(4 / (1 + count)) + 1 for count in (3, 1))
    assert squares[b] / squares[a] == pytest.approx((rare / common) ** linear_model._POWER, rel=0.1)


def test_features_can_be_chosen_and_joined() -> None:
    whole = features_of(ODD, words=True)
    parts = whole[np.arange(3)].joined([whole[np.array([3, 4])], whole[np.arange(5, len(ODD))]])
    assert (parts.counts.matrix() != whole.counts.matrix()).nnz == 0
    np.testing.assert_array_equal(parts.vectors, whole.vectors)
    alone = features_of(ODD, words=False)
    assert alone[np.arange(2)].joined([alone]).vectors is None


# --- the solver ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [2, 4])
def test_texts_are_learned_on_the_grid(labels: int) -> None:
    """The same bits every time."""
    counts = dict.fromkeys(list(WORDS)[:labels], 12)
    training, test = tiny_dataset(counts=counts), tiny_dataset(counts=counts, seed=1)
    features, targets = features_of(training.texts, words=True), targets_of(training)
    found, again = (fit_linear(features, targets, labels, seed=0) for _ in range(2))
    assert_on_its_grid(found)
    assert accuracy(found, test, words=True) > 0.9
    for name, value in found.weights.items():
        np.testing.assert_array_equal(again.weights[name], value, err_msg=name)


def test_labels_without_texts_are_below_all_others() -> None:
    dataset = tiny_dataset(counts=dict.fromkeys(list(WORDS)[:3], 12))
    targets = np.array([0, 2, 3], np.int32)[targets_of(dataset)]
    features = features_of(dataset.texts, words=False)
    found = fit_linear(features, targets, 5, seed=0)
    scores = found.scores(features)
    assert (scores[:, [1, 4]] < scores[:, [0, 2, 3]].max(axis=1, keepdims=True)).all()
    assert not found.weights["ngrams/table"][:, [1, 4]].any()


def test_texts_of_more_weight_decide() -> None:
    """The same texts have both labels: the heavier copies win."""
    texts = tiny_dataset(6).texts
    features = features_of([*texts, *texts], words=False)
    targets = np.repeat(np.array([0, 1], np.int32), len(texts))
    for heavy in (0, 1):
        shares = np.where(targets == heavy, 3.0, 1.0).astype(np.float32)
        found = fit_linear(features, targets, 2, seed=0, text_weights=shares)
        assert (found.scores(features).argmax(axis=1) == heavy).all()


# --- pieces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("words", [True, False])
def test_the_table_takes_in_what_pieces_mean(labels: int, words: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are those of a machine that reads n-grams and what they mean together, side by side."""
    monkeypatch.setattr(linear_model, "snap", lambda kernel, *_: np.asarray(kernel, np.float32))
    monkeypatch.setattr(linear_model, "_TOLERANCE", 1e-6)
    training = tiny_dataset(counts=dict.fromkeys(list(WORDS)[:labels], 12))
    pieces = np.random.default_rng(3).normal(size=(NGRAMS.buckets, 8)).astype(np.float32)
    features, targets = features_of(training.texts, words=words), targets_of(training)
    folded = fit_linear(features, targets, labels, seed=0, pieces=pieces)
    squares = folded.weights["ngrams/squares"]

    def said(counted: Features) -> Floats:
        counts = counted.counts.matrix()
        return (counts @ pieces) / np.sqrt(np.maximum(counts @ squares, 1.0))[:, None]

    centre = said(features).mean(axis=0)
    spread = np.sqrt(np.square(said(features) - centre).sum(axis=1).mean())

    def beside(counted: Features) -> Features:
        """Read as meaning, at the length that it then gets."""
        own = (said(counted) - centre) / spread
        return Features(counted.counts, counted.vectors, own.astype(np.float32))

    others = features_of(tiny_dataset(4, seed=3).texts, words=words)
    apart = fit_linear(beside(features), targets, labels, seed=0)
    np.testing.assert_allclose(folded.scores(others), apart.scores(beside(others)), atol=2e-3)
    plain = fit_linear(features, targets, labels, seed=0)
    assert np.abs(plain.scores(others) - folded.scores(others)).max() > 0.03
    assert folded.weights.keys() == plain.weights.keys(), "nothing more is exported"


def test_ngrams_that_no_text_has_are_known_by_what_they_mean() -> None:
    texts, targets = ["ab ab", "cd cd", "ab", "cd"], np.array([0, 1, 0, 1], np.int32)
    config = NgramConfig(buckets=MOST_BUCKETS)  # none is shared
    pieces = np.zeros((config.buckets, 2), np.float32)
    for number, words in enumerate((("ab", "xy"), ("cd", "zu"))):
        counts = features_of([*words], words=False, config=config).counts.totals()
        pieces[counts > 0, number] = 1
    features, asked = (features_of(some, words=False, config=config) for some in (texts, ["xy", "zu"]))
    scores, plain = (fit_linear(features, targets, 2, seed=0, pieces=known).scores(asked) for known in (pieces, None))
    assert scores.argmax(axis=1).tolist() == [0, 1]
    assert np.ptp(scores, axis=1).min() > 0.05 > 5 * np.ptp(plain, axis=1).max()
