"""What a training computes differently for texts with one label and for texts with several labels or none.

One label: probabilities are the softmax of the logits, and the most probable label is the answer. Several: each label has a
probability of its own, the sigmoid of its logit, and the answer is every label at or above its threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import expit, log_softmax, logit, softmax

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import label_table

if TYPE_CHECKING:
    import tensorflow as tf

_RESAMPLES: Final = 200
"""Bootstrap samples from which an error is estimated (Efron 1979)."""


class LabelScheme:
    """One label a text; the score is the accuracy.

    Attributes:
        multi_label: whether a text may have several labels, or none.
        rank: axes of the targets: 1 for `[texts]`, 2 for `[texts, classes]`.
    """

    multi_label = False
    rank = 1

    def targets(self, dataset: Dataset, labels: tuple[str, ...]) -> Ints:
        """Return what is right for each text, int32: the index of its label, or 1 for each label it has."""
        index = {label: place for place, label in enumerate(labels)}
        return np.array([index[label] for label in dataset.labels], np.int32)

    def starting_bias(self, targets: Ints, classes: int) -> Floats:
        """Return the bias of the logits that a network starts from, float32 `[classes]`."""
        return np.zeros(classes, np.float32)

    def probabilities(self, logits: Floats) -> Floats:
        """Return the probabilities of logits `[texts, classes]`."""
        found: Floats = softmax(logits, axis=1)
        return found

    def losses(self, logits: tf.Tensor, targets: tf.Tensor, weights: tf.Tensor, smoothing: float) -> tf.Tensor:
        """Return what a network minimizes, float32 `[texts]`; `weights` `[classes]` say how much a label counts."""
        import tensorflow as tf

        classes = logits.shape[-1]
        shares = tf.one_hot(targets, classes) * (1.0 - smoothing) + smoothing / classes
        return tf.nn.softmax_cross_entropy_with_logits(shares, logits) * tf.gather(weights, targets)

    def likelihood(self, logits: Floats, targets: Ints) -> tuple[float, Floats]:
        """Return the mean negative log likelihood of a text, and its gradient for the logits, `[texts, classes]`."""
        rows = np.arange(len(targets))
        wrong: Floats = softmax(logits, axis=1)
        wrong[rows, targets] -= 1.0
        return -float(log_softmax(logits, axis=1)[rows, targets].mean()), wrong / len(targets)

    def score(self, logits: Floats, targets: Ints) -> float:
        """Return a score from 0 to 1 that needs no threshold: what decides between epochs and between kinds of n-grams."""
        return float((logits.argmax(axis=1) == targets).mean())

    def error(self, logits: Floats, targets: Ints, independent: float | None = None) -> float:
        """Return the standard error of `score`; where texts have copies, they count for so many `independent` ones."""
        texts = len(targets) if independent is None else independent
        # One text more of each kind, right and wrong (Laplace's rule): a few texts that are all right do not prove perfection.
        share = (self.score(logits, targets) * texts + 1) / (texts + 2)
        return float(np.sqrt(share * (1 - share) / texts))


class _SeveralLabels(LabelScheme):
    """A text has any number of labels; the score is the micro F1 under the best threshold that all labels share."""

    multi_label = True
    rank = 2

    def targets(self, dataset: Dataset, labels: tuple[str, ...]) -> Ints:
        return label_table(dataset.label_sets, labels).astype(np.int32)

    def starting_bias(self, targets: Ints, classes: int) -> Floats:
        # From the frequency of each label: learning that most are absent takes many steps.
        found: Floats = logit((targets.sum(axis=0) + 1) / (len(targets) + 2)).astype(np.float32)
        return found

    def probabilities(self, logits: Floats) -> Floats:
        found: Floats = expit(logits)
        return found

    def losses(self, logits: tf.Tensor, targets: tf.Tensor, weights: tf.Tensor, smoothing: float) -> tf.Tensor:
        import tensorflow as tf

        wanted = tf.cast(targets, tf.float32)
        # As with one label, a share of the target is spread over all labels.
        wanted = wanted * (1.0 - smoothing) + smoothing * tf.reduce_mean(wanted, axis=1, keepdims=True)
        return tf.reduce_sum(tf.nn.weighted_cross_entropy_with_logits(wanted, logits, weights), axis=1)

    def likelihood(self, logits: Floats, targets: Ints) -> tuple[float, Floats]:
        losses = np.logaddexp(0.0, logits) - targets * logits
        return float(losses.sum() / len(targets)), (expit(logits) - targets) / len(targets)

    def score(self, logits: Floats, targets: Ints) -> float:
        return best_micro_f1(logits, targets)[0]

    def error(self, logits: Floats, targets: Ints, independent: float | None = None) -> float:
        texts = len(targets) if independent is None else independent
        answers = logits >= best_micro_f1(logits, targets)[1]
        right, named = (answers & (targets > 0)).sum(axis=1), answers.sum(axis=1) + targets.sum(axis=1)
        rows = np.random.default_rng(0).integers(0, len(targets), (_RESAMPLES, len(targets)))
        scores = 2 * right[rows].sum(axis=1) / np.maximum(named[rows].sum(axis=1), 1)
        # At least that of one wrong text: texts that are all right do not prove perfection.
        return max(1 / (texts + 2), float(np.std(scores) * np.sqrt(len(targets) / texts)))


ONE_LABEL: Final = LabelScheme()
SEVERAL_LABELS: Final[LabelScheme] = _SeveralLabels()


def best_micro_f1(logits: Floats, targets: Ints) -> tuple[float, float]:
    """Return the best micro F1 that one threshold for all labels reaches, and that threshold."""
    order = np.argsort(-logits, axis=None)
    right = np.cumsum(targets.reshape(-1)[order])
    scores = 2 * right / (np.arange(1, len(right) + 1) + right[-1])
    place = int(scores.argmax())
    return float(scores[place]), float(logits.reshape(-1)[order[place]])
