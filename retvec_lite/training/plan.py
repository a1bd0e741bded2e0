"""What a training chose: the settings that decide the weights, what is fitted to which texts, and what every part of a classifier does."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import DEFAULT, ClassWeights
from retvec_lite.data.typos import Way
from retvec_lite.model.heads import HeadSpec, LinearHead
from retvec_lite.model.pieces_file import PiecesFile
from retvec_lite.model.sentence_network import SentenceNetwork
from retvec_lite.training.described import Origin
from retvec_lite.training.examples import Examples, Rows, TrainingData
from retvec_lite.training.meaning_reader import MeaningReader
from retvec_lite.training.request import Request, are_few
from retvec_lite.training.teacher import Teacher

LINEAR, NETWORK = "linear", "network"
"""Names of the parts of a classifier."""
USUAL_FACTORS: Final = {LINEAR: 8.0, NETWORK: 0.5}
"""What multiplies their logits, on most data."""

VERY_MANY: Final = 20_000
"""Texts from which they keep a network from overfitting by themselves."""
_MOST_SHOWN: Final = 270_000
"""Texts that all epochs together show at most, below `VERY_MANY`: 30 epochs of 9,000."""
_FEWEST_STEPS: Final = 480
"""Optimizer steps that even few texts get: a few dozen epochs of them are too short to learn from."""
_FEWEST_SLOW_STEPS: Final = 1_200
"""Steps at least of what learns slowly, see `recommended`."""
_TEXTS_A_VARIANT: Final = 1_000
"""A linear part alone learns from one mistyped variant of each text from so many texts on, from two variants from twice as many on. Variants of fewer
texts blur what tells these apart. Chosen on validation texts of eleven sets (docs/benchmarks.md)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What decides the weights, besides data, head and embedding. Chosen on validation splits only.

    Attributes:
        epochs: passes over the training texts at most.
        patience: epochs without a better validation score after which training stops.
        batch_size: texts a step.
        learning_rate: peak of the head's cosine schedule.
        typo_rate: mean share of mistyped words in a text of a variant that is mistyped, see `write_variants`; 0: variants are the texts.
        variants: how often the texts are written otherwise, for the epochs to take turns with; 0: a linear part reads the texts alone.
        linear_variants: how many of them the linear part learns from, see `LinearPart.read`.
        dropout: rate on the head's input and on the pooled text.
        label_smoothing: share of the target spread over all labels (Szegedy et al. 2016).
        weight_decay: of AdamW (Loshchilov and Hutter 2019).
        class_weights: how much the texts of each label count, see `data.labels`.
        seed: of everything random.
    """

    epochs: int = 30
    patience: int = 7
    batch_size: int = 128
    learning_rate: float = 2e-3
    typo_rate: float = 0.4
    variants: int = 6
    linear_variants: int = 2
    dropout: float = 0.4
    label_smoothing: float = 0.1
    weight_decay: float = 1e-2
    class_weights: ClassWeights = DEFAULT
    seed: int = 0

    @property
    def typos(self) -> dict[str, Any]:
        """The arguments of `make_examples` and `write_variants` that say how texts are mistyped."""
        return {"variants": self.variants, "typo_rate": self.typo_rate, "seed": self.seed}

    def batch(self, texts: int) -> int:
        """Return how many texts a step takes: as set, or a quarter of very few texts."""
        return min(self.batch_size, max(1, texts // 4))

    def steps(self, texts: int) -> int:
        """Return how many optimizer steps all epochs take."""
        return self.epochs * max(1, texts // self.batch(texts))


def settings_for(texts: Dataset, request: Request, is_linear: bool = False) -> FitSettings:
    """Return the recommended settings for some training texts, but for what was asked for.

    Where every second variant is a translation, twice the epochs show as many of the others.
    """
    options, count = request.options, max(len(texts) + request.learned - len(request.training), 1)
    chosen = {name: getattr(options, name) for name in ("epochs", "typo_rate", "seed")}
    chosen |= {"class_weights": request.class_weights, "multi_label": texts.multi_label}
    asked: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    found = recommended(count, request.learned, head=options.head, is_linear=is_linear, **asked)
    if request.languages:
        return found if request.options.epochs else dataclasses.replace(found, epochs=2 * found.epochs)
    if not is_linear or request.options.typo_rate is not None:
        return found
    variants = min(found.linear_variants, count // _TEXTS_A_VARIANT)
    return dataclasses.replace(found, variants=variants, linear_variants=variants)


def recommended(
    texts: int, given: int = 0, *, multi_label: bool = False, head: str = "auto", is_linear: bool = False, **chosen: Any
) -> FitSettings:
    """Return the settings for so many texts, of so many with a label (`given`); `chosen` fields override them. `is_linear`: no network is trained.

    Few texts need strong dropout and many epochs; many keep the head from overfitting themselves. Networks beside n-grams need few steps at a high learning rate; with several labels a text they get more, because fewer were not measured.
    """
    few, many, fewest = are_few(max(given, texts)), texts >= VERY_MANY, _FEWEST_STEPS
    defaults: dict[str, Any] = {}
    if many:
        defaults |= {"dropout": 0.2, "variants": 4, "linear_variants": 1}
    if multi_label:
        fewest = _FEWEST_SLOW_STEPS
        defaults |= {
            "learning_rate": 4e-3,
            "epochs": 2 * (16 if many else 30),
            "patience": 6 if many else 10,
            "batch_size": 64,
        }
    elif many:
        defaults |= {"learning_rate": 3e-3, "epochs": 8}
    elif few:
        defaults |= {"learning_rate": 3e-3, "batch_size": 64, "epochs": 20}
    else:
        defaults |= {"epochs": min(FitSettings.epochs, _MOST_SHOWN // texts)}
    if multi_label:
        defaults |= {"class_weights": "none"}
    found = FitSettings(**{**defaults, **chosen})
    if is_linear or head == LinearHead.name:
        # The linear part reads no more.
        found = dataclasses.replace(found, variants=min(found.variants, found.linear_variants))
    if "epochs" in chosen:
        return found
    steps_an_epoch = found.steps(texts) // found.epochs
    return dataclasses.replace(found, epochs=max(found.epochs, math.ceil(fewest / steps_an_epoch)))


HeldOutLogits = Mapping[Way, Floats]
"""Logits of the held-out texts by the way they are written, float32 `[texts, classes]`, each by a fit that has not seen it."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to fit to which texts.

    Attributes:
        data: what `make_examples` made of the texts.
        head: which head, with its sizes; `linear` has no network.
        buckets: how many buckets of n-grams; 0 for no linear part.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        settings: see `FitSettings`.
        meaning: what the linear part may read of what words mean; None for nothing.
        meaning_facts: what the report says of it, or why there is none.
        sentences: the sentence network, which the linear part reads; None to train a network.
        pieces: what n-grams of the language mean, for few texts; None for nothing.
        teacher: what labels the texts without labels; None for the linear part itself.
    """

    data: TrainingData
    head: HeadSpec
    buckets: int
    embedding: Mapping[str, Floats]
    settings: FitSettings
    meaning: MeaningReader | None = None
    meaning_facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    sentences: SentenceNetwork | None = None
    pieces: PiecesFile | None = None
    teacher: Teacher | None = None

    def with_answers(self, rows: Rows) -> Examples:
        """Return all texts. Those without labels among `rows` get one from the teacher, which learns from the other `rows` alone, and count as it is sure."""
        found, is_asked = self.data.examples, self.data.origins[rows] == Origin.UNLABELLED
        if not (self.teacher and is_asked.any()):
            return found
        targets, weights, asked = found.targets.copy(), found.weights.copy(), rows[is_asked]
        targets[asked], weights[asked] = self.teacher.answers(rows[~is_asked], targets, asked)
        return dataclasses.replace(found, targets=targets, weights=weights)

    @property
    def trains(self) -> bool:
        """Whether a network is trained: not where the linear part is all there is, or reads what the sentence network says."""
        return self.sentences is None and not isinstance(self.head, LinearHead)


@dataclasses.dataclass
class Fit:
    """A fit of a part.

    Attributes:
        weights: of the best epoch, by name, float32.
        history: of each epoch: its number, loss, and mean validation score.
        best: number of the best epoch, counted from 1; 0 for a fit without epochs.
    """

    weights: Mapping[str, Floats] = dataclasses.field(default_factory=dict)
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    best: int = 0


class Part(Protocol):
    """What a classifier is made of: it answers by itself, and held-out texts say how much it counts beside others."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the report of the training says of it."""
        ...

    def fit_and_answer(self) -> HeldOutLogits:
        """Learn from each split of the texts, and in the end from all of them; return what each fit says of texts that it has not seen."""
        ...

    def background(self) -> Floats:
        """Return the logits of the background by the last fit, float32 `[texts, classes]`."""
        ...

    def exported(self, factor: float) -> Mapping[str, Floats]:
        """Return the weights of the last fit by name, with its logits multiplied by a factor."""
        ...


def held_out_logits(
    data: TrainingData,
    fit: Callable[[Rows], object],
    logits: Callable[[Way, Rows], Floats],
    ways: Iterable[Way] | None = None,
) -> HeldOutLogits:
    """Fit a part to each split of the texts, and return what it says of those that it is tested on, written in some ways or in all."""
    shape = len(data.held_out.truth), len(data.labels)
    found = {way: np.zeros(shape, np.float32) for way in ways or data.held_out.ids}
    for rows, others in data.splits:
        fit(rows)
        for way, table in found.items():
            table[others] = logits(way, others)
    return found
