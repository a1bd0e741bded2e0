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
    """Mean Multi-Similarity loss of a batch of pairs, every row an anchor.

    Rows i and i + B/2 are variants of one word. An anchor is compared with the other half of the batch: it holds a variant of
    every word, so that only the number of negatives halves, and similarities and their gradients take a quarter of the
    arithmetic (the same training time then holds almost twice the steps, which was worth more; docs/embedding.md).

    Mining keeps, per anchor, the negatives that are nearer than its farthest positive and the positives that are farther
    than its nearest negative, both with a margin of `epsilon`. Then (paper appendix: alpha 4, beta 40, lambda 0.5)
    `log(1 + sum(exp(-alpha (s - center)))) / alpha` over positives plus the same with `+beta` over negatives.

    Args:
        classes: int32 [B], equal for variants of the same word, B even.
        vectors: float32 [B, D], L2-normalized.
        alpha: weight of positives, the steepness below `center`.
        beta: weight of negatives, the steepness above `center`.
        center: the paper's lambda, the cosine that both are measured from.
        epsilon: the margin of the mining.

    Returns:
        float32 scalar.
    """
    half = vectors.shape[0] // 2
    similarity = ops.matmul(vectors[:half], ops.transpose(vectors[half:]))
    same = ops.equal(classes[:half, None], classes[None, half:])
    different = ops.logical_not(same)
    positives = ops.where(same, similarity, _OUT_OF_RANGE)
    negatives = ops.where(same, -_OUT_OF_RANGE, similarity)
    # One exponential for both: a pair is positive or negative, never both. Cosines bound it: exp(40 * 0.5) fits float32.
    distance = similarity - center
    power = ops.exp(ops.where(same, -alpha * distance, beta * distance))
    losses = []
    for others in (1, 0):  # anchors of the first half (rows), then of the second (columns)
        farthest = ops.min(positives, axis=others, keepdims=True)
        nearest = ops.max(negatives, axis=others, keepdims=True)
        pull = ops.logical_and(same, similarity < nearest + epsilon)
        push = ops.logical_and(different, similarity > farthest - epsilon)
        pulled = ops.sum(ops.where(pull, power, 0.0), axis=others)
        pushed = ops.sum(ops.where(push, power, 0.0), axis=others)
        losses.append(ops.mean(ops.log1p(pulled) / alpha + ops.log1p(pushed) / beta))
    return (losses[0] + losses[1]) / 2
