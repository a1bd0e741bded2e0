"""The network as a TensorFlow graph, for training and export: code points -> words -> bits -> embedding -> head -> logits.

`reference_network` computes the same in NumPy, and says where the formulas come from.
"""

from typing import Final, NamedTuple

import tensorflow as tf

from retvec_lite.meaning import PROJECTION, SPELLING_WEIGHT
from retvec_lite.model.encoder_graph import cut_words, sanitize, word_bits
from retvec_lite.model.head_graph import (
    Tensors,
    dense,
    gelu,
    head_logits,
    text_features,
    word_features,
)
from retvec_lite.model.heads import VECTOR, HeadSpec, NgramHead
from retvec_lite.model.linear_graph import find_letters, find_meaning, find_ngrams, ngram_logits
from retvec_lite.model.weight_files import TrainedModel

_SMALLEST_SQUARE: Final = 1e-12
"""Smallest squared length of a text vector that is scaled to 1. Real ones are about 100; zeros must stay zeros."""


class Stages(NamedTuple):
    """The stages of classifying a batch; `verify` reads the first three from exported files.

    With the head `ngrams`, which reads no words, the first three are None.

    Attributes:
        words: int32 `[batch, max_words, word_length]`.
        bits: float32 `[batch, max_words, word_length * 21]`.
        embedding: float32 `[batch, max_words, dimension]`.
        probabilities: float32 `[batch, classes]`.
        meaning: float32 `[batch, 64]`, see `meaning_graph.find_meaning`; None without a table of meaning.
    """

    words: tf.Tensor
    bits: tf.Tensor
    embedding: tf.Tensor
    probabilities: tf.Tensor
    meaning: tf.Tensor | None = None


class Embedded(NamedTuple):
    """The stages of embedding a batch, as in the signature `embed`.

    Attributes:
        words, bits, embedding, meaning: see `Stages`.
        embeddings: float32 `[batch, max_words, dimension]`, with zeros for empty slots.
        text: float32 `[batch, dimension]`, the mean over the used slots, or the vector of a head that has one, scaled to length 1;
            zeros for an empty text. With a table of meaning `[batch, dimension + 64]`, half of that and the meaning, scaled to
            length 1.
    """

    words: tf.Tensor
    bits: tf.Tensor
    embedding: tf.Tensor
    embeddings: tf.Tensor
    text: tf.Tensor
    meaning: tf.Tensor | None = None


def classify(codepoints: tf.Tensor, classifier: TrainedModel, weights: Tensors) -> Stages:
    """Classify a batch of texts.

    Args:
        codepoints: int32 `[batch, max_chars]`.
        classifier: the parameters of the contract and the head.
        weights: all weights as tensors, variables or arrays.
    """
    text = sanitize(codepoints, classifier.encoder)
    if isinstance(classifier.head, NgramHead):
        logits, meaning = _linear_logits(text, classifier, weights)
        return Stages(None, None, None, _shares(logits, classifier), meaning)
    words = cut_words(text, classifier.encoder)
    bits = word_bits(words)
    embedding = embed_bits(bits, weights)
    logits = head_logits(embedding, _mask(words), classifier.head, weights)
    linear, meaning = _linear_logits(text, classifier, weights)
    logits = logits if linear is None else logits + linear
    return Stages(words, bits, embedding, _shares(logits, classifier), meaning)


def _linear_logits(
    text: tf.Tensor, classifier: TrainedModel, weights: Tensors
) -> tuple[tf.Tensor | None, tf.Tensor | None]:
    """Return what n-grams and the meaning of words say about the labels, float32 `[batch, classes]`, and that meaning."""
    said = None
    letters = None if classifier.meaning is None else find_letters(text)
    if classifier.ngrams is not None:
        plain = None if letters is None else letters.chars
        said = ngram_logits(find_ngrams(text, classifier.ngrams, plain), weights)
    if letters is None:
        return said, None
    meaning = find_meaning(letters, weights)
    meant = tf.matmul(meaning, weights[PROJECTION])
    return meant if said is None else said + meant, meaning


def _shares(logits: tf.Tensor, classifier: TrainedModel) -> tf.Tensor:
    return tf.sigmoid(logits) if classifier.multi_label else tf.nn.softmax(logits)


def embed(codepoints: tf.Tensor, classifier: TrainedModel, weights: Tensors) -> Embedded:
    """Embed a batch of texts, int32 `[batch, max_chars]`, and their words, for search and deduplication.

    Of the classifier, the parameters of the contract, the weights of the embedding, a head with a vector up to there, and the table
    of meaning are used.
    """
    characters = sanitize(codepoints, classifier.encoder)
    words = cut_words(characters, classifier.encoder)
    bits = word_bits(words)
    embedding = embed_bits(bits, weights)
    mask = _mask(words)
    embeddings = embedding * mask[:, :, None]
    text = _scaled(_read(embeddings, mask, classifier.head, weights))
    if classifier.meaning is None:
        return Embedded(words, bits, embedding, embeddings, text)
    meaning = find_meaning(find_letters(characters), weights)
    text = _scaled(tf.concat([text * SPELLING_WEIGHT, meaning], axis=1))
    return Embedded(words, bits, embedding, embeddings, text, meaning)


def _read(embeddings: tf.Tensor, mask: tf.Tensor, head: HeadSpec, weights: Tensors) -> tf.Tensor:
    """Return the vectors that a head makes of texts, or the sums of their words; zeros for texts without words."""
    if f"{VECTOR}/kernel" not in weights:
        # Sum and mean have the same direction, and the length is set to 1 anyway.
        return tf.reduce_sum(embeddings, axis=1)
    return text_features(word_features(embeddings, head, weights), mask, head, weights)


def _scaled(vectors: tf.Tensor) -> tf.Tensor:
    """Return vectors float32 `[batch, size]` scaled to length 1; zeros stay zeros."""
    square = tf.reduce_sum(tf.square(vectors), axis=1, keepdims=True)
    return vectors * tf.math.rsqrt(tf.maximum(square, _SMALLEST_SQUARE))


def _mask(words: tf.Tensor) -> tf.Tensor:
    """Return float32 `[batch, max_words]`, 1 where a slot is in use."""
    return tf.cast(tf.greater(words[:, :, 0], 0), tf.float32)


def embed_bits(bits: tf.Tensor, weights: Tensors) -> tf.Tensor:
    """Compute the word embedding, float32 `[..., dimension]`, of bits float32 `[..., word_length * 21]`."""
    if "embedding/dense_0/kernel" not in weights:
        return bits
    hidden = gelu(dense(bits, weights, "embedding/dense_0"))
    hidden = gelu(dense(hidden, weights, "embedding/dense_1"))
    return tf.tanh(dense(hidden, weights, "embedding/dense_2"))
