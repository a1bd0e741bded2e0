"""What decides a classifier's weights, besides data, head and embedding."""

import dataclasses
from typing import Any, Final


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
        character_filters: how many features of neighbouring characters the head gets beside a fine-tuned embedding, 0 for none.
        dropout, label_smoothing, weight_decay: see `Network`.
        seed: of everything random.
    """

    epochs: int = 30
    patience: int = 10
    batch_size: int = 64
    learning_rate: float = 1.5e-3
    embedding_rate: float = 0.25
    typo_rate: float = 0.4
    copies: int = 6
    character_filters: int = 0
    dropout: float = 0.4
    label_smoothing: float = 0.1
    weight_decay: float = 1e-2
    seed: int = 0


def recommended(texts: int, *, fine_tune: bool, **chosen: Any) -> FitSettings:
    """Defaults for a data set of this size; `chosen` fields win over them.

    Few texts need strong dropout and many epochs; from `_MANY` on half of both is enough and better, because the texts
    themselves keep the head from overfitting. An embedding that is trained along needs a lower learning rate and twice the epochs;
    of few texts it learns little, of many as fast as the head (docs/benchmarks.md).
    """
    defaults: dict[str, Any] = {}
    if fine_tune:
        defaults |= {"learning_rate": 1e-3, "epochs": 60, "patience": 20, "character_filters": 128}
    if texts >= _MANY:
        defaults |= {"epochs": 16, "patience": 6, "dropout": 0.2, "copies": 4}
        if fine_tune:
            defaults |= {"epochs": 32, "patience": 12, "embedding_rate": 1.0}
    return FitSettings(**{**defaults, **chosen})


_MANY: Final = 20_000
