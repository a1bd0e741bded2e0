"""The settings of a training, and the ones recommended for the size of the data."""

import dataclasses
import math
from typing import Any, Final

from retvec_lite.data.class_weights import DEFAULT, ClassWeights

FEW: Final = 3_000
"""Texts up to which they are cross-validated, and the linear part learns from clean texts only: its mistyped copies pay with many
texts."""
_MANY: Final = 20_000
_FEWEST_STEPS: Final = 1_200
"""Optimizer steps that even few texts get: a few dozen epochs of them are too short to learn from."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What decides the weights, besides data, head and embedding. Chosen on validation splits only.

    Attributes:
        epochs: passes over the training texts at most.
        patience: epochs without a better validation score after which training stops.
        batch_size: texts a step.
        learning_rate: peak of the head's cosine schedule.
        embedding_rate: the embedding's learning rate as a share of the head's, when fine-tuned.
        typo_rate: mean share of mistyped words in an augmented text; every second text is left as it is.
        copies: differently mistyped copies of the texts that the epochs take turns with.
        linear_copies: how many of them the linear part learns from, besides the texts themselves.
        refit: the linear part finally learns from the texts that were set aside as well, see `Parts`.
        character_filters: features of neighbouring characters that the head gets beside a fine-tuned embedding; 0 for none.
        dropout, label_smoothing, weight_decay: see `TrainableNetwork`.
        class_weights: how much the texts of each label count, see `data.class_weights`.
        seed: of everything random.
    """

    epochs: int = 30
    patience: int = 10
    batch_size: int = 64
    learning_rate: float = 1.5e-3
    embedding_rate: float = 0.25
    typo_rate: float = 0.4
    copies: int = 6
    linear_copies: int = 2
    refit: bool = True
    character_filters: int = 0
    dropout: float = 0.4
    label_smoothing: float = 0.1
    weight_decay: float = 1e-2
    class_weights: ClassWeights = DEFAULT
    seed: int = 0

    @property
    def typos(self) -> dict[str, Any]:
        """The arguments of `prepare` and `augmented_copies` that say how texts are mistyped."""
        return {"copies": self.copies, "typo_rate": self.typo_rate, "seed": self.seed}

    def batch(self, texts: int) -> int:
        """Return how many texts a step takes: as set, or a quarter of very few texts."""
        return min(self.batch_size, max(1, texts // 4))

    def steps(self, texts: int) -> int:
        """Return how many optimizer steps all epochs take."""
        return self.epochs * max(1, texts // self.batch(texts))


def recommended(texts: int, *, fine_tune: bool, multi_label: bool = False, **chosen: Any) -> FitSettings:
    """Return the settings for so many training texts; `chosen` fields override them.

    Few texts need strong dropout and many epochs. From 20,000 on, half of both is enough and better, because the texts
    themselves keep the head from overfitting; a tenth more of them is not worth fitting the linear part twice. Fine-tuning
    the embedding needs a lower learning rate and twice the epochs; the embedding learns little from few texts and as fast as
    the head from many (docs/benchmarks.md). With several labels a text most labels are absent, and the few that are not have
    to be learned from: twice the epochs, and a higher learning rate.
    """
    defaults: dict[str, Any] = {}
    if fine_tune:
        defaults |= {"learning_rate": 1e-3, "epochs": 60, "patience": 20, "character_filters": 128}
    if texts <= FEW:
        defaults |= {"linear_copies": 0}
    if texts >= _MANY:
        defaults |= {"epochs": 16, "patience": 6, "dropout": 0.2, "copies": 4, "linear_copies": 1, "refit": False}
        if fine_tune:
            defaults |= {"epochs": 32, "patience": 12, "embedding_rate": 1.0}
    if multi_label:
        defaults |= {
            "class_weights": "none",
            "learning_rate": 2e-3 if fine_tune else 4e-3,
            "epochs": 2 * defaults.get("epochs", FitSettings.epochs),
        }
    found = FitSettings(**{**defaults, **chosen})
    if "epochs" in chosen:
        return found
    steps_an_epoch = found.steps(texts) // found.epochs
    return dataclasses.replace(found, epochs=max(found.epochs, math.ceil(_FEWEST_STEPS / steps_an_epoch)))
