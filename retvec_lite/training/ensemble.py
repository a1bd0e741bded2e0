"""The ensemble of a classifier: a network and a linear part, fitted to the same texts, and added up as held-out texts say."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.class_weights import class_weights
from retvec_lite.meaning import MeaningConfig
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import HeadSpec, LinearHead, word_dimension
from retvec_lite.model.pretrained_head import PretrainedHead
from retvec_lite.ngrams import NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.beside import Beside
from retvec_lite.training.examples import Examples, HeldOut, Rows, TrainingData
from retvec_lite.training.linear_part import LinearFitter
from retvec_lite.training.meaning_part import MeaningPart
from retvec_lite.training.mix import LINEAR, NETWORK, USUAL_FACTORS, USUAL_OF_PRETRAINED, USUAL_OF_SOFTMAX, mix_held_out
from retvec_lite.training.network import PREDICTION_BATCH, Fit, TrainableNetwork, run_epochs, schedule_for
from retvec_lite.training.network_inputs import embed_words
from retvec_lite.training.pretrained_fitter import PretrainedFitter
from retvec_lite.training.settings import MANY, FitSettings

_FOLD_SHARE: Final = 0.5
"""Share of the epochs that a fold's network gets, to save time: it only decides how much the network counts."""


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
        pretrained: the head to start from, or to fit the last layer of; None to train a network from random weights.
    """

    data: TrainingData
    head: HeadSpec
    buckets: int
    embedding: Mapping[str, Floats]
    settings: FitSettings
    meaning: MeaningPart | None = None
    meaning_facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pretrained: PretrainedHead | None = None


class NetworkFitter:
    """Fits the network of a plan as often as asked: to folds of the texts, then to all of them.

    It starts from random weights, or from what `start` makes of the pre-trained head for the same texts. Progress is told of
    "embedding words", and of the steps of all fits together as "training".
    """

    def __init__(
        self,
        plan: Plan,
        progress: Progress = silent,
        start: PretrainedFitter | None = None,
    ) -> None:
        self._plan = plan
        self._start = start
        self._progress = progress
        self._network: TrainableNetwork | None = None
        data = plan.data
        fits = [(len(rows), _FOLD_SHARE) for rows, _ in data.splits] if data.folds else []
        self._steps = [self._settings(share).steps(texts) for texts, share in (*fits, (len(data.clean), 1.0))]
        self._fits = 0

    def fit(
        self,
        rows: Rows | None = None,
        held_out: HeldOut | None = None,
    ) -> Fit:
        """Train on some rows, or on all, from new starting weights; equal seeds on one machine give equal weights.

        `held_out` decides which epoch is the best; without it, the last one is. Some rows, those of a fold, get half of the epochs.

        Returns:
            How it went, with all weights of the classifier but those of n-grams.
        """
        examples, settings = self._plan.data.examples, self._settings(1.0 if rows is None else _FOLD_SHARE)
        if rows is not None:
            examples = examples.chosen(rows)
        rng = np.random.default_rng(settings.seed)
        network = self._fresh_network(examples, settings, rng, rows)
        before, total = sum(self._steps[: self._fits]), sum(self._steps)

        def tell(what: str, done: int, _: int) -> None:
            self._progress(what, min(before + done, total), total)

        best = run_epochs(network, examples, held_out, settings, rng, tell)
        self._fits += 1
        network.load(best.weights)
        return dataclasses.replace(best, weights={**self._plan.embedding, **best.weights})

    def end(self) -> None:
        """Tell that no more fits are needed."""
        total = sum(self._steps)
        self._progress("training", total, total)

    def logits(self, ids: Ints) -> Floats:
        """Return the logits of texts under the weights fitted last, float32 `[texts, classes]`."""
        assert self._network is not None
        return self._network.logits(ids, len(self._plan.data.labels), PREDICTION_BATCH)

    def _settings(self, share: float) -> FitSettings:
        """Return the settings of a fit with a share of the epochs."""
        settings = self._plan.settings
        return dataclasses.replace(settings, epochs=max(1, round(share * settings.epochs)))

    def _fresh_network(
        self, examples: Examples, settings: FitSettings, rng: np.random.Generator, rows: Rows | None
    ) -> TrainableNetwork:
        data, head, embedding = self._plan.data, self._plan.head, self._plan.embedding
        classes, inputs = len(data.labels), word_dimension(embedding, data.config.word_length)
        weights = head.initial_weights(rng, inputs, classes, data.config.max_words)
        weights["head/logits/bias"] = data.scheme.starting_bias(examples.targets, classes)
        if self._start:
            begun = self._start.fit(rows).weights
            weights = {name: begun[name] for name in weights}
        shares = class_weights(settings.class_weights, examples.targets, data.labels)
        schedule = schedule_for(len(examples.targets), settings)
        if self._network is None:
            self._network = TrainableNetwork(
                head,
                weights,
                self._word_vectors(),
                shares,
                schedule,
                settings,
                data.scheme,
            )
        else:
            self._network.reset(weights, shares, schedule)
        return self._network

    def _word_vectors(self) -> npt.NDArray[np.float16]:
        if self._start:
            return self._start.table
        return embed_words(self._plan.data.words, self._plan.embedding, self._progress)


class Ensemble:
    """Fits network and linear part as a plan says.

    Attributes:
        logits: of the held-out texts at each share of mistyped words, float32 `[texts, classes]`, each by parts that had not seen it.
        factors: what the logits of each part are multiplied by.
        weights: of the whole classifier by name, each part's logits multiplied by its factor, matrices on their grid.
        ngrams: which n-grams the linear part reads; None without one.
        meaning: the table of what words mean that the linear part reads; None without one.
        facts: what the report of the training says of the parts, after `learn`.
    """

    logits: Mapping[float, Floats]
    factors: Mapping[str, float]
    weights: Mapping[str, Floats]
    ngrams: NgramConfig | None = None
    meaning: MeaningConfig | None = None
    facts: Mapping[str, Any]

    def __init__(self, plan: Plan, progress: Progress = silent) -> None:
        self._plan = plan
        is_linear = isinstance(plan.head, LinearHead)
        # Of many texts, the linear part takes longer than the network, and must not wait for it.
        self._beside = Beside(progress, gives_way=len(plan.data.clean) < MANY and not is_linear)
        self._linear: LinearFitter | None = None
        self._networks: list[NetworkFitter | PretrainedFitter] = []
        self._trained: NetworkFitter | None = None
        self._chosen, vectors = 0, None
        if is_linear:
            vectors = embed_words(plan.data.words, plan.embedding, progress)
        else:
            start = self._read_pretrained()
            self._trained = NetworkFitter(plan, self._beside.tell, start)
            self._networks = [start, self._trained] if start else [self._trained]
        if plan.buckets:
            told = self._beside.report
            self._linear = LinearFitter(plan.data, plan.buckets, vectors, plan.settings, told, plan.meaning)
        self._best: Fit | None = None

    @property
    def _network(self) -> NetworkFitter | PretrainedFitter | None:
        """What the network of the classifier is fitted by."""
        return self._networks[self._chosen] if self._networks else None

    def _read_pretrained(self) -> PretrainedFitter | None:
        plan = self._plan
        if not plan.pretrained:
            return None
        return PretrainedFitter(plan.data, plan.pretrained, plan.embedding, plan.settings, self._beside.tell)

    def learn(self) -> None:
        """Fit everything, and decide how much each part counts."""
        data = self._plan.data
        with self._beside.run(lambda: self._linear.learn() if self._linear else None) as fitted:
            tried = [self._try(network) for network in self._networks]
            linear = fitted()
        found, mixes = [], []
        for place, network in enumerate([logits for logits, _ in tried] or [None]):
            parts = {LINEAR: linear, NETWORK: network}
            found.append({name: part for name, part in parts.items() if part is not None})
            mixes.append(mix_held_out(found[-1], data.held_out.truth, data.scheme, self._usual_factors(place)))
        losses = [mix.loss for mix in mixes]
        self._chosen = losses.index(min(losses))
        self.factors, _, self._shift = mixes[self._chosen]
        self.logits = {
            rate: np.sum([self.factors[name] * part[rate] for name, part in found[self._chosen].items()], axis=0)
            + self._shift
            for rate in data.held_out.ids
        }
        if self._network:
            self._best = tried[self._chosen][1] or self._network.fit()
            if self._trained and self._network is not self._trained:
                self._trained.end()
        self._add_up()
        self.facts = {
            "learning_curve": self._linear.curve if self._linear else [],
            "factors": {name: round(factor, 4) for name, factor in self.factors.items()},
            "epochs": len(self._best.history) if self._best else 0,
            "best_epoch": self._best.best if self._best else 0,
            "meaning": self._meaning_facts(),
            "pretrained_head": self._pretrained_facts(),
        }

    def _usual_factors(self, place: int) -> Mapping[str, float]:
        """Return the usual factors of the linear part and of a network."""
        if self._networks and isinstance(self._networks[place], PretrainedFitter):
            return USUAL_OF_PRETRAINED
        return USUAL_OF_SOFTMAX if self._linear and self._linear.is_softmax else USUAL_FACTORS

    def _pretrained_facts(self) -> dict[str, str] | None:
        """Return what the report says of the pre-trained head: its language, and which of its layers were fitted to the texts."""
        if not self._plan.pretrained:
            return None
        fitted = "last" if isinstance(self._network, PretrainedFitter) else "all"
        return {"language": self._plan.pretrained.language, "layers_fitted": fitted}

    def _meaning_facts(self) -> dict[str, Any]:
        """Return what the report says of what words mean."""
        tried = self._plan.meaning is not None
        left_out = {"left_out": "held-out texts are better off without"} if tried and not self.meaning else {}
        return {"used": self.meaning is not None, **self._plan.meaning_facts, **left_out}

    def _add_up(self) -> None:
        found = dict(self._plan.embedding)
        if self._network and self._best:
            found |= self._best.weights
            factor = np.float32(self.factors[NETWORK])
            kernel, bias = found["head/logits/kernel"], found["head/logits/bias"]
            found["head/logits/kernel"] = snap((kernel * factor).astype(np.float32), FOUR_BITS)
            found["head/logits/bias"] = (bias * factor).astype(np.float32)
        if self._linear:
            found |= self._linear.model.scaled(self.factors[LINEAR]).weights
            self.ngrams = self._linear.config
            if self._plan.meaning and self._linear.reads_meaning:
                found |= self._plan.meaning.weights
                self.meaning = self._plan.meaning.config
        shifted = "ngrams/bias" if self._linear else "head/logits/bias"
        found[shifted] = found[shifted] + np.float32(self._shift)
        self.weights = found

    def _try(self, network: NetworkFitter | PretrainedFitter) -> tuple[Mapping[float, Floats], Fit | None]:
        """Return a network's logits of the held-out texts, each by one that has not seen it, and the fit to all texts.

        Cross-validated, that fit runs here, beside the linear part, unless another network may be chosen: then it is None.
        """
        data = self._plan.data
        held_out, fit = data.held_out, None
        logits = {rate: np.zeros((len(ids), len(data.labels)), np.float32) for rate, ids in held_out.ids.items()}
        for rows, others in data.splits:
            fit = network.fit(rows) if data.folds else network.fit(held_out=held_out)
            for rate, ids in held_out.ids.items():
                logits[rate][others] = network.logits(ids[others])
        if data.folds:
            fit = network.fit() if len(self._networks) == 1 else None
        return logits, fit
