"""The whole graph against the reference, stage by stage, in batches and alone."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from contract_cases import random_code_points
from hypothesis import given, settings
from hypothesis import strategies as st
from modeling_cases import SMALL_HEADS, random_classifier

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.meaning import text_vector
from retvec_lite.model import reference_network
from retvec_lite.model.heads import HeadSpec
from retvec_lite.model.network_graph import Stages, classify, embed, embed_bits
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig

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
each_head = pytest.mark.parametrize("head", SMALL_HEADS, ids=lambda head: head.name)


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
