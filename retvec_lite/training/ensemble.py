"""The ensemble of a classifier: a network and a linear part, fitted to the same texts, and added up as held-out texts say."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.class_weights import class_weights
from retvec_lite.meaning import MeaningConfig
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS, snap
from retvec_lite.model.head_graph import Tensors
from retvec_lite.model.heads import HeadSpec, LinearHead, character_shapes, initial, word_dimension
from retvec_lite.model.network_graph import embed_bits
from retvec_lite.ngrams import NgramConfig
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.ahead import ahead
from retvec_lite.training.beside import Beside
from retvec_lite.training.checkpoint import Checkpoint, Course
from retvec_lite.training.examples import Examples, HeldOut, Rows, TrainingData
from retvec_lite.training.linear_part import LinearFitter
from retvec_lite.training.meaning_part import MeaningPart
from retvec_lite.training.mix import LINEAR, NETWORK, USUAL_FACTORS, USUAL_OF_SOFTMAX, mix_held_out
from retvec_lite.training.network import PREDICTION_BATCH, TrainableNetwork, run_epochs, schedule_for
from retvec_lite.training.settings import MANY, FitSettings

_FOLD_SHARE: Final = 0.5
"""Share of the epochs that a fold's network gets, to save time: it only decides how much the network counts."""

_WORDS_AT_ONCE: Final = 8192


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to fit to which texts.

    Attributes:
        data: what `make_examples` made of the texts.
        head: which head, with its sizes; `linear` has no network.
        buckets: how many buckets of n-grams; 0 for no linear part.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        fine_tune: train the embedding as well.
        settings: see `FitSettings`.
        meaning: what the linear part may read of what words mean; None for nothing.
        meaning_facts: what the report says of it, or why there is none.
    """

    data: TrainingData
    head: HeadSpec
    buckets: int
    embedding: Mapping[str, Floats]
    fine_tune: bool
    settings: FitSettings
    meaning: MeaningPart | None = None
    meaning_facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class NetworkFitter:
    """Fits the network of a plan as often as asked: to folds of the texts, then to all of them.

    A fine-tuned embedding is trained as well, and `settings.character_filters` beside it. The fits are kept in the checkpoint, and go
    on from there. Progress is told of "embedding words", and of the steps of all fits together as "training".
    """

    def __init__(self, plan: Plan, progress: Progress = silent, checkpoint: Checkpoint | None = None) -> None:
        self._plan = plan
        self._progress = progress
        self._checkpoint = checkpoint or Checkpoint()
        self._network: TrainableNetwork | None = None
        data = plan.data
        fits = [(len(rows), _FOLD_SHARE) for rows, _ in data.splits] if data.folds else []
        self._steps = [self._settings(share).steps(texts) for texts, share in (*fits, (len(data.clean), 1.0))]
        self._fits = 0

    @property
    def levels(self) -> int:
        """The largest integer of the grid of the matrices.

        A head on a frozen embedding keeps its accuracy on a 4-bit grid, so that all recipes are one function; when everything
        trains, 8 bits did a little better, and float32 and int8 are one (docs/benchmarks.md).
        """
        return EIGHT_BITS if self._plan.fine_tune else FOUR_BITS

    def fit(
        self,
        rows: Rows | None = None,
        held_out: HeldOut | None = None,
    ) -> Course:
        """Train on some rows, or on all, from new starting weights; equal seeds on one machine give equal weights.

        `held_out` decides which epoch is the best; without it, the last one is. Some rows, those of a fold, get half of the epochs.

        Returns:
            How it went, with all weights of the classifier but those of n-grams.
        """
        examples, settings = self._plan.data.examples, self._settings(1.0 if rows is None else _FOLD_SHARE)
        if rows is not None:
            examples = examples.chosen(rows)
        rng = np.random.default_rng(settings.seed)
        network = self._fresh_network(examples, settings, rng)
        before, total = sum(self._steps[: self._fits]), sum(self._steps)

        def tell(what: str, done: int, _: int) -> None:
            self._progress(what, min(before + done, total), total)

        best = run_epochs(network, examples, held_out, settings, rng, tell, self._checkpoint)
        self._fits += 1
        network.load(best.weights)
        return dataclasses.replace(best, weights={**self._plan.embedding, **best.weights})

    def logits(self, ids: Ints) -> Floats:
        """Return the logits of texts under the weights fitted last, float32 `[texts, classes]`."""
        assert self._network is not None
        return self._network.logits(ids, len(self._plan.data.labels), PREDICTION_BATCH)

    def _settings(self, share: float) -> FitSettings:
        """Return the settings of a fit with a share of the epochs."""
        settings = self._plan.settings
        return dataclasses.replace(settings, epochs=max(1, round(share * settings.epochs)))

    def _fresh_network(self, examples: Examples, settings: FitSettings, rng: np.random.Generator) -> TrainableNetwork:
        data, head, embedding = self._plan.data, self._plan.head, self._plan.embedding
        classes, inputs = len(data.labels), word_dimension(embedding, data.config.word_length)
        filters = settings.character_filters if self._plan.fine_tune else 0
        weights = {name: initial(name, shape, rng) for name, shape in character_shapes(filters).items()}
        weights |= head.initial_weights(rng, inputs + filters, classes, data.config.max_words)
        weights["head/logits/bias"] = data.scheme.starting_bias(examples.targets, classes)
        if self._plan.fine_tune:
            weights = {**embedding, **weights}
        shares = class_weights(settings.class_weights, examples.targets, data.labels)
        schedule = schedule_for(len(examples.targets), settings)
        if self._network is None:
            self._network = TrainableNetwork(
                head,
                weights,
                None if self._plan.fine_tune else embed_words(data.words, embedding, self._progress),
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

    def vectors(start: int) -> npt.NDArray[np.float16]:
        chunk = words[start : start + _WORDS_AT_ONCE]
        found: npt.NDArray[np.float16] = embed(np.pad(chunk, ((0, _WORDS_AT_ONCE - len(chunk)), (0, 0)))).numpy()
        return found[: len(chunk)]

    table = np.empty((len(words), word_dimension(weights, words.shape[1])), np.float16)
    for start, found in ahead(vectors, range(0, len(words), _WORDS_AT_ONCE)):
        table[start : start + len(found)] = found
        progress("embedding words", start + len(found), len(words))
    table[0] = 0.0
    return table


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

    def __init__(self, plan: Plan, progress: Progress = silent, checkpoint: Checkpoint | None = None) -> None:
        self._plan = plan
        is_linear = isinstance(plan.head, LinearHead)
        # Of many texts, the linear part takes longer than the network, and must not wait for it.
        self._beside = Beside(progress, gives_way=len(plan.data.clean) < MANY and not is_linear)
        self._linear: LinearFitter | None = None
        self._network: NetworkFitter | None = None
        vectors = None
        if is_linear:
            vectors = embed_words(plan.data.words, plan.embedding, progress)
        else:
            self._network = NetworkFitter(plan, self._beside.tell, checkpoint)
        if plan.buckets:
            told = self._beside.report
            self._linear = LinearFitter(plan.data, plan.buckets, vectors, plan.settings, told, plan.meaning)
        self._best: Course | None = None

    def learn(self) -> None:
        """Fit everything, and decide how much each part counts."""
        data = self._plan.data
        with self._beside.run(lambda: self._linear.learn() if self._linear else None) as fitted:
            network = self._learn_network(self._network) if self._network else None
            parts = {LINEAR: fitted(), NETWORK: network}
        found = {name: part for name, part in parts.items() if part is not None}
        usual = USUAL_OF_SOFTMAX if self._linear and self._linear.is_softmax else USUAL_FACTORS
        self.factors, self._shift = mix_held_out(found, data.held_out.truth, data.scheme, usual)
        self.logits = {
            rate: np.sum([self.factors[name] * part[rate] for name, part in found.items()], axis=0) + self._shift
            for rate in data.held_out.ids
        }
        self._add_up()
        self.facts = {
            "learning_curve": self._linear.curve if self._linear else [],
            "factors": {name: round(factor, 4) for name, factor in self.factors.items()},
            "epochs": len(self._best.history) if self._best else 0,
            "best_epoch": self._best.best if self._best else 0,
            "meaning": self._meaning_facts(),
        }

    def learn_as(self, other: "Ensemble") -> None:
        """Fit everything to more texts, as `other` decided: with its choice of n-grams and its factors."""
        self.factors, self._shift = other.factors, other._shift
        linear, like = self._linear, other._linear
        with self._beside.run(lambda: linear.learn_as(like) if linear and like else None) as fitted:
            if self._network:
                # Cross-validated, the held-out texts are training texts, and do not decide when to stop.
                self._best = self._network.fit(held_out=None if other._plan.data.folds else self._plan.data.held_out)
            fitted()
        self._add_up()

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
            found["head/logits/kernel"] = snap((kernel * factor).astype(np.float32), self._network.levels)
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

    def _learn_network(self, network: NetworkFitter) -> Mapping[float, Floats]:
        """Fit the network; cross-validated, first one for each fold, then the last one to all texts."""
        data, folds = self._plan.data, self._plan.data.folds
        held_out = data.held_out
        logits = {rate: np.zeros((len(ids), len(data.labels)), np.float32) for rate, ids in held_out.ids.items()}
        for rows, others in data.splits:
            if folds:
                network.fit(rows)
            else:
                self._best = network.fit(held_out=held_out)
            for rate, ids in held_out.ids.items():
                logits[rate][others] = network.logits(ids[others])
        if folds:
            self._best = network.fit()
        return logits
