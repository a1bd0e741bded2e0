"""Fitting the linear part: which n-grams to read, what they say about held-out texts, and a learning curve."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.class_weights import class_weights
from retvec_lite.ngrams import CODES, PRIME, NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.codebooks import squeeze
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.folds import Folds, Rows
from retvec_lite.training.linear import (
    KINDS,
    Features,
    Kind,
    LinearModel,
    Matrix,
    count_hashes,
    fit_linear,
    fold,
    mean_vectors,
)
from retvec_lite.training.settings import FitSettings
from retvec_lite.training.sizes import choose_codebooks

_FEW_LABELS: Final = 20
"""Labels up to which more than the first kind of n-grams is tried."""

_LONG: Final = 30
"""Words of a typical text from which the second kind is taken, unless the first is clearly better."""

_SHARES: Final = (0.25, 0.5)
_SHARES_OF_MANY: Final = (0.125, 0.25)
"""Shares of the texts in the learning curve, besides all of them; smaller ones where a fit takes long."""


@dataclasses.dataclass(frozen=True)
class _Read:
    """All texts, as a kind of n-grams reads them.

    Attributes:
        kind: the shortest and the longest n-grams.
        config: with the buckets there is room for, or codebooks.
        clean: the training texts as they are.
        mistyped: those mistyped copies of them that are learned from as well.
        held_out: the held-out texts, by the share of mistyped words.
    """

    kind: Kind
    config: NgramConfig
    clean: Features
    mistyped: Sequence[Features]
    held_out: Mapping[float, Features]


class LinearFitter:
    """Fits the linear part to the texts of `data`: to folds, to shares of the texts, and to all of them.

    Args:
        data: what `prepare` made of the texts.
        buckets: how many buckets of n-grams.
        vectors: word vectors by id, to read their mean as well; None: n-grams only.
        settings: see `FitSettings`.
        progress: receives ("fitting n-grams", done, total).
        with_held_out: `fit_all` learns from the held-out texts as well: they have decided what they were set aside for.

    Attributes:
        model: the linear part that was fitted last.
    """

    model: LinearModel

    def __init__(
        self,
        data: TrainingData,
        buckets: int,
        vectors: Any,
        settings: FitSettings,
        progress: Progress = silent,
        *,
        with_held_out: bool = False,
    ) -> None:
        self._data = data
        self._buckets = buckets
        self._vectors = vectors
        self._settings = settings
        self._progress = progress
        self._with_held_out = with_held_out
        self._fits = self._total = 0
        self._read: _Read | None = None
        self._logits: Mapping[float, Floats] = {}

    @property
    def config(self) -> NgramConfig:
        """Which n-grams are read."""
        return self._chosen.config

    @property
    def kind(self) -> Kind:
        """The shortest and the longest of them."""
        return self._chosen.kind

    @property
    def _chosen(self) -> _Read:
        assert self._read is not None, "Call held_out_logits or choose first."
        return self._read

    def held_out_logits(self, folds: Folds | None) -> Mapping[float, Floats]:
        """Choose which n-grams to read; return the logits of the held-out texts at each share of mistyped words.

        Args:
            folds: the held-out texts are the training texts, each predicted by a model that has not seen it; None: they are
                others, and `model` is fitted to all training texts on the way.
        """
        kinds = self._likely_kinds()
        self._total = (len(kinds) + len(_SHARES)) * len(self._splits(folds)) + (
            folds is not None or self._with_held_out
        )
        best: tuple[_Read, Mapping[float, Floats], LinearModel] | None = None
        for kind in kinds:
            self.choose(kind)
            found = self._predict(folds)
            if best is None or self._score(found) > self._score(best[1]) + self._error(best[1]):
                best = self._chosen, found, self.model
        assert best is not None
        self._read, self._logits, self.model = best
        return self._logits

    def choose(self, kind: Kind) -> None:
        """Read n-grams of a kind."""
        data = self._data
        clean = data.clean_hashes(kind)
        books = choose_codebooks(len(np.unique(clean.indices)), self._buckets, len(data.labels))
        shortest, longest = kind
        config = NgramConfig(
            buckets=CODES * books or self._buckets, longest=longest, shortest=shortest, codebooks=books
        )

        def features(hashes: Matrix, ids: Ints) -> Features:
            means = None if self._vectors is None else mean_vectors(ids, self._vectors)
            return Features(hashes if books else fold(hashes, config.buckets), means)

        def read(texts: Sequence[str], ids: Ints) -> Features:
            return features(count_hashes(texts, data.config, kind), ids)

        used = list(zip(data.mistyped, data.examples.copies, strict=True))[: self._settings.linear_copies]
        self._read = _Read(
            kind,
            config,
            features(clean, data.clean_ids),
            [read(texts, ids) for texts, ids in used if texts != data.clean],
            {rate: read(data.held_out_texts[rate], ids) for rate, ids in data.held_out.ids.items()},
        )

    def fit_all(self) -> None:
        """Fit `model` to all texts there are to learn from."""
        read, rows = self._chosen, np.arange(len(self._data.clean))
        held_out = list(read.held_out.values())[: 1 + len(read.mistyped)] if self._with_held_out else []
        self.model = self._fit(rows, held_out)

    def learning_curve(self, folds: Folds | None) -> list[tuple[int, float]]:
        """Return (training texts, score on clean held-out texts) for a quarter, half and all of the texts.

        Without folds, texts are many: an eighth, a quarter and all of them.
        """
        points, splits, truth = [], self._splits(folds), self._data.held_out.truth
        logits = np.zeros_like(self._logits[0.0])
        for share in _SHARES_OF_MANY if folds is None else _SHARES:
            count = 0
            for rows, others in splits:
                part = self._share(rows, share)
                logits[others] = self._fit(part).scores(self._chosen.held_out[0.0][others])
                count += len(part)
            points.append((round(count / len(splits)), self._data.task.score(logits, truth)))
        whole = self._data.task.score(self._logits[0.0], truth)
        return [*points, (round(np.mean([len(rows) for rows, _ in splits])), whole)]

    def _share(self, rows: Rows, share: float) -> Rows:
        """Return that share of the texts of every label, but one of each at least: no label is unknown."""
        shuffled = np.random.default_rng(self._settings.seed).permutation(rows)
        strata = self._data.strata[shuffled]
        groups = [shuffled[strata == stratum] for stratum in np.unique(strata)]
        return np.concatenate([group[: max(1, round(len(group) * share))] for group in groups])

    def _splits(self, folds: Folds | None) -> list[tuple[Rows, Rows]]:
        if folds is not None:
            return list(folds)
        return [(np.arange(len(self._data.clean)), np.arange(len(self._data.held_out.truth)))]

    def _fit(self, rows: Rows, held_out: Sequence[Features] = ()) -> LinearModel:
        """Fit a model to some of the training texts and their mistyped copies, and to all held-out texts given."""
        read, data = self._chosen, self._data
        features = read.clean[rows].joined([*(part[rows] for part in read.mistyped), *held_out])
        targets = np.concatenate(
            [data.examples.targets[rows]] * (1 + len(read.mistyped)) + [data.held_out.truth] * len(held_out)
        )
        labels, settings = data.labels, self._settings
        weights = class_weights(settings.class_weights, targets, labels)
        model = fit_linear(features, targets, len(labels), weights=weights, seed=settings.seed)
        if read.config.codebooks:
            frequency = np.bincount(features.counts.indices, features.counts.data, PRIME).astype(np.float32)
            model = squeeze(model, frequency, read.config.codebooks, seed=settings.seed)
        self._fits += 1
        self._progress("fitting n-grams", self._fits, max(self._fits, self._total))
        return model

    def _predict(self, folds: Folds | None) -> Mapping[float, Floats]:
        classes = len(self._data.labels)
        texts = len(self._data.held_out.truth)
        logits = {rate: np.zeros((texts, classes), np.float32) for rate in self._chosen.held_out}
        for rows, others in self._splits(folds):
            model = self._fit(rows)
            for rate, features in self._chosen.held_out.items():
                logits[rate][others] = model.scores(features[others])
            self.model = model
        return logits

    def _likely_kinds(self) -> tuple[Kind, ...]:
        """Return the kinds to try. The first is kept unless another is clearly better; the length of the texts chooses it."""
        if len(self._data.labels) > _FEW_LABELS:
            return KINDS[:1]
        words = np.median((self._data.clean_ids != 0).sum(axis=1))
        return KINDS[::-1] if words >= _LONG else KINDS

    def _error(self, logits: Mapping[float, Floats]) -> float:
        """Return the standard error of the score."""
        return float(np.mean([self._data.task.error(found, self._data.held_out.truth) for found in logits.values()]))

    def _score(self, logits: Mapping[float, Floats]) -> float:
        return float(np.mean([self._data.task.score(found, self._data.held_out.truth) for found in logits.values()]))
