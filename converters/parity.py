"""Holding one artifact against the NumPy reference, on one runtime after the other (design, section 1.4).

Two questions. Does the file compute what it says? Its words, bits, embedding and probabilities against the reference run with
the file's own dequantized weights. What did quantization cost? Its embedding and labels against the float32 weights.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite import reference
from retvec_lite.classifier_file import Classifier
from retvec_lite.converters.checks import WORST, Check, Difference, RuntimeResult, bounded, promises
from retvec_lite.converters.editing import promote_outputs
from retvec_lite.converters.flatbuffer import read_model
from retvec_lite.converters.golden import edge_sample, golden_texts
from retvec_lite.converters.matching import SMALLEST, match_weights
from retvec_lite.converters.oracle import Floats, Ints, Oracle, Sample
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.runtime_worker import run_models
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import Artifact

STAGES: Final = ("words", "bits", "embedding")
"""Inner tensors of a graph that are compared, by their keys in the metadata; RETVec-raw has no embedding."""

OUTPUT: Final = "probabilities"

_STAGE_TEXTS: Final = 100
"""Real texts whose stages are compared besides the golden ones; labels are compared on all of them."""

_CHUNK_WORDS: Final = 16_384
"""Word slots whose stages are held at once: 27 MB of bits and 17 MB of embedding with the default sizes."""

WEIGHT_BOUNDS: Final[Mapping[str, float]] = {"float32": 0.0, "float16": 2**-10, "int8": 0.01, "int4": 0.45}
"""Largest rounding error of a weight as a share of its tensor's largest: half a step of 10 mantissa bits, half of 1/127 and
some room for a grid that was recognized; in four bits the best clipping may cost the largest weight 0.4 of itself."""


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

    def __init__(self, classifier: Classifier, texts: Sequence[str], labels: Sequence[str] | None = None) -> None:
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
        rows = [reference.codepoints(text, config.max_chars) for text in texts]
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
            RetvecLiteError: when it holds other weights altogether.
        """
        own = match_weights(read_model(artifact.model), self.classifier.weights)
        differences = []
        for name, weights in self.classifier.weights.items():
            off = np.abs(own[name] - weights) / magnitude(weights)
            differences.append(Difference(name, float(off.max()), f"at {_place(off)}"))
        return own, bounded("weights", "file", differences, WEIGHT_BOUNDS[recipe.weights])

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
        try:
            whole = self.golden + self.real
            stages = self.stages(self._tensors(artifact), recipe)
            promoted = promote_outputs(artifact.model, stages.names)
            step = max(1, _CHUNK_WORDS // artifact.config.max_words)
            parts = list(self.staged.parts(step))
            jobs = [(promoted, part.rows) for part in (*parts, self.edges)]
            answered = run_models(runtime, [(artifact.model, whole.rows), *jobs])
            table = _checked(next(answered), OUTPUT, (len(whole), len(artifact.labels)), np.float32)
            for part in parts:
                stages.compare(next(answered), part, oracle)
            stages.compare_encoding(next(answered), self.edges)
        except RetvecLiteError as error:
            return RuntimeResult(runtime, version, promised, (), str(error))
        checks = [*stages.checks(recipe), *self.answer_checks(table, oracle, recipe)]
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


class Stages:
    """Collects the differences of the inner values of one artifact, text by text."""

    def __init__(self, tensors: Mapping[str, str], exact: Oracle | None, real: frozenset[str]) -> None:
        """Prepare; `Examiner.stages` does so.

        Args:
            tensors: stage -> the name under which the answers hold it.
            exact: the oracle of the float32 weights where the cosine to it is wanted.
            real: names of the texts whose words count for it.
        """
        self.names = list(dict.fromkeys(tensors.values()))
        self._tensors = tensors
        self._exact = exact if "embedding" in tensors else None
        self._real = real
        self._found: dict[str, list[Difference]] = {stage: [] for stage in tensors}
        self._cosines: dict[bytes, float] = {}

    def compare(self, answers: Mapping[str, npt.NDArray[Any]], sample: Sample, oracle: Oracle) -> None:
        """Take all inner values of some texts.

        Args:
            answers: name -> values `[texts, ...]`.
            sample: the texts.
            oracle: the reference under the artifact's own weights.
        """
        self.compare_encoding(answers, sample)
        if "embedding" not in self._tensors:
            return
        for index, (name, words) in enumerate(zip(sample.names, sample.slots, strict=True)):
            right = oracle.embeddings(words)
            found = self._one(answers, "embedding", index, right[0])
            off = np.abs(found - right)
            # Each word against the variant that it is nearest to.
            nearest = off.max(axis=2).argmin(axis=0)
            off = off[nearest, np.arange(len(words))]
            self._found["embedding"].append(Difference(name, float(off.max()), f"at {_place(off)}"))
            if self._exact is not None and name in self._real:
                self._compare_direction(found, words, self._exact)

    def compare_encoding(self, answers: Mapping[str, npt.NDArray[Any]], sample: Sample) -> None:
        """Take the words and bits of some texts, and nothing else; arguments as for `compare`."""
        for index, (name, words) in enumerate(zip(sample.names, sample.slots, strict=True)):
            for stage, right in (("words", words), ("bits", reference.bits(words))):
                wrong = self._one(answers, stage, index, right) != right
                self._found[stage].append(Difference(name, float(wrong.sum()), f"first at {_place(wrong)}"))

    def _one(
        self, answers: Mapping[str, npt.NDArray[Any]], stage: str, index: int, like: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """A stage of one text, of the shape and type of `like`."""
        name = self._tensors[stage]
        found: npt.NDArray[Any] = _checked(answers, name, (len(answers.get(name, ())), *like.shape), like.dtype.type)[
            index
        ]
        return found

    def _compare_direction(self, found: Floats, words: Ints, oracle: Oracle) -> None:
        """Cosine of each word in use to its embedding under the float32 weights."""
        exact = oracle.embeddings(words)[0].astype(np.float64)
        given = found.astype(np.float64)
        norms = np.linalg.norm(exact, axis=1) * np.linalg.norm(given, axis=1)
        cosines = (exact * given).sum(axis=1) / np.where(norms > 0, norms, 1.0)
        for word, cosine in zip(words, cosines, strict=True):
            if word[0]:
                self._cosines[word.tobytes()] = float(cosine)

    def checks(self, recipe: Recipe) -> list[Check]:
        """One check for each stage, and one for the cosine."""
        checks = []
        for stage, differences in self._found.items():
            bound = recipe.parity_tolerance if stage == "embedding" else 0.0
            checks.append(bounded(stage, "computation", differences, bound))
        if recipe.embedding_cosine is not None and self._cosines:
            mean, least = float(np.mean(list(self._cosines.values()))), min(self._cosines.values())
            lowest = sorted(self._cosines.items(), key=lambda item: item[1])[:WORST]
            worst = tuple(Difference(f"word {_word(key)!r}", cosine) for key, cosine in lowest)
            checks.append(
                Check(
                    "embedding cosine",
                    "cost",
                    mean,
                    recipe.embedding_cosine,
                    True,
                    len(self._cosines),
                    () if mean >= recipe.embedding_cosine else worst,
                    f"least {least:.6f}",
                )
            )
        return checks


def _checked(
    answers: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...], dtype: type[np.generic]
) -> npt.NDArray[Any]:
    if name not in answers:
        raise RetvecLiteError(f"Expected an output {name!r}, received {', '.join(map(repr, sorted(answers)))}.")
    found = answers[name]
    if found.shape != shape or found.dtype != dtype:
        raise RetvecLiteError(
            f"Expected the tensor {name!r} to be {np.dtype(dtype).name} {list(shape[1:])}, "
            f"received {found.dtype.name} {list(found.shape[1:])}."
        )
    return found


def _place(off: npt.NDArray[Any]) -> str:
    """Where the largest value stands, NaN first."""
    return ", ".join(map(str, np.unravel_index(int(off.argmax()), off.shape)))


def _word(key: bytes) -> str:
    return "".join(map(chr, np.trim_zeros(np.frombuffer(key, np.int32), "b")))


def _share_equal(first: Sequence[int], second: Sequence[int]) -> float:
    return float(np.mean(np.array(first) == np.array(second))) if len(first) else 1.0
