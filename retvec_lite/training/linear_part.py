"""The linear part of a classifier: `LinearPart` chooses which n-grams to read, and what words mean beside them, and fits it.

Texts are weighted by TF-IDF; `linear_model` solves the problem.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.labels import class_weights
from retvec_lite.ngrams import CODES, PRIME, NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.described import telling_names
from retvec_lite.training.examples import Rows
from retvec_lite.training.linear_features import (
    USUAL_KIND,
    Features,
    Kind,
    count_distinct,
    count_hashes,
    fold_counts,
    usual_kind,
)
from retvec_lite.training.linear_model import (
    MEANS,
    RARE,
    SENTENCES,
    USUAL,
    LinearModel,
    choose_codebooks,
    fit_linear,
    squeeze,
)
from retvec_lite.training.plan import MANY, Fit, FitSettings, HeldOutLogits, Plan, held_out_logits, judge
from retvec_lite.training.request import FEW

LONG_KIND: Final[Kind] = (3, 5)
"""What is tried beside the usual kind with many texts of few labels: it suits topics of long texts."""

_FEW_LABELS: Final = 20
"""More labels are usually intents: only the usual kind of n-grams is tried, and rare n-grams count no more than others."""
_LONG: Final = 30
"""Words of a typical text from which the long kind is taken, unless the usual one is clearly better."""

DESCRIBED_WEIGHT: Final = 3.0
"""How much all names and descriptions of a label count together, with their copies, and how much its texts of related words do: shared with
the texts that it has, which soon say more. Chosen on validation texts with 0 to 10 texts a label."""

TRANSLATED_SHARE: Final = 0.5
"""How much a text put into another language counts in the linear part: more costs the texts' own language."""

_RATHER: Final = np.float32(0.75)
"""How much lower the score is of a label that only a teacher gives, to texts unlike all labelled ones: the threshold tells them as well without taking
the answers of one text in a hundred. Chosen on validation texts of eight sets."""

_SHARES: Final = (0.25, 0.5)
_SHARES_OF_MANY: Final = (0.125, 0.25)
"""Shares of the texts in the learning curve, besides all of them; smaller ones where a fit takes long."""
_TRIED_OF_MANY: Final = _SHARES_OF_MANY[-1]
"""Share of many texts that choose what is read: one that the learning curve needs as well."""


@dataclasses.dataclass(frozen=True)
class _Read:
    """All texts, as a kind of n-grams reads them: as they are and mistyped, as far as they are learned from.

    `shares` say how much each of the copies counts, and `pieces` what each bucket means.
    """

    config: NgramConfig
    copies: Sequence[Features]
    shares: Sequence[float]
    held_out: Mapping[float, Features]
    background: Features
    pieces: Floats | None


class _Try(NamedTuple):
    """What was read, and the logits of the held-out texts."""

    read: _Read
    logits: HeldOutLogits


class LinearPart:
    """Chooses which n-grams to read, and fits the linear part: to each split, to shares of the texts, and to all of them.

    With `vectors`, which makes vectors of texts of their word ids, it reads these as well; with a table of meaning, what a text's words mean
    together. Where both texts and settings say `refit`, it learns from the held-out texts in the end. Progress is told of "fitting
    n-grams".

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
    _reads_clean: bool
    _told: Rows

    def __init__(
        self, plan: Plan, vectors: Callable[[Ints], Floats] | None = None, progress: Progress = silent
    ) -> None:
        data, settings = plan.data, plan.settings
        self._data, self._buckets, self._meaning, self._settings = data, plan.buckets, plan.meaning, settings
        self._vectors, self._progress = vectors, progress
        self._sentences = plan.sentences is not None
        self._refit = data.refit and settings.refit
        self.few = data.texts <= FEW and not data.scheme.multi_label
        self._pieces, self._teacher = plan.pieces, plan.teacher
        self._fits = self._total = 0
        self._once_read: dict[int, Floats] = {}

    @property
    def config(self) -> NgramConfig:
        """Which n-grams are read."""
        return self._read.config

    @property
    def facts(self) -> dict[str, Any]:
        """How it was fitted, for `learning`: to few texts; to the texts as they are, too; to the names of which labels."""
        names = [self._data.labels[target] for target in self._data.examples.targets[self._told]]
        return {"few": self.few, "clean": self._reads_clean, "names": names}

    def learn(self) -> HeldOutLogits:
        """Choose which n-grams to read, draw the learning curve, and fit `model` to all texts there are to learn from.

        Returns:
            The logits of the held-out texts at each share of mistyped words, each by a model that has not seen it.
        """
        if not len(self._data.held_out.truth):
            self._total, self.curve = 1, []
            self.choose(self._likely_kinds()[0])
            self.fit(np.arange(len(self._data.clean)))
            return {rate: np.zeros((0, len(self._data.labels)), np.float32) for rate in self._data.held_out.ids}
        folds = len(self._data.splits)
        whole = folds > 1 or self.few
        kinds, last = self._likely_kinds(), whole or self._refit
        tried, shares = (1.0, _SHARES) if whole else (_TRIED_OF_MANY, _SHARES_OF_MANY)
        self._total = (len(kinds) + len({*shares, 1.0} - {tried})) * folds + last
        if self._data.unlabelled and not self._teacher:
            self._total *= 2  # a first fit labels the texts without labels
        best = self._tried(kinds[0], tried)
        for kind in kinds[1:]:
            best = self._better(best, self._tried(kind, tried))
        self._read, found = best.read, {tried: best.logits}
        found |= {share: self._predict(share, (0.0,)) for share in shares if share != tried}
        if tried < 1.0:
            found[1.0] = self._predict()
        self.curve = self._learning_curve(found)
        if last:
            self.fit(np.arange(len(self._data.clean)))
        return found[1.0]

    def answer(self) -> HeldOutLogits:
        """Return the logits of the held-out texts as they are, each by a model that has not seen it; no kind of n-grams is tried but the likeliest."""
        self._total = len(self._data.splits)
        self.choose(self._likely_kinds()[0])
        return self._predict(rates=(0.0,))

    def choose(self, kind: Kind) -> None:
        """Read n-grams of a kind in the texts and their copies; of many long texts, in copies alone: most of their words are as they were."""
        data, settings = self._data, self._settings
        shares = (1.0, TRANSLATED_SHARE) if data.is_translated else (1.0,)
        used = zip(
            data.mistyped[: settings.linear_copies * len(shares)],
            data.examples.copies,
            settings.linear_copies * shares,
            strict=False,
        )
        copies = [(texts, ids, share) for texts, ids, share in used if texts != data.clean]
        self._reads_clean = not (self._is_long and data.texts >= MANY and copies)
        if self._reads_clean:
            copies = [(data.clean, data.clean_ids, 1.0), *copies]
        texts = [*(texts for texts, _, _ in copies), *data.held_out_texts.values(), data.background]
        ids = [*(ids for _, ids, _ in copies), *data.held_out.ids.values(), data.background_ids]
        counts = count_hashes(data, texts, kind)
        books = choose_codebooks(count_distinct(counts[0]), self._buckets, len(data.labels))
        buckets = CODES * books or self._buckets
        found = [
            Features(each, self._vectors_of(own), self._meaning_of(group))
            for each, own, group in zip(counts if books else fold_counts(counts, buckets), ids, texts, strict=True)
        ]
        self._read = _Read(
            NgramConfig(buckets=buckets, longest=kind[1], shortest=kind[0], codebooks=books, plain_letters=True),
            found[: len(copies)],
            [share for _, _, share in copies],
            dict(zip(data.held_out_texts, found[len(copies) : -1], strict=True)),
            found[-1],
            self._pieces.table(PRIME if books else buckets) if self._pieces else None,
        )

    def _tried(self, kind: Kind, share: float) -> "_Try":
        self.choose(kind)
        return _Try(self._read, self._predict(share))

    def _better(self, best: "_Try", other: "_Try") -> "_Try":
        """Return the other try if it is clearly better: by more than a standard error of the score."""
        score, error = judge(best.logits, self._data)
        return other if judge(other.logits, self._data).score > score + error else best

    def _vectors_of(self, ids: Ints) -> Floats | None:
        """Return the vector of each text."""
        vectors = self._vectors
        return None if vectors is None else self._once(ids, lambda: vectors(ids))

    def _meaning_of(self, texts: Sequence[str]) -> Floats | None:
        """Return what the words of each text mean together."""
        meaning = self._meaning
        return None if meaning is None else self._once(texts, lambda: meaning.vectors(self._data.reader, texts))

    def _once(self, source: object, read: Callable[[], Floats]) -> Floats:
        """Return what is read of a source, one of `TrainingData`: once, since it is the same beside all kinds of n-grams."""
        if id(source) not in self._once_read:
            self._once_read[id(source)] = read()
        return self._once_read[id(source)]

    def fit(self, rows: Rows) -> Fit:
        """Fit `model` to some of the texts; to all texts there are to learn from, those set aside included, if these are all rows."""
        read, is_whole = self._read, len(rows) == len(self._data.clean)
        # Held out by the user, or cross-validated, they are not set aside.
        held_out = list(read.held_out.values())[: len(read.copies)] if self._refit and is_whole else []
        self.model = self._solve(rows, held_out)
        return Fit(self.model.weights)

    def logits(self, rate: float, rows: Rows) -> Floats:
        """Return the logits of some held-out texts by `model`, float32 `[texts, classes]`."""
        return self.model.scores(self._read.held_out[rate][rows])

    def _learning_curve(self, found: Mapping[float, Mapping[float, Floats]]) -> list[tuple[int, float]]:
        """Return the points of `curve`, from the logits of held-out texts by models of shares of the texts."""
        data, points = self._data, {}
        for share in sorted(found):
            # With a text or two of each label, every share is all of them.
            count = round(np.mean([np.count_nonzero(self._share(rows, share) < data.texts) for rows, _ in data.splits]))
            points[count] = data.scheme.score(found[share][0.0], data.held_out.truth)
        return list(points.items())

    def _share(self, rows: Rows, share: float) -> Rows:
        """Return that share of the texts of every label, but one of each at least: no label is unknown."""
        if share == 1.0:
            return rows
        of_texts, always = rows[rows < self._data.texts], rows[rows >= self._data.texts]
        shuffled = np.random.default_rng(self._settings.seed).permutation(of_texts)
        strata = self._data.strata[shuffled]
        groups = [shuffled[strata == stratum] for stratum in np.unique(strata)]
        return np.concatenate([*(group[: max(1, round(len(group) * share))] for group in groups), always])

    def _solve(self, rows: Rows, held_out: Sequence[Features] = ()) -> LinearModel:
        """Fit a model to some of the training texts and their mistyped copies, and all held-out texts given.

        The label of those without one is what a first fit to the others says, or a teacher that has seen these alone.
        """
        data = self._data
        labelled, asked = rows[rows < data.labelled], rows[rows >= data.labelled]
        if not len(asked):
            return self._solve_known(labelled, data.examples.targets, held_out)
        targets = data.examples.targets.copy()
        if self._teacher:
            targets[asked] = self._teacher.answers(labelled, targets, asked)
        else:
            first = self._solve_known(labelled, targets, held_out)
            targets[asked] = first.scores(self._read.copies[0][asked]).argmax(axis=1)
        return self._solve_known(rows, targets, held_out)

    def _solve_known(self, rows: Rows, all_targets: Ints, held_out: Sequence[Features]) -> LinearModel:
        """Fit a model as `_solve` does, to texts whose labels are known."""
        read, data, settings = self._read, self._data, self._settings
        rows = np.concatenate([self._telling(rows[rows < data.labelled]), rows[rows >= data.labelled]])
        self._told = rows[(rows >= self._names.start) & (rows < self._names.stop)]
        features = read.copies[0][rows].joined([*(part[rows] for part in read.copies[1:]), *held_out])
        targets = np.concatenate([all_targets[rows]] * len(read.copies) + [data.held_out.truth] * len(held_out))
        counted = targets
        if data.described.texts:
            is_described = (rows >= data.texts) & (rows < data.labelled)
            once = [all_targets[rows[~is_described]], np.unique(all_targets[rows[is_described]])]
            counted = np.concatenate(once * len(read.copies) + [data.held_out.truth] * len(held_out))
        model = solve(
            features,
            targets,
            self._text_weights(rows, held_out),
            data.labels,
            settings,
            read.config,
            counted=counted,
            few=self.few,
            several=data.scheme.multi_label,
            sentences=self._sentences,
            pieces=read.pieces,
        )
        if data.none is not None and data.none not in data.examples.targets:
            model.weights["ngrams/bias"][data.none] -= _RATHER
        self._fits += 1
        self._progress("fitting n-grams", self._fits, max(self._fits, self._total))
        return model

    def _text_weights(self, rows: Rows, held_out: Sequence[Features]) -> Floats:
        """Return how much each text of `_solve` counts, float32 `[texts]`."""
        data = self._data
        own = np.ones(len(data.clean), np.float32) if data.examples.weights is None else data.examples.weights.copy()
        if data.described.texts:
            self._weigh_described(own, rows)
        own = own[rows]
        # Validation texts of the user's own have no weights, and count as usual.
        others = (
            np.ones(len(data.held_out.truth), np.float32) if data.held_out.weights is None else data.held_out.weights
        )
        copies = [np.float32(share) * own for share in self._read.shares]
        return np.concatenate([*copies, *[others] * len(held_out)])

    def _weigh_described(self, own: Floats, rows: Rows) -> None:
        """Set how much those of the rows count that are names, descriptions, and texts of related words."""
        data = self._data
        texts = np.bincount(data.examples.targets[rows[rows < data.texts]], minlength=len(data.labels))
        described = rows[(rows >= data.texts) & (rows < data.labelled)]
        related = int(np.count_nonzero(described >= data.labelled - data.described.related))
        own[described] = described_weights(data.examples.targets[described], related, texts, sum(self._read.shares))

    @property
    def _names(self) -> slice:
        """Which rows are names of labels."""
        return slice(self._data.texts, self._data.texts + self._data.described.names)

    def background(self) -> Floats:
        """Return the logits of the background by `model`, float32 `[texts, classes]`."""
        return self.model.scores(self._read.background)

    def _telling(self, rows: Rows) -> Rows:
        """Return the rows without names of labels that do not mean what the texts and descriptions of their label mean, or of which that is not known.

        What is related to such a name alone is left out as well.
        """
        data, names = self._data, self._names
        if not data.described.texts:
            return rows
        is_name = (rows >= names.start) & (rows < names.stop)
        is_related = rows >= data.labelled - data.described.related
        called, related, others = rows[is_name], rows[is_related], rows[~is_name & ~is_related]
        targets = data.examples.targets
        meaning = self._meaning_of(data.clean)
        if meaning is None:
            telling = ~np.isin(targets[called], targets[others])
        else:
            telling = telling_names(meaning[others], targets[others], meaning[called], targets[called])
        described = [*targets[called[telling]], *targets[others[others >= data.texts]]]
        return np.concatenate([others, called[telling], related[np.isin(targets[related], described)]])

    def _predict(self, share: float = 1.0, rates: Iterable[float] | None = None) -> HeldOutLogits:
        """Return the logits of held-out texts, at some shares of mistyped words or all, by models of a share of the texts."""

        def fit(rows: Rows) -> None:
            self.model = self._solve(self._share(rows, share))

        return held_out_logits(self._data, fit, self.logits, rates)

    def _likely_kinds(self) -> tuple[Kind, ...]:
        """Return the kinds to try. The first is kept unless another is clearly better; the length of the texts chooses it."""
        usual = usual_kind(self._data.clean)
        if self.few or usual != USUAL_KIND or len(self._data.labels) > _FEW_LABELS:
            return (usual,)
        return (LONG_KIND, usual) if self._is_long else (usual, LONG_KIND)

    @functools.cached_property
    def _is_long(self) -> bool:
        """Whether the texts have many words."""
        return bool(np.median((self._data.clean_ids != 0).sum(axis=1)) >= _LONG)


def described_weights(targets: Ints, related: int, texts: Ints, copies: float) -> Floats:
    """Return how much names and descriptions of labels, and behind them texts of `related` words, count, float32 `[described]`.

    Args:
        targets: their labels, int32 `[described]`.
        related: how many of them are of related words, the last ones.
        texts: how many texts each label has.
        copies: how much all copies of a text count together.
    """
    found, first = np.zeros(len(targets), np.float32), len(targets) - related
    for part in (slice(0, first), slice(first, None)):
        counts = np.bincount(targets[part], minlength=len(texts))
        found[part] = (DESCRIBED_WEIGHT / (1 + texts) / copies / np.maximum(counts, 1))[targets[part]]
    return found


def solve(
    features: Features,
    targets: Ints,
    text_weights: Floats,
    labels: Sequence[str],
    settings: FitSettings,
    config: NgramConfig,
    *,
    few: bool,
    several: bool,
    sentences: bool,
    pieces: Floats | None = None,
    counted: Ints | None = None,
) -> LinearModel:
    """Solve the linear part for what was read of texts, in the form in which it is exported.

    Args:
        features: what was read; with codebooks, it counts hashes.
        targets: see `LabelScheme.targets`.
        text_weights: how much each text counts, float32 `[texts]`.
        labels: all labels.
        settings: those of the training.
        config: which n-grams were read.
        few: whether the texts are few, see `fit_linear`.
        several: whether a text may have several labels.
        sentences: whether the vectors are of the sentence network.
        pieces: see `fit_linear`.
        counted: targets that say how common each label is, by default all of them: what a label is called and means makes it no more common.
    """
    # Rare n-grams count more where they share no bucket with frequent ones, and topics rather than intents are told apart.
    rare = config.codebooks > 0 and not (several or len(labels) > _FEW_LABELS)
    model = fit_linear(
        features,
        targets,
        len(labels),
        weights=class_weights(settings.class_weights, targets if counted is None else counted, labels),
        text_weights=text_weights,
        seed=settings.seed,
        few=few,
        weighing=RARE if rare else USUAL,
        vectors=SENTENCES if sentences else MEANS,
        pieces=pieces,
    )
    if config.codebooks:
        squeezed = squeeze(model.weights, features.counts.totals(), config.codebooks, seed=settings.seed)
        model = dataclasses.replace(model, weights=squeezed)
    return model
