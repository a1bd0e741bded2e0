"""The network as a TensorFlow graph, for training and export: code points -> words -> bits -> embedding -> head -> logits.

`reference_network` computes the same in NumPy, and says where the formulas come from.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import tensorflow as tf

from retvec_lite.meaning import PROJECTION, SPELLING_WEIGHT
from retvec_lite.model.encoder_graph import cut_words, sanitize, word_bits
from retvec_lite.model.heads import VECTOR, CnnHead, HeadSpec, LinearHead, NgramHead, PoolHead
from retvec_lite.model.linear_graph import find_letters, find_meaning, find_ngrams, ngram_logits
from retvec_lite.model.weight_files import TrainedModel

Tensors = Mapping[str, tf.Tensor]
Dropout = Callable[[tf.Tensor], tf.Tensor]

_FAR: Final = 1e4
"""Keeps unused words out of a maximum. Fits into float16 and is far above any activation."""


def head_logits(
    embeddings: tf.Tensor,
    mask: tf.Tensor,
    head: HeadSpec,
    weights: Tensors,
    dropout: Dropout = lambda values: values,
) -> tf.Tensor:
    """Compute the logits of a batch of texts.

    Args:
        embeddings: word vectors, float32 `[batch, words, dimension]`.
        mask: float32 `[batch, words]`, 1 where a slot is in use.
        head: the head and its sizes.
        weights: tensors or variables, named as in `HeadSpec.shapes`.
        dropout: applied to the input of the head and to the pooled text; by default none, as in an exported graph.

    Returns:
        float32 `[batch, classes]`.
    """
    # Without layers of its own, `text_logits` masks the vectors themselves.
    vectors = embeddings if isinstance(head, LinearHead) else embeddings * mask[:, :, None]
    features = word_features(dropout(vectors), head, weights)
    return text_logits(features, mask, head, weights, dropout)


def word_features(vectors: tf.Tensor, head: HeadSpec, weights: Tensors) -> tf.Tensor:
    """Apply the layers of a head that read each word by itself, to word vectors float32 `[..., words, dimension]`."""
    match head:
        case LinearHead():
            return vectors
        case CnnHead():
            return gelu(dense(_word(vectors, weights), weights, "head/region"))
        case PoolHead():
            return _word(vectors, weights)
        case _:
            raise TypeError(f"Unknown head: {head!r}.")


def text_logits(
    features: tf.Tensor,
    mask: tf.Tensor,
    head: HeadSpec,
    weights: Tensors,
    dropout: Dropout = lambda values: values,
) -> tf.Tensor:
    """Compute the logits of texts from the `word_features` of their words; the other arguments as for `head_logits`."""
    return dense(dropout(text_features(features, mask, head, weights)), weights, "head/logits")


def text_features(features: tf.Tensor, mask: tf.Tensor, head: HeadSpec, weights: Tensors) -> tf.Tensor:
    """Compute what the last layer of a head reads, float32 `[batch, width]`; arguments as for `text_logits`."""
    used = mask[:, :, None]
    match head:
        case LinearHead():
            return _mean(features * used, used)
        case PoolHead(blocks=0):
            hidden = features
        case PoolHead() | CnnHead():
            hidden, used = _convolved(features * used, used, head.blocks, weights)
        case _:
            raise TypeError(f"Unknown head: {head!r}.")
    pooled = _mean_and_max(hidden, used)
    if f"{VECTOR}/kernel" not in weights:
        return pooled
    return dense(pooled, weights, VECTOR) * tf.reduce_max(mask, axis=1, keepdims=True)


def _word(values: tf.Tensor, weights: Tensors) -> tf.Tensor:
    """Apply the layer that reads each word by itself."""
    return gelu(dense(values, weights, "head/word"))


def _mean_and_max(values: tf.Tensor, used: tf.Tensor) -> tf.Tensor:
    """Pool the words in use, `[batch, 2 * width]`; zeros for a text without words."""
    is_any = tf.minimum(tf.reduce_sum(used, axis=1), 1.0)
    highest = tf.reduce_max(values * used + (used - 1.0) * _FAR, axis=1) * is_any
    return tf.concat([_mean(values * used, used), highest], axis=-1)


def _mean(present: tf.Tensor, used: tf.Tensor) -> tf.Tensor:
    """Return the mean over the words in use, `[batch, width]`; unused words must be zeros."""
    return tf.reduce_sum(present, axis=1) / tf.maximum(tf.reduce_sum(used, axis=1), 1.0)


def _convolved(values: tf.Tensor, used: tf.Tensor, blocks: int, weights: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
    """Apply residual separable convolutions, with a halving between two."""
    hidden = values
    for block in range(blocks):
        name = f"head/block_{block}"
        depthwise = weights[f"{name}/depthwise"]
        before, here, behind = neighbours(hidden)
        mixed = before * depthwise[0] + here * depthwise[1] + behind * depthwise[2]
        hidden = (hidden + gelu(dense(mixed, weights, f"{name}/pointwise"))) * used
        if block + 1 < blocks:
            hidden, used = _halve(hidden, used)
    return hidden, used


def neighbours(values: tf.Tensor) -> list[tf.Tensor]:
    """Return the place before each position of axis 1, itself and the one behind it; zeros beyond the ends."""
    if values.shape[1] is not None:
        return _shifts(values)

    # Only a training step leaves the number of words open, and only it runs slices op by op. TensorFlow's own
    # gradient of a slice fills a second array and runs on one core: a tenth of a step of `cnn`.
    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def shifted(values: tf.Tensor) -> tuple[list[tf.Tensor], Callable[..., tf.Tensor]]:
        return _shifts(values), lambda *gradients: tf.add_n(
            [_shifts(gradient)[-1 - place] for place, gradient in enumerate(gradients)]
        )

    found: list[tf.Tensor] = shifted(values)
    return found


def _shifts(values: tf.Tensor) -> list[tf.Tensor]:
    places = _words(values)
    padded = tf.pad(values, [[0, 0], [1, 1], [0, 0]])
    return [values if start == 1 else padded[:, start : start + places] for start in range(3)]


def _halve(values: tf.Tensor, used: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Take the maximum of each pair of neighbouring words in use; an odd last word forms a pair alone."""
    words, width = _words(values), values.shape[2]
    odd = [[0, 0], [0, words % 2], [0, 0]]
    pairs = (words + 1) // 2
    far = tf.pad(values + (used - 1.0) * _FAR, odd, constant_values=-_FAR)
    highest = tf.reduce_max(tf.reshape(far, [-1, pairs, 2, width]), axis=2)
    used = tf.reduce_max(tf.reshape(tf.pad(used, odd), [-1, pairs, 2, 1]), axis=2)
    return highest * used, used


def dense(values: tf.Tensor, weights: Tensors, name: str) -> tf.Tensor:
    """Compute `values @ kernel + bias` over the last axis, as one matrix product that becomes FULLY_CONNECTED."""
    kernel = weights[f"{name}/kernel"]
    flat = tf.reshape(values, [-1, kernel.shape[0]])
    product = tf.nn.bias_add(tf.matmul(flat, kernel), weights[f"{name}/bias"])
    between = [_words(values), *values.shape[2:-1]] if len(values.shape) > 2 else []
    return tf.reshape(product, [-1, *between, kernel.shape[1]])


def _words(values: tf.Tensor) -> Any:
    """Return the size of axis 1: a number, or a tensor where training leaves the number of words open."""
    return tf.shape(values)[1] if values.shape[1] is None else values.shape[1]


def gelu(values: tf.Tensor) -> tf.Tensor:
    """Apply the exact (erf) GELU, which becomes the builtin op."""
    return tf.nn.gelu(values, approximate=False)


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
