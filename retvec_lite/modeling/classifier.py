"""The whole graph, code points -> probabilities: the function that is trained piecewise and exported in one piece."""

from typing import NamedTuple

import tensorflow as tf

from retvec_lite.classifier_file import Classifier
from retvec_lite.modeling.encoder import encode_words, word_bits
from retvec_lite.modeling.heads import Lstm, Tensors, dense, gelu, head_logits


class Stages(NamedTuple):
    """What the graph computes on the way; `verify` reads the first three out of exported files.

    words: int32 `[batch, max_words, word_length]`; bits: float32 `[batch, max_words, word_length * 21]`;
    embedding: float32 `[batch, max_words, dimension]`; probabilities: float32 `[batch, classes]`.
    """

    words: tf.Tensor
    bits: tf.Tensor
    embedding: tf.Tensor
    probabilities: tf.Tensor


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


def classify(codepoints: tf.Tensor, classifier: Classifier, weights: Tensors, lstm: Lstm) -> Stages:
    """Every stage of classifying a batch of texts.

    Args:
        codepoints: int32 `[batch, max_chars]`.
        classifier: contract parameters and head.
        weights: all weights as tensors, variables or arrays.
        lstm: see `head_logits`.
    """
    words = encode_words(codepoints, classifier.encoder)
    bits = word_bits(words)
    embedding = embed_bits(bits, weights)
    mask = tf.cast(tf.greater(words[:, :, 0], 0), tf.float32)
    logits = head_logits(embedding, mask, classifier.head, weights, lstm)
    return Stages(words, bits, embedding, tf.nn.softmax(logits))
