"""Training: from labelled texts to a trained model, in epochs over augmented copies, with early stopping on validation."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import BITS, EncoderConfig, Floats, Ints
from retvec_lite.data.dataset import Dataset, check_trainable, split
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS
from retvec_lite.model.heads import HEADS, HeadSpec, character_shapes, initial
from retvec_lite.model.network_graph import Tensors, embed_bits
from retvec_lite.model.weight_files import Embedding, TrainedModel
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.examples import Examples, HeldOut, TrainingData, prepare
from retvec_lite.training.network import RateSchedule, TrainableNetwork, class_weights, cosine_schedule, epoch
from retvec_lite.version import __version__

_INTEGERS: Final = {"max_words": (1, 4096), "epochs": (1, None), "character_filters": (0, 1024), "seed": (0, 2**31 - 1)}
"""Least and largest value of the arguments that are integers."""


_MANY: Final = 20_000
_PREDICTION_BATCH: Final = 256
_WORDS_AT_ONCE: Final = 8192


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
        character_filters: features of neighbouring characters that the head gets beside a fine-tuned embedding; 0 for none.
        dropout, label_smoothing, weight_decay: see `TrainableNetwork`.
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
    """Return the settings for so many training texts; `chosen` fields override them.

    Few texts need strong dropout and many epochs. From 20,000 on, half of both is enough and better, because the texts
    themselves keep the head from overfitting. Fine-tuning the embedding needs a lower learning rate and twice the epochs;
    the embedding learns little from few texts and as fast as the head from many (docs/benchmarks.md).
    """
    defaults: dict[str, Any] = {}
    if fine_tune:
        defaults |= {"learning_rate": 1e-3, "epochs": 60, "patience": 20, "character_filters": 128}
    if texts >= _MANY:
        defaults |= {"epochs": 16, "patience": 6, "dropout": 0.2, "copies": 4}
        if fine_tune:
            defaults |= {"epochs": 32, "patience": 12, "embedding_rate": 1.0}
    return FitSettings(**{**defaults, **chosen})


@dataclasses.dataclass(frozen=True)
class Best:
    """The best epoch.

    Attributes:
        weights: by name, float32.
        epoch: its number, counted from 1.
        history: for each epoch that ran: loss, validation accuracies, their mean.
    """

    weights: Mapping[str, Floats]
    epoch: int
    history: Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class FitResult:
    """What `fit` returns.

    Attributes:
        weights: all of the classifier's weights.
        validation_logits: float32 `[texts, classes]` at each of `VALIDATION_RATES`.
        history: for each epoch: loss, validation accuracies, their mean.
        best_epoch: the epoch, counted from 1, that the weights are of.
    """

    weights: Mapping[str, Floats]
    validation_logits: Mapping[float, Floats]
    history: Sequence[Mapping[str, Any]]
    best_epoch: int


def fit(
    data: TrainingData,
    head: HeadSpec,
    embedding: Mapping[str, Floats],
    *,
    fine_tune: bool,
    settings: FitSettings,
    progress: Progress = silent,
) -> FitResult:
    """Train `head` on `data`.

    Args:
        data: what `prepare` made of the texts.
        head: which head, with its sizes.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        fine_tune: train the embedding as well, and `settings.character_filters` beside it.
        settings: see `FitSettings`.
        progress: receives ("embedding words", done, total) and ("training", done, total).

    Returns:
        The weights of the epoch with the best mean validation accuracy over `VALIDATION_RATES`. Equal seeds on one machine
        give equal weights.

    Raises:
        RetvecLiteError: when the loss is no longer finite.
    """
    rng = np.random.default_rng(settings.seed)
    classes, inputs = len(data.labels), data.config.word_length * BITS
    if embedding:
        inputs = embedding["embedding/dense_2/kernel"].shape[1]
    filters = settings.character_filters if fine_tune else 0
    characters = {name: initial(name, shape, rng) for name, shape in character_shapes(filters).items()}
    weights = characters | head.initial_weights(rng, inputs + filters, classes, data.config.max_words)
    network = TrainableNetwork(
        head,
        {**embedding, **weights} if fine_tune else weights,
        None if fine_tune else embed_words(data.words, embedding, progress),
        data.words,
        class_weights(data.examples.targets, classes),
        schedule_for(len(data.examples.targets), settings),
        label_smoothing=settings.label_smoothing,
        dropout=settings.dropout,
        embedding_rate=settings.embedding_rate,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        # A head on a frozen embedding keeps its accuracy on a 4-bit grid, so that all recipes are one function; when
        # everything trains, 8 bits did a little better, and float32 and int8 are one (docs/benchmarks.md).
        levels=EIGHT_BITS if fine_tune else FOUR_BITS,
    )
    best = run_epochs(network, data.examples, data.held_out, settings, rng, progress)
    network.load(best.weights)
    logits = {rate: network.logits(ids, classes, _PREDICTION_BATCH) for rate, ids in data.held_out.ids.items()}
    return FitResult({**embedding, **best.weights}, logits, best.history, best.epoch)


def run_epochs(
    network: TrainableNetwork,
    examples: Examples,
    held_out: HeldOut,
    settings: FitSettings,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Best:
    """Train until validation has not improved for `settings.patience` epochs, or to the last one.

    Args:
        network: is left with the weights of the last epoch.
        examples: what to learn from.
        held_out: decides which epoch is the best: the one with the highest mean accuracy.
        settings: epochs, patience and batch size.
        rng: draws the order of the texts.
        progress: receives ("training", steps done, steps).

    Raises:
        RetvecLiteError: when the loss is no longer finite.
    """
    texts = len(examples.targets)
    batch_size, steps = _batch_size(texts, settings), _steps(texts, settings)
    best_score, best_weights, best_epoch = -math.inf, network.weights(), 0
    history: list[dict[str, Any]] = []
    count = 0
    for number in range(settings.epochs):
        losses = []
        for batch in epoch(examples.copies[number % len(examples.copies)], batch_size, rng):
            losses.append(network.train(batch, examples.targets[batch.rows], count))
            count += 1
            progress("training", min(count, steps), steps)
        broken = [loss for loss in losses if not math.isfinite(loss)]
        if broken:
            raise RetvecLiteError(
                f"Training broke down in epoch {number + 1} (loss {broken[0]}): "
                "the texts or the embedding hold something extreme."
            )
        accuracies = {
            rate: float(
                (network.logits(ids, examples.classes, _PREDICTION_BATCH).argmax(axis=1) == held_out.truth).mean()
            )
            for rate, ids in held_out.ids.items()
        }
        score = float(np.mean(list(accuracies.values())))
        history.append({"epoch": number + 1, "loss": float(np.mean(losses)), "accuracy": accuracies, "score": score})
        if score > best_score:
            best_score, best_weights, best_epoch = score, network.weights(), number
        elif number - best_epoch >= settings.patience:
            break
    return Best(best_weights, best_epoch + 1, history)


def schedule_for(texts: int, settings: FitSettings) -> RateSchedule:
    """Return the learning rate over all epochs: a twentieth of the steps, 500 at most, to warm up."""
    steps = _steps(texts, settings)
    return cosine_schedule(settings.learning_rate, steps, min(steps // 20, 500))


def embed_words(words: Ints, weights: Tensors, progress: Progress = silent) -> npt.NDArray[np.float16]:
    """Return word vectors, float16 `[distinct words, dimension]`; row 0, the empty word, is zeros as in unused slots.

    Float16 holds a tanh output to 2.4e-4, less than what dropout and typos do to a training text, at half the memory.
    """
    embed = tf.function(
        lambda chunk: tf.cast(embed_bits(word_bits(chunk[None]), weights)[0], tf.float16),
        input_signature=[tf.TensorSpec([_WORDS_AT_ONCE, words.shape[1]], tf.int32)],
        jit_compile=True,
        autograph=False,
    )
    vectors = []
    for start in range(0, len(words), _WORDS_AT_ONCE):
        chunk = words[start : start + _WORDS_AT_ONCE]
        padded = np.pad(chunk, ((0, _WORDS_AT_ONCE - len(chunk)), (0, 0)))
        vectors.append(embed(padded).numpy()[: len(chunk)])
        progress("embedding words", start + len(chunk), len(words))
    table: npt.NDArray[np.float16] = np.concatenate(vectors)
    table[0] = 0.0
    return table


def _batch_size(texts: int, settings: FitSettings) -> int:
    """Return how many texts a step takes: as set, or a quarter of very few texts."""
    return min(settings.batch_size, max(1, texts // 4))


def _steps(texts: int, settings: FitSettings) -> int:
    """Return how many optimizer steps all epochs take."""
    return settings.epochs * max(1, texts // _batch_size(texts, settings))


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model and its validation scores at each share of mistyped words."""

    model: TrainedModel
    validation: Mapping[float, Evaluation]


def train(
    training: Dataset,
    validation: Dataset | float,
    *,
    head: str = "pool",
    embedding: Embedding | None = None,
    fine_tune_embedding: bool = False,
    max_words: int | None = None,
    epochs: int | None = None,
    typo_rate: float | None = None,
    character_filters: int | None = None,
    seed: int = 0,
    settings: FitSettings | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train a classifier.

    Settings that are None follow the number of texts that are trained on, see `recommended`.

    Args:
        training: labelled texts.
        validation: labelled texts of the same labels, or the share of `training` to set aside.
        head: `pool`, `cnn`, `rnn` or `bert`.
        embedding: pre-trained word embedding; None for RETVec-raw.
        fine_tune_embedding: train the embedding as well, and character features beside it.
        max_words: word slots; None takes the 99th percentile of the training texts.
        epochs: passes over the training texts at most.
        typo_rate: mean share of mistyped words in an augmented text; 0 turns augmentation off.
        character_filters: number of character features beside a fine-tuned embedding.
        seed: of everything random.
        settings: all settings at once, for experiments; replaces `recommended`, `epochs`, `typo_rate`,
            `character_filters` and `seed`.
        progress: receives (what is going on, done, total).

    Raises:
        RetvecLiteError: for an argument out of range, data that cannot be trained on, labels in validation that training
            lacks, or a loss that is no longer finite.
    """
    chosen = {"epochs": epochs, "typo_rate": typo_rate, "character_filters": character_filters, "seed": seed}
    _check(head, embedding, fine_tune_embedding, {"max_words": max_words, **chosen})
    check_trainable(training)
    if isinstance(validation, Dataset):
        missing = sorted(set(validation.labels) - set(training.labels))
        if missing:
            raise RetvecLiteError(
                f"The label {missing[0]!r} of {validation.path} does not occur in {training.path}. "
                "Add texts of it there, or remove it from the validation texts."
            )
    else:
        training, validation = split(training, validation, settings.seed if settings else seed)
    if settings is None:
        given = {name: value for name, value in chosen.items() if value is not None}
        settings = recommended(len(training), fine_tune=fine_tune_embedding, **given)
    data = prepare(
        training,
        validation,
        copies=settings.copies,
        typo_rate=settings.typo_rate,
        seed=settings.seed,
        word_length=embedding.word_length if embedding else EncoderConfig.word_length,
        max_words=max_words,
        progress=progress,
    )
    spec = HEADS[head]()
    weights = embedding.weights if embedding else {}
    result = fit(data, spec, weights, fine_tune=fine_tune_embedding, settings=settings, progress=progress)
    scores = {rate: score(validation.labels, logits, data.labels) for rate, logits in result.validation_logits.items()}
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": training.path.name,
        "training_texts": len(training),
        "validation_texts": len(validation),
        "texts_cut_by_max_words": data.share_cut,
        "fine_tuned_embedding": fine_tune_embedding,
        "settings": dataclasses.asdict(settings),
        "epochs": len(result.history),
        "best_epoch": result.best_epoch,
        "validation": {
            f"{rate:g}": {"accuracy": found.accuracy, "macro_f1": found.macro_f1} for rate, found in scores.items()
        },
    }
    about = {"name": embedding.name, "card": embedding.card} if embedding else {"name": "raw", "card": {}}
    return Trained(TrainedModel(data.config, spec, data.labels, result.weights, about, facts), scores)


def _check(head: str, embedding: Embedding | None, fine_tune: bool, given: Mapping[str, Any]) -> None:
    """Refuse arguments that are out of range or do not go together, before any work is done."""
    if head not in HEADS:
        raise RetvecLiteError(f"Unknown head {head!r}: choose from {', '.join(HEADS)}.")
    if fine_tune and embedding is None:
        raise RetvecLiteError("fine_tune_embedding needs an embedding: 'raw' has no weights to train.")
    for name, (least, largest) in _INTEGERS.items():
        value = given[name]
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (is_integer and least <= value <= (value if largest is None else largest)):
            limits = f"of at least {least}" if largest is None else f"from {least} to {largest}"
            raise RetvecLiteError(f"{name} must be an integer {limits}, not {value!r}.")
    rate = given["typo_rate"]
    if rate is not None and not (isinstance(rate, (int, float)) and 0.0 <= rate <= 1.0):
        raise RetvecLiteError(f"typo_rate must be a share from 0 to 1, not {rate!r}.")
    if given["character_filters"] is not None and not fine_tune:
        raise RetvecLiteError(
            "character_filters needs fine_tune_embedding: a frozen embedding has no character features."
        )
