"""The heads as graphs, and the whole graph, against the reference: stage by stage, in batches and alone; masked values have no effect."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from contract_cases import random_code_points
from hypothesis import given, settings
from hypothesis import strategies as st
from light import loaded_after, run_python
from modeling_cases import DEFAULT_HEADS, SMALL_HEADS, random_classifier, random_head

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.meaning import text_vector
from retvec_lite.model import reference_network
from retvec_lite.model.heads import CnnHead, HeadSpec
from retvec_lite.model.network_graph import Stages, classify, dense, embed, embed_bits, gelu, head_logits
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig

each_head = pytest.mark.parametrize("head", SMALL_HEADS, ids=lambda head: head.name)


def mask_of(used: list[int], words: int) -> np.ndarray:
    """float32 `[texts, words]`, 1 for the first slots of each text."""
    return (np.arange(words) < np.array(used)[:, None]).astype(np.float32)


def expected(embeddings: np.ndarray, mask: np.ndarray, head: HeadSpec, weights: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack(
        [reference_network.head_logits(*pair, head, weights) for pair in zip(embeddings, mask != 0, strict=True)]
    )


@pytest.mark.parametrize("words", [1, 2, 7, 8, 64])
@each_head
def test_logits_are_the_oracle_s(head: HeadSpec, words: int) -> None:
    rng = np.random.default_rng(words)
    weights = random_head(head, 21, 4, words)
    mask = mask_of([0, 1, words // 2, words - 1, words], words)
    for embeddings in (rng.uniform(-1, 1, (5, words, 21)), rng.integers(0, 2, (5, words, 21))):  # an embedding; bits
        found = head_logits(tf.constant(embeddings, tf.float32), mask, head, weights).numpy()
        np.testing.assert_allclose(found, expected(embeddings.astype(np.float32), mask, head, weights), atol=2e-5)


@pytest.mark.parametrize("head", DEFAULT_HEADS, ids=lambda head: head.name)
@pytest.mark.parametrize("inputs", [256, 336])
def test_logits_at_the_sizes_that_ship(head: HeadSpec, inputs: int) -> None:
    rng = np.random.default_rng(inputs)
    weights = random_head(head, inputs, 7, 64)
    embeddings = rng.integers(0, 2, (3, 64, inputs)).astype(np.float32)
    mask = mask_of([0, 9, 64], 64)
    found = head_logits(embeddings, mask, head, weights).numpy()
    right = expected(embeddings, mask, head, weights)
    np.testing.assert_allclose(found, right, atol=3e-5 * max(1.0, np.abs(right).max()))


@each_head
def test_what_stands_in_unused_slots_does_not_count(head: HeadSpec) -> None:
    rng = np.random.default_rng(3)
    weights = random_head(head, 8, 3, 9)
    mask = mask_of([0, 1, 4, 8], 9)
    clean = rng.normal(size=(4, 9, 8)).astype(np.float32) * mask[:, :, None]
    garbage = np.where(mask[:, :, None] > 0, clean, rng.normal(size=clean.shape) * 1e3).astype(np.float32)
    found = [head_logits(tf.constant(values), mask, head, weights).numpy() for values in (clean, garbage)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0][0], weights["head/logits/bias"])


@pytest.mark.parametrize("head", [head for head in SMALL_HEADS if head.name != "cnn"], ids=lambda head: head.name)
def test_slots_may_be_cut_to_what_a_batch_needs(head: HeadSpec) -> None:
    """Training cuts slots; exported graphs always have all of them."""
    weights = random_head(head, 8, 3, 16)
    mask = mask_of([0, 2, 4], 16)
    embeddings = np.random.default_rng(4).normal(size=(3, 16, 8)).astype(np.float32)
    whole = head_logits(embeddings, mask, head, weights)
    cut = head_logits(embeddings[:, :4], mask[:, :4], head, weights)
    np.testing.assert_allclose(cut, whole, atol=1e-6)


@pytest.mark.parametrize("length", [4, 5, 6, 7])
def test_the_convolutions_may_be_cut_to_any_length_too(length: int) -> None:
    """Neighbours outside the used words are zeros, whether slots exist there or not, also after a halving."""
    head = CnnHead(hidden=7, filters=6, blocks=3)
    weights = random_head(head, 8, 3, 16)
    mask = mask_of([0, 2, 3, 4], 16)
    embeddings = np.random.default_rng(5).normal(size=(4, 16, 8)).astype(np.float32)
    whole = head_logits(embeddings, mask, head, weights)
    cut = head_logits(embeddings[:, :length], mask[:, :length], head, weights)
    np.testing.assert_allclose(cut, whole, atol=1e-6)


@each_head
def test_dropout_is_asked_for_the_input_and_the_pooled_text(head: HeadSpec) -> None:
    seen: list[tuple[int, ...]] = []

    def watch(values: tf.Tensor) -> tf.Tensor:
        seen.append(tuple(values.shape))
        return values

    weights = random_head(head, 8, 3, 5)
    head_logits(tf.ones((2, 5, 8)), tf.ones((2, 5)), head, weights, watch)
    assert seen == [(2, 5, 8), (2, weights["head/logits/kernel"].shape[0])]


@each_head
def test_every_weight_learns(head: HeadSpec) -> None:
    """The graph uses every weight that `shapes` lists."""
    rng = np.random.default_rng(6)
    weights = {name: tf.Variable(value) for name, value in random_head(head, 8, 3, 6).items()}
    with tf.GradientTape() as tape:
        logits = head_logits(tf.constant(rng.normal(size=(8, 6, 8)), tf.float32), tf.ones((8, 6)), head, weights)
        loss = tf.reduce_sum(logits * tf.constant(rng.normal(size=(8, 3)), tf.float32))
    gradients = tape.gradient(loss, weights)
    without = {name for name, gradient in gradients.items() if gradient is None or not np.any(gradient)}
    assert not without


def test_gelu_is_the_exact_one_and_dense_keeps_leading_axes() -> None:
    values = tf.linspace(-6.0, 6.0, 49)
    right = values * 0.5 * (1.0 + tf.math.erf(values / np.sqrt(2.0)))
    np.testing.assert_allclose(gelu(values), right, atol=1e-6)
    weights = {"x/kernel": np.ones((3, 2), np.float32), "x/bias": np.array([0.0, 1.0], np.float32)}
    assert dense(tf.ones((4, 5, 3)), weights, "x").shape == (4, 5, 2)
    assert dense(tf.ones((1, 3)), weights, "x").numpy().tolist() == [[3.0, 4.0]]


def test_an_unknown_head_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="Unknown head"):
        head_logits(tf.zeros((1, 1, 1)), tf.ones((1, 1)), HeadSpec(), {})


@pytest.mark.parametrize(("head", "words"), [*((head, 7) for head in SMALL_HEADS), (SMALL_HEADS[1], 1)])
def test_an_open_number_of_words_changes_neither_logits_nor_gradients(head: HeadSpec, words: int) -> None:
    """Training leaves it open, and then slices have a gradient of ours."""
    weights = {name: tf.constant(value) for name, value in random_head(head, 21, 4, words).items()}
    embeddings = np.random.default_rng(words).uniform(-1, 1, (3, words, 21)).astype(np.float32)

    def both(embeddings: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            logits = head_logits(embeddings, mask, head, weights)
            total = tf.reduce_sum(tf.square(logits))
        return logits, tape.gradient(total, weights)

    unknown = [tf.TensorSpec([None, None, 21], tf.float32), tf.TensorSpec([None, None], tf.float32)]
    arguments = embeddings, mask_of([0, (words + 1) // 2, words], words)
    known = tf.function(both, autograph=False)(*arguments)
    opened = tf.function(both, input_signature=unknown, autograph=False)(*arguments)
    np.testing.assert_allclose(opened[0], known[0], atol=1e-5)
    for name in weights:
        np.testing.assert_allclose(opened[1][name], known[1][name], rtol=1e-4, atol=1e-4)


TEXTS = [
    "",
    " \t\u2003 ",
    "a",
    "Hello wörld 🙂",
    "My parcle, terrible price!",
    "漢字とかな ไทยภาษา",
    "x" * 500,
    "one two three four five six seven eight nine ten",
    "\ud800",
]
KINDS: dict[str, dict[str, Any]] = {
    "dense": {},
    "raw": {"raw": True},
    "ngrams": {"ngrams": NgramConfig(buckets=50)},
    "meaning": {"meaning": True},
    "both": {"meaning": True, "ngrams": NgramConfig(buckets=50, plain_letters=True)},
}
each_pair = pytest.mark.parametrize(
    ("head", "kind"),
    [*((head, "both") for head in SMALL_HEADS), *((SMALL_HEADS[0], kind) for kind in KINDS if kind != "both")],
    ids=lambda part: getattr(part, "name", part),
)
"""What is added to a head's logits does not depend on the head."""
WITH_VECTOR = SMALL_HEADS[4]


def assert_stages(rows: np.ndarray, classifier: TrainedModel, stages: Stages) -> None:
    assert (stages.meaning is None) == (classifier.meaning is None)
    found = (stage.numpy() for stage in (stages.words, stages.bits, stages.embedding, stages.probabilities))
    for row, words, bits, embedding, probabilities in zip(rows, *found, strict=True):
        slots = contract.words(row, classifier.encoder)
        np.testing.assert_array_equal(words, slots)
        np.testing.assert_array_equal(bits, contract.bits(slots))
        np.testing.assert_allclose(
            embedding, reference_network.embed(contract.bits(slots), classifier.weights), atol=1e-5
        )
        linear = reference_network.linear_logits(
            row, classifier.encoder, classifier.ngrams, classifier.meaning, classifier.weights
        )
        right = reference_network.probabilities(slots, classifier.head, classifier.weights, linear)
        np.testing.assert_allclose(probabilities, right, atol=1e-5)


@each_pair
def test_every_stage_is_the_oracle_s(head: HeadSpec, kind: str) -> None:
    classifier = random_classifier(head, **KINDS[kind])
    length = classifier.encoder.max_chars
    rows = np.stack([contract.codepoints(text, length) for text in TEXTS])
    rows = np.concatenate([rows, random_code_points(np.random.default_rng(9), 8, length)])
    together = classify(tf.constant(rows), classifier, classifier.weights)
    assert_stages(rows, classifier, together)
    for place in (0, 3, 9):
        alone = classify(tf.constant(rows[place : place + 1]), classifier, classifier.weights)
        assert_stages(rows[place : place + 1], classifier, alone)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=8, max_size=8))
@settings(max_examples=15)
def test_hostile_input_gives_probabilities(values: list[int]) -> None:
    classifier = random_classifier(SMALL_HEADS[0], config=EncoderConfig(max_chars=8, max_words=2))
    found = classify(tf.constant([values]), classifier, classifier.weights).probabilities.numpy()
    assert np.isfinite(found).all() and found.sum() == pytest.approx(1.0, abs=1e-6)


@each_head
def test_the_compiled_graph_is_the_same(head: HeadSpec) -> None:
    classifier = random_classifier(head)
    graph = tf.function(
        lambda rows: classify(rows, classifier, classifier.weights),
        input_signature=[tf.TensorSpec([None, classifier.encoder.max_chars], tf.int32)],
        autograph=False,
    )
    rows = np.stack([contract.codepoints(text, classifier.encoder.max_chars) for text in TEXTS])
    assert_stages(rows, classifier, graph(rows))


@pytest.mark.parametrize("kind", ["dense", "raw", "both"])
@pytest.mark.parametrize("head", [SMALL_HEADS[0], WITH_VECTOR], ids=["pool", "vector"])
def test_embeddings_of_texts_and_words(head: HeadSpec, kind: str) -> None:
    classifier = random_classifier(head, **KINDS[kind])
    rows = np.stack([contract.codepoints(text, classifier.encoder.max_chars) for text in TEXTS])
    found = embed(tf.constant(rows), classifier, classifier.weights)
    for row, words, embeddings, text in zip(
        rows, found.words.numpy(), found.embeddings.numpy(), found.text.numpy(), strict=True
    ):
        slots = contract.words(row, classifier.encoder)
        np.testing.assert_array_equal(words, slots)
        right = reference_network.embed(contract.bits(slots), classifier.weights) * (slots[:, :1] != 0)
        np.testing.assert_allclose(embeddings, right, rtol=0, atol=1e-5)
        read = right.sum(axis=0)
        if head is WITH_VECTOR:
            read = reference_network.sentence_vector(right, slots[:, 0] != 0, head, classifier.weights)
        read = read / max(np.linalg.norm(read), 1e-9)
        assert read.any() == slots.any()
        if classifier.meaning:
            meant = text_vector(row, classifier.encoder, classifier.meaning, classifier.weights)
            read = np.concatenate([read / 2, meant])
            read = read / max(np.linalg.norm(read), 1e-9)
        assert text.shape == (classifier.text_dimension,)
        np.testing.assert_allclose(text, read, rtol=0, atol=1e-5)


def test_raw_passes_the_bits_on() -> None:
    bits = tf.ones((2, 3, 21))
    assert embed_bits(bits, {}) is bits


def test_tensorflow_is_loaded_without_keras_which_others_may_import() -> None:
    """It takes as long as the rest."""
    load = "from retvec_lite.model import load_tensorflow; load_tensorflow()"
    assert "keras" not in loaded_after(load)
    done = run_python(f"{load}; import keras, tensorflow; assert tensorflow.keras.layers.Dense is keras.layers.Dense")
    assert done.returncode == 0, done.stderr
