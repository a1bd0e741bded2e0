"""The whole graph, code points -> probabilities: the function that is trained piecewise and exported in one piece."""

import dataclasses
from typing import Final, NamedTuple

import tensorflow as tf

from retvec_lite.classifier_file import Classifier
from retvec_lite.config import BITS
from retvec_lite.modeling.encoder import encode_words, word_bits
from retvec_lite.modeling.heads import Lstm, Tensors, dense, gelu, head_logits, neighbours


class Stages(NamedTuple):
    """What the graph computes on the way; `verify` reads the first three out of exported files.

    words: int32 `[batch, max_words, word_length]`; bits: float32 `[batch, max_words, word_length * 21]`;
    embedding: float32 `[batch, max_words, dimension]`; probabilities: float32 `[batch, classes]`.
    """

    words: tf.Tensor
    bits: tf.Tensor
    embedding: tf.Tensor
    probabilities: tf.Tensor


class Embedded(NamedTuple):
    """What the graph of the signature `embed` computes.

    words, bits, embedding: as in `Stages`; embeddings: float32 `[batch, max_words, dimension]`, zeros for empty slots;
    text: float32 `[batch, dimension]`, the mean over the slots in use, of length 1; zeros for an empty text.
    """

    words: tf.Tensor
    bits: tf.Tensor
    embedding: tf.Tensor
    embeddings: tf.Tensor
    text: tf.Tensor


SMALLEST_SQUARE: Final = 1e-12
"""Squared length from which on a text's vector is scaled to length 1. Real ones are about 1e2; zeros must stay zeros."""


def embed_bits(bits: tf.Tensor, weights: Tensors) -> tf.Tensor:
    """The word embedding (design, section 1.2).

    Args:
        bits: float32 `[..., word_length * 21]`.
        weights: `embedding/dense_{0,1,2}/{kernel,bias}`; without them the bits are passed on (RETVec-raw).

    Returns:
        float32 `[..., dimension]`.
    """
    if "embedding/dense_0/kernel" not in weights:
        return bits
    hidden = gelu(dense(bits, weights, "embedding/dense_0"))
    hidden = gelu(dense(hidden, weights, "embedding/dense_1"))
    return tf.tanh(dense(hidden, weights, "embedding/dense_2"))


def word_vectors(bits: tf.Tensor, embedding: tf.Tensor, weights: Tensors) -> tf.Tensor:
    """What the head reads of each word: its embedding and, in a classifier that has them, its character features.

    These are a convolution over the word's characters and its maximum over their places, `tanh(max_i(window_i @ kernel + bias))`
    (Kim et al. 2016, https://arxiv.org/abs/1508.06615, section 2.2): what the word contains, wherever in it, where the embedding
    tells what it looks like as a whole. Places beyond the ends count as code point 0, so that a window sees where a word
    starts and ends.

    Args:
        bits: float32 `[..., word_length * 21]`.
        embedding: float32 `[..., dimension]`, of these bits.
        weights: `characters/kernel` `[window * 21, filters]` and `characters/bias`; without them the embedding is passed on.

    Returns:
        float32 `[..., dimension + filters]`.
    """
    if "characters/kernel" not in weights:
        return embedding
    characters = tf.reshape(bits, [-1, bits.shape[-1] // BITS, BITS])
    windows = tf.concat(neighbours(characters, weights["characters/kernel"].shape[0] // BITS), axis=-1)
    found = tf.tanh(tf.reduce_max(dense(windows, weights, "characters"), axis=1))
    return tf.concat([embedding, tf.reshape(found, [-1, *embedding.shape[1:-1], found.shape[-1]])], axis=-1)


def classify(codepoints: tf.Tensor, classifier: Classifier, weights: Tensors, lstm: Lstm) -> Stages:
    """Every stage of classifying a batch of texts.

    Args:
        codepoints: int32 `[batch, max_chars]`.
        classifier: contract parameters and head.
        weights: all weights as tensors, variables or arrays.
        lstm: see `head_logits`.
    """
    return _classify_words(encode_words(codepoints, classifier.encoder), classifier, weights, lstm)


def classify_short(
    codepoints: tf.Tensor, classifier: Classifier, weights: Tensors, lstm: Lstm, max_words: int
) -> tuple[Stages, tf.Tensor]:
    """Classify short texts in fewer slots: the same answer as `classify` for every text that fits.

    Args:
        codepoints: int32 `[batch, chars]`, fewer code points than the classifier's `max_chars`.
        classifier: contract parameters and head.
        weights: see `classify`.
        lstm: see `head_logits`.
        max_words: fewer slots than the classifier's.

    Returns:
        The stages, and int32 `[batch]`: how many slots each text asks for, `max_words + 1` standing for all that are more.
    """
    # One slot more than is computed with: what lies in it tells whether the text fits.
    config = dataclasses.replace(classifier.encoder, max_chars=codepoints.shape[1], max_words=max_words + 1)
    words = encode_words(codepoints, config)
    slots = tf.reduce_sum(tf.cast(tf.greater(words[:, :, 0], 0), tf.int32), axis=1)
    return _classify_words(words[:, :max_words], classifier, weights, lstm), slots


def embed(codepoints: tf.Tensor, classifier: Classifier, weights: Tensors) -> Embedded:
    """The embeddings of a batch of texts and their words, for search and deduplication.

    Args:
        codepoints: int32 `[batch, max_chars]`.
        classifier: contract parameters.
        weights: see `classify`; those of the head are not used.
    """
    words = encode_words(codepoints, classifier.encoder)
    bits = word_bits(words)
    embedding = embed_bits(bits, weights)
    embeddings = embedding * _mask(words)[:, :, None]
    # The mean differs from the sum by its length alone.
    total = tf.reduce_sum(embeddings, axis=1)
    square = tf.reduce_sum(tf.square(total), axis=1, keepdims=True)
    text = total * tf.math.rsqrt(tf.maximum(square, SMALLEST_SQUARE))
    return Embedded(words, bits, embedding, embeddings, text)


def _classify_words(words: tf.Tensor, classifier: Classifier, weights: Tensors, lstm: Lstm) -> Stages:
    bits = word_bits(words)
    embedding = embed_bits(bits, weights)
    logits = head_logits(word_vectors(bits, embedding, weights), _mask(words), classifier.head, weights, lstm)
    return Stages(words, bits, embedding, tf.nn.softmax(logits))


def _mask(words: tf.Tensor) -> tf.Tensor:
    """float32 `[batch, max_words]`, 1 where a slot is in use."""
    return tf.cast(tf.greater(words[:, :, 0], 0), tf.float32)
