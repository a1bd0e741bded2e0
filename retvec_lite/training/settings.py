"""What a training chooses by the size of its data: its settings, the head, and the bytes that n-grams get."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.contract import BITS, EncoderConfig, Floats
from retvec_lite.data.class_weights import DEFAULT, ClassWeights
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HEADS, CnnHead, HeadSpec, LinearHead, PoolHead, character_shapes
from retvec_lite.ngrams import MOST_BUCKETS
from retvec_lite.training.codebooks import codebooks_in, is_crowded
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.options import TrainOptions

FEW: Final = 3_000
"""Texts up to which they are cross-validated, and the linear part learns from clean texts only: its mistyped copies pay with many
texts."""
_MANY: Final = 20_000
_FEWEST_STEPS: Final = 1_200
"""Optimizer steps that even few texts get: a few dozen epochs of them are too short to learn from."""

_LARGEST_FILE: Final = 950_000
"""Bytes that an int8 file may take: less than 1 MB, so that the int4 file of the head cnn with 150 labels is below 600 kB."""
_AROUND: Final = 130_000
"""Bytes of a file that are neither weights of the network nor n-grams: graphs, tables of the encoder, metadata, labels."""
_FEWEST_BUCKETS: Final = 128
_WORTH_A_NETWORK: Final = 2
"""Codebooks beside the head `cnn` that make it better than `pool` with more of them."""


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
        refit: the linear part finally learns from the texts that were set aside as well, see `LinearFitter`.
        character_filters: features of neighbouring characters that the head gets beside a fine-tuned embedding; 0 for none.
        dropout: rate on the head's input and on the pooled text.
        label_smoothing: share of the target spread over all labels (Szegedy et al. 2016).
        weight_decay: of AdamW (Loshchilov and Hutter 2019).
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
        """The arguments of `make_examples` and `augmented_copies` that say how texts are mistyped."""
        return {"copies": self.copies, "typo_rate": self.typo_rate, "seed": self.seed}

    def batch(self, texts: int) -> int:
        """Return how many texts a step takes: as set, or a quarter of very few texts."""
        return min(self.batch_size, max(1, texts // 4))

    def steps(self, texts: int) -> int:
        """Return how many optimizer steps all epochs take."""
        return self.epochs * max(1, texts // self.batch(texts))


def settings_for(texts: Dataset, options: TrainOptions, class_weights: ClassWeights | None) -> FitSettings:
    """Return the recommended settings for some training texts, but for what was asked for."""
    names = ("epochs", "typo_rate", "character_filters", "seed")
    chosen = {name: getattr(options, name) for name in names} | {"class_weights": class_weights}
    given = {name: value for name, value in chosen.items() if value is not None}
    return recommended(len(texts), fine_tune=options.fine_tune_embedding, multi_label=texts.multi_label, **given)


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


def choose_parts(
    data: TrainingData,
    options: TrainOptions,
    embedding: Mapping[str, Floats],
    settings: FitSettings,
    count: Callable[[], int],
) -> tuple[HeadSpec, int]:
    """Return the head, and how many buckets of n-grams there is room for beside it.

    Few texts get the head `pool`, many get `cnn`. Many languages with many labels are better off with `pool` as well: the bytes that it
    saves are worth more as codebooks (docs/benchmarks.md). `count` counts the different n-grams of the texts, which takes time.

    Raises:
        RetvecLiteError: for the head linear without room for n-grams.
    """
    head, classes, multi_label = options.head, len(data.labels), data.scheme.multi_label

    def buckets_beside(head: HeadSpec) -> int:
        return choose_buckets(head, embedding, classes, data.config, settings, options.ngram_kb)

    if head == "auto":
        head = CnnHead.name
        if not multi_label and len(data.clean) <= FEW:
            head = PoolHead.name
        # Where the size of the table is given, a smaller head leaves it no more room.
        elif not multi_label and options.ngram_kb is None:
            buckets = buckets_beside(CnnHead())
            if codebooks_in(buckets, classes) < _WORTH_A_NETWORK and is_crowded(count(), buckets):
                head = PoolHead.name
    spec = HEADS[head]()
    buckets = buckets_beside(spec)
    if isinstance(spec, LinearHead) and not buckets:
        raise RetvecLiteError(
            f"The head linear needs n-grams, and there is no room for {_FEWEST_BUCKETS} buckets of them: choose a larger ngram_kb or "
            "another head."
        )
    return spec, buckets


def choose_buckets(
    head: HeadSpec,
    embedding: Mapping[str, Floats],
    classes: int,
    encoder: EncoderConfig,
    settings: FitSettings,
    ngram_kb: int | None,
) -> int:
    """Return how many buckets of n-grams there is room for; 0 for none.

    Args:
        head: the network beside them.
        embedding: its `embedding/...` weights.
        classes: number of labels.
        encoder: the parameters of the contract.
        settings: for the number of character features.
        ngram_kb: kilobytes (1,000 bytes) of the table; None fills an int8 file up to 1 MB.
    """
    if ngram_kb is None:
        inputs = embedding["embedding/dense_2/kernel"].shape[1] if embedding else encoder.word_length * BITS
        shapes = head.shapes(inputs + settings.character_filters, classes, encoder.max_words)
        shapes |= character_shapes(settings.character_filters)
        shapes |= {name: value.shape for name, value in embedding.items()}
        # A byte for each weight of a matrix; vectors and positions are float32.
        network = sum(
            int(np.prod(shape)) * (1 if len(shape) > 1 and name != "head/positions" else 4)
            for name, shape in shapes.items()
        )
        room = _LARGEST_FILE - _AROUND - network
    else:
        room = ngram_kb * 1000
    buckets = min(room // (classes + 1), MOST_BUCKETS)
    return buckets if buckets >= _FEWEST_BUCKETS else 0
