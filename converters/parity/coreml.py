"""Holding a saved Core ML package against the NumPy reference (design, sections 1.4 and 3).

Everywhere the package is run by our own evaluator, which reads the saved files alone; on macOS by Core ML as well, which gives
no inner values. Both answer the two questions of `parity.py`.
"""

import dataclasses
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.converters.evaluator.package import Array
from retvec_lite.converters.evaluator import Program, Type, load_package
from retvec_lite.converters.parity.checks import ArtifactResult, Check, Difference, RuntimeResult, bounded, require_same
from retvec_lite.converters.parity.coreml_matching import Match, match_constants, program_constants
from retvec_lite.converters.parity.oracle import Oracle
from retvec_lite.converters.parity.examiner import STAGES, Examiner
from retvec_lite.converters.parity.matching import magnitude
from retvec_lite.converters.recipes import RECIPES, Recipe, find_recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.interpreters import silent_standard_error

EVALUATED: Final = "coreml (evaluated)"
"""What results call our own evaluator."""

RUNTIME: Final = "coreml"
"""What results call Core ML itself."""

INPUT: Final = "codepoints"
LABEL: Final = "label"
PROBABILITIES: Final = "probabilities"

TOLERANCES: Final[Mapping[str, float]] = {"float32": 1e-5, "float16": 1.5e-2, "int8": 1.5e-2, "int4": 1.5e-2}
"""Largest difference of any embedding value or probability from the reference under the file's own weights, by how it stores
them. All but float32 compute the network in 16 bits, which alone moved values of the default embedding by up to 7e-3 (half of
all texts by more than 1.9e-3, so 2e-3 would not do) and probabilities by up to 1.3e-3."""


_KINDS: Final = ((32, "float32"), (16, "float16"), (8, "int8"), (0, "int4"))
"""Bits in which a weight is stored at least, and what its bound is called."""

_LEAST_BITS: Final[Mapping[str, int]] = {"float32": 32, "float16": 16, "int8": 8, "int4": 4}
"""Fewest bits of any weight by what the recipe promises."""

_FOUR_BITS: Final = 0.15
"""Largest error of a weight in four bits that was not clipped: a palette of 15 colours leaves a half step of 0.07."""

_NEIGHBOURS: Final = 16
"""Fewest weights along the inputs that share a scale."""

_ENCODING: Final = STAGES[:2]

_CHUNK: Final = 64
"""Texts whose inner values are held at once."""


def examine_package(examiner: Examiner, path: Path) -> tuple[ArtifactResult, Floats | None]:
    """Examine one package, in every way to run it that this machine has.

    Args:
        examiner: of the classifier it must come from.
        path: the `.mlpackage`.

    Returns:
        The result, and what the package must answer to the golden texts, float32 `[texts, classes]`; None with a problem.
    """
    recipe: Recipe | None = None
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    try:
        program = load_package(path)
        recipe = find_recipe(program.package.metadata.get("recipe", ""))
        _check_origin(program, recipe, examiner.classifier)
        matches = match_constants(program_constants(program), examiner.classifier.weights)
    except RetvecLiteError as error:
        return ArtifactResult(path.name, recipe.name if recipe else None, size, problem=str(error)), None
    checks = [_weights(matches, examiner.classifier.weights, recipe)]
    if recipe.size_limit is not None:
        checks.append(Check("size", "file", size, recipe.size_limit))
    oracle = Oracle(examiner.classifier, {name: match.values for name, match in matches.items()})
    bounds = dataclasses.replace(recipe, parity_tolerance=TOLERANCES[recipe.weights])
    runs = [_examine_evaluated(examiner, program, bounds, oracle)]
    if has_core_ml():
        runs.append(_examine_native(examiner, path, bounds, oracle))
    result = ArtifactResult(path.name, recipe.name, size, tuple(checks), tuple(runs))
    return result, oracle.table(examiner.golden)


def has_core_ml() -> bool:
    """Whether this machine has Core ML itself."""
    return platform.system() == "Darwin"


def predict(path: Path, rows: Ints, labels: Sequence[str]) -> Floats:
    """Run a package on Core ML, with all compute units, as an app does.

    Args:
        path: the `.mlpackage`.
        rows: code points int32 `[texts, max_chars]`.
        labels: the classes, in the order of the answer.

    Returns:
        Probabilities float32 `[texts, classes]`.

    Raises:
        RetvecLiteError: when Core ML refuses the package or fails, or its label is not that of the largest probability.
    """
    with silent_standard_error():
        import coremltools as ct
    answers = []
    try:
        model = ct.models.MLModel(str(path))
        for row in rows:
            found = model.predict({INPUT: row[None]})
            answers.append(_in_order(found[LABEL], found[PROBABILITIES], labels))
    except RetvecLiteError:
        raise
    # Core ML's errors reach Python as whatever its binding makes of them.
    except Exception as error:
        sentence = " ".join(str(error).split())
        raise RetvecLiteError(f"Expected Core ML to run {path.name}, received: {sentence}") from error
    return np.stack(answers)


def evaluate(program: Program, row: Ints, labels: Sequence[str], inner: Sequence[str] = ()) -> dict[str, Array]:
    """Run a package on one text by the evaluator.

    Args:
        program: the loaded package.
        row: code points int32 `[max_chars]`.
        labels: the classes, in the order of the answer.
        inner: inner values to give as well, by their names in the program.

    Returns:
        `probabilities` float32 `[classes]`, and the inner values, without their first axis of one and floats as float32.

    Raises:
        RetvecLiteError: when the program cannot be run.
    """
    found = program.run({INPUT: row[None]}, [*inner, *program.outputs])
    answers = {name: found[name][0] for name in inner}
    answers |= {name: value.astype(np.float32) for name, value in answers.items() if value.dtype == np.float16}
    return answers | {PROBABILITIES: _in_order(found[LABEL], found[PROBABILITIES], labels)}


def _examine_evaluated(examiner: Examiner, program: Program, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    labels, staged = examiner.classifier.labels, examiner.staged
    has_embedding = "embedding/dense_0/kernel" in examiner.classifier.weights
    names = [stage for stage in STAGES if stage != "embedding" or has_embedding]
    stages = examiner.stages({name: name for name in names}, recipe)
    table: list[Floats] = []
    try:
        for part in staged.parts(_CHUNK):
            answers = [evaluate(program, row, labels, names) for row in part.rows]
            stages.compare({name: np.stack([answer[name] for answer in answers]) for name in names}, part, oracle)
            table += [answer[PROBABILITIES] for answer in answers]
        # The staged texts are the golden ones and the first real ones.
        rest = examiner.real.rows[len(staged) - len(examiner.golden) :]
        table += [evaluate(program, row, labels)[PROBABILITIES] for row in rest]
        encoded = [program.run({INPUT: row[None]}, _ENCODING) for row in examiner.edges.rows]
        together = {name: np.stack([answer[name][0] for answer in encoded]) for name in _ENCODING}
        stages.compare_encoding(together, examiner.edges)
    except RetvecLiteError as error:
        return RuntimeResult(EVALUATED, program.target, True, (), str(error))
    return _judged(EVALUATED, program.target, examiner, recipe, oracle, np.stack(table), stages.checks(recipe))


def _examine_native(examiner: Examiner, path: Path, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    version = f"macOS {platform.mac_ver()[0]}"
    try:
        table = predict(path, (examiner.golden + examiner.real).rows, examiner.classifier.labels)
    except RetvecLiteError as error:
        return RuntimeResult(RUNTIME, version, True, (), str(error))
    return _judged(RUNTIME, version, examiner, recipe, oracle, table, [])


def _judged(
    runtime: str,
    version: str,
    examiner: Examiner,
    recipe: Recipe,
    oracle: Oracle,
    table: Floats,
    checks: list[Check],
) -> RuntimeResult:
    """`checks` of inner values and those of the answers to the golden and the real texts, `[texts, classes]`."""
    checks = [*checks, *examiner.answer_checks(table, oracle, recipe)]
    return RuntimeResult(runtime, version, True, tuple(checks), None, examiner.accuracy_of(table))


def _weights(matches: Mapping[str, Match], reference: Mapping[str, Floats], recipe: Recipe) -> Check:
    """How far the package's weights are from the classifier's, as a share of the largest of their matrix.

    Each weight is held to the bound of the bits in which it is stored: a bias of 16 bits may not hide behind a matrix of four.
    Four bits cost much only where the largest weights were clipped. No weight may have fewer bits than the recipe says.
    """
    differences = []
    for name, weights in reference.items():
        match = matches[name]
        off = np.abs(match.values - weights) / magnitude(weights)
        bound = RECIPES[next(kind for bits, kind in _KINDS if match.bits >= bits)].weight_bound
        broken = off > (np.where(_clipped(match.values, weights), bound, _FOUR_BITS) if match.bits < 8 else bound)
        if match.bits < _LEAST_BITS[recipe.weights] or broken.any():
            # In the check's one figure, out of bounds by one's own bound is out of the recipe's.
            off = np.where(broken | (match.bits < _LEAST_BITS[recipe.weights]), np.maximum(off, 1.0), off)
        place = ", ".join(map(str, np.unravel_index(int(off.argmax()), off.shape)))
        differences.append(Difference(name, float(off.max()), f"at {place}, stored in {match.bits} bits"))
    return bounded("weights", "file", differences, recipe.weight_bound)


def _clipped(found: Floats, weights: Floats) -> npt.NDArray[np.bool_]:
    """Where a weight is larger than what stands for it, which is the largest of its neighbours along the inputs."""
    inputs = found.shape[0]
    padded = np.zeros((-(-inputs // _NEIGHBOURS) * _NEIGHBOURS, *found.shape[1:]), np.float32)
    padded[:inputs] = np.abs(found)
    largest = padded.reshape(-1, _NEIGHBOURS, *found.shape[1:]).max(axis=1).repeat(_NEIGHBOURS, axis=0)[:inputs]
    clipped: npt.NDArray[np.bool_] = (np.abs(found) >= 0.99 * largest) & (np.abs(weights) >= np.abs(found))
    return clipped & (found * weights >= 0)


def _in_order(label: Any, probabilities: Any, labels: Sequence[str]) -> Floats:
    """The answer in the order of `labels`, float32 `[classes]`; raises RetvecLiteError when label and answer contradict."""
    if set(probabilities) != set(labels):
        raise RetvecLiteError(f"Expected the probabilities of {list(labels)}, received those of {list(probabilities)}.")
    answer = np.array([probabilities[name] for name in labels], np.float32)
    # Written so that NaN, which is no largest value, is not refused here: the bounds do that, with the text's name.
    if label not in labels or probabilities[label] < max(probabilities.values()):
        raise RetvecLiteError(f"Expected the label of the largest probability, received {label!r}.")
    return answer


def _check_origin(program: Program, recipe: Recipe, classifier: TrainedModel) -> None:
    """Make sure that a package claims to be this classifier, under the name of its recipe, as apps will call it."""
    path = program.package.path
    description, metadata = program.package.spec.description, program.package.metadata
    answers = [description.predictedFeatureName, description.predictedProbabilitiesName]
    require_same(
        path.name,
        ("labels", program.labels, list(classifier.labels)),
        ("encoder config", _encoder(metadata), classifier.encoder.to_dict()),
        ("head", metadata.get("head"), classifier.head.name),
        ("inputs", list(program.inputs), [INPUT]),
        ("outputs", sorted(program.outputs), [LABEL, PROBABILITIES]),
        ("outputs of a classifier", answers, [LABEL, PROBABILITIES]),
    )
    shape = (1, classifier.encoder.max_chars)
    if program.inputs[INPUT] != Type("tensor", "int32", shape):
        raise RetvecLiteError(
            f"Expected the input {INPUT} to be int32 {list(shape)}, received {program.inputs[INPUT]}."
        )


def _encoder(metadata: Mapping[str, str]) -> dict[str, Any]:
    return EncoderConfig.from_json(metadata.get("encoder", "")).to_dict()
