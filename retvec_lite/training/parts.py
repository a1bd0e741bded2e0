"""The parts of a classifier, network and linear part: fitted to the same texts, and added up as held-out texts say."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.model.grid import snap
from retvec_lite.model.heads import HeadSpec, LinearHead
from retvec_lite.ngrams import NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.checkpoint import Checkpoint
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.fitting import Best, NetworkFitter, embed_words
from retvec_lite.training.folds import Folds
from retvec_lite.training.linear_fitting import LinearFitter
from retvec_lite.training.mixing import LINEAR, NETWORK, fit_mix
from retvec_lite.training.settings import FitSettings

_FOLD_SHARE: Final = 0.5
"""Share of the epochs that a fold's network gets, to save time: it only decides how much the network counts."""


class Parts:
    """Fits what a classifier consists of to the texts of `data`.

    The head `linear` has no network; without buckets, there is no linear part.

    Args:
        data: what `prepare` made of the texts.
        head: which head, with its sizes.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        buckets: how many buckets of n-grams; 0 for none.
        fine_tune: train the embedding as well.
        settings: see `FitSettings`.
        progress: see `LinearFitter` and `NetworkFitter`.
        with_held_out: the linear part finally learns from the held-out texts as well. The network does not: they decide when
            it has learned enough.
        checkpoint: where the fits of the network are kept, and go on from; None keeps nothing.

    Attributes:
        linear: the linear part; None without one.
        factors: what the logits of each part are multiplied by.
        best: the best epoch of the network; None without one.
    """

    def __init__(
        self,
        data: TrainingData,
        head: HeadSpec,
        embedding: Mapping[str, Floats],
        buckets: int,
        *,
        fine_tune: bool,
        settings: FitSettings,
        progress: Progress = silent,
        with_held_out: bool = False,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._data = data
        self._refit = with_held_out
        self._embedding = embedding
        self._network: NetworkFitter | None = None
        vectors = None
        if isinstance(head, LinearHead):
            vectors = embed_words(data.words, embedding, progress)
        else:
            self._network = NetworkFitter(
                data,
                head,
                embedding,
                fine_tune=fine_tune,
                settings=settings,
                progress=progress,
                checkpoint=checkpoint,
            )
        self.linear = (
            LinearFitter(data, buckets, vectors, settings, progress, with_held_out=with_held_out) if buckets else None
        )
        self.factors: Mapping[str, float] = {}
        self._shift = 0.0
        self.best: Best | None = None

    @property
    def ngrams(self) -> NgramConfig | None:
        """Which n-grams are read."""
        return self.linear.config if self.linear else None

    def learn(self, folds: Folds | None) -> Mapping[float, Floats]:
        """Fit everything; return the logits of the held-out texts at each share of mistyped words, float32 `[texts, classes]`.

        Args:
            folds: the held-out texts are the training texts, each predicted by parts that have not seen it; None: they are others.
        """
        found: dict[str, Mapping[float, Floats]] = {}
        if self.linear:
            found[LINEAR] = self.linear.held_out_logits(folds)
        if self._network:
            found[NETWORK] = self._learn_network(self._network, folds)
        held_out = self._data.held_out
        together = {name: np.concatenate(list(part.values())) for name, part in found.items()}
        truth = np.concatenate([held_out.truth] * len(held_out.ids))
        mix = fit_mix(together, truth, self._data.task, len(held_out.truth))
        self.factors, self._shift = mix.factors, mix.shift
        if self.linear and (folds or self._refit):
            self.linear.fit_all()
        return {
            rate: np.sum([self.factors[name] * part[rate] for name, part in found.items()], axis=0) + self._shift
            for rate in held_out.ids
        }

    def learn_as(self, other: "Parts", folds: Folds | None) -> None:
        """Fit everything as `other` decided, with its choice of n-grams and its factors; arguments as for `learn`."""
        self.factors, self._shift = other.factors, other._shift
        if self.linear and other.linear:
            self.linear.choose(other.linear.kind)
            self.linear.fit_all()
        if self._network:
            self.best = self._network.fit(held_out=None if folds else self._data.held_out)

    def facts(self, folds: Folds | None) -> dict[str, Any]:
        """Return what the report of the training says of the parts, after `learn`; takes the time of the learning curve."""
        return {
            "learning_curve": self.linear.learning_curve(folds) if self.linear else [],
            "factors": {name: round(factor, 4) for name, factor in self.factors.items()},
            "epochs": len(self.best.history) if self.best else 0,
            "best_epoch": self.best.epoch if self.best else 0,
        }

    def weights(self) -> dict[str, Floats]:
        """Return the weights of the whole classifier, each part's logits multiplied by its factor, matrices on their grid."""
        found = dict(self._embedding)
        if self._network and self.best:
            factor = np.float32(self.factors[NETWORK])
            found |= self.best.weights
            kernel, bias = found["head/logits/kernel"], found["head/logits/bias"]
            found["head/logits/kernel"] = snap((kernel * factor).astype(np.float32), self._network.levels)
            found["head/logits/bias"] = (bias * factor).astype(np.float32)
        if self.linear:
            found |= self.linear.model.scaled(self.factors[LINEAR]).weights
        shifted = "ngrams/bias" if self.linear else "head/logits/bias"
        found[shifted] = found[shifted] + np.float32(self._shift)
        return found

    def _learn_network(self, network: NetworkFitter, folds: Folds | None) -> Mapping[float, Floats]:
        """Fit the network; with folds, first one for each of them, then the last one to all texts."""
        held_out = self._data.held_out
        if folds is None:
            self.best = network.fit(held_out=held_out)
            return {rate: network.logits(ids) for rate, ids in held_out.ids.items()}
        classes = len(self._data.labels)
        logits = {rate: np.zeros((len(ids), classes), np.float32) for rate, ids in held_out.ids.items()}
        for number, (rows, others) in enumerate(folds, start=1):
            network.fit(rows, what=f"training {number} of {folds.count + 1}", share=_FOLD_SHARE)
            for rate, ids in held_out.ids.items():
                logits[rate][others] = network.logits(ids[others])
        self.best = network.fit(what=f"training {folds.count + 1} of {folds.count + 1}")
        return logits
