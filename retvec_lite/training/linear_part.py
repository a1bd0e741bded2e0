"""The linear part of a classifier: `LinearPart` reads n-grams, and what words mean beside them, and is fitted to them.

Texts are weighted by TF-IDF; `linear_model` solves the problem.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.labels import class_weights
from retvec_lite.data.typos import Way
from retvec_lite.ngrams import CODES, PRIME, NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.described import Origin, telling_names
from retvec_lite.training.examples import Examples, Rows
from retvec_lite.training.linear_features import Features, count_distinct, count_hashes, fold_counts, usual_kind
from retvec_lite.training.linear_model import (
    FIRM,
    MEANS,
    PENALTY,
    SENTENCES,
    LinearModel,
    choose_codebooks,
    fit_linear,
    squeeze,
    weighted,
)
from retvec_lite.training.plan import (
    LINEAR,
    USUAL_FACTORS,
    VERY_MANY,
    HeldOutLogits,
    Plan,
    held_out_logits,
)
from retvec_lite.training.teacher import Neighbours

_LONG: Final = 30
"""Words of a typical text from which texts are long."""

_SAID: Final = (Origin.NAME, Origin.DESCRIPTION)

DESCRIBED_WEIGHT: Final = 3.0
"""How much all names and descriptions of a label count together, with their variants, and how much its texts of related words do: shared with
the texts that it has, which soon say more. Chosen on validation texts with 0 to 10 texts a label."""

TRANSLATED_SHARE: Final = 0.5
"""How much a text put into another language counts in the linear part: more costs the texts' own language."""

_RATHER: Final = np.float32(0.75)
"""How much lower the score is of a label that only a teacher gives, to texts unlike all labelled ones: the threshold tells them as well without taking
the answers of one text in a hundred. Chosen on eight inboxes."""

_SHARES: Final = (0.25, 0.5)
"""Shares of the texts in the learning curve, besides all of them; half of these where a fit takes long."""


class LinearPart:
    """Reads the texts, and fits the linear part: to each split, to shares of the texts, and to all of them.

    With `vectors`, which makes vectors of texts of their word ids, it reads these as well; with a table of meaning, what a text's words mean
    together. Unless there are very many texts, it learns from those set aside (`TrainingData.refit`) in the end. Progress is told of "fitting
    n-grams".

    Attributes:
        model: the linear part that was fitted last.
        config: which n-grams are read.
        curve: (training texts, score on clean held-out texts) for a quarter, half and all of the texts; where texts are many, for an
            eighth, a quarter and all of them.
    """

    model: LinearModel
    curve: list[tuple[int, float]]
    config: NgramConfig
    _learned: Sequence[Features]
    _shares: Sequence[float]
    _held_out: Mapping[Way, Features]
    _background: Features
    _pieces_table: Floats | None

    def __init__(
        self, plan: Plan, vectors: Callable[[Ints], Floats] | None = None, progress: Progress = silent
    ) -> None:
        data, settings = plan.data, plan.settings
        self._data, self._buckets, self._meaning, self._settings = data, plan.buckets, plan.meaning, settings
        self._vectors, self._progress = vectors, progress
        self._sentences = plan.sentences is not None
        self._refit = data.refit and data.texts < VERY_MANY
        self._pieces, self._with_answers = plan.pieces, plan.with_answers
        self._penalty, self._fits, self._total = PENALTY, 0, 0

    def fit_and_answer(self) -> HeldOutLogits:
        """Read the texts, draw the learning curve, and fit `model` to all texts there are to learn from.

        Returns:
            The logits of the held-out texts, each by a model that has not seen it.
        """
        if not len(self._data.held_out.truth):
            self._total, self.curve = 1, []
            self.read()
            self.fit(np.arange(len(self._data.clean)))
            return {way: np.zeros((0, len(self._data.labels)), np.float32) for way in self._data.held_out.ids}
        folds = len(self._data.splits)
        whole = folds > 1 or self._data.are_few
        last, shares = whole or self._refit, [share if whole else share / 2 for share in _SHARES]
        self._total = (len(shares) + 1 + self._data.are_few) * folds + last
        if self._data.count(Origin.UNLABELLED) and not self._data.taught:
            self._total *= 2  # a first fit labels the texts without labels
        self.read()
        chosen = self._choose_penalty() if self._data.are_few else None
        found = {share: self._predict(share, (Way.CLEAN,)) for share in shares}
        found[1.0] = chosen or self._predict()
        self.curve = self._learning_curve(found)
        if last:
            self.fit(np.arange(len(self._data.clean)))
        return found[1.0]

    def _choose_penalty(self) -> HeldOutLogits:
        """Choose the usual penalty, unless the firm one is clearly better; return the logits of held-out texts."""
        usual = self._predict()
        self._penalty = FIRM
        firm, scheme, truth = self._predict(), self._data.scheme, self._data.held_out.truth
        (score, error), (of_firm, _) = (
            np.mean([(scheme.score(found, truth), scheme.error(found, truth)) for found in logits.values()], axis=0)
            for logits in (usual, firm)
        )
        # By more than two standard errors: of 20 texts, one says little.
        if of_firm > score + 2 * error:
            return firm
        self._penalty = PENALTY
        return usual

    def answer(self) -> HeldOutLogits:
        """Return the logits of the held-out texts as they are, each by a model that has not seen it."""
        self._total = len(self._data.splits)
        self.read()
        return self._predict(ways=(Way.CLEAN,))

    def read(self) -> None:
        """Read the texts and their variants; of many long texts, variants alone: most of their words are as they were."""
        data, settings, kind = self._data, self._settings, usual_kind(self._data.clean)
        shares = (1.0, TRANSLATED_SHARE) if data.is_translated else (1.0,)
        used = zip(
            data.variant_texts[: settings.linear_variants * len(shares)],
            data.examples.variants,
            settings.linear_variants * shares,
            strict=False,
        )
        variants = [(texts, ids, share) for texts, ids, share in used if texts != data.clean]
        is_long = np.median((data.clean_ids != 0).sum(axis=1)) >= _LONG
        if not (is_long and data.texts >= VERY_MANY and variants):
            variants = [(data.clean, data.clean_ids, 1.0), *variants]
        texts = [*(texts for texts, _, _ in variants), *data.held_out_texts.values(), data.background]
        ids = [*(ids for _, ids, _ in variants), *data.held_out.ids.values(), data.background_ids]
        counts = count_hashes(data, texts, kind)
        books = choose_codebooks(count_distinct(counts[0]), self._buckets, len(data.labels))
        buckets = CODES * books or self._buckets
        vectors, meaning = self._vectors, self._meaning
        found = [
            Features(each, vectors(own) if vectors else None, meaning.vectors(data.reader, group) if meaning else None)
            for each, own, group in zip(counts if books else fold_counts(counts, buckets), ids, texts, strict=True)
        ]
        self.config = NgramConfig(
            buckets=buckets, longest=kind[1], shortest=kind[0], codebooks=books, plain_letters=True
        )
        self._learned, self._shares = found[: len(variants)], [share for _, _, share in variants]
        self._held_out = dict(zip(data.held_out_texts, found[len(variants) : -1], strict=True))
        self._background = found[-1]
        self._pieces_table = self._pieces.table(PRIME if books else buckets) if self._pieces else None

    @property
    def facts(self) -> Mapping[str, Any]:
        """The learning curve."""
        return {"learning_curve": self.curve}

    def exported(self, factor: float) -> Mapping[str, Floats]:
        """Return the weights fitted last, with the logits multiplied by a factor, and the table of meaning."""
        return {**self.model.scaled(factor).weights, **(self._meaning.weights if self._meaning else {})}

    def fit(self, rows: Rows) -> None:
        """Fit `model` to some of the texts; to all texts there are to learn from, those set aside included, if these are all rows."""
        is_whole = len(rows) == len(self._data.clean)
        # Held out by the user, or cross-validated, they are not set aside.
        held_out = list(self._held_out.values())[: len(self._learned)] if self._refit and is_whole else []
        self.model = self._fit_rows(rows, held_out)

    def logits(self, way: Way, rows: Rows) -> Floats:
        """Return the logits of some held-out texts by `model`, float32 `[texts, classes]`."""
        return self.model.scores(self._held_out[way][rows])

    def _learning_curve(self, found: Mapping[float, HeldOutLogits]) -> list[tuple[int, float]]:
        """Return the points of `curve`, from the logits of held-out texts by models of shares of the texts."""
        data, points = self._data, {}
        for share in sorted(found):
            # With a text or two of each label, every share is all of them.
            count = round(np.mean([np.count_nonzero(self._share(rows, share) < data.texts) for rows, _ in data.splits]))
            points[count] = data.scheme.score(found[share][Way.CLEAN], data.held_out.truth)
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

    def _fit_rows(self, rows: Rows, held_out: Sequence[Features] = ()) -> LinearModel:
        """Fit a model to some of the training texts and their mistyped variants, and all held-out texts given.

        The label of those without one is what a first fit to the others says of them and their neighbours, or a teacher that has seen these alone.
        """
        examples, is_asked = self._with_answers(rows), self._data.origins[rows] == Origin.UNLABELLED
        if is_asked.any() and not self._data.taught:
            first = self._fit_known(rows[~is_asked], examples, held_out)
            said = self._data.scheme.probabilities(USUAL_FACTORS[LINEAR] * first.scores(self._learned[0]))
            asked, targets, weights = rows[is_asked], examples.targets.copy(), examples.weights.copy()
            targets[asked], weights[asked] = self._neighbours.answers(said, rows[~is_asked], targets, asked)
            examples = dataclasses.replace(examples, targets=targets, weights=weights)
        return self._fit_known(rows, examples, held_out)

    @functools.cached_property
    def _neighbours(self) -> Neighbours:
        """The neighbours of the texts, by their n-grams."""
        rows = self._data.sentences
        self._progress("finding neighbours", 0, len(rows))
        return Neighbours(weighted(self._learned[0].counts[rows].matrix())[0], rows, len(self._data.clean))

    def _fit_known(self, rows: Rows, examples: Examples, held_out: Sequence[Features]) -> LinearModel:
        """Fit a model as `_fit_rows` does, but to texts whose labels are known."""
        data, variants, settings = self._data, self._learned, self._settings
        rows = self._telling(rows)
        features = variants[0][rows].joined([*(part[rows] for part in variants[1:]), *held_out])
        all_targets = examples.targets
        targets = np.concatenate([all_targets[rows]] * len(variants) + [data.held_out.truth] * len(held_out))
        counted, is_described = targets, np.isin(data.origins[rows], (*_SAID, Origin.RELATED))
        if is_described.any():  # what a label is called and means makes it no more common
            once = [all_targets[rows[~is_described]], np.unique(all_targets[rows[is_described]])]
            counted = np.concatenate(once * len(variants) + [data.held_out.truth] * len(held_out))
        model = fit_linear(
            features,
            targets,
            len(data.labels),
            class_weights=class_weights(settings.class_weights, counted, data.labels),
            text_weights=self._text_weights(rows, examples.weights, held_out),
            seed=settings.seed,
            vectors=SENTENCES if self._sentences else MEANS,
            pieces=self._pieces_table,
            penalty=self._penalty,
            variants=len(variants),
        )
        if books := self.config.codebooks:
            squeezed = squeeze(model.weights, features.counts.totals(), books, seed=settings.seed)
            model = dataclasses.replace(model, weights=squeezed)
        if data.none is not None and data.none not in data.examples.targets:
            model.weights["ngrams/bias"][data.none] -= _RATHER
        self._fits += 1
        self._progress("fitting n-grams", self._fits, max(self._fits, self._total))
        return model

    def _text_weights(self, rows: Rows, weights: Floats, held_out: Sequence[Features]) -> Floats:
        """Return how much each text of `_fit_rows` counts, float32 `[texts]`."""
        data = self._data
        own, origins, labels = weights[rows], data.origins[rows], data.examples.targets[rows]
        # All names and descriptions of a label count together, and so do its texts of related words.
        for together in (_SAID, (Origin.RELATED,)):
            some = np.isin(origins, together)
            if not some.any():
                continue
            texts, counts = (
                np.bincount(labels[part], minlength=len(data.labels)) for part in (origins == Origin.GIVEN, some)
            )
            shares = DESCRIBED_WEIGHT / (1 + texts) / np.maximum(counts, 1)
            own[some] = shares[labels[some]]
        # A text counts once, however many variants of it there are.
        variants = [np.float32(share / sum(self._shares)) * own for share in self._shares]
        return np.concatenate([*variants, *[data.held_out.weights / np.float32(len(variants))] * len(held_out)])

    def background(self) -> Floats:
        """Return the logits of the background by `model`, float32 `[texts, classes]`."""
        return self.model.scores(self._background)

    def _telling(self, rows: Rows) -> Rows:
        """Return the rows without names of labels that do not mean what the texts and descriptions of their label mean, or of which that is not known.

        What is related to such a name alone is left out as well.
        """
        origins, targets = self._data.origins[rows], self._data.examples.targets
        called, related = rows[origins == Origin.NAME], rows[origins == Origin.RELATED]
        if not len(called):
            return rows
        others = rows[np.isin(origins, (Origin.GIVEN, Origin.DESCRIPTION))]
        meaning = self._learned[0].meaning
        if meaning is None:
            telling = ~np.isin(targets[called], targets[others])
        else:
            telling = telling_names(meaning[others], targets[others], meaning[called], targets[called])
        described = [*targets[called[telling]], *targets[rows[origins == Origin.DESCRIPTION]]]
        related = related[np.isin(targets[related], described)]
        return np.concatenate([others, called[telling], related, rows[origins == Origin.UNLABELLED]])

    def _predict(self, share: float = 1.0, ways: Iterable[Way] | None = None) -> HeldOutLogits:
        """Return the logits of held-out texts, written in some ways or in all, by models of a share of the texts."""

        def fit(rows: Rows) -> None:
            self.model = self._fit_rows(self._share(rows, share))

        return held_out_logits(self._data, fit, self.logits, ways)
