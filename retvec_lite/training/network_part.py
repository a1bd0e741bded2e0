"""The part of a classifier that is a network: fitted in epochs until it stops, to folds of the texts and to all of them."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.labels import class_weights
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import word_dimension
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.examples import Examples, HeldOutExamples, Rows
from retvec_lite.training.network import PREDICTION_BATCH, RateSchedule, TrainableNetwork, epoch
from retvec_lite.training.plan import Fit, FitSettings, HeldOutLogits, Plan, held_out_logits
from retvec_lite.training.sentences import embed_words

_FOLD_SHARE: Final = 0.5
"""Share of the epochs that a fold's network gets, to save time: it only decides how much the network counts."""

_SCORED: Final = 500
"""Held-out texts, about so many, that decide which epoch is the best: scoring thousands would take as long as a third of the steps."""


class NetworkPart:
    """Fits the network of a plan as often as asked: to folds of the texts, then to all of them.

    Progress is told of "embedding words", and of the steps of all fits together as "training".
    """

    def __init__(self, plan: Plan, progress: Progress = silent) -> None:
        self._plan = plan
        self._progress = progress
        self._network: TrainableNetwork | None = None
        data = plan.data
        fits = [(len(rows), _FOLD_SHARE) for rows, _ in data.splits] if data.folds else []
        self._steps = [self._settings(share).steps(texts) for texts, share in (*fits, (len(data.clean), 1.0))]
        self._fits, self._last = 0, Fit()

    @property
    def facts(self) -> Mapping[str, Any]:
        """How many epochs it took, and which was the best."""
        return {"epochs": len(self._last.history), "best_epoch": self._last.best}

    def fit_and_answer(self) -> HeldOutLogits:
        """Train on each split, and cross-validated on all texts in the end; return the logits of held-out texts, see `Part`."""
        data = self._plan.data
        found = held_out_logits(data, self.fit, self.logits)
        if data.folds:
            self.fit(np.arange(len(data.clean)))
        return found

    def exported(self, factor: float) -> Mapping[str, Floats]:
        """Return the weights fitted last, with the logits multiplied by a factor, and matrices on their grid."""
        kernel, bias = (self._last.weights[f"head/logits/{name}"] * np.float32(factor) for name in ("kernel", "bias"))
        scaled = {
            "head/logits/kernel": snap(kernel.astype(np.float32), FOUR_BITS),
            "head/logits/bias": bias.astype(np.float32),
        }
        return {**self._last.weights, **scaled}

    def fit(self, rows: Rows) -> Fit:
        """Train on some of the texts, or on all, from new starting weights; equal seeds on one machine give equal weights.

        Held-out texts decide which epoch is the best; cross-validated, they are learned from, and the last one is. A fold gets half of the
        epochs.

        Returns:
            How it went, with all weights of the classifier but those of n-grams.
        """
        data, is_whole = self._plan.data, len(rows) == len(self._plan.data.clean)
        examples = self._plan.with_answers(rows).chosen(rows)
        settings = self._settings(1.0 if is_whole else _FOLD_SHARE)
        held_out = None if data.folds or not len(data.held_out.truth) else data.held_out
        rng = np.random.default_rng(settings.seed)
        network = self._fresh_network(examples, settings, rng)
        before, total = sum(self._steps[: self._fits]), sum(self._steps)

        def tell(what: str, done: int, _: int) -> None:
            self._progress(what, min(before + done, total), total)

        best = run_epochs(network, examples, held_out, settings, rng, tell)
        self._fits += 1
        network.load(best.weights)
        self._last = dataclasses.replace(best, weights={**self._plan.embedding, **best.weights})
        return self._last

    def logits(self, way: Way, rows: Rows) -> Floats:
        """Return the logits of some held-out texts under the weights fitted last, float32 `[texts, classes]`."""
        return self._logits(self._plan.data.held_out.ids[way][rows])

    def background(self) -> Floats:
        """Return the logits of the background, see `Part`."""
        return self._logits(self._plan.data.background_ids)

    def _logits(self, ids: Ints) -> Floats:
        assert self._network is not None
        return self._network.logits(ids, len(self._plan.data.labels), PREDICTION_BATCH)

    def _settings(self, share: float) -> FitSettings:
        """Return the settings of a fit with a share of the epochs."""
        settings = self._plan.settings
        return dataclasses.replace(settings, epochs=max(1, round(share * settings.epochs)))

    def _fresh_network(self, examples: Examples, settings: FitSettings, rng: np.random.Generator) -> TrainableNetwork:
        data, head, embedding = self._plan.data, self._plan.head, self._plan.embedding
        classes, inputs = len(data.labels), word_dimension(embedding, data.config.word_length)
        weights = head.initial_weights(rng, inputs, classes, data.config.max_words)
        weights["head/logits/bias"] = data.scheme.starting_bias(examples.targets, classes)
        shares = class_weights(settings.class_weights, examples.targets, data.labels)
        schedule = schedule_for(len(examples.targets), settings)
        if self._network is None:
            words = embed_words(data.words, embedding, self._progress)
            self._network = TrainableNetwork(head, weights, words, shares, schedule, settings, data.scheme)
        else:
            self._network.reset(weights, shares, schedule)
        return self._network


def schedule_for(texts: int, settings: FitSettings) -> RateSchedule:
    """Return the learning rate over all epochs: a twentieth of the steps, 500 at most, to warm up."""
    steps = settings.steps(texts)
    return cosine_schedule(settings.learning_rate, steps, min(steps // 20, 500))


def cosine_schedule(peak: float, steps: int, warmup: int) -> RateSchedule:
    """Return a linear warm-up to `peak`, then half a cosine down to 2 % of it (Loshchilov and Hutter 2017)."""

    def rate(step: int) -> float:
        if step < warmup:
            return peak * step / warmup
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return peak * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * done)))

    return rate


def run_epochs(
    network: TrainableNetwork,
    examples: Examples,
    held_out: HeldOutExamples | None,
    settings: FitSettings,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Fit:
    """Train until validation has not improved for `settings.patience` epochs, or to the last one.

    The best epoch is the one with the highest mean score on `held_out`, or the last where that is None; `network` is left with the
    weights of the last one. `rng` draws the order of the texts. Progress is told of "training", in steps.

    Raises:
        RetvecLiteError: when the loss is no longer finite.
    """
    texts = len(examples.targets)
    batch_size, steps = settings.batch(texts), settings.steps(texts)
    found, taken, best_score = Fit(best=1), 0, -math.inf
    for number in range(1, settings.epochs + 1):
        losses = []
        for batch in epoch(examples.variants[(number - 1) % len(examples.variants)], batch_size, rng):
            losses.append(network.train(batch, examples.targets[batch.rows], taken, examples.weights[batch.rows]))
            taken += 1
            progress("training", min(taken, steps), steps)
        broken = [loss for loss in losses if not math.isfinite(loss)]
        if broken:
            raise RetvecLiteError(
                f"Training broke down in epoch {number} (loss {broken[0]}): "
                "the texts or the embedding hold something extreme."
            )
        told: dict[str, Any] = {"epoch": number, "loss": float(np.mean(losses))}
        found.history.append(told)
        is_best = number == settings.epochs
        if held_out is not None:
            told["score"] = _score(network, examples.classes, held_out)
            is_best = told["score"] > best_score
            best_score = max(best_score, told["score"])
        if is_best:
            found.weights, found.best = network.weights(), number
        elif held_out is not None and number - found.best >= settings.patience:
            break
    return found


def _score(network: TrainableNetwork, classes: int, held_out: HeldOutExamples) -> float:
    """Return the mean score of some of the held-out texts over all ways in which they are written."""
    some = slice(None, None, max(1, round(len(held_out.truth) / _SCORED)))
    # Together: batches of texts as long as each other hold the same words several times.
    ids = np.concatenate([ids[some] for ids in held_out.ids.values()])
    ways = np.split(network.logits(ids, classes, PREDICTION_BATCH), len(held_out.ids))
    return float(np.mean([network.scheme.score(logits, held_out.truth[some]) for logits in ways]))
