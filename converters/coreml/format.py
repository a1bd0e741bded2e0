"""The format .mlpackage: a Core ML package for iOS and macOS, and how one is compared with the NumPy reference.

Everywhere the package runs in our own evaluator, which reads only the saved files. On macOS it also runs on Core ML, which gives no
inner values. Both answer the two questions of `examiner.py`.
"""

import collections
import functools
import importlib.util
import itertools
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.converters import INPUT, LABEL, PROBABILITIES
from retvec_lite.converters.coreml import IOS, load_coremltools
from retvec_lite.converters.evaluator import Operation, Program
from retvec_lite.converters.evaluator.package import Array, Type, bits_of, proto
from retvec_lite.converters.format import (
    PARTS,
    Contents,
    Draft,
    Format,
    OpenArtifact,
    about,
    details,
    require_origin,
)
from retvec_lite.converters.parity import Difference, RuntimeResult
from retvec_lite.converters.parity.examiner import ENCODING, Examiner, place, stage_names
from retvec_lite.converters.parity.oracle import (
    EXACT,
    Constant,
    Match,
    Oracle,
    magnitude,
    match_constants,
    require_table,
)
from retvec_lite.converters.recipes import RECIPES, Recipe
from retvec_lite.errors import RetvecLiteError, install
from retvec_lite.json_text import parse_json
from retvec_lite.manifest import files_of
from retvec_lite.meaning import CODEBOOK_ROWS, CODEBOOKS, letter_table
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import fold_table

CORE_ML: Final = "coreml"
"""What results call Core ML itself."""

EVALUATED: Final = "coreml (evaluated)"
"""What results call our own evaluator."""

_TARGET: Final = f"iOS{IOS}"

_HALF: Final = (16, 2**-10, 2**-10)
"""What is no matrix has 16 bits in packages that compute in half precision: half a step of 10 mantissa bits."""

_BOUNDS: Final = sorted([_HALF, *((r.bits, r.weight_bound, r.unclipped_bound) for r in RECIPES.values())], reverse=True)
"""Fewest bits of a weight, its largest rounding error, and that of an unclipped one."""

_NEIGHBOURS: Final = 16
"""Fewest weights along the inputs that share a scale."""

_STORED: Final = ("val", "quantized_data", "data", "indices", "source_val")
"""Inputs of Core ML's const and constexpr operations that hold a number for each weight."""

_CHUNK: Final = 64
"""Texts whose inner values are held at once."""


class MLPackage(OpenArtifact):
    """An .mlpackage that was read and parsed."""

    def __init__(self, path: Path) -> None:
        """Read a package; raise RetvecLiteError when it is damaged."""
        self._path = path
        self._program = Program(path)
        self.metadata = self._program.package.metadata

    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        _check_origin(self._program, classifier)
        found = program_constants(self._program)
        if classifier.meaning:
            require_table(letter_table().marked, [constant.values for constant in found])
        if classifier.ngrams and not (classifier.meaning and classifier.ngrams.plain_letters):
            places, levels = fold_table(classifier.ngrams.plain_letters)
            require_table(levels[places], [constant.values for constant in found])
        return match_constants(found, classifier.weights)

    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterator[RuntimeResult]:
        """Run it in the evaluator, and on a Mac on Core ML."""
        yield _examine_evaluated(examiner, self._program, recipe, oracle)
        if has_core_ml():
            yield _examine_native(examiner, self._path, recipe, oracle)

    def contents(self) -> Contents:
        files = {file.name: file.stat().st_size for file in files_of(self._path)}
        sizes, own = dict.fromkeys(PARTS, 0), "encoder"
        for operation in self._program.operations:
            name = operation.outputs[0][0]
            part = next(
                (part for part in ("embedding", "head", "ngrams", "meaning") if name.startswith(f"{part}_")), own
            )
            sizes[part] += sum(literal.stored for _, literal in operation.literals)
            # Constants without a name of their own belong to the operators around them.
            own = "head" if name == "bits" else own
        sizes["metadata"] = files["Manifest.json"] + self._program.package.spec.description.ByteSize()
        sizes["graph"] = sum(files.values()) - sum(sizes.values())
        kinds = collections.Counter(item.kind for item in self._program.operations if item.kind != "const")
        return Contents(sizes, [(kind, IOS, count) for kind, count in sorted(kinds.items())])

    def rounding(self, own: Mapping[str, Match], reference: Mapping[str, Floats], recipe: Recipe) -> list[Difference]:
        """Measure how far the package's weights are from the classifier's, as a share of the largest of their matrix.

        The bound of each weight is that of its own bits, so that a bias in 16 bits does not get the room of a matrix in 4. With 4
        bits, only clipped weights may be far off. No weight may have fewer bits than the recipe says.
        """
        differences = []
        for name, weights in reference.items():
            match = own[name]
            off = np.abs(match.values - weights) / magnitude(weights)
            bound, unclipped = next(bounds for bits, *bounds in _BOUNDS if match.bits >= bits)
            broken = off > np.where(_clipped(match.values, weights), bound, unclipped)
            # The check has one bound, the recipe's: what breaks its own bound must break that one too.
            off = np.where(broken | (match.bits < recipe.bits), np.maximum(off, 1.0), off)
            differences.append(Difference(name, float(off.max()), f"at {place(off)}, stored in {match.bits} bits"))
        return differences


class CoreML(Format):
    """The .mlpackage; what its methods do stands in `Format`."""

    name = "coreml"
    suffix = ".mlpackage"
    is_folder = True
    runtimes: ClassVar[Mapping[str, str]] = {
        EVALUATED: f"coremltools, which reads .mlpackages, is not installed (run {install('.[coreml]')})",
        CORE_ML: "Core ML itself runs on macOS only",
    }

    def check(self, recipes: Sequence[Recipe]) -> None:
        if not _has_coremltools():
            raise ModuleNotFoundError("No module named 'coremltools'", name="coremltools")
        super().check(recipes)

    def require_runtime(self) -> None:
        """Require coremltools, with which the evaluator runs everywhere."""
        proto()

    def skipped(self) -> tuple[str, ...]:
        if not _has_coremltools():
            return EVALUATED, CORE_ML
        return () if has_core_ml() else (CORE_ML,)

    def open(self, path: Path) -> MLPackage:
        return MLPackage(path)

    def make(self, model: TrainedModel, recipes: Sequence[Recipe], embed: bool = False) -> Iterator[Draft]:
        load_coremltools()
        from retvec_lite.converters.coreml.build import build_package

        for recipe in recipes:
            oldest = {"iOS": str(IOS)}
            files = build_package(model, recipe, about(model, recipe.name), details(model, recipe.name, oldest))
            yield Draft(recipe, oldest, functools.partial(_write, files))


def _write(files: Mapping[str, bytes], path: Path, oldest: Mapping[str, str]) -> None:
    """Write a package as the new folder `path`. What it states is settled before it runs."""
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def has_core_ml() -> bool:
    """Return whether this machine has Core ML."""
    return platform.system() == "Darwin"


def predict(path: Path, rows: Ints, labels: Sequence[str]) -> Floats:
    """Run a package on Core ML, with all compute units, as an app does; return its probabilities float32 `[texts, classes]`.

    Raises:
        RetvecLiteError: when Core ML refuses the package or fails, or its label is not that of the largest probability.
    """
    answers = []
    try:
        model = load_coremltools().models.MLModel(str(path))
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


def evaluate(program: Program, rows: Ints, labels: Sequence[str], inner: Sequence[str] = ()) -> dict[str, Array]:
    """Run a package on texts in the evaluator.

    Returns:
        `probabilities` float32 `[texts, classes]`, and the named inner values `[texts, ...]` without their axis of one, floats as float32.
    """
    found = program.run_all({INPUT: rows[:, None]}, [*inner, *program.outputs])
    answers = {name: found[name][:, 0] for name in inner}
    answers |= {name: value.astype(np.float32) for name, value in answers.items() if value.dtype == np.float16}
    pairs = zip(found[LABEL], found[PROBABILITIES], strict=True)
    return answers | {PROBABILITIES: np.stack([_in_order(label, shares, labels) for label, shares in pairs])}


def _examine_evaluated(examiner: Examiner, program: Program, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    labels, staged = examiner.classifier.labels, examiner.staged
    names = stage_names(examiner.classifier)
    stages = examiner.stages(recipe)
    tables: list[Floats] = []
    try:
        for part in staged.parts(_CHUNK):
            answers = evaluate(program, part.rows, labels, names)
            stages.compare(answers, part, oracle)
            tables.append(answers[PROBABILITIES])
        # The staged texts are the golden ones and the first real ones.
        rest = examiner.real[len(staged) - len(examiner.golden) :]
        tables += [evaluate(program, part.rows, labels)[PROBABILITIES] for part in rest.parts(_CHUNK)]
        encoding = [name for name in names if name in ENCODING]
        for part in examiner.edges.parts(_CHUNK):
            encoded = program.run_all({INPUT: part.rows[:, None]}, encoding)
            stages.compare_encoding({name: encoded[name][:, 0] for name in encoding}, part)
    except RetvecLiteError as error:
        return RuntimeResult(EVALUATED, _TARGET, True, (), str(error))
    table = np.concatenate(tables)
    checks = [*stages.checks(recipe), *examiner.answer_checks(table, oracle, recipe)]
    return RuntimeResult(EVALUATED, _TARGET, True, tuple(checks), None, examiner.accuracy_of(table))


def _examine_native(examiner: Examiner, path: Path, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    version = f"macOS {platform.mac_ver()[0]}"
    try:
        table = predict(path, (examiner.golden + examiner.real).rows, examiner.classifier.labels)
    except RetvecLiteError as error:
        return RuntimeResult(CORE_ML, version, True, (), str(error))
    checks = examiner.answer_checks(table, oracle, recipe)
    return RuntimeResult(CORE_ML, version, True, tuple(checks), None, examiner.accuracy_of(table))


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
    require_origin(path.name, classifier, program.labels, {key: _parsed(text) for key, text in metadata.items()})
    predicted = [description.predictedFeatureName, description.predictedProbabilitiesName]
    interface = (program.inputs, sorted(program.outputs), predicted)
    codepoints = Type("tensor", "int32", (1, classifier.encoder.max_chars))
    if interface != ({INPUT: codepoints}, [LABEL, PROBABILITIES], [LABEL, PROBABILITIES]):
        raise RetvecLiteError(
            f"{path.name} must take {INPUT}, a {codepoints}, and answer {LABEL} and {PROBABILITIES}; it has {interface}."
        )


def _parsed(text: str) -> Any:
    """Return a value of the metadata, which may be JSON, or its text where it is none."""
    try:
        return parse_json(text, "metadata")
    except RetvecLiteError:
        return text


def program_constants(program: Program) -> list[Constant]:
    """Return every float tensor that a Core ML program computes with.

    Where a product with a constant matrix is multiplied by a constant for each output (a palette of integers and its scales), the two
    are one matrix to the reference: it is returned besides both.
    """
    found: dict[str, Constant] = {}
    bits: dict[str, int] = {}
    for operation in program.operations:
        if not all(source in bits for source in operation.sources):
            continue
        least = min([bits[source] for source in operation.sources] + _literal_bits(operation), default=64)
        for name, kind in operation.outputs:
            is_float = kind.kind == "tensor" and kind.dtype in ("fp16", "fp32")
            bits[name] = min(least, bits_of(kind.dtype)) if is_float else least
            if is_float and kind.shape:
                found[name] = Constant(name, program.constant(name).astype(np.float32), bits[name])
    return [*_scaled(program.operations, found), *_gathered(program.operations, found), *found.values()]


def _gathered(operations: Sequence[Operation], found: Mapping[str, Constant]) -> Iterator[Constant]:
    """Yield the parts of tables of n-grams in a Core ML program, see `_ngram_tables`; the scales are in the values.

    What is stored in 8 bits is exact all the same: integers, and a table on their grid.
    """
    for operation in operations:
        if operation.kind != "gather":
            continue
        table = next((found[name] for name in operation.sources if name in found), None)
        if table is not None and table.values.ndim == 2:
            yield Constant("codes", table.values, EXACT)
            if table.values.shape == CODEBOOK_ROWS:
                yield Constant("codebooks of meaning", table.values.reshape(CODEBOOKS), EXACT)
        if table is not None and table.values.ndim == 2 and table.values.shape[1] > 1:
            yield Constant("squares", table.values[:, -1], EXACT)
            yield Constant("table", table.values[:, :-1], EXACT)


def _scaled(operations: Sequence[Operation], found: Mapping[str, Constant]) -> Iterator[Constant]:
    """Yield matrices with the scales that their products are multiplied by, `[outputs, inputs]` or `[inputs, outputs]`."""
    producers = {name: operation for operation in operations for name, _ in operation.outputs}
    for operation in operations:
        if operation.kind != "mul":
            continue
        for product, scale in itertools.permutations(operation.sources, 2):
            source = producers.get(product)
            if source is None or source.kind not in ("matmul", "linear") or scale not in found:
                continue
            for name in source.sources:
                scales, outputs = found[scale].values.reshape(-1), source.outputs[0][1].shape[-1]
                if name not in found or found[name].values.ndim != 2 or len(scales) not in (1, outputs):
                    continue
                values, bits = found[name].values, found[name].bits
                for shape in ((-1, 1), (1, -1)):
                    # A square matrix may lie either way; what does not fit the reference is not taken.
                    if values.shape[shape.index(-1)] == outputs:
                        yield Constant(f"{name} * {scale}", (values * scales.reshape(shape)).astype(np.float32), bits)


def _literal_bits(operation: Operation) -> list[int]:
    """Return the bits of the numbers that an operation holds itself; a packed palette tells by its number of colours."""
    literals = {
        key: item.type for key, item in operation.literals if item.type.kind == "tensor" and item.type.dtype != "str"
    }
    if operation.kind == "constexpr_lut_to_dense" and "shape" in literals:
        return [literals["lut"].shape[0].bit_length() - 1]
    return [bits_of(kind.dtype) for key, kind in literals.items() if key in _STORED]


def _has_coremltools() -> bool:
    try:
        return importlib.util.find_spec("coremltools") is not None
    except ValueError:  # a stand-in without a specification
        return True
