"""The linear part of a classifier: `LinearFitter` chooses which n-grams to read, and what words mean beside them, and fits it.

Texts are weighted by TF-IDF; `linear_model` solves the problem.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.class_weights import class_weights
from retvec_lite.ngrams import CODES, PRIME, NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.codebooks import choose_codebooks, squeeze
from retvec_lite.training.examples import Rows, TrainingData
from retvec_lite.training.linear_features import Features, Kind, Matrix, clean_hashes, count_hashes, fold, mean_vectors
from retvec_lite.training.linear_model import LinearModel, fit_linear
from retvec_lite.training.meaning_part import MeaningPart
from retvec_lite.training.options import FEW, FitSettings

KINDS: Final[tuple[Kind, ...]] = ((1, 4), (3, 5))
"""What is tried with few labels: the first suits intents and scripts without spaces, the second topics of long texts. Many labels
are usually intents, and get the first."""

_FEW_LABELS: Final = 20
"""Labels up to which more than the first kind of n-grams is tried."""
_LONG: Final = 30
"""Words of a typical text from which the second kind is taken, unless the first is clearly better."""

_TRANSLATED_SHARE: Final = 0.5
"""How much a text put into another language counts in the linear part: more costs the texts' own language."""

_SHARES: Final = (0.25, 0.5)
_SHARES_OF_MANY: Final = (0.125, 0.25)
"""Shares of the texts in the learning curve, besides all of them; smaller ones where a fit takes long."""


@dataclasses.dataclass(frozen=True)
class _Read:
    """All texts, as a kind of n-grams reads them; of the mistyped copies, those that are learned from."""

    config: NgramConfig
    clean: Features
    mistyped: Sequence[Features]
    held_out: Mapping[float, Features]
    names: Features | None = None

    def without_meaning(self) -> "_Read":
        held_out = {rate: features.without_meaning() for rate, features in self.held_out.items()}
        mistyped = [features.without_meaning() for features in self.mistyped]
        return _Read(self.config, self.clean.without_meaning(), mistyped, held_out)


class _Try(NamedTuple):
    """What was read, the logits of the held-out texts, and the model that was fitted last."""

    read: _Read
    logits: Mapping[float, Floats]
    model: LinearModel


class LinearFitter:
    """Chooses which n-grams to read, and fits the linear part: to each split, to shares of the texts, and to all of them.

    With `vectors` (word vectors by id), it reads the mean of a text's words as well; with `meaning`, what they mean together, unless
    held-out texts are clearly better off without. Where both `data` and `settings` say `refit`, it
    learns from the held-out texts in the end. Progress is told of "fitting n-grams".

    Attributes:
        model: the linear part that was fitted last.
        few: whether the texts are few, with one label each.
        curve: (training texts, score on clean held-out texts) for a quarter, half and all of the texts; where texts are many, for an
            eighth, a quarter and all of them.
    """

    model: LinearModel
    few: bool
    curve: list[tuple[int, float]]
    _read: _Read

    def __init__(
        self,
        data: TrainingData,
        buckets: int,
        vectors: Any,
        settings: FitSettings,
        progress: Progress = silent,
        meaning: MeaningPart | None = None,
    ) -> None:
        self._data = data
        self._buckets = buckets
        self._vectors = vectors
        self._meaning = meaning
        self._settings = settings
        self._progress = progress
        self._refit = data.refit and settings.refit
        self.few = len(data.clean) <= FEW and not data.scheme.multi_label
        self._fits = self._total = 0
        self._meanings: dict[int, Floats] = {}

    @property
    def config(self) -> NgramConfig:
        """Which n-grams are read."""
        return self._read.config

    @property
    def reads_meaning(self) -> bool:
        """Whether it reads what words mean."""
        return self._read.clean.meaning is not None

    @property
    def is_softmax(self) -> bool:
        """Whether it is fitted by softmax regression, and learns from names of labels: without meaning, that gains nothing."""
        return self.few and self.reads_meaning

    def learn(self) -> Mapping[float, Floats]:
        """Choose which n-grams to read, draw the learning curve, and fit `model` to all texts there are to learn from.

        Returns:
            The logits of the held-out texts at each share of mistyped words, each by a model that has not seen it.
        """
        kinds, last = self._likely_kinds(), bool(self._data.folds) or self._refit
        tries = len(kinds) + (self._meaning is not None)
        self._total = (tries + len(_SHARES)) * len(self._data.splits) + last
        best = self._tried(kinds[0])
        for kind in kinds[1:]:
            best = self._better(best, self._tried(kind))
        if self._meaning is not None:
            self._read = best.read.without_meaning()
            best = self._better(best, _Try(self._read, self._predict(), self.model))
        self._read, logits, self.model = best
        self.curve = self._learning_curve(logits[0.0])
        if last:
            self._fit_all()
        return logits

    def learn_as(self, other: "LinearFitter") -> None:
        """Fit `model` to all texts as `other` did to fewer: with its kind of n-grams, and what words mean if it reads that."""
        self.few = other.few
        self.choose((other.config.shortest, other.config.longest))
        if not other.reads_meaning:
            self._read = self._read.without_meaning()
        self._fit_all()

    def choose(self, kind: Kind) -> None:
        """Read n-grams of a kind."""
        data = self._data
        clean = clean_hashes(data, kind)
        books = choose_codebooks(len(np.unique(clean.indices)), self._buckets, len(data.labels))
        buckets = CODES * books or self._buckets

        def features(texts: Sequence[str], hashes: Matrix, ids: Ints) -> Features:
            means = None if self._vectors is None else mean_vectors(ids, self._vectors)
            return Features(hashes if books else fold(hashes, buckets), means, self._meaning_of(texts))

        def read(texts: Sequence[str], ids: Ints) -> Features:
            return features(texts, count_hashes(texts, data.config, kind), ids)

        count = self._settings.linear_copies * (1 + data.is_translated)
        used = list(zip(data.mistyped, data.examples.copies, strict=True))[:count]
        self._read = _Read(
            NgramConfig(buckets=buckets, longest=kind[1], shortest=kind[0], codebooks=books, plain_letters=True),
            features(data.clean, clean, data.clean_ids),
            [read(texts, ids) for texts, ids in used if texts != data.clean],
            {rate: read(data.held_out_texts[rate], ids) for rate, ids in data.held_out.ids.items()},
            read(data.names.texts, data.name_ids) if data.names.texts else None,
        )

    def _tried(self, kind: Kind) -> "_Try":
        self.choose(kind)
        return _Try(self._read, self._predict(), self.model)

    def _better(self, best: "_Try", other: "_Try") -> "_Try":
        """Return the other try if it is clearly better: by more than the standard error of the score."""
        score, error = self._data.scheme.score, self._data.scheme.error
        least = self._mean(score, best.logits) + self._mean(error, best.logits)
        return other if self._mean(score, other.logits) > least else best

    def _meaning_of(self, texts: Sequence[str]) -> Floats | None:
        """Return what the words of each text mean together; the same texts are read once."""
        if self._meaning is None:
            return None
        key = id(texts)
        if key not in self._meanings:
            self._meanings[key] = self._meaning.vectors(texts, self._data.config)
        return self._meanings[key]

    def _fit_all(self) -> None:
        """Fit `model` to all texts there are to learn from."""
        read = self._read
        held_out = list(read.held_out.values())[: 1 + len(read.mistyped)] if self._refit else []
        self.model = self._fit(np.arange(len(self._data.clean)), held_out)

    def _learning_curve(self, best: Floats) -> list[tuple[int, float]]:
        """Return the points of `curve`; `best` are the logits of clean held-out texts by models of all texts."""
        data, points = self._data, []
        logits = np.zeros_like(best)
        for share in _SHARES if data.folds else _SHARES_OF_MANY:
            count = 0
            for rows, others in data.splits:
                part = self._share(rows, share)
                logits[others] = self._fit(part).scores(self._read.held_out[0.0][others])
                count += len(part)
            points.append((round(count / len(data.splits)), data.scheme.score(logits, data.held_out.truth)))
        whole = data.scheme.score(best, data.held_out.truth)
        # With a text or two of each label, every share is all of them.
        everything = round(np.mean([len(rows) for rows, _ in data.splits]))
        return [*((count, score) for count, score in dict(points).items() if count < everything), (everything, whole)]

    def _share(self, rows: Rows, share: float) -> Rows:
        """Return that share of the texts of every label, but one of each at least: no label is unknown."""
        shuffled = np.random.default_rng(self._settings.seed).permutation(rows)
        strata = self._data.strata[shuffled]
        groups = [shuffled[strata == stratum] for stratum in np.unique(strata)]
        return np.concatenate([group[: max(1, round(len(group) * share))] for group in groups])

    def _fit(self, rows: Rows, held_out: Sequence[Features] = ()) -> LinearModel:
        """Fit a model to some of the training texts and their mistyped copies, all held-out texts given, and names of labels."""
        read, data, settings = self._read, self._data, self._settings
        names = [read.names] if read.names and self.is_softmax else []
        features = read.clean[rows].joined([*(part[rows] for part in read.mistyped), *held_out, *names])
        targets = np.concatenate(
            [data.examples.targets[rows]] * (1 + len(read.mistyped))
            + [data.held_out.truth] * len(held_out)
            + [data.names.targets] * len(names)
        )
        weights = class_weights(settings.class_weights, targets, data.labels)
        text_weights = None
        if data.examples.weights is not None:
            own, others = data.examples.weights[rows], data.held_out.weights
            if others is None:  # validation texts of the user's own count as usual
                others = np.ones(len(data.held_out.truth), np.float32)
            ones = [np.ones(len(data.names.targets), np.float32)] * len(names)
            text_weights = np.concatenate([own] * (1 + len(read.mistyped)) + [others] * len(held_out) + ones)
        if data.is_translated:
            shares = [1.0, *(_TRANSLATED_SHARE if copy % 2 else 1.0 for copy in range(len(read.mistyped)))]
            counts = np.repeat(shares, len(rows)).astype(np.float32)
            counts = np.concatenate([counts, np.ones(len(targets) - len(counts), np.float32)])
            text_weights = counts if text_weights is None else text_weights * counts
        model = fit_linear(
            features,
            targets,
            len(data.labels),
            weights=weights,
            text_weights=text_weights,
            seed=settings.seed,
            softmax=self.is_softmax,
        )
        if read.config.codebooks:
            frequency = np.bincount(features.counts.indices, features.counts.data, PRIME).astype(np.float32)
            model = LinearModel(squeeze(model.weights, frequency, read.config.codebooks, seed=settings.seed))
        self._fits += 1
        self._progress("fitting n-grams", self._fits, max(self._fits, self._total))
        return model

    def _predict(self) -> Mapping[float, Floats]:
        shape = len(self._data.held_out.truth), len(self._data.labels)
        logits = {rate: np.zeros(shape, np.float32) for rate in self._read.held_out}
        for rows, others in self._data.splits:
            self.model = self._fit(rows)
            for rate, features in self._read.held_out.items():
                logits[rate][others] = self.model.scores(features[others])
        return logits

    def _likely_kinds(self) -> tuple[Kind, ...]:
        """Return the kinds to try. The first is kept unless another is clearly better; the length of the texts chooses it."""
        if len(self._data.labels) > _FEW_LABELS:
            return KINDS[:1]
        words = np.median((self._data.clean_ids != 0).sum(axis=1))
        return KINDS[::-1] if words >= _LONG else KINDS

    def _mean(self, measure: Callable[[Floats, Ints], float], logits: Mapping[float, Floats]) -> float:
        return float(np.mean([measure(found, self._data.held_out.truth) for found in logits.values()]))
