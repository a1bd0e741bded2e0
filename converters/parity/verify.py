"""Verify exported files: every artifact of a folder on every installed runtime, against the classifier that they come from.

What an artifact is, its own metadata says; file names do not matter, so renamed files still pass.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.parity.checks import (
    CORE_ML,
    REFERENCE_NAME,
    ArtifactResult,
    Difference,
    Row,
    results_table,
    rows_of,
    skipped_line,
)
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.golden import check_golden, golden_bytes
from retvec_lite.converters.parity.tflite import examine_file
from retvec_lite.converters.recipes import RECIPES, Recipe
from retvec_lite.data.dataset import STARTER, Dataset, as_dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.runtime.artifact import LABELS_NAME, is_prebuilt, locate
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes
from retvec_lite.terminal import Progress, draw, watched

GOLDEN_NAME: Final = "golden.json"
REPORT_NAME: Final = "report.json"

STARTER_TEXTS: Final = 300
DATA_TEXTS: Final = 500
"""Most real texts that are used: the reference needs about ten milliseconds for each."""


@dataclass(frozen=True)
class RealTexts:
    """Texts that people might write, their labels, and where they are from. `labels` are None when the classifier has other labels."""

    source: str
    texts: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...] | None

    def describe(self) -> str:
        """Return a line for reports."""
        return f"{len(self.texts)} texts of {self.source}"


@dataclass(frozen=True)
class Verification:
    """What `verify` found. `print(verification)` shows a table.

    Attributes:
        texts: the real texts that were used, in words.
        golden_texts: number of golden texts that were used.
        accuracy: of the float32 reference on the real texts; None without labels.
        artifacts: the results, file by file.
        problems: what is wrong with the other files of the folder.
        skipped: runtimes that some artifact is for and that this machine does not have.
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

    @property
    def rows(self) -> tuple[Row, ...]:
        """One row for each signature of each file on each runtime."""
        return rows_of(self.artifacts)

    @property
    def worst(self) -> tuple[Difference, ...]:
        """The worst texts of all broken bounds."""
        checks = [check for artifact in self.artifacts for check in artifact.checks]
        for artifact in self.artifacts:
            checks += [check for run in artifact.runtimes if run.promised for check in run.checks]
        return tuple(item for check in checks for item in check.worst)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"ok": self.ok, "artifacts": [artifact.to_dict() for artifact in self.artifacts]}

    def __str__(self) -> str:
        lines = [line for artifact in self.artifacts for line in artifact.complaints()]
        lines += [f"{skipped_line(name)}: skipped." for name in self.skipped]
        if self.accuracy is not None:
            lines.append(f"Accuracy of the float32 reference on {self.texts}: {self.accuracy:.4f}")
        end = "Every bound holds." if self.ok else "Not every bound holds: see above."
        return draw(
            f"{self.golden_texts} golden texts and {self.texts}",
            results_table(self.artifacts),
            *lines,
            *self.problems,
            end,
        )


def verify(
    dist: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | Dataset | None = None,
    text_column: str = "text",
    label_column: str = "label",
    progress: Progress | bool | None = None,
) -> Verification:
    """Compare everything that an export wrote with its float reference, on every installed runtime.

    Args:
        dist: the folder, or "language" for the detector in the package.
        data: real texts with labels, a file or a `Dataset`; the starter texts by default.
        text_column: column of the texts in a file.
        label_column: column of the labels in a file.
        progress: a callback (what, done, total), or True for a bar on standard error.

    Returns:
        What was found. Whatever is wrong with an artifact is a result, not an error.

    Raises:
        RetvecLiteError: for a folder without artifacts or reference, no runtime for its .tflite files, or bad data.

    Example:
        >>> import retvec_lite as rl
        >>> report = rl.load("classifier").export("dist", recipes=["float32"])
        >>> rl.verify("dist").ok
        True
    """
    folder = Path(dist)
    files, packages = sorted(folder.glob("*.tflite")), sorted(folder.glob("*.mlpackage"))
    if is_prebuilt(dist):
        files, packages = [locate(dist)], []
    if not files and not packages:
        raise RetvecLiteError(f"No .tflite or .mlpackage in {dist}: name a folder that 'retvec-lite export' wrote.")
    model = load_trained_model(dist if is_prebuilt(dist) else folder / REFERENCE_NAME)
    texts = real_texts(model, data, text_column, label_column)
    runtimes = require_runtimes() if files else {}
    with watched(progress) as report:
        total = 1 + len(files) + len(packages)
        report("verifying", 0, total)
        examiner = Examiner(model, texts.texts, texts.labels)
        report("verifying", 1, total)
        found = []
        for done, path in enumerate([*files, *packages], start=2):
            found.append(_examine(examiner, path, runtimes))
            report("verifying", done, total)
    found.sort(key=lambda item: _order(item[0]))
    skipped = skipped_runtimes(runtimes) if files else ()
    if packages:
        from retvec_lite.converters.parity.coreml import has_core_ml

        skipped += () if has_core_ml() else (CORE_ML,)
    problems: tuple[str, ...] = ()
    if not is_prebuilt(dist):
        problems = (*_folder_problems(folder, examiner, found), *_changed_artifacts(folder, [*files, *packages]))
    return Verification(
        texts.describe(),
        len(examiner.golden),
        examiner.accuracy,
        tuple(result for result, _ in found),
        problems,
        skipped,
    )


def golden_entry(recipe: Recipe, is_package: bool) -> tuple[str, float]:
    """Return the key of an artifact in golden.json, and its tolerance."""
    if is_package and recipe.coreml is not None:
        return f"{CORE_ML}-{recipe.name}", recipe.coreml.parity_tolerance
    return recipe.name, recipe.parity_tolerance


def real_texts(
    model: TrainedModel,
    data: str | os.PathLike[str] | Dataset | None = None,
    text_column: str = "text",
    label_column: str = "label",
) -> RealTexts:
    """Return evenly spread texts of labelled data, or of the starter data's test split.

    Raises:
        RetvecLiteError: for data that cannot be read.
    """
    given = STARTER if data is None else data
    dataset = as_dataset(
        given, text_column=text_column, label_column=label_column, split="test", multi_label=model.multi_label
    )
    is_starter = given == STARTER
    chosen = _spread(dataset, STARTER_TEXTS if is_starter else DATA_TEXTS)
    labels = chosen.label_sets if set(model.labels).issuperset(chosen.classes) else None
    return RealTexts("the starter data (test.csv)" if is_starter else dataset.path.name, chosen.texts, labels)


def require_runtimes() -> dict[str, str]:
    """Return distribution -> version of the installed runtimes; raise RetvecLiteError when there is none."""
    runtimes = installed_runtimes()
    if not runtimes:
        raise RetvecLiteError(
            f"No runtime to run .tflite files on ({' or '.join(RUNTIMES)}): run `pip install ai-edge-litert`."
        )
    return runtimes


def skipped_runtimes(installed: Mapping[str, str]) -> tuple[str, ...]:
    """Return the known runtimes that are missing."""
    return tuple(name for name in RUNTIMES if name not in installed)


def labels_bytes(labels: Sequence[str]) -> bytes:
    """Return `labels.txt`: one label a line, in the order of the probabilities."""
    return "".join(f"{label}\n" for label in labels).encode()


def fingerprint(data: bytes | Mapping[str, bytes]) -> str:
    """Return the SHA-256 of a file or a package, in hexadecimal.

    Args:
        data: the bytes of a .tflite, or those of each file of an .mlpackage by its path in it. The hash of a package is the
            hash of its files' hashes and names, as `sha256sum` lists them, sorted by name.
    """
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(data.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


_Found = tuple[ArtifactResult, Floats | None]


def _examine(examiner: Examiner, path: Path, runtimes: Mapping[str, str]) -> _Found:
    if path.suffix == ".tflite":
        return examine_file(examiner, path, runtimes)
    from retvec_lite.converters.parity.coreml import examine_package

    return examine_package(examiner, path)


def _order(result: ArtifactResult) -> tuple[bool, int, str]:
    """Return a sort key: .tflite before .mlpackage, then the order of the recipes; unreadable files last."""
    place = [*RECIPES, result.recipe].index(result.recipe)
    return _is_package(result), place, result.file


def _is_package(result: ArtifactResult) -> bool:
    return result.file.endswith(".mlpackage")


def _spread(dataset: Dataset, most: int) -> Dataset:
    """Return at most `most` rows, evenly spread, so that a file sorted by label or language keeps all of them."""
    if len(dataset) <= most:
        return dataset
    return dataset.select(np.linspace(0, len(dataset) - 1, most).round().astype(int).tolist())


def _folder_problems(folder: Path, examiner: Examiner, found: Sequence[_Found]) -> list[str]:
    model = examiner.classifier
    expected, tolerances = {}, {}
    for result, table in found:
        if result.recipe is not None and table is not None:
            key, tolerance = golden_entry(RECIPES[result.recipe], _is_package(result))
            expected[key], tolerances[key] = table, tolerance
    problems = []
    try:
        if (folder / LABELS_NAME).read_bytes() != labels_bytes(model.labels):
            problems.append(f"{LABELS_NAME} does not hold the labels of {REFERENCE_NAME} in their order.")
        if expected:
            wanted = golden_bytes(
                model.encoder, model.labels, examiner.golden_texts, expected, tolerances, decision=model.decision
            )
            check_golden((folder / GOLDEN_NAME).read_bytes(), wanted)
    except OSError as error:
        problems.append(_unreadable(error))
    except RetvecLiteError as error:
        problems.append(str(error))
    return problems


def _changed_artifacts(folder: Path, artifacts: Sequence[Path]) -> list[str]:
    """Return a line for each artifact whose bytes are not, under any name, among those that `report.json` lists."""
    try:
        report = json.loads((folder / REPORT_NAME).read_bytes())
        written = {str(item["sha256"]) for item in report["artifacts"]}
    except OSError as error:
        return [_unreadable(error)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return [f"{REPORT_NAME} is not what export writes: {error!r}."]
    found = {artifact.name: _fingerprint_of(artifact) for artifact in artifacts}
    return [
        f"{name} was changed since export: {REPORT_NAME} lists no artifact with its SHA-256 {digest}."
        for name, digest in found.items()
        if digest not in written
    ]


def _fingerprint_of(path: Path) -> str:
    """Return the fingerprint of what lies on the disk; every file in a package's folder counts."""
    if path.is_file():
        return fingerprint(path.read_bytes())
    files = (file for file in path.rglob("*") if file.is_file())
    return fingerprint({file.relative_to(path).as_posix(): file.read_bytes() for file in files})


def _unreadable(error: OSError) -> str:
    return f"{error.filename} cannot be read: {error.strerror}."
