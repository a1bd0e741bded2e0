"""Proving exported files: every artifact of a folder on every installed runtime, against the classifier they came from.

TFLite files are examined here and in `parity.py`, Core ML packages in `coreml_parity.py`.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.describing import signatures_of
from retvec_lite.converters.parity.checks import Check, RuntimeResult
from retvec_lite.converters.parity.fingerprint import fingerprint_of
from retvec_lite.converters.parity.golden import check_golden, golden_bytes
from retvec_lite.converters.parity.oracle import Oracle
from retvec_lite.converters.parity.tflite import Examiner
from retvec_lite.converters.recipes import RECIPES, Recipe, find_recipe
from retvec_lite.converters.tflite.ops import check_operators
from retvec_lite.converters.tflite.reading import read_model
from retvec_lite.data.dataset import Dataset, read_dataset, starter_file
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.runtime.artifact import Artifact, read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes

REFERENCE_NAME: Final = "reference.safetensors"
LABELS_NAME: Final = "labels.txt"
GOLDEN_NAME: Final = "golden.json"
REPORT_NAME: Final = "report.json"

STARTER_TEXTS: Final = 300
DATA_TEXTS: Final = 500
"""Most real texts that are used: the reference needs some ten milliseconds for each."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class RealTexts:
    """Texts that people might write, and where they are from. `labels` are None when the classifier has other labels."""

    source: str
    texts: tuple[str, ...]
    labels: tuple[str, ...] | None

    def describe(self) -> str:
        """A line for reports."""
        return f"{len(self.texts)} texts of {self.source}"


@dataclass(frozen=True)
class ArtifactResult:
    """One artifact: `problem` is a sentence when it could not be examined, or not where it promises to run."""

    file: str
    recipe: str | None
    bytes: int
    checks: tuple[Check, ...] = ()
    runtimes: tuple[RuntimeResult, ...] = ()
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every bound holds on every runtime that the artifact promises."""
        return (
            self.problem is None
            and all(check.ok for check in self.checks)
            and all(result.ok for result in self.runtimes if result.promised)
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "file": self.file,
            "recipe": self.recipe,
            "bytes": self.bytes,
            "ok": self.ok,
            "problem": self.problem,
            "checks": [check.to_dict() for check in self.checks],
            "runtimes": [result.to_dict() for result in self.runtimes],
        }


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
        texts: the real texts that were used.
        golden_texts: how many golden texts were used.
        accuracy: of the float32 reference on the real texts; None without labels.
        artifacts: file by file.
        problems: sentences about the other files of the folder.
        skipped: runtimes that some artifact is for and this machine does not have.
    """

    texts: str
    golden_texts: int
    accuracy: float | None
    artifacts: tuple[ArtifactResult, ...]
    problems: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every bound holds."""
        return not self.problems and all(artifact.ok for artifact in self.artifacts)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"ok": self.ok, "artifacts": [artifact.to_dict() for artifact in self.artifacts]}


def verify(
    dist: str | Path,
    data: str | Path | None = None,
    text_column: str = "text",
    label_column: str = "label",
    tell: Tell = lambda _: None,
) -> Verification:
    """Examine all that `export` wrote.

    Args:
        dist: the folder.
        data: a labelled file with real texts; the starter texts by default.
        text_column: its column of texts.
        label_column: its column of labels.
        tell: receives a line before each longer step.

    Raises:
        RetvecLiteError: when there is no such folder, no reference or no artifact in it, no runtime for its
            .tflite files, or bad data. What is wrong with an artifact is a result, not an error.
    """
    folder = Path(dist)
    files, packages = _artifacts(folder, ".tflite"), _artifacts(folder, ".mlpackage")
    if not files and not packages:
        raise RetvecLiteError(
            f"Expected a folder that 'retvec-lite export' wrote, received {dist}, which holds no .tflite or .mlpackage."
        )
    classifier = load_trained_model(folder / REFERENCE_NAME)
    texts = real_texts(classifier, data, text_column, label_column)
    runtimes = require_runtimes() if files else {}
    tell(f"Computing the reference on {texts.describe()}")
    examiner = Examiner(classifier, texts.texts, texts.labels)
    artifacts: list[ArtifactResult] = []
    expected: dict[str, Floats] = {}
    tolerances: dict[str, float] = {}
    for file in files:
        tell(f"Running {file.name} on {', '.join(runtimes)}")
        result, table = examine_file(examiner, file, runtimes)
        artifacts.append(result)
        if result.recipe is not None and table is not None:
            expected[result.recipe] = table
            tolerances[result.recipe] = find_recipe(result.recipe).parity_tolerance
    skipped = skipped_runtimes(runtimes) if files else ()
    if packages:
        from retvec_lite.converters.parity.coreml import RUNTIME, TOLERANCES, examine_package, has_core_ml

        for package in packages:
            tell(f"Running {package.name} by its ops{' and on Core ML' if has_core_ml() else ''}")
            result, table = examine_package(examiner, package)
            artifacts.append(result)
            if result.recipe is not None and table is not None:
                expected[f"{RUNTIME}-{result.recipe}"] = table
                tolerances[f"{RUNTIME}-{result.recipe}"] = TOLERANCES[find_recipe(result.recipe).weights]
        skipped += () if has_core_ml() else (RUNTIME,)
    return Verification(
        texts.describe(),
        len(examiner.golden),
        examiner.accuracy,
        tuple(artifacts),
        (*_folder_problems(folder, examiner, expected, tolerances), *_changed_artifacts(folder, [*files, *packages])),
        skipped,
    )


def examine_file(examiner: Examiner, file: Path, runtimes: Mapping[str, str]) -> tuple[ArtifactResult, Floats | None]:
    """Examine one artifact.

    Args:
        examiner: of the classifier it must come from.
        file: the artifact.
        runtimes: distribution -> version.

    Returns:
        The result, and what the artifact must answer to the golden texts, float32 `[texts, classes]`; None with a problem.
    """
    size = file.stat().st_size
    recipe: Recipe | None = None
    try:
        artifact = read_artifact(file)
        recipe = find_recipe(str(artifact.metadata.get("recipe")))
        _check_origin(artifact, recipe, examiner.classifier)
        own, weights = examiner.own_weights(artifact, recipe)
    except RetvecLiteError as error:
        return ArtifactResult(file.name, recipe.name if recipe else None, size, problem=str(error)), None
    checks = [weights]
    if recipe.size_limit is not None:
        checks.append(Check("size", "file", size, recipe.size_limit))
    oracle = Oracle(examiner.classifier, own, eight_bit=recipe.dynamic)
    results = tuple(
        examiner.examine(artifact, recipe, oracle, runtime, version) for runtime, version in runtimes.items()
    )
    problem = None
    if not any(result.promised for result in results):
        needed = " ".join(f"{name} {version}" for name, version in artifact.metadata["oldest_runtime"].items())
        problem = f"Expected {needed} or newer, where this file promises to be right, received only older runtimes."
    result = ArtifactResult(file.name, recipe.name, size, tuple(checks), results, problem)
    return result, oracle.table(examiner.golden)


def real_texts(
    classifier: TrainedModel, data: str | Path | None = None, text_column: str = "text", label_column: str = "label"
) -> RealTexts:
    """Evenly spread texts of a labelled file, or of the starter data's test split.

    Raises:
        RetvecLiteError: for a file that cannot be read.
    """
    if data is None:
        dataset, source, most = read_dataset(starter_file("test")), "the starter data (test.csv)", STARTER_TEXTS
    else:
        dataset, source, most = read_dataset(data, text_column, label_column), Path(data).name, DATA_TEXTS
    chosen = _spread(dataset, most)
    known = set(classifier.labels)
    labels = chosen.labels if known.issuperset(chosen.labels) else None
    return RealTexts(source, chosen.texts, labels)


def require_runtimes() -> dict[str, str]:
    """Distribution -> version of the installed runtimes; raises RetvecLiteError when there is none."""
    runtimes = installed_runtimes()
    if not runtimes:
        raise RetvecLiteError(
            f"Expected a runtime to prove the files on ({' or '.join(RUNTIMES)}), but none is installed: "
            "run `pip install ai-edge-litert`."
        )
    return runtimes


def skipped_runtimes(installed: Mapping[str, str]) -> tuple[str, ...]:
    """The known runtimes that are missing."""
    return tuple(name for name in RUNTIMES if name not in installed)


def require_same(file: str, *facts: tuple[str, object, object]) -> None:
    """Make sure that an artifact says of itself what its classifier says.

    Args:
        file: the artifact's name.
        facts: each what it is about, what the artifact says, and what is expected.

    Raises:
        RetvecLiteError: names the first that differs.
    """
    for what, found, wanted in facts:
        if found != wanted:
            raise RetvecLiteError(
                f"Expected the {what} of {REFERENCE_NAME} inside {file} ({_short(wanted)}), received {_short(found)}."
            )


def labels_bytes(labels: Sequence[str]) -> bytes:
    """`labels.txt`: one label a line, in the order of the probabilities."""
    return "".join(f"{label}\n" for label in labels).encode()


def _artifacts(folder: Path, suffix: str) -> list[Path]:
    """The artifacts of one format, in the order of the recipes; others behind them."""
    order = [f"classifier-{recipe}{suffix}" for recipe in RECIPES]
    return sorted(
        folder.glob(f"*{suffix}"),
        key=lambda file: (order.index(file.name) if file.name in order else len(order), file.name),
    )


def _spread(dataset: Dataset, most: int) -> Dataset:
    """At most `most` rows, evenly spread, so that a file sorted by label or language keeps all of them."""
    if len(dataset) <= most:
        return dataset
    return dataset.select(np.linspace(0, len(dataset) - 1, most).round().astype(int).tolist())


def _check_origin(artifact: Artifact, recipe: Recipe, classifier: TrainedModel) -> None:
    """Make sure that an artifact claims to be this classifier, under the name of its recipe, in allowed operators."""
    if artifact.path.name != f"classifier-{recipe.name}.tflite":
        raise RetvecLiteError(f"Expected the recipe {recipe.name} as classifier-{recipe.name}.tflite.")
    require_same(
        artifact.path.name,
        ("labels", list(artifact.labels), list(classifier.labels)),
        ("encoder config", artifact.config.to_dict(), classifier.encoder.to_dict()),
        ("head", artifact.metadata.get("head"), classifier.head.name),
    )
    model = read_model(artifact.model)
    check_operators(model, recipe.newer_operators)
    listed, found = list(artifact.signatures), signatures_of(model)
    if listed != found:
        raise RetvecLiteError(
            f"Expected the signatures that the metadata lists ({_short([signature.to_dict() for signature in listed])}), "
            f"received {_short([signature.to_dict() for signature in found])}."
        )


def _folder_problems(
    folder: Path, examiner: Examiner, expected: Mapping[str, Floats], tolerances: Mapping[str, float]
) -> list[str]:
    classifier = examiner.classifier
    problems = []
    try:
        if (folder / LABELS_NAME).read_bytes() != labels_bytes(classifier.labels):
            problems.append(f"Expected {LABELS_NAME} to hold the labels of {REFERENCE_NAME} in their order.")
        if expected:
            wanted = golden_bytes(classifier.encoder, classifier.labels, examiner.golden_texts, expected, tolerances)
            check_golden((folder / GOLDEN_NAME).read_bytes(), wanted)
    except OSError as error:
        problems.append(f"Expected {error.filename} to be readable, received: {error.strerror}.")
    except RetvecLiteError as error:
        problems.append(str(error))
    return problems


def _changed_artifacts(folder: Path, artifacts: Sequence[Path]) -> list[str]:
    """A sentence for each artifact that is not, byte by byte, what `report.json` says that export wrote."""
    try:
        report = json.loads((folder / REPORT_NAME).read_bytes())
        written = {str(item["file"]): str(item["sha256"]) for item in report["artifacts"]}
    except OSError as error:
        return [f"Expected {error.filename} to be readable, received: {error.strerror}."]
    except (ValueError, TypeError, KeyError) as error:
        return [f"Expected {REPORT_NAME} as export writes it, received {error!r}."]
    problems = []
    for artifact in artifacts:
        wanted, found = written.get(artifact.name), fingerprint_of(artifact)
        if found != wanted:
            problems.append(
                f"Expected {artifact.name} as export wrote it (SHA-256 {wanted or 'of no such file'} in {REPORT_NAME}), received {found}."
            )
    return problems


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
