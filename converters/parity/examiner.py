"""Compare what an artifact answers with the NumPy reference, whatever runs it.

Two questions. Does the file compute what it says? Its words, bits, embedding and probabilities are compared with the reference under
the file's own dequantized weights. What did quantization cost? Its embedding and labels are compared with the float32 weights.
"""

import contextlib
import importlib.util
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite import contract
from retvec_lite.contract import Floats, Ints
from retvec_lite.converters import PROBABILITIES
from retvec_lite.converters.parity import WORST, Check, Difference, bounded
from retvec_lite.converters.parity.golden import golden_bytes
from retvec_lite.converters.parity.golden_texts import BIT_TEXTS, edge_sample, golden_texts
from retvec_lite.converters.parity.oracle import Oracle, Sample
from retvec_lite.converters.recipes import Recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.windows import read_text

STAGES: Final = ("words", "bits", "embedding")
"""Inner tensors of the network that are compared; `stage_names` tells which of them a classifier has."""

ENCODING: Final = STAGES[:2]
"""Inner tensors of the encoder, which are exact."""

MEANING: Final = "meaning"
"""The inner tensor that holds the meaning of the text, in classifiers with a table of meaning."""

EVERY_BIT_BOUND: Final = 5e-5
"""Largest difference of an embedding value where a word sets bits that no real text sets together. With half of 336 bits at random,
plain float32 sums, one addend after another, are up to 2.4e-5 off the exact ones (released v1 weights: 1.4e-5) on any runtime.
Elsewhere the recipe's own bound holds. tests/converters/parity/test_examiner.py repeats the measurement."""

MEANING_BOUND: Final = 1e-5
"""Largest difference of a number of the meaning: it is computed from integers, in every recipe."""

_BIT_NAMES: Final = f"golden text '{BIT_TEXTS}"

_STAGE_TEXTS: Final = 100
"""Real texts whose inner values are compared, besides the golden ones; labels are compared on all of them."""

Outputs = Mapping[str, npt.NDArray[Any]]
"""Name of an output -> its values for some texts `[texts, ...]`."""

Columns = tuple[int, ...]
"""The columns of a text's labels: one, or any number where the classifier gives several."""


class StageComparison:
    """Collects the differences of one artifact's inner values, text by text."""

    def __init__(self, stages: Collection[str], exact: Oracle | None = None, real: Collection[str] = ()) -> None:
        """Prepare; see `Examiner.stages`. Without the oracle of the float32 weights, no cosine is measured."""
        self._exact = exact if "embedding" in stages else None
        self._real = real
        self._found: dict[str, list[Difference]] = {stage: [] for stage in stages}
        self._cosines: dict[bytes, float] = {}

    def compare(self, answers: Outputs, sample: Sample, oracle: Oracle) -> None:
        """Compare all inner values of some texts with the reference under the artifact's own weights."""
        self.compare_encoding(answers, sample)
        if MEANING in self._found:
            for index, (name, row) in enumerate(zip(sample.names, sample.rows, strict=True)):
                right = oracle.meaning(row)
                off = np.abs(self._one(answers, MEANING, index, right) - right)
                self._found[MEANING].append(Difference(name, float(off.max()), f"at {place(off)}"))
        if "embedding" not in self._found:
            return
        for index, (name, words) in enumerate(zip(sample.names, sample.slots, strict=True)):
            found = self._one(answers, "embedding", index, oracle.embeddings(words)[0])
            off = np.abs(found - oracle.nearest(words, found))
            self._found["embedding"].append(Difference(name, float(off.max()), f"at {place(off)}"))
            if self._exact is not None and name in self._real:
                self._compare_direction(found, words, self._exact)

    def compare_encoding(self, answers: Outputs, sample: Sample) -> None:
        """Compare only the words and bits of some texts; arguments as for `compare`."""
        if "words" not in self._found:
            return
        for index, (name, words) in enumerate(zip(sample.names, sample.slots, strict=True)):
            for stage, right in (("words", words), ("bits", contract.bits(words))):
                wrong = self._one(answers, stage, index, right) != right
                self._found[stage].append(Difference(name, float(wrong.sum()), f"first at {place(wrong)}"))

    def checks(self, recipe: Recipe) -> list[Check]:
        """Return one check for each stage, and one for the cosine."""
        checks = []
        for stage, differences in self._found.items():
            if stage != "embedding":
                bound = MEANING_BOUND if stage == MEANING else 0.0
                checks.append(bounded(stage, "computation", differences, bound))
                continue
            usual, wide = recipe.parity_tolerance, max(recipe.parity_tolerance, EVERY_BIT_BOUND)
            for name, is_bits, bound in ((stage, False, usual), (f"{stage} of every bit", True, wide)):
                chosen = [item for item in differences if item.text.startswith(_BIT_NAMES) is is_bits]
                if chosen:
                    checks.append(bounded(name, "computation", chosen, bound))
        if recipe.embedding_cosine is not None and self._cosines:
            checks.append(self._cosine_check(recipe.embedding_cosine))
        return checks

    def _one(self, answers: Outputs, stage: str, index: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a stage of one text; it must have the shape and type of `like`."""
        shape = (len(answers.get(stage, ())), *like.shape)
        found: npt.NDArray[Any] = checked(answers, stage, shape, like.dtype.type)[index]
        return found

    def _compare_direction(self, found: Floats, words: Ints, oracle: Oracle) -> None:
        """Note the cosine of each used word to its embedding under the float32 weights."""
        exact = oracle.embeddings(words)[0].astype(np.float64)
        given = found.astype(np.float64)
        norms = np.linalg.norm(exact, axis=1) * np.linalg.norm(given, axis=1)
        cosines = (exact * given).sum(axis=1) / np.where(norms > 0, norms, 1.0)
        for word, cosine in zip(words, cosines, strict=True):
            if word[0]:
                self._cosines[word.tobytes()] = float(cosine)

    def _cosine_check(self, bound: float) -> Check:
        mean = float(np.mean(list(self._cosines.values())))
        lowest = sorted(self._cosines.items(), key=lambda item: item[1])[:WORST]
        worst = () if mean >= bound else tuple(Difference(f"word {_word(key)!r}", cosine) for key, cosine in lowest)
        note = f"least {lowest[0][1]:.6f}"
        return Check("embedding cosine", "cost", mean, bound, True, len(self._cosines), worst, note)


class Examiner:
    """The reference side of an examination. What the artifacts of one classifier share is computed once.

    Attributes:
        classifier: the float32 weights that the artifacts are compared with.
        golden_texts: what every artifact is run on.
        golden: the same, with what the reference makes of them.
        real: texts that people might write.
        staged: the golden and the first real texts, on which inner values are compared.
        edges: texts around the edges of every range of the contract, on which words and bits are compared.
        accuracy: of the float32 weights on the real texts; None without labels.
    """

    def __init__(
        self, classifier: TrainedModel, texts: Sequence[str], labels: Sequence[tuple[str, ...]] | None = None
    ) -> None:
        """Compute the reference for a classifier and real texts; their labels must be known to the classifier, or be None."""
        config = classifier.encoder
        self.classifier = classifier
        self.golden_texts = golden_texts(config)
        names = (f"golden text {text.name!r}" for text in self.golden_texts)
        self.golden = Sample.of(names, [text.codepoints for text in self.golden_texts], config)
        rows = [contract.codepoints(read_text(text, config), config.max_chars) for text in texts]
        self.real = Sample.of((repr(text if len(text) <= 60 else text[:57] + "...") for text in texts), rows, config)
        self.staged = self.golden + self.real[:_STAGE_TEXTS]
        self.edges = edge_sample(config)
        self._oracles: list[Oracle] = []
        self._exact = self.oracle(classifier.weights)
        self._exact_answers = list(self._exact.table(self.real)) if texts else []
        self._exact_labels = self._chosen(self._exact_answers)
        self._right = None if labels is None else [self._columns(found) for found in labels]
        self.accuracy = None if self._right is None else _share_equal(self._exact_labels, self._right)

    def oracle(self, weights: Mapping[str, Floats], eight_bit: bool = False) -> Oracle:
        """Return the reference under the weights of a file: one for all files with equal ones, which answers a text once."""
        for known in self._oracles:
            if known.computes_with(weights, eight_bit):
                return known
        self._oracles.append(Oracle(self.classifier, weights, eight_bit))
        return self._oracles[-1]

    def stages(self, recipe: Recipe) -> StageComparison:
        """Return a fresh comparison for one artifact on one runtime."""
        exact = self._exact if recipe.embedding_cosine else None
        return StageComparison(stage_names(self.classifier), exact, frozenset(self.real.names))

    def answer_checks(self, table: Floats, oracle: Oracle, recipe: Recipe) -> list[Check]:
        """Compare an artifact's answers with the reference under its own weights, and its labels with float32's.

        `table` is float32 `[texts, classes]`: the answers to the golden texts, then to the real ones.
        """
        checks = [self._probabilities(table, oracle, recipe)]
        guesses = self._guesses(table)
        if recipe.label_agreement is not None and guesses:
            checks.append(self._labels(guesses, recipe.label_agreement))
        return checks

    def accuracy_of(self, table: Floats) -> float | None:
        """Return the share of real texts with the right label in a table as for `answer_checks`; None without labels."""
        return None if self._right is None else _share_equal(self._guesses(table), self._right)

    def golden_json(self, expected: Mapping[str, tuple[Floats, float]]) -> bytes:
        """Return `golden.json`, see `golden_bytes`."""
        model = self.classifier
        return golden_bytes(model.encoder, model.labels, self.golden_texts, expected, model.decision)

    def _guesses(self, table: Floats) -> list[Columns]:
        """Return the labels of the answers to the real texts."""
        return self._chosen(table[len(self.golden) :])

    def _chosen(self, answers: Sequence[Floats] | Floats) -> list[Columns]:
        """Return the columns of the labels that probabilities stand for: the largest, or those at or above their thresholds."""
        thresholds = self.classifier.decision.thresholds
        if thresholds is None:
            return [(int(answer.argmax()),) for answer in answers]
        return [tuple(np.flatnonzero(answer.astype(np.float64) >= thresholds).tolist()) for answer in answers]

    def _columns(self, labels: Sequence[str]) -> Columns:
        return tuple(sorted(self.classifier.labels.index(label) for label in labels))

    def _probabilities(self, table: Floats, oracle: Oracle, recipe: Recipe) -> Check:
        differences = []
        # The table goes on behind the staged texts.
        for name, row, slots, found in zip(self.staged.names, self.staged.rows, self.staged.slots, table, strict=False):
            off = oracle.off(row, slots, found)
            label = self.classifier.labels[int(off.argmax())]
            differences.append(Difference(name, float(off.max()), f"label {label!r}"))
        return bounded(PROBABILITIES, "computation", differences, recipe.parity_tolerance)

    def _labels(self, guesses: list[Columns], bound: float) -> Check:
        """Compare labels with the float32 model's; sort mismatches by its margin."""
        texts = zip(self.real.names, self._exact_answers, self._exact_labels, guesses, strict=True)
        differences = [
            Difference(name, self._margin(answer, exact, guess), f"{self._names(exact)} became {self._names(guess)}")
            for name, answer, exact, guess in texts
            if exact != guess
        ]
        differences.sort(key=lambda item: -item.amount)
        share = _share_equal(guesses, self._exact_labels)
        note = f"{len(differences)} different"
        if differences:
            note += f", float32 margins up to {differences[0].amount:.4f}"
        worst = () if share >= bound else tuple(differences[:WORST])
        return Check("same label", "cost", share, bound, True, len(guesses), worst, note)

    def _margin(self, answer: Floats, exact: Columns, guess: Columns) -> float:
        """Return how much more likely the float32 weights find their label than another; with thresholds, how far from them."""
        thresholds = self.classifier.decision.thresholds
        if thresholds is None:
            return float(answer[exact[0]] - answer[guess[0]])
        return max(abs(float(answer[column]) - thresholds[column]) for column in {*exact} ^ {*guess})

    def _names(self, columns: Columns) -> str:
        return " and ".join(repr(self.classifier.labels[column]) for column in columns) or "no label"


def stage_names(classifier: TrainedModel) -> list[str]:
    """Return the inner tensors that exported graphs name: no embedding for RETVec-raw, none of the network for the head `ngrams`."""
    meaning = [MEANING] if classifier.meaning is not None else []
    if isinstance(classifier.head, NgramHead):
        return meaning
    return [*(STAGES if "embedding/dense_0/kernel" in classifier.weights else ENCODING), *meaning]


def checked(answers: Outputs, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return one of the answers; raise RetvecLiteError when it is missing or has another shape or type."""
    if name not in answers:
        raise RetvecLiteError(f"The artifact has no output {name!r} (found: {', '.join(map(repr, sorted(answers)))}).")
    found = answers[name]
    if found.shape != shape or found.dtype != dtype:
        raise RetvecLiteError(
            f"The tensor {name!r} must be {np.dtype(dtype).name} {list(shape[1:])}, "
            f"not {found.dtype.name} {list(found.shape[1:])}."
        )
    return found


def one_core() -> contextlib.AbstractContextManager[Any]:
    """Let NumPy multiply on one core inside the block: on more, the small matrices of a text take the cores longer to share than to multiply."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return contextlib.nullcontext()
    from threadpoolctl import threadpool_limits

    limited: contextlib.AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limited


def place(off: npt.NDArray[Any]) -> str:
    """Return the indices of the largest value, NaN first."""
    return ", ".join(map(str, np.unravel_index(int(off.argmax()), off.shape)))


def _word(key: bytes) -> str:
    return "".join(map(chr, np.trim_zeros(np.frombuffer(key, np.int32), "b")))


def _share_equal(first: Sequence[Columns], second: Sequence[Columns]) -> float:
    return float(np.mean([one == other for one, other in zip(first, second, strict=True)])) if first else 1.0
