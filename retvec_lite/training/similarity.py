"""Multi-Similarity loss (Wang et al. 2019, the RETVec paper's pre-training loss) in Keras 3 ops."""

from __future__ import annotations

from typing import Any

from keras import ops

Tensor = Any  # a tensor of whichever Keras backend is in use

_OUT_OF_RANGE = 3.0  # beyond every cosine, also after the margin


def multi_similarity_loss(
    classes: Tensor,
    vectors: Tensor,
    *,
    alpha: float = 4.0,
    beta: float = 40.0,
    center: float = 0.5,
    epsilon: float = 0.1,
) -> Tensor:
    """Mean Multi-Similarity loss of a batch, every row an anchor.

    Mining keeps, per anchor, the negatives that are nearer than its farthest positive and the positives that are farther
    than its nearest negative, both with a margin of `epsilon`. Then (paper appendix: alpha 4, beta 40, lambda 0.5)
    `log(1 + sum(exp(-alpha (s - center)))) / alpha` over positives plus the same with `+beta` over negatives.

    Args:
        classes: int32 [B], equal for variants of the same word.
        vectors: float32 [B, D], L2-normalized.
        alpha: weight of positives, the steepness below `center`.
        beta: weight of negatives, the steepness above `center`.
        center: the paper's lambda, the cosine that both are measured from.
        epsilon: the margin of the mining.

    Returns:
        float32 scalar.
    """
    similarity = ops.matmul(vectors, ops.transpose(vectors))
    same = ops.equal(classes[:, None], classes[None, :])
    itself = ops.cast(ops.eye(ops.shape(vectors)[0]), "bool")
    positive = ops.logical_and(same, ops.logical_not(itself))
    farthest = ops.min(ops.where(positive, similarity, _OUT_OF_RANGE), axis=1, keepdims=True)
    nearest = ops.max(ops.where(same, -_OUT_OF_RANGE, similarity), axis=1, keepdims=True)
    positive = ops.logical_and(positive, similarity < nearest + epsilon)
    negative = ops.logical_and(ops.logical_not(same), similarity > farthest - epsilon)
    # One exponential for both: a pair is positive or negative, never both. Cosines bound it: exp(40 * 0.5) fits float32.
    distance = similarity - center
    power = ops.exp(ops.where(positive, -alpha * distance, beta * distance))
    pulled = ops.sum(ops.where(positive, power, 0.0), axis=1)
    pushed = ops.sum(ops.where(negative, power, 0.0), axis=1)
    return ops.mean(ops.log1p(pulled) / alpha + ops.log1p(pushed) / beta)
