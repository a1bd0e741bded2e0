"""Verify exported files: every artifact of a folder on every installed runtime, against the classifier that they come from.

What an artifact is, its own metadata says; file names do not matter, so renamed files still pass.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.card import REPORT_NAME
from retvec_lite.contract import Floats
from retvec_lite.converters.format import Format, chosen_formats, skipped_lines
from retvec_lite.converters.manifest import manifest_problems
from retvec_lite.converters.parity import (
    REFERENCE_NAME,
    ArtifactResult,
    Difference,
    Row,
    results_table,
    rows_of,
)
from retvec_lite.converters.parity.examiner import Examiner, one_core
from retvec_lite.converters.parity.golden import GOLDEN_NAME, check_golden
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.data.dataset import STARTER, as_dataset
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.foreign import read_file
from retvec_lite.json_text import parse_json
from retvec_lite.manifest import fingerprint
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.runtime.artifact import CLASSIFIER_FILE, LABELS_NAME, is_prebuilt, locate, not_exported, read_artifact
from retvec_lite.terminal import Progress, counted, draw, watched

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
        return f"{counted(len(self.texts), 'text')} of {self.source}"


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
        of_files = [check for artifact in self.artifacts for check in artifact.checks]
        runs = [run for artifact in self.artifacts for run in artifact.runtimes if run.promised]
        return tuple(item for check in (*of_files, *(c for run in runs for c in run.checks)) for item in check.worst)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return vars(self) | {"ok": self.ok, "artifacts": [artifact.to_dict() for artifact in self.artifacts]}

    def __str__(self) -> str:
        lines = [line for artifact in self.artifacts for line in artifact.complaints()]
        lines += [f"{line}: skipped." for line in skipped_lines(self.skipped)]
        if self.accuracy is not None:
            lines.append(f"Accuracy of the float32 reference on {self.texts}: {self.accuracy:.4f}")
        title = f"{self.golden_texts} golden texts and {self.texts}"
        end = "Every bound holds." if self.ok else "Not every bound holds: see above."
        return draw(title, results_table(self.artifacts), *lines, *self.problems, end)


@checked
def verify(
    dist: str | os.PathLike[str],
    *,
    data: Any = None,
    text_column: str = "text",
    label_column: str = "label",
    progress: Progress | bool | None = None,
) -> Verification:
    """Compare everything that an export wrote with its float reference, on every installed runtime.

    Args:
        dist: the folder; one `.tflite` or `.mlpackage` in it, which is then verified alone; or "language" for the detector in
            the package.
        data: real texts with labels, as for `evaluate`; the starter texts by default.
        text_column: column of the texts in a file or table.
        label_column: column of the labels in a file or table.
        progress: a callback (what, done, total), or True for a bar on standard error.

    Returns:
        What was found. Whatever is wrong with an artifact is a result, not an error.

    Raises:
        RetvecLiteError: for a folder without artifacts or reference, no runtime for any of them, or bad data.

    Example:
        >>> import retvec_lite as rl
        >>> report = rl.load("classifier").export("dist", formats=["engine"])
        >>> rl.verify("dist").ok
        True
    """
    place = locate(dist)
    is_whole = place.suffix not in [kind.suffix for kind in chosen_formats()]
    paths = sorted(place.glob("*")) if is_whole else [place]
    artifacts = [(kind, path) for kind in chosen_formats() for path in paths if path.suffix == kind.suffix]
    if not artifacts or not place.exists():
        raise _nothing(place)
    folder = place if is_whole else place.parent
    if not is_prebuilt(dist) and not (folder / REFERENCE_NAME).exists():
        if place.suffix == ".tflite":
            read_artifact(place)  # what is no model needs no reference
        raise RetvecLiteError(
            f"{place} cannot be verified: its export wrote {folder / REFERENCE_NAME}, which is not there. Export again."
        )
    model = load_trained_model(dist if is_prebuilt(dist) else folder / REFERENCE_NAME)
    texts = real_texts(model, data, text_column, label_column)
    skipped = {found: found.skipped() for found in dict.fromkeys(found for found, _ in artifacts)}
    # What nothing can run here is skipped, unless that would be all.
    formats = [found for found, names in skipped.items() if len(names) < len(found.runtimes)] or list(skipped)
    for found in formats:
        found.require_runtime()
    artifacts = [(kind, path) for kind, path in artifacts if kind in formats]
    with watched(progress) as report, one_core():
        report("verifying", 0, 1 + len(artifacts))
        examiner = Examiner(model, texts.texts, texts.labels)
        report("verifying", 1, 1 + len(artifacts))
        results = []
        for done, (kind, path) in enumerate(artifacts, start=2):
            results.append((kind, *kind.examine(examiner, path)))
            report("verifying", done, 1 + len(artifacts))
    # The order of the formats, then that of the recipes; what cannot be read comes last.
    places = {name: place for place, name in enumerate(RECIPES)}
    results.sort(key=lambda item: (formats.index(item[0]), places.get(str(item[1].recipe), len(places)), item[1].file))
    problems: tuple[str, ...] = ()
    if is_whole:
        paths = [path for _, path in artifacts]
        changed = _changed_artifacts(folder, paths) or manifest_problems(folder, model, paths)
        problems = (*_folder_problems(folder, examiner, results), *changed)
    return Verification(
        texts.describe(),
        len(examiner.golden),
        examiner.accuracy,
        tuple(result for _, result, _ in results),
        problems,
        tuple(name for names in skipped.values() for name in names),
    )


def _nothing(place: Path) -> RetvecLiteError:
    """Return the error about a place without artifacts: what to do instead."""
    if (place / CLASSIFIER_FILE).is_file():
        return not_exported(place)
    suffixes = " or ".join(kind.suffix for kind in chosen_formats())
    found = f"No {suffixes} in {place}" if place.exists() else f"There is nothing at {place}"
    return RetvecLiteError(f"{found}: name a folder that `retvec-lite export` wrote, or a file in it.")


def real_texts(
    model: TrainedModel,
    data: Any = None,
    text_column: str = "text",
    label_column: str = "label",
) -> RealTexts:
    """Return evenly spread texts of labelled data, or of the starter data's test split."""
    given = STARTER if data is None else data
    columns: dict[str, Any] = {"text_column": text_column, "label_column": label_column}
    # Any texts will do, so bad rows are none of this command's business.
    dataset = as_dataset(given, **columns, split="test", multi_label=model.multi_label, skip_bad_rows=True)
    is_starter = isinstance(given, str) and given == STARTER
    # Evenly spread, so that a file sorted by label or language keeps all of them.
    count = min(len(dataset), STARTER_TEXTS if is_starter else DATA_TEXTS)
    chosen = dataset.select(np.linspace(0, len(dataset) - 1, count).round().astype(int).tolist())
    labels = chosen.label_sets if set(model.labels).issuperset(chosen.classes) else None
    return RealTexts(
        "the starter data (test.csv, ten languages)" if is_starter else dataset.path.name, chosen.texts, labels
    )


def labels_bytes(labels: Sequence[str]) -> bytes:
    """Return `labels.txt`: one label a line, in the order of the probabilities."""
    return "".join(f"{label}\n" for label in labels).encode()


def _folder_problems(
    folder: Path, examiner: Examiner, results: Sequence[tuple[Format, ArtifactResult, Floats | None]]
) -> list[str]:
    model = examiner.classifier
    answers = {}
    for kind, result, table in results:
        if result.recipe is not None and table is not None:
            recipe = RECIPES[result.recipe]
            answers[kind.golden_key(recipe)] = (table, kind.facts(recipe).parity_tolerance)
    problems = []
    try:
        if read_file(folder / LABELS_NAME) != labels_bytes(model.labels):
            problems.append(f"{LABELS_NAME} does not hold the labels of {REFERENCE_NAME} in their order.")
        if answers:
            check_golden(read_file(folder / GOLDEN_NAME), examiner.golden_json(answers))
    except RetvecLiteError as error:
        problems.append(str(error))
    return problems


def _changed_artifacts(folder: Path, artifacts: Sequence[Path]) -> list[str]:
    """Return a line for each artifact whose bytes are not, under any name, among those that `report.json` lists."""
    try:
        report = parse_json(read_file(folder / REPORT_NAME), REPORT_NAME)
        written = {str(item["sha256"]) for item in report["artifacts"]}
    except RetvecLiteError as error:
        return [str(error)]
    except (TypeError, KeyError) as error:
        return [f"{REPORT_NAME} is not what export writes: {shown(error)}."]
    found = {artifact.name: fingerprint(artifact) for artifact in artifacts}
    return [
        f"{name} was changed since export: {REPORT_NAME} lists no artifact with its SHA-256 {digest}."
        for name, digest in found.items()
        if digest not in written
    ]
