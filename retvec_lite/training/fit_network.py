"""Fitting the network: epochs over augmented copies, with early stopping on validation texts, or for a fixed number of steps."""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import BITS, Floats, Ints
from retvec_lite.data.class_weights import class_weights
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS
from retvec_lite.model.heads import HeadSpec, character_shapes, initial
from retvec_lite.model.network_graph import Tensors, embed_bits
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.checkpoint import Checkpoint, Course
from retvec_lite.training.examples import Examples, HeldOut, Rows, TrainingData
from retvec_lite.training.network import RateSchedule, TrainableNetwork, cosine_schedule, epoch
from retvec_lite.training.settings import FitSettings

_PREDICTION_BATCH: Final = 256
_WORDS_AT_ONCE: Final = 8192


class NetworkFitter:
    """Fits the network of one head to the texts of `data`, as often as asked: to folds, then to all of them.

    With `fine_tune`, the embedding is trained as well, and `settings.character_filters` beside it. The fits are kept in the checkpoint,
    and go on from there. Progress is told of "embedding words", and of each fit by its name.
    """

    def __init__(
        self,
        data: TrainingData,
        head: HeadSpec,
        embedding: Mapping[str, Floats],
        *,
        fine_tune: bool,
        settings: FitSettings,
        progress: Progress = silent,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._data = data
        self._head = head
        self._embedding = embedding
        self._fine_tune = fine_tune
        self._settings = settings
        self._progress = progress
        self._checkpoint = checkpoint or Checkpoint()
        self._vectors = None if fine_tune else embed_words(data.words, embedding, progress)
        self._network: TrainableNetwork | None = None

    @property
    def levels(self) -> int:
        """The largest integer of the grid of the matrices.

        A head on a frozen embedding keeps its accuracy on a 4-bit grid, so that all recipes are one function; when everything
        trains, 8 bits did a little better, and float32 and int8 are one (docs/benchmarks.md).
        """
        return EIGHT_BITS if self._fine_tune else FOUR_BITS

    def fit(
        self,
        rows: Rows | None = None,
        held_out: HeldOut | None = None,
        what: str = "training",
        share: float = 1.0,
    ) -> Course:
        """Train from new starting weights; equal seeds on one machine give equal weights.

        Args:
            rows: which of the training texts; None for all.
            held_out: decides which epoch is the best; None takes the last one.
            what: the name of this fit in reports of progress.
            share: of the settings' epochs that are run.

        Returns:
            How it went, with all weights of the classifier but those of n-grams.
        """
        examples = self._data.examples if rows is None else self._data.examples.chosen(rows)
        settings = dataclasses.replace(self._settings, epochs=max(1, round(share * self._settings.epochs)))
        rng = np.random.default_rng(settings.seed)
        network = self._fresh_network(examples, settings, rng)
        best = run_epochs(network, examples, held_out, settings, rng, self._progress, what, self._checkpoint)
        network.load(best.weights)
        return dataclasses.replace(best, weights={**self._embedding, **best.weights})

    def logits(self, ids: Ints) -> Floats:
        """Return the logits of texts under the weights fitted last, float32 `[texts, classes]`."""
        assert self._network is not None
        return self._network.logits(ids, len(self._data.labels), _PREDICTION_BATCH)

    def _fresh_network(self, examples: Examples, settings: FitSettings, rng: np.random.Generator) -> TrainableNetwork:
        data = self._data
        classes, inputs = len(data.labels), data.config.word_length * BITS
        if self._embedding:
            inputs = self._embedding["embedding/dense_2/kernel"].shape[1]
        filters = settings.character_filters if self._fine_tune else 0
        weights = {name: initial(name, shape, rng) for name, shape in character_shapes(filters).items()}
        weights |= self._head.initial_weights(rng, inputs + filters, classes, data.config.max_words)
        weights["head/logits/bias"] = data.scheme.starting_bias(examples.targets, classes)
        if self._fine_tune:
            weights = {**self._embedding, **weights}
        shares = class_weights(settings.class_weights, examples.targets, data.labels)
        schedule = schedule_for(len(examples.targets), settings)
        if self._network is None:
            self._network = TrainableNetwork(
                self._head,
                weights,
                self._vectors,
                data.words,
                shares,
                schedule,
                settings,
                levels=self.levels,
                scheme=data.scheme,
                workers=self._checkpoint.workers,
            )
        else:
            self._network.reset(weights, shares, schedule)
        return self._network


def run_epochs(
    network: TrainableNetwork,
    examples: Examples,
    held_out: HeldOut | None,
    settings: FitSettings,
    rng: np.random.Generator,
    progress: Progress = silent,
    what: str = "training",
    checkpoint: Checkpoint | None = None,
) -> Course:
    """Train until validation has not improved for `settings.patience` epochs, or to the last one.

    Args:
        network: is left with the weights of the last epoch.
        examples: what to learn from.
        held_out: decides which epoch is the best: the one with the highest mean score. None takes the last epoch.
        settings: epochs, patience and batch size.
        rng: draws the order of the texts.
        progress: receives (`what`, steps done, steps).
        what: the name of this fit.
        checkpoint: where it is kept, and goes on from; None keeps nothing.

    Raises:
        RetvecLiteError: when the loss is no longer finite.
    """
    texts = len(examples.targets)
    batch_size, steps = settings.batch(texts), settings.steps(texts)
    checkpoint = checkpoint or Checkpoint()
    course, state = checkpoint.begin()
    if state:
        network.restore(state)
    if course.generator:
        progress(what, min(course.steps, steps), steps)
        rng.bit_generator.state = course.generator
    while not course.is_over:
        course.generator = rng.bit_generator.state
        batches = epoch(examples.copies[course.epochs % len(examples.copies)], batch_size, rng)
        for batch in itertools.islice(batches, len(course.losses), None):
            course.losses.append(network.train(batch, examples.targets[batch.rows], course.steps))
            course.steps += 1
            progress(what, min(course.steps, steps), steps)
            if checkpoint.is_due():
                checkpoint.write(network.state())
        _end_epoch(course, network, examples, held_out, settings)
    return course


def _end_epoch(
    course: Course, network: TrainableNetwork, examples: Examples, held_out: HeldOut | None, settings: FitSettings
) -> None:
    """Note the loss and the validation score of an epoch, and whether it was the last; arguments as for `run_epochs`."""
    losses = course.losses
    course.epochs, course.losses = course.epochs + 1, []
    broken = [loss for loss in losses if not math.isfinite(loss)]
    if broken:
        raise RetvecLiteError(
            f"Training broke down in epoch {course.epochs} (loss {broken[0]}): "
            "the texts or the embedding hold something extreme."
        )
    course.is_over = course.epochs == settings.epochs
    told: dict[str, Any] = {"epoch": course.epochs, "loss": float(np.mean(losses))}
    course.history.append(told)
    if held_out is None:
        if course.is_over:
            course.weights, course.best = network.weights(), course.epochs
        return
    scores = [
        network.scheme.score(network.logits(ids, examples.classes, _PREDICTION_BATCH), held_out.truth)
        for ids in held_out.ids.values()
    ]
    told["score"] = score = network.workers.mean(float(np.mean(scores)))
    if score > course.score:
        course.score, course.weights, course.best = score, network.weights(), course.epochs
    elif course.epochs - course.best >= settings.patience:
        course.is_over = True


def schedule_for(texts: int, settings: FitSettings) -> RateSchedule:
    """Return the learning rate over all epochs: a twentieth of the steps, 500 at most, to warm up."""
    steps = settings.steps(texts)
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
