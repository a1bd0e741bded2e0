"""Holding one artifact against the NumPy reference, on one runtime after the other (design, section 1.4).

Two questions. Does the file compute what it says? Its words, bits, embedding and probabilities against the reference run with
the file's own dequantized weights. What did quantization cost? Its embedding and labels against the float32 weights.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from retvec_lite import contract
from retvec_lite.contract import Floats
from retvec_lite.converters.parity.checks import WORST, Check, Difference, RuntimeResult, bounded, promises
from retvec_lite.converters.parity.golden import edge_sample, golden_texts
from retvec_lite.converters.parity.matching import SMALLEST, match_weights
from retvec_lite.converters.parity.oracle import Oracle, Sample
from retvec_lite.converters.parity.signatures import SignatureExam
from retvec_lite.converters.parity.stages import STAGES, Stages, checked, place
from retvec_lite.converters.recipes import RECIPES, Recipe
from retvec_lite.converters.tflite.editing import promote_outputs
from retvec_lite.converters.tflite.reading import Model, read_model
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, EMBED, Artifact, Signature
from retvec_lite.runtime.interpreters import Job, run_models

OUTPUT: Final = "probabilities"

_STAGE_TEXTS: Final = 100
"""Real texts whose stages are compared besides the golden ones; labels are compared on all of them."""

_CHUNK_WORDS: Final = 16_384
"""Word slots whose stages are held at once: 27 MB of bits and 17 MB of embedding with the default sizes."""

WEIGHT_BOUNDS: Final = {
    recipe.weights: recipe.weight_bound for recipe in RECIPES.values()
}  # until coreml.py uses recipes


class Examiner:
    """Examines the artifacts of one classifier; what they share is computed once.

    Attributes:
        classifier: the float32 weights that the artifacts are held against.
        golden_texts: what every artifact is run on.
        golden: the same with what the reference makes of them.
        real: texts that people might write.
        staged: the golden and the first real texts, on which inner values are compared.
        edges: texts around the edges of what the contract tells apart, on which words and bits are compared.
        accuracy: of the float32 weights on the real texts; None without labels.
    """

    def __init__(self, classifier: TrainedModel, texts: Sequence[str], labels: Sequence[str] | None = None) -> None:
        """Prepare the reference.

        Args:
            classifier: the float32 weights that the artifacts are held against.
            texts: real texts, for what quantization costs.
            labels: their right labels, all of them known to the classifier; None when there are none.
        """
        config = classifier.encoder
        self.classifier = classifier
        self.golden_texts = golden_texts(config)
        self.golden = Sample.of(
            (f"golden text {text.name!r}" for text in self.golden_texts),
            [text.codepoints for text in self.golden_texts],
            config,
        )
        rows = [contract.codepoints(text, config.max_chars) for text in texts]
        self.real = Sample.of((repr(text if len(text) <= 60 else text[:57] + "...") for text in texts), rows, config)
        self.staged = self.golden + self.real.first(_STAGE_TEXTS)
        self.edges = edge_sample(config)
        self._exact = Oracle(classifier, classifier.weights)
        self._exact_answers = [self._exact.probabilities(slots)[0] for slots in self.real.slots]
        self._exact_labels = [int(answer.argmax()) for answer in self._exact_answers]
        self._right = None if labels is None else [classifier.labels.index(label) for label in labels]
        self.accuracy = None if self._right is None else _share_equal(self._exact_labels, self._right)

    def own_weights(self, artifact: Artifact, recipe: Recipe) -> tuple[dict[str, Floats], Check]:
        """What the artifact computes with, and how far that is from the classifier's weights.

        Raises:
            RetvecLiteError: when it holds other weights altogether, or signatures compute with different ones.
        """
        model = read_model(artifact.model)
        own = match_weights(model, self.classifier.weights)
        for signature in artifact.signatures:
            if signature.name != CLASSIFY:
                self._require_shared(model, signature, own)
        differences = []
        for name, weights in self.classifier.weights.items():
            off = np.abs(own[name] - weights) / magnitude(weights)
            differences.append(Difference(name, float(off.max()), f"at {place(off)}"))
        return own, bounded("weights", "file", differences, recipe.weight_bound)

    def _require_shared(self, model: Model, signature: Signature, own: Mapping[str, Floats]) -> None:
        """Make sure that another signature computes with the very weights of `classify`, of which it may need a part."""
        wanted = {
            name: weights[: signature.max_words] if name == "head/positions" else weights
            for name, weights in self.classifier.weights.items()
            if signature.kind != EMBED or name.startswith("embedding/")
        }
        found = match_weights(model, wanted, signature.name)
        for name, weights in found.items():
            if not np.array_equal(weights, own[name][: len(weights)]):
                raise RetvecLiteError(
                    f"Expected the signature {signature.name} to compute with the weights of {CLASSIFY}, "
                    f"received others for {name}."
                )

    def examine(self, artifact: Artifact, recipe: Recipe, oracle: Oracle, runtime: str, version: str) -> RuntimeResult:
        """Run an artifact on one runtime, in processes of its own.

        Args:
            artifact: a file whose config and labels are the classifier's.
            recipe: the bounds.
            oracle: the reference under the artifact's own weights.
            runtime: the distribution.
            version: its version.
        """
        promised = promises(artifact.metadata.get("oldest_runtime"), runtime, version)
        others: list[SignatureExam] = []
        try:
            whole = self.golden + self.real
            tensors = self._tensors(artifact)
            stages = self.stages(tensors, recipe)
            promoted = promote_outputs(artifact.model, stages.names)
            step = max(1, _CHUNK_WORDS // artifact.config.max_words)
            parts = list(self.staged.parts(step))
            jobs = [Job(artifact.model, whole.rows), *(Job(promoted, part.rows) for part in (*parts, self.edges))]
            for signature in artifact.signatures:
                if signature.name != CLASSIFY:
                    collector = Stages(tensors, None, frozenset())
                    exam = SignatureExam(signature, collector, self.staged, artifact.config, _CHUNK_WORDS)
                    jobs += exam.jobs(artifact.model)
                    others.append(exam)
            answered = run_models(runtime, jobs)
            table = checked(next(answered), OUTPUT, (len(whole), len(artifact.labels)), np.float32)
            for part in parts:
                stages.compare(next(answered), part, oracle)
            stages.compare_encoding(next(answered), self.edges)
            for exam in others:
                exam.take(answered, self.classifier, table, oracle)
        except RetvecLiteError as error:
            return RuntimeResult(runtime, version, promised, (), str(error))
        checks = [*stages.checks(recipe), *self.answer_checks(table, oracle, recipe)]
        for exam in others:
            checks += exam.checks(recipe)
        return RuntimeResult(runtime, version, promised, tuple(checks), None, self.accuracy_of(table))

    def stages(self, tensors: Mapping[str, str], recipe: Recipe) -> "Stages":
        """A collector for the inner values of one artifact on one runtime.

        Args:
            tensors: stage (see `STAGES`) -> the name under which the answers hold it.
            recipe: the bounds.
        """
        names = frozenset(self.real.names)
        return Stages(tensors, self._exact if recipe.embedding_cosine else None, names)

    def answer_checks(self, table: Floats, oracle: Oracle, recipe: Recipe) -> list[Check]:
        """Hold an artifact's answers against the reference under its own weights, and its labels against float32's.

        Args:
            table: float32 `[texts, classes]`, the answers to the golden texts and then the real ones.
            oracle: the reference under the artifact's own weights.
            recipe: the bounds.
        """
        checks = [self._probabilities(table, oracle, recipe)]
        guesses = self._guesses(table)
        if recipe.label_agreement is not None and guesses:
            checks.append(self._labels(guesses, recipe.label_agreement))
        return checks

    def accuracy_of(self, table: Floats) -> float | None:
        """Share of real texts with the right label in a table of answers, see `answer_checks`; None without labels."""
        return None if self._right is None else _share_equal(self._guesses(table), self._right)

    def _guesses(self, table: Floats) -> list[int]:
        """The labels that answers give to the real texts."""
        found: list[int] = table[len(self.golden) :].argmax(axis=1).tolist()
        return found

    def _tensors(self, artifact: Artifact) -> dict[str, str]:
        """Stage -> tensor name."""
        named = artifact.metadata.get("tensors")
        stages = [s for s in STAGES if s != "embedding" or "embedding/dense_0/kernel" in self.classifier.weights]
        if not isinstance(named, dict) or not all(isinstance(named.get(stage), str) for stage in stages):
            raise RetvecLiteError(f"Expected the metadata to name the tensors {', '.join(stages)}, received {named!r}.")
        return {stage: named[stage] for stage in stages}

    def _probabilities(self, table: Floats, oracle: Oracle, recipe: Recipe) -> Check:
        differences = []
        # The table goes on behind the staged texts.
        for name, slots, found in zip(self.staged.names, self.staged.slots, table, strict=False):
            off = np.abs(oracle.probabilities(slots) - found)
            off = off[off.max(axis=1).argmin()]
            label = self.classifier.labels[int(off.argmax())]
            differences.append(Difference(name, float(off.max()), f"label {label!r}"))
        return bounded(OUTPUT, "computation", differences, recipe.parity_tolerance)

    def _labels(self, guesses: list[int], bound: float) -> Check:
        """Labels against those of the float32 weights; a difference is how much more likely those hold their own label."""
        labels = self.classifier.labels
        differences = [
            Difference(name, float(answer[exact] - answer[guess]), f"{labels[exact]!r} became {labels[guess]!r}")
            for name, answer, exact, guess in zip(
                self.real.names, self._exact_answers, self._exact_labels, guesses, strict=True
            )
            if exact != guess
        ]
        differences.sort(key=lambda item: -item.amount)
        share = _share_equal(guesses, self._exact_labels)
        note = f"{len(differences)} different"
        if differences:
            note += f", float32 margins up to {differences[0].amount:.4f}"
        worst = () if share >= bound else tuple(differences[:WORST])
        return Check("same label", "cost", share, bound, True, len(guesses), worst, note)


def magnitude(weights: Floats) -> float:
    """What a tensor's rounding errors are measured by: its largest weight, unless half precision has no digits for it."""
    return max(float(np.abs(weights).max()), SMALLEST)


def _share_equal(first: Sequence[int], second: Sequence[int]) -> float:
    return float(np.mean(np.array(first) == np.array(second))) if len(first) else 1.0
