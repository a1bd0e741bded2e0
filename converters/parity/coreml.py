"""Compare a saved Core ML package with the NumPy reference.

Everywhere the package runs in our own evaluator, which reads only the saved files. On macOS it also runs on Core ML, which gives no
inner values. Both answer the two questions of `examiner.py`.
"""

import dataclasses
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.converters import INPUT, LABEL, PROBABILITIES
from retvec_lite.converters.evaluator import Program, Type, load_package
from retvec_lite.converters.evaluator.package import Array
from retvec_lite.converters.parity import (
    CORE_ML,
    ArtifactResult,
    Check,
    Difference,
    RuntimeResult,
    bounded,
    require_same,
)
from retvec_lite.converters.parity.examiner import STAGES, Examiner, place
from retvec_lite.converters.parity.matching import Match, magnitude, match_program
from retvec_lite.converters.parity.oracle import Oracle
from retvec_lite.converters.recipes import RECIPES, Recipe, find_recipe
from retvec_lite.converters.tflite.metadata import stage_names
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.interpreters import silent_standard_error

EVALUATED: Final = "coreml (evaluated)"
"""What results call our own evaluator."""

_BOUNDS: Final = sorted(
    (
        (recipe.bits, recipe.weight_bound, recipe.coreml.unclipped_bound)
        for recipe in RECIPES.values()
        if recipe.coreml is not None
    ),
    reverse=True,
)
"""Fewest bits of a weight, its largest rounding error, and that of an unclipped one."""

_NEIGHBOURS: Final = 16
"""Fewest weights along the inputs that share a scale."""

_ENCODING: Final[tuple[str, ...]] = STAGES[:2]

_CHUNK: Final = 64
"""Texts whose inner values are held at once."""


def examine_package(examiner: Examiner, path: Path) -> tuple[ArtifactResult, Floats | None]:
    """Examine one package, in every way that this machine can run it.

    Args:
        examiner: of the classifier it must come from.
        path: the `.mlpackage`, under any name.

    Returns:
        The result, and what the package must answer to the golden texts, float32 `[texts, classes]`; None with a problem.
    """
    recipe: Recipe | None = None
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    try:
        program = load_package(path)
        recipe = find_recipe(program.package.metadata.get("recipe", ""))
        if recipe.coreml is None:
            raise RetvecLiteError(f"{path.name}: there is no recipe {recipe.name!r} for Core ML.")
        _check_origin(program, examiner.classifier)
        matches = match_program(program, examiner.classifier.weights)
    except RetvecLiteError as error:
        return ArtifactResult(path.name, recipe.name if recipe else None, size, problem=str(error)), None
    checks = [_weights_check(matches, examiner.classifier.weights, recipe)]
    if recipe.size_limit is not None:
        checks.append(Check("size", "file", size, recipe.size_limit))
    oracle = Oracle(examiner.classifier, {name: match.values for name, match in matches.items()})
    bounds = dataclasses.replace(recipe, parity_tolerance=recipe.coreml.parity_tolerance)
    runs = [_examine_evaluated(examiner, program, bounds, oracle)]
    if has_core_ml():
        runs.append(_examine_native(examiner, path, bounds, oracle))
    result = ArtifactResult(path.name, recipe.name, size, tuple(checks), tuple(runs))
    return result, oracle.table(examiner.golden)


def has_core_ml() -> bool:
    """Return whether this machine has Core ML."""
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
        raise RetvecLiteError(f"Core ML cannot run {path.name}: {sentence}") from error
    return np.stack(answers)


def evaluate(program: Program, row: Ints, labels: Sequence[str], inner: Sequence[str] = ()) -> dict[str, Array]:
    """Run a package on one text in the evaluator.

    Args:
        program: the loaded package.
        row: code points int32 `[max_chars]`.
        labels: the classes, in the order of the answer.
        inner: names of inner values to return as well.

    Returns:
        `probabilities` float32 `[classes]`, and the inner values without their first axis of one, floats as float32.

    Raises:
        RetvecLiteError: when the program cannot be run.
    """
    found = program.run({INPUT: row[None]}, [*inner, *program.outputs])
    answers = {name: found[name][0] for name in inner}
    answers |= {name: value.astype(np.float32) for name, value in answers.items() if value.dtype == np.float16}
    return answers | {PROBABILITIES: _in_order(found[LABEL], found[PROBABILITIES], labels)}


def _examine_evaluated(examiner: Examiner, program: Program, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    labels, staged = examiner.classifier.labels, examiner.staged
    names = stage_names(examiner.classifier)
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
        encoding = [name for name in _ENCODING if name in names]
        encoded = [program.run({INPUT: row[None]}, encoding) for row in examiner.edges.rows]
        together = {name: np.stack([answer[name][0] for answer in encoded]) for name in encoding}
        stages.compare_encoding(together, examiner.edges)
    except RetvecLiteError as error:
        return RuntimeResult(EVALUATED, program.target, True, (), str(error))
    return _judged(EVALUATED, program.target, examiner, recipe, oracle, np.stack(table), stages.checks(recipe))


def _examine_native(examiner: Examiner, path: Path, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    version = f"macOS {platform.mac_ver()[0]}"
    try:
        table = predict(path, (examiner.golden + examiner.real).rows, examiner.classifier.labels)
    except RetvecLiteError as error:
        return RuntimeResult(CORE_ML, version, True, (), str(error))
    return _judged(CORE_ML, version, examiner, recipe, oracle, table, [])


def _judged(
    runtime: str,
    version: str,
    examiner: Examiner,
    recipe: Recipe,
    oracle: Oracle,
    table: Floats,
    checks: list[Check],
) -> RuntimeResult:
    """Add the checks of the answers to the golden and the real texts, `[texts, classes]`, to those of inner values."""
    checks = [*checks, *examiner.answer_checks(table, oracle, recipe)]
    return RuntimeResult(runtime, version, True, tuple(checks), None, examiner.accuracy_of(table))


def _weights_check(matches: Mapping[str, Match], reference: Mapping[str, Floats], recipe: Recipe) -> Check:
    """Measure how far the package's weights are from the classifier's, as a share of the largest of their matrix.

    The bound of each weight is that of its own bits, so that a bias in 16 bits does not get the room of a matrix in 4. With 4 bits,
    only clipped weights may be far off. No weight may have fewer bits than the recipe says.
    """
    differences = []
    for name, weights in reference.items():
        match = matches[name]
        off = np.abs(match.values - weights) / magnitude(weights)
        bound, unclipped = next(bounds for bits, *bounds in _BOUNDS if match.bits >= bits)
        broken = off > np.where(_clipped(match.values, weights), bound, unclipped)
        # The check has one bound, the recipe's: what breaks its own bound must break that one too.
        off = np.where(broken | (match.bits < recipe.bits), np.maximum(off, 1.0), off)
        differences.append(Difference(name, float(off.max()), f"at {place(off)}, stored in {match.bits} bits"))
    return bounded("weights", "file", differences, recipe.weight_bound)


def _clipped(found: Floats, weights: Floats) -> npt.NDArray[np.bool_]:
    """Return where a weight is larger than its stored value, and that is the largest of its neighbours along the inputs."""
    inputs = found.shape[0]
    padded = np.zeros((-(-inputs // _NEIGHBOURS) * _NEIGHBOURS, *found.shape[1:]), np.float32)
    padded[:inputs] = np.abs(found)
    largest = padded.reshape(-1, _NEIGHBOURS, *found.shape[1:]).max(axis=1).repeat(_NEIGHBOURS, axis=0)[:inputs]
    clipped: npt.NDArray[np.bool_] = (np.abs(found) >= 0.99 * largest) & (np.abs(weights) >= np.abs(found))
    return clipped & (found * weights >= 0)


def _in_order(label: Any, probabilities: Any, labels: Sequence[str]) -> Floats:
    """Return the answer in the order of `labels`, float32 `[classes]`; raise RetvecLiteError when the label contradicts it."""
    if set(probabilities) != set(labels):
        raise RetvecLiteError(f"The answer has the labels {list(probabilities)}, not {list(labels)}.")
    answer = np.array([probabilities[name] for name in labels], np.float32)
    # This lets NaN pass: the bounds refuse it, and name the text.
    if label not in labels or probabilities[label] < max(probabilities.values()):
        raise RetvecLiteError(f"The label {label!r} does not have the largest probability.")
    return answer


def _check_origin(program: Program, classifier: TrainedModel) -> None:
    """Check that a package claims to be this classifier, and has the interface that apps call."""
    path = program.package.path
    description, metadata = program.package.spec.description, program.package.metadata
    encoder = EncoderConfig.from_json(metadata.get("encoder", ""))
    ngrams = json.dumps(None if classifier.ngrams is None else classifier.ngrams.to_dict(), sort_keys=True)
    decision = Decision.from_dict(json.loads(metadata.get("decision", "null")))
    require_same(
        path.name,
        ("labels", program.labels, list(classifier.labels)),
        ("encoder settings", encoder.to_dict(), classifier.encoder.to_dict()),
        ("head settings", metadata.get("head"), classifier.head.name),
        ("n-gram settings", metadata.get("ngrams", "null"), ngrams),
        ("decision", decision.to_dict(), classifier.decision.to_dict()),
    )
    interface = (
        program.inputs,
        sorted(program.outputs),
        [description.predictedFeatureName, description.predictedProbabilitiesName],
    )
    codepoints = Type("tensor", "int32", (1, classifier.encoder.max_chars))
    if interface != ({INPUT: codepoints}, [LABEL, PROBABILITIES], [LABEL, PROBABILITIES]):
        raise RetvecLiteError(
            f"{path.name} must take {INPUT}, a {codepoints}, and answer {LABEL} and {PROBABILITIES}; it has {interface}."
        )
