"""What decides a classifier's weights, besides data, head and embedding."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What decides the weights, besides data, head and embedding. Defaults were chosen on validation splits only.

    Attributes:
        epochs: passes over the training texts at most.
        patience: epochs without a better validation score after which training stops.
        batch_size: texts a step.
        learning_rate: peak of the head's cosine schedule.
        embedding_rate: the embedding's learning rate as a share of the head's, when fine-tuned.
        typo_rate: mean share of mistyped words in an augmented text; every second text is left as it is.
        copies: differently mistyped copies of the texts that the epochs take turns with.
        dropout, label_smoothing, weight_decay: see `Network`.
        seed: of everything random.
    """

    epochs: int = 40
    patience: int = 8
    batch_size: int = 64
    learning_rate: float = 2e-3
    embedding_rate: float = 0.25
    typo_rate: float = 0.4
    copies: int = 6
    dropout: float = 0.2
    label_smoothing: float = 0.1
    weight_decay: float = 1e-2
    seed: int = 0
