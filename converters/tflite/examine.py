"""Examine exported .tflite files: every signature, on every installed runtime, against the NumPy reference."""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.converters import PROBABILITIES
from retvec_lite.converters.format import MOST_SHOWN, Contents, OpenArtifact, require_origin
from retvec_lite.converters.parity import Check, Difference, RuntimeResult, bounded
from retvec_lite.converters.parity.examiner import (
    ENCODING,
    Examiner,
    Outputs,
    StageComparison,
    checked,
    place,
    stage_names,
)
from retvec_lite.converters.parity.oracle import EXACT, Constant, Match, Oracle, Sample, match_constants, require_table
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite import find_signature, promote_outputs, read_model
from retvec_lite.converters.tflite.graph import (
    check_operators,
    constants,
    dtype_of,
    operator_name,
    operators,
    outputs_alone,
    signatures_of,
    sizes,
    values_of,
)
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.meaning import CODEBOOK_ROWS, CODEBOOKS, PROJECTION, letter_table
from retvec_lite.model.heads import VECTOR
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import fold_table
from retvec_lite.runtime.artifact import CLASSIFY, EMBED, Artifact, read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes
from retvec_lite.runtime.worker import Job, run_models

_RUNTIMES_BY_AGE: Final = ("tflite-runtime", "ai-edge-litert")
"""ai-edge-litert 1.0 continued tflite-runtime, which ended with 2.14."""

_CHUNK_WORDS: Final = 16_384
"""Word slots whose inner values are held at once: 27 MB of bits and 17 MB of embedding with the default sizes."""


class Promoted(NamedTuple):
    """Models that output inner values of every signature.

    Attributes:
        whole: the file's model, with all inner values as outputs besides its own.
        encoder: what computes words and bits in it, with these outputs alone; empty without an encoder.
    """

    whole: bytes
    encoder: bytes


class TFLiteFile(OpenArtifact):
    """A .tflite that was read and parsed."""

    def __init__(self, path: Path) -> None:
        """Read a file; raise RetvecLiteError when it is damaged."""
        self._artifact = read_artifact(path)
        self._model = read_model(self._artifact.model)
        self._promoted = Promoted(b"", b"")
        self.metadata = self._artifact.metadata

    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        _check_origin(self._artifact, self._model, recipe, classifier)
        own = _own_weights(self._artifact, self._model, classifier)
        signatures = [item.name for item in self._artifact.signatures]
        stages = stage_names(classifier)
        whole = promote_outputs(self._artifact.model, stages, signatures)
        encoder = outputs_alone(whole, ENCODING, signatures) if {*ENCODING} <= {*stages} else b""
        self._promoted = Promoted(whole, encoder)
        return own

    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterator[RuntimeResult]:
        """Run it on each installed runtime, in a process of its own."""
        for runtime, version in require_runtimes().items():
            yield run_artifact(examiner, self._artifact, self._promoted, recipe, oracle, runtime, version)

    def contents(self) -> Contents:
        data = self._artifact.path.read_bytes()
        return Contents(sizes(data, self._model), operators(self._model), signatures_of(self._model))


def require_runtimes() -> dict[str, str]:
    """Return distribution -> version of the installed runtimes; raise RetvecLiteError when there is none."""
    runtimes = installed_runtimes()
    if not runtimes:
        raise RetvecLiteError(
            f"No runtime to run .tflite files on ({' or '.join(RUNTIMES)}): run `pip install ai-edge-litert`."
        )
    return runtimes


def promises(oldest: Any, runtime: str, version: str) -> bool:
    """Return whether a metadata entry `oldest_runtime` ({distribution: version}, "or newer") covers a runtime."""
    if not isinstance(oldest, Mapping) or len(oldest) != 1:
        return True
    name, since = next(iter(oldest.items()))
    return age(runtime, version) >= age(str(name), str(since))


def age(runtime: str, version: str) -> tuple[int, tuple[int, ...]]:
    """Return a key that sorts runtimes from the oldest to the newest."""
    place = _RUNTIMES_BY_AGE.index(runtime) if runtime in _RUNTIMES_BY_AGE else len(_RUNTIMES_BY_AGE)
    numbers = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version.split("."))
    return place, numbers


def run_artifact(
    examiner: Examiner,
    artifact: Artifact,
    promoted: Promoted,
    recipe: Recipe,
    oracle: Oracle,
    runtime: str,
    version: str,
) -> RuntimeResult:
    """Run an artifact on one runtime and compare."""
    promised = promises(artifact.metadata.get("oldest_runtime"), runtime, version)
    compared: dict[str | None, StageComparison] = {None: examiner.stages(recipe)}
    if artifact.dimensions[0]:
        compared[EMBED] = EmbedComparison(stage_names(examiner.classifier))
    has_encoder = {*ENCODING} <= {*stage_names(examiner.classifier)}
    try:
        whole = examiner.golden + examiner.real
        step = max(1, _CHUNK_WORDS // artifact.config.max_words)
        parts = examiner.staged.parts(step)
        edges = examiner.edges.parts(step) if has_encoder else []
        jobs = [Job(artifact.model, whole.rows)]
        for name in compared:
            jobs += [Job(promoted.whole, part.rows, name) for part in parts]
            jobs += [Job(promoted.encoder, part.rows, name) for part in edges]
        answered = run_models(runtime, jobs)
        table = checked(next(answered), PROBABILITIES, (len(whole), len(artifact.labels)), np.float32)
        for comparison in compared.values():
            for part in parts:
                comparison.compare(next(answered), part, oracle)
            for part in edges:
                comparison.compare_encoding(next(answered), part)
    except RetvecLiteError as error:
        return RuntimeResult(runtime, version, promised, (), str(error))
    stages, *others = (comparison.checks(recipe) for comparison in compared.values())
    checks = [*stages, *examiner.answer_checks(table, oracle, recipe), *itertools.chain(*others)]
    return RuntimeResult(runtime, version, promised, tuple(checks), None, examiner.accuracy_of(table))


class EmbedComparison(StageComparison):
    """Collects the differences of the signature `embed`: those of its outputs besides its inner values."""

    def __init__(self, stages: Collection[str]) -> None:
        """Prepare to compare these inner values."""
        super().__init__(stages)
        self._outputs: dict[str, list[Difference]] = {"embeddings": [], "text": []}

    def compare(self, answers: Outputs, sample: Sample, oracle: Oracle) -> None:
        """Compare; its inner value `embedding`, empty slots included, is compared like that of `classify`."""
        super().compare(answers, sample, oracle)
        for index, (name, row, slots) in enumerate(zip(sample.names, sample.rows, sample.slots, strict=True)):
            used, right = slots[:, :1] != 0, oracle.embeddings(slots)[0]
            found = self._one(answers, "embeddings", index, right)
            right = oracle.nearest(slots, np.where(used, found, right)) * used
            text = self._one(answers, "text", index, np.zeros(oracle.text_dimension, np.float32))
            for output, off in (
                ("embeddings", np.abs(found - right)),
                ("text", oracle.off_embedding(row, slots, right, text)),
            ):
                self._outputs[output].append(Difference(name, float(off.max()), f"at {place(off)}"))

    def checks(self, recipe: Recipe) -> list[Check]:
        """Return one check for each thing compared."""
        found = super().checks(recipe)
        for output, differences in self._outputs.items():
            found.append(bounded(output, "computation", differences, recipe.parity_tolerance))
        return [dataclasses.replace(check, signature=EMBED) for check in found]


def _check_origin(artifact: Artifact, model: Any, recipe: Recipe, classifier: TrainedModel) -> None:
    """Make sure that an artifact claims to be this classifier, with the signatures and operators it may have."""
    require_origin(artifact.path.name, classifier, artifact.labels, artifact.metadata)
    check_operators(model, recipe.bits)
    listed, found = list(artifact.signatures), signatures_of(model)
    if listed != found:
        raise RetvecLiteError(
            "The metadata does not list the signatures of the graph: "
            + " instead of ".join(shown([item.to_dict() for item in items], MOST_SHOWN) for items in (listed, found))
            + "."
        )


def _own_weights(artifact: Artifact, model: Any, classifier: TrainedModel) -> dict[str, Match]:
    """Return what the artifact computes with; raise RetvecLiteError for other weights, or an `embed` that does not share them."""
    plain = bool(classifier.ngrams and classifier.ngrams.plain_letters)
    own = match_weights(model, classifier.weights, plain_letters=plain)
    if artifact.dimensions[0]:
        # What `embed` computes with.
        read = ("embedding/", "meaning/", *(("head/",) if f"{VECTOR}/kernel" in classifier.weights else ()))
        beyond = ("head/logits/", PROJECTION)
        wanted = {name: values for name, values in classifier.weights.items() if name.startswith(read)}
        wanted = {name: values for name, values in wanted.items() if not name.startswith(beyond)}
        for name, match in match_weights(model, wanted, EMBED, plain).items():
            if not np.array_equal(match.values, own[name].values):
                raise RetvecLiteError(f"The signature {EMBED} has other weights than {CLASSIFY}: {name}.")
    return own


def match_weights(
    model: Any, reference: Mapping[str, Floats], signature: str = CLASSIFY, plain_letters: bool = False
) -> dict[str, Match]:
    """Return what a signature of a .tflite computes with in the place of every reference weight, see `match_tables`."""
    graph = model.subgraphs[find_signature(model, signature).subgraphIndex]
    return match_tables(constants(model, graph), list(_gathered(model, graph)), reference, plain_letters)


def _gathered(model: Any, graph: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield the tables of integers that a .tflite gathers from."""
    for operator in graph.operators:
        if operator_name(model, operator) == "GATHER":
            tensor = graph.tensors[operator.inputs[0]]
            if dtype_of(tensor) in ("int8", "uint8"):
                yield values_of(model, tensor).astype(dtype_of(tensor))


def match_tables(
    plain: Sequence[Constant],
    gathered: Sequence[npt.NDArray[Any]],
    reference: Mapping[str, Floats],
    plain_letters: bool = False,
) -> dict[str, Match]:
    """Return what a file that computes as a .tflite does has in the place of every reference weight, see `match_constants`.

    Tables of n-grams and of meaning are gathered from, everything else is a constant.

    Args:
        plain: its constants, in float32.
        gathered: the tables that it gathers from, int8 or uint8.
        reference: the weights of the classifier.
        plain_letters: whether its n-grams read plain letters, see `fold_table`.

    Raises:
        RetvecLiteError: for weights that are not in the file, or tables of letters that are not the contract's.
    """
    codes = [table.astype(np.float32) for table in gathered if table.dtype == np.uint8]
    values = [constant.values for constant in plain]
    # With meaning, n-grams that read plain letters read those of its table.
    if "ngrams/table" in reference and not (plain_letters and "meaning/rows" in reference):
        places, levels = fold_table(plain_letters)
        require_table(places, codes)
        require_table(levels, values)
    if "meaning/rows" in reference:
        table = letter_table()
        require_table(table.places, codes)
        for numbers in (table.levels, table.letters):
            require_table(numbers, values)
    return match_constants([*_ngram_tables(plain, codes, gathered), *plain], reference)


def _ngram_tables(
    plain: Sequence[Constant], codes: Sequence[Floats], gathered: Sequence[npt.NDArray[Any]]
) -> Iterator[Constant]:
    """Yield tables of n-grams, the squares beside them, and the codes of hashes where there are codebooks.

    A table is an int8 constant `[buckets, labels + 1]`; its last column are the squares. Its scales are one of the constants of `labels`
    numbers: values tell which. A table of low rank has none. Training leaves both on this grid, so they count as exact.
    """
    for table in codes:
        # Codes of n-grams, or the displacements, rows and codes of words with a meaning.
        yield Constant("codes", table, EXACT)
    for integers in gathered:
        if integers.dtype != np.int8 or integers.ndim != 2:
            continue
        stored = integers.astype(np.float32)
        if stored.shape == CODEBOOK_ROWS:
            yield Constant("codebooks of meaning", stored.reshape(CODEBOOKS), EXACT)
        yield Constant("squares", stored[:, -1], EXACT)
        yield Constant("table of low rank", stored[:, :-1], EXACT)
        for scales in plain:
            if scales.values.size == stored.shape[1] - 1:
                yield Constant("table", stored[:, :-1] * scales.values.reshape(-1), scales.bits)
