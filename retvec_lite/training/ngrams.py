"""The n-grams of a training: how many buckets there is room for, which n-grams to read, and what they say about held-out texts."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.contract import BITS, EncoderConfig, Floats
from retvec_lite.data.class_weights import class_weights
from retvec_lite.model.heads import CnnHead, HeadSpec, PoolHead, character_shapes
from retvec_lite.ngrams import CODES, MOST_BUCKETS, MOST_CODEBOOKS, PRIME, NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.codebooks import squeeze
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.folds import Folds, Rows
from retvec_lite.training.linear import Features, LinearModel, Matrix, count_ngrams, fit_linear, fold, mean_vectors
from retvec_lite.training.settings import FEW, FitSettings

_LARGEST_FILE: Final = 950_000
"""Bytes that an int8 file may take: less than 1 MB, so that the int4 file of the head cnn with 150 labels is below 600 kB."""

_AROUND: Final = 130_000
"""Bytes of a file that are neither weights of the network nor n-grams: graphs, tables of the encoder, metadata, labels."""

_FEWEST_BUCKETS: Final = 128

_CROWDED: Final = PRIME // 2
"""Distinct n-grams from which codebooks can pay: a code for each hash takes 65 kB, however few hashes occur."""

_WORTH_A_NETWORK: Final = 2
"""Codebooks beside the head `cnn` that make it better than `pool` with more of them."""

_FEW_LABELS: Final = 20
_KINDS: Final = ((1, 4), (3, 5))
"""Shortest and longest n-grams that are tried with few labels: the first suit intents and scripts without spaces, the second topics
of long texts. Many labels are usually intents, and get the first."""

Kind = tuple[int, int]

_LONG: Final = 20
"""Words of a typical text from which the second kind is taken, unless the first is clearly better."""

_SHARES: Final = (0.25, 0.5)
"""Shares of the texts in the learning curve, besides all of them."""


def choose_head(
    data: TrainingData, embedding: Mapping[str, Floats], settings: FitSettings, ngram_kb: int | None
) -> str:
    """Return the head that suits the texts: `pool` for few, `cnn` for many.

    Many languages with many labels are better off with `pool` as well: the bytes that it saves are worth more as codebooks
    (docs/benchmarks.md).

    Args:
        data: the texts.
        embedding: see `choose_buckets`.
        settings: see `choose_buckets`.
        ngram_kb: see `choose_buckets`.
    """
    if data.task.multi_label:
        return CnnHead.name
    if len(data.clean) <= FEW:
        return PoolHead.name
    classes = len(data.labels)
    buckets = choose_buckets(CnnHead(), embedding, classes, data.config, settings, ngram_kb)
    # Where the size of the table is given, a smaller head leaves it no more room. Counting n-grams takes time.
    if ngram_kb is not None or codebooks_in(buckets, classes) >= _WORTH_A_NETWORK:
        return CnnHead.name
    shortest, longest = _KINDS[0]
    hashes = count_ngrams(data.clean, data.config, NgramConfig(buckets=PRIME, longest=longest, shortest=shortest))
    return PoolHead.name if is_crowded(len(np.unique(hashes.indices)), buckets) else CnnHead.name


def choose_codebooks(distinct: int, buckets: int, classes: int) -> int:
    """Return how many codebooks to use in place of `buckets` rows; 0 for none.

    They pay where the texts have many n-grams, in many languages for example, and the table has room for few rows. Otherwise, most
    n-grams have a row of their own anyway, or at least the frequent ones do (docs/benchmarks.md).

    Args:
        distinct: how many different n-grams the training texts have.
        buckets: how many rows there is room for.
        classes: number of labels.
    """
    return codebooks_in(buckets, classes) if is_crowded(distinct, buckets) else 0


def is_crowded(distinct: int, buckets: int) -> bool:
    """Return whether the texts have many n-grams, and rows for less than half of them; arguments as for `choose_codebooks`."""
    return distinct >= _CROWDED and buckets <= distinct // 2


def codebooks_in(buckets: int, classes: int) -> int:
    """Return how many codebooks take the bytes of so many hashed rows."""
    return min(buckets * (classes + 1) // (PRIME + CODES * (classes + 1)), MOST_CODEBOOKS)


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


class LinearFitter:
    """Fits the linear part to the texts of `data`: to folds, to shares of the texts, and to all of them.

    Args:
        data: what `prepare` made of the texts.
        buckets: how many buckets of n-grams.
        vectors: word vectors by id, to read their mean as well; None: n-grams only.
        settings: see `FitSettings`.
        progress: receives ("fitting n-grams", done, total).

    Attributes:
        config: which n-grams are read.
        kind: their shortest and their longest.
        model: the linear part that was fitted last to all training texts.
    """

    config: NgramConfig
    kind: Kind
    model: LinearModel

    def __init__(
        self,
        data: TrainingData,
        buckets: int,
        vectors: Any,
        settings: FitSettings,
        progress: Progress = silent,
    ) -> None:
        self._data = data
        self._buckets = buckets
        self._vectors = vectors
        self._settings = settings
        self._progress = progress
        self._fits = self._total = 0
        self._logits: Mapping[float, Floats] = {}

    def held_out_logits(self, folds: Folds | None) -> Mapping[float, Floats]:
        """Choose which n-grams to read; return the logits of the held-out texts at each share of mistyped words.

        Args:
            folds: the held-out texts are the training texts, each predicted by a model that has not seen it; None: they are
                others, and `model` is fitted to all training texts on the way.
        """
        kinds = self._likely_kinds()
        self._total = (len(kinds) + len(_SHARES)) * len(self._splits(folds)) + (1 if folds else 0)
        best: tuple[Kind, Mapping[float, Floats], LinearModel] | None = None
        for kind in kinds:
            self.choose(kind)
            found = self._predict(folds)
            if best is None or self._score(found) > self._score(best[1]) + self._error(best[1]):
                best = kind, found, self.model
        assert best is not None
        if best[0] != kinds[-1]:
            self.choose(best[0])
        _, self._logits, self.model = best
        return self._logits

    def choose(self, kind: Kind) -> None:
        """Read n-grams of a kind."""
        data = self._data
        self.kind = kind
        shortest, longest = kind
        self._hashed = NgramConfig(buckets=PRIME, longest=longest, shortest=shortest)
        clean = self._hashes(data.clean)
        distinct = len(np.unique(clean.indices))
        books = choose_codebooks(distinct, self._buckets, len(data.labels))
        rows = CODES * books or self._buckets
        self.config = dataclasses.replace(self._hashed, buckets=rows, codebooks=books)
        self._clean = self._features(clean, data.clean_ids)
        used = zip(data.mistyped, data.examples.copies, strict=True)
        self._mistyped = [
            self._features(self._hashes(texts), ids)
            for texts, ids in list(used)[: self._settings.linear_copies]
            if texts != data.clean
        ]
        self._held_out = {
            rate: self._features(self._hashes(data.held_out_texts[rate]), ids)
            for rate, ids in data.held_out.ids.items()
        }

    def fit_all(self) -> None:
        """Fit `model` to all training texts."""
        self.model = self._fit(np.arange(len(self._data.clean)))

    def learning_curve(self, folds: Folds | None) -> list[tuple[int, float]]:
        """Return (training texts, score on clean held-out texts) for a quarter, half and all of the texts."""
        points, splits, truth = [], self._splits(folds), self._data.held_out.truth
        logits = np.zeros_like(self._logits[0.0])
        for share in _SHARES:
            count = 0
            for rows, others in splits:
                part = self._share(rows, share)
                logits[others] = self._fit(part).scores(self._held_out[0.0][others])
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

    def _hashes(self, texts: Sequence[str]) -> Matrix:
        return count_ngrams(texts, self._data.config, self._hashed)

    def _features(self, hashes: Matrix, ids: Any) -> Features:
        means = None if self._vectors is None else mean_vectors(ids, self._vectors)
        return Features(hashes if self.config.codebooks else fold(hashes, self.config.buckets), means)

    def _splits(self, folds: Folds | None) -> list[tuple[Rows, Rows]]:
        if folds is not None:
            return list(folds)
        return [(np.arange(len(self._data.clean)), np.arange(len(self._data.held_out.truth)))]

    def _fit(self, rows: Rows) -> LinearModel:
        features = self._clean[rows].joined([part[rows] for part in self._mistyped])
        targets = np.concatenate([self._data.examples.targets[rows]] * (1 + len(self._mistyped)))
        labels, settings = self._data.labels, self._settings
        weights = class_weights(settings.class_weights, targets, labels)
        model = fit_linear(features, targets, len(labels), weights=weights, seed=settings.seed)
        if self.config.codebooks:
            frequency = np.bincount(features.counts.indices, features.counts.data, PRIME).astype(np.float32)
            model = squeeze(model, frequency, self.config.codebooks, seed=settings.seed)
        self._fits += 1
        self._progress("fitting n-grams", self._fits, max(self._fits, self._total))
        return model

    def _predict(self, folds: Folds | None) -> Mapping[float, Floats]:
        classes = len(self._data.labels)
        texts = len(self._data.held_out.truth)
        logits = {rate: np.zeros((texts, classes), np.float32) for rate in self._held_out}
        for rows, others in self._splits(folds):
            model = self._fit(rows)
            for rate, features in self._held_out.items():
                logits[rate][others] = model.scores(features[others])
            self.model = model
        return logits

    def _likely_kinds(self) -> tuple[Kind, ...]:
        """Return the kinds to try. The first is kept unless another is clearly better; the length of the texts chooses it."""
        if len(self._data.labels) > _FEW_LABELS:
            return _KINDS[:1]
        words = np.median((self._data.clean_ids != 0).sum(axis=1))
        return _KINDS[::-1] if words >= _LONG else _KINDS

    def _error(self, logits: Mapping[float, Floats]) -> float:
        """Return the standard error of the score."""
        return float(np.mean([self._data.task.error(found, self._data.held_out.truth) for found in logits.values()]))

    def _score(self, logits: Mapping[float, Floats]) -> float:
        return float(np.mean([self._data.task.score(found, self._data.held_out.truth) for found in logits.values()]))
