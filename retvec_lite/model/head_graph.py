"""The heads as a TensorFlow graph, from word vectors to logits, for training and export; and the layers that they share.

`reference_network` computes the same in NumPy, and says where the formulas come from.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import tensorflow as tf

from retvec_lite.model.heads import VECTOR, CnnHead, HeadSpec, LinearHead, PoolHead

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


def neighbours(values: tf.Tensor, width: int = 3) -> list[tf.Tensor]:
    """Return the `width` neighbours of each position of axis 1, itself in the middle; zeros beyond the ends."""
    if width == 1 or values.shape[1] is not None:
        return _shifts(values, width)

    # Only a training step leaves the number of words open, and only it runs slices op by op. TensorFlow's own
    # gradient of a slice fills a second array and runs on one core: a tenth of a step of `cnn`.
    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def shifted(values: tf.Tensor) -> tuple[list[tf.Tensor], Callable[..., tf.Tensor]]:
        return _shifts(values, width), lambda *gradients: tf.add_n(
            [_shifts(gradient, width)[-1 - place] for place, gradient in enumerate(gradients)]
        )

    found: list[tf.Tensor] = shifted(values)
    return found


def _shifts(values: tf.Tensor, width: int) -> list[tf.Tensor]:
    places, side = _words(values), width // 2
    padded = tf.pad(values, [[0, 0], [side, side], [0, 0]])
    return [values if start == side else padded[:, start : start + places] for start in range(width)]


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
