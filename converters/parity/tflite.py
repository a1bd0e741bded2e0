"""Examine exported .tflite files: every signature, on every installed runtime, against the NumPy reference.

A signature for short texts must cut the same words out of a text as `classify`, count its slots, and answer the same; `embed` must
give the reference's words and embeddings. Both are run on the texts of `classify` that fit.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters import PROBABILITIES
from retvec_lite.converters.parity.checks import (
    ArtifactResult,
    Check,
    Difference,
    RuntimeResult,
    bounded,
    promises,
    require_same,
    short,
)
from retvec_lite.converters.parity.examiner import Answers, Examiner, StageComparison, checked, place
from retvec_lite.converters.parity.golden import edge_sample
from retvec_lite.converters.parity.matching import magnitude, match_weights
from retvec_lite.converters.parity.oracle import Oracle, Sample, text_embedding
from retvec_lite.converters.recipes import Recipe, find_recipe
from retvec_lite.converters.tflite.graph import check_operators, signatures_of
from retvec_lite.converters.tflite.metadata import stage_names
from retvec_lite.converters.tflite.model import promote_outputs, read_model
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, EMBED, Artifact, Signature, describe_oldest_runtime, read_artifact
from retvec_lite.runtime.worker import Job, run_models

SAME: Final = 1e-5
"""How far a short signature may be from `classify` where both compute in float32: sums over fewer slots end in other last digits.
Where activations are rounded to 8 bits, such a digit may move one of them by a step, and the recipe's bound applies."""

_CHUNK_WORDS: Final = 16_384
"""Word slots whose inner values are held at once: 27 MB of bits and 17 MB of embedding with the default sizes."""


def examine_file(examiner: Examiner, file: Path, runtimes: Mapping[str, str]) -> tuple[ArtifactResult, Floats | None]:
    """Examine one file; its name does not matter, its recipe is what its metadata says.

    Args:
        examiner: of the classifier that the file must come from.
        file: the artifact.
        runtimes: distribution -> version.

    Returns:
        The result, and what the artifact must answer to the golden texts, float32 `[texts, classes]`; None when it could not be
        examined.
    """
    size = file.stat().st_size
    recipe: Recipe | None = None
    try:
        artifact = read_artifact(file)
        recipe = find_recipe(str(artifact.metadata.get("recipe")))
        model = read_model(artifact.model)
        _check_origin(artifact, model, recipe, examiner.classifier)
        own = _own_weights(artifact, model, examiner.classifier)
        stages = _tensors(artifact, examiner.classifier).values()
        promoted = promote_outputs(artifact.model, list(stages), [item.name for item in artifact.signatures])
    except RetvecLiteError as error:
        return ArtifactResult(file.name, recipe.name if recipe else None, size, problem=str(error)), None
    checks = [_weights_check(own, examiner.classifier, recipe)]
    if recipe.size_limit is not None:
        checks.append(Check("size", "file", size, recipe.size_limit))
    oracle = Oracle(examiner.classifier, own, eight_bit=recipe.dynamic)
    results = tuple(
        run_artifact(examiner, artifact, promoted, recipe, oracle, runtime, version)
        for runtime, version in runtimes.items()
    )
    problem = None
    if not any(result.promised for result in results):
        needed = describe_oldest_runtime(artifact.metadata)
        problem = (
            f"Nothing proves this file: it promises to be right on {needed}, and only older runtimes are installed."
        )
    result = ArtifactResult(file.name, recipe.name, size, tuple(checks), results, problem)
    return result, oracle.table(examiner.golden)


def run_artifact(
    examiner: Examiner,
    artifact: Artifact,
    promoted: bytes,
    recipe: Recipe,
    oracle: Oracle,
    runtime: str,
    version: str,
) -> RuntimeResult:
    """Run an artifact on one runtime, in a process of its own, and compare.

    Args:
        examiner: of the classifier that the file comes from.
        artifact: a file whose config and labels are the classifier's.
        promoted: the same model with its inner values as outputs of every signature.
        recipe: the bounds.
        oracle: the reference under the artifact's own weights.
        runtime: the distribution.
        version: its version.
    """
    promised = promises(artifact.metadata.get("oldest_runtime"), runtime, version)
    exams: list[SignatureExam] = []
    try:
        whole = examiner.golden + examiner.real
        tensors = _tensors(artifact, examiner.classifier)
        stages = examiner.stages(tensors, recipe)
        step = max(1, _CHUNK_WORDS // artifact.config.max_words)
        parts = list(examiner.staged.parts(step))
        jobs = [Job(artifact.model, whole.rows), *(Job(promoted, part.rows) for part in (*parts, examiner.edges))]
        for signature in artifact.signatures:
            if signature.name != CLASSIFY:
                comparison = StageComparison(tensors, None, frozenset())
                exam = SignatureExam(signature, comparison, examiner.staged, artifact.config, _CHUNK_WORDS)
                jobs += exam.jobs(promoted)
                exams.append(exam)
        answered = run_models(runtime, jobs)
        table = checked(next(answered), PROBABILITIES, (len(whole), len(artifact.labels)), np.float32)
        for part in parts:
            stages.compare(next(answered), part, oracle)
        stages.compare_encoding(next(answered), examiner.edges)
        for exam in exams:
            exam.take(answered, examiner.classifier, table, oracle)
    except RetvecLiteError as error:
        return RuntimeResult(runtime, version, promised, (), str(error))
    checks = [*stages.checks(recipe), *examiner.answer_checks(table, oracle, recipe)]
    for exam in exams:
        checks += exam.checks(recipe)
    return RuntimeResult(runtime, version, promised, tuple(checks), None, examiner.accuracy_of(table))


class SignatureExam:
    """The examination of one signature of one artifact on one runtime: first the jobs, then the answers to each in turn."""

    def __init__(
        self, signature: Signature, stages: StageComparison, texts: Sample, config: EncoderConfig, chunk: int
    ) -> None:
        """Choose the texts.

        Args:
            signature: any but `classify` itself.
            stages: a fresh comparison for it.
            texts: those on which `classify` is compared stage by stage.
            config: the contract of the file.
            chunk: word slots whose inner values are held at once.
        """
        self.signature = signature
        self._stages = stages
        lengths = (texts.rows != 0) * np.arange(1, texts.rows.shape[1] + 1)
        chosen = np.flatnonzero(lengths.max(axis=1) <= signature.max_chars)
        self._texts = _cut(texts.chosen(chosen), signature)
        self._whole = texts.chosen(chosen)
        self._places = chosen
        narrow = dataclasses.replace(config, max_chars=signature.max_chars, max_words=signature.max_words)
        self._edges = edge_sample(narrow)
        self._chunk = max(1, chunk // signature.max_words)
        self._found: dict[str, list[Difference]] = {}

    def jobs(self, promoted: bytes) -> Iterator[Job]:
        """Yield what is to be run; `take` expects the answers in this order.

        Args:
            promoted: the model with its inner values as outputs of every signature.
        """
        for part in (*self._texts.parts(self._chunk), self._edges):
            yield Job(promoted, part.rows, self.signature.name)

    def take(self, answered: Iterator[Answers], classifier: TrainedModel, table: Floats, oracle: Oracle) -> None:
        """Compare the answers.

        Args:
            answered: the answers to `jobs`; no more is taken from it.
            classifier: for its labels.
            table: what `classify` answered to the same texts, float32 `[texts, classes]`; more may follow.
            oracle: the reference under the artifact's own weights.
        """
        start = 0
        for part in self._texts.parts(self._chunk):
            answers = next(answered)
            self._stages.compare(answers, part, oracle)
            if self.signature.kind == EMBED:
                self._compare_embeddings(answers, part, oracle)
            else:
                self._compare_answers(answers, part, start, classifier, table, oracle)
            start += len(part)
        self._stages.compare_encoding(next(answered), self._edges)

    def checks(self, recipe: Recipe) -> list[Check]:
        """Return one check for each thing compared."""
        same = recipe.parity_tolerance if recipe.dynamic else SAME
        bounds = {"slots": 0.0, f"as {CLASSIFY}": same}
        found = self._stages.checks(recipe)
        for name, differences in self._found.items():
            found.append(bounded(name, "computation", differences, bounds.get(name, recipe.parity_tolerance)))
        return [dataclasses.replace(check, signature=self.signature.name) for check in found]

    def _compare_answers(
        self, answers: Answers, part: Sample, start: int, classifier: TrainedModel, table: Floats, oracle: Oracle
    ) -> None:
        """Compare the slots of all texts, and the probabilities of those that fit with the reference and `classify`."""
        counts = checked(answers, "slots", (len(part),), np.int32)
        rows = checked(answers, PROBABILITIES, (len(part), len(classifier.labels)), np.float32)
        for index, name in enumerate(part.names):
            row, whole = self._whole.rows[start + index], self._whole.slots[start + index]
            # Of a text that does not fit, the count must only tell that.
            asked = min(int(np.count_nonzero(whole[:, 0])), self.signature.max_words + 1)
            found = int(counts[index])
            self._note("slots", name, float(abs(found - asked)), f"{found} instead of {asked}")
            if asked > self.signature.max_words:
                continue
            right = np.abs(oracle.probabilities(row, whole) - rows[index])
            right = right[right.max(axis=1).argmin()]
            self._note(PROBABILITIES, name, float(right.max()), f"label {classifier.labels[int(right.argmax())]!r}")
            off = np.abs(table[self._places[start + index]] - rows[index])
            self._note(f"as {CLASSIFY}", name, float(off.max()), f"label {classifier.labels[int(off.argmax())]!r}")

    def _compare_embeddings(self, answers: Answers, part: Sample, oracle: Oracle) -> None:
        """Compare the outputs of `embed`; its stage `embedding`, empty slots included, is compared like that of `classify`."""
        words, dimension = self.signature.max_words, self.signature.dimension or 0
        rows = checked(answers, "embeddings", (len(part), words, dimension), np.float32)
        texts = checked(answers, "text", (len(part), dimension), np.float32)
        for name, slots, found, text in zip(part.names, part.slots, rows, texts, strict=True):
            used = slots[:, :1] != 0
            right = oracle.nearest(slots, np.where(used, found, oracle.embeddings(slots)[0])) * used
            off = np.abs(found - right)
            self._note("embeddings", name, float(off.max()), f"at {place(off)}")
            off = np.abs(text - text_embedding(right))
            self._note("text", name, float(off.max()), f"at {place(off)}")

    def _note(self, check: str, text: str, amount: float, where: str) -> None:
        self._found.setdefault(check, []).append(Difference(text, amount, where))


def _check_origin(artifact: Artifact, model: Any, recipe: Recipe, classifier: TrainedModel) -> None:
    """Make sure that an artifact claims to be this classifier, with the signatures and operators it may have."""
    require_same(
        artifact.path.name,
        ("labels", list(artifact.labels), list(classifier.labels)),
        ("encoder settings", artifact.config.to_dict(), classifier.encoder.to_dict()),
        ("head settings", artifact.metadata.get("head"), classifier.head.name),
        (
            "n-gram settings",
            artifact.metadata.get("ngrams"),
            None if classifier.ngrams is None else classifier.ngrams.to_dict(),
        ),
        ("decision", artifact.decision.to_dict(), classifier.decision.to_dict()),
    )
    check_operators(model, recipe.newer_operators)
    listed, found = list(artifact.signatures), signatures_of(model)
    if listed != found:
        raise RetvecLiteError(
            f"The metadata does not list the signatures of the graph: {short([item.to_dict() for item in listed])} "
            f"instead of {short([item.to_dict() for item in found])}."
        )


def _own_weights(artifact: Artifact, model: Any, classifier: TrainedModel) -> dict[str, Floats]:
    """Return what the artifact computes with; raise RetvecLiteError for other weights, or signatures that do not share them."""
    own = match_weights(model, classifier.weights)
    for signature in artifact.signatures:
        if signature.name == CLASSIFY:
            continue
        wanted = {
            name: weights[: signature.max_words] if name == "head/positions" else weights
            for name, weights in classifier.weights.items()
            if signature.kind != EMBED or name.startswith("embedding/")
        }
        for name, weights in match_weights(model, wanted, signature.name).items():
            if not np.array_equal(weights, own[name][: len(weights)]):
                raise RetvecLiteError(f"The signature {signature.name} has other weights than {CLASSIFY}: {name}.")
    return own


def _weights_check(own: Mapping[str, Floats], classifier: TrainedModel, recipe: Recipe) -> Check:
    """Measure how far a file's weights are from the classifier's."""
    differences = []
    for name, weights in classifier.weights.items():
        off = np.abs(own[name] - weights) / magnitude(weights)
        differences.append(Difference(name, float(off.max()), f"at {place(off)}"))
    return bounded("weights", "file", differences, recipe.weight_bound)


def _tensors(artifact: Artifact, classifier: TrainedModel) -> dict[str, str]:
    """Return stage -> tensor name, from the metadata."""
    named = artifact.metadata.get("tensors")
    stages = stage_names(classifier)
    if not isinstance(named, dict) or not all(isinstance(named.get(stage), str) for stage in stages):
        raise RetvecLiteError(f"The metadata must name the tensors {', '.join(stages)}, but has {short(named)}.")
    return {stage: named[stage] for stage in stages}


def _cut(texts: Sample, signature: Signature) -> Sample:
    """Return texts as a signature with fewer code points and slots sees them."""
    return Sample(texts.names, texts.rows[:, : signature.max_chars], texts.slots[:, : signature.max_words])
