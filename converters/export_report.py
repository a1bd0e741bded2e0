"""What an export wrote: the files, what was measured of each, and what could not be made."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retvec_lite.card import report_of
from retvec_lite.converters.format import Contents, Format, skipped_lines
from retvec_lite.converters.parity import ArtifactResult, results_table
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.manifest import SIGNATURE_NAME, ModelFile
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import draw


@dataclasses.dataclass(frozen=True)
class Exported:
    """A finished artifact.

    Attributes:
        format: its format.
        result: what was measured.
        oldest_runtime: what it states.
        sha256: see `fingerprint`.
        contents: what it holds.
    """

    format: Format
    result: ArtifactResult
    oldest_runtime: Mapping[str, str]
    sha256: str
    contents: Contents

    @property
    def listed(self) -> ModelFile:
        """What the manifest lists."""
        return ModelFile(self.result.file, self.format.name, str(self.result.recipe), self.result.bytes, self.sha256)

    @property
    def oldest(self) -> str:
        """The oldest runtime in words."""
        return ", ".join(f"{name} {version} or newer" for name, version in self.oldest_runtime.items())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            **self.result.to_dict(),
            "description": self.format.facts(find_recipe(str(self.result.recipe))).description,
            "sha256": self.sha256,
            "oldest_runtime": dict(self.oldest_runtime),
            **self.contents.to_dict(),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What an export wrote, and what was measured. `print(report)` shows a table.

    Attributes:
        folder: where the files are.
        classifier: what was exported.
        artifacts: one for each recipe and format.
        texts: the real texts that were used, in words.
        golden_texts: number of golden texts that were used.
        accuracy: of the float32 reference on the real texts; None when they have other labels.
        skipped: runtimes that are not installed or not for this machine.
        failed: names of files that could not be made -> why.
        android_files: what was put into an Android project.
        signed_with: the public key with which apps check the manifest; None without a signature.
    """

    folder: Path
    classifier: TrainedModel
    artifacts: Sequence[Exported]
    texts: str
    golden_texts: int
    accuracy: float | None
    skipped: Sequence[str]
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    android_files: tuple[Path, ...] = ()
    signed_with: str | None = None

    @property
    def ok(self) -> bool:
        """Whether everything was written, and rounding the weights stayed within every bound. An artifact that computes wrongly never is."""
        return not self.failed and all(exported.result.ok for exported in self.artifacts)

    @property
    def files(self) -> tuple[Path, ...]:
        """The artifacts' paths."""
        return tuple(self.folder / exported.result.file for exported in self.artifacts)

    def __str__(self) -> str:
        results = [exported.result for exported in self.artifacts]
        lines = [line for result in results for line in result.complaints()]
        lines += [f"{line}: skipped." for line in skipped_lines(self.skipped)]
        for exported, path in zip(self.artifacts, self.files, strict=True):
            lines.append(f"{path}: {exported.result.bytes:,} bytes, for {exported.oldest}")
        if self.android_files:
            lines.append(f"{' and '.join(map(str, self.android_files))}: for the app and its tests")
        if self.signed_with:
            lines.append(f"{self.folder / SIGNATURE_NAME}: for apps with the public key {self.signed_with}")
        lines += [f"{file} was not written: {why}" for file, why in self.failed.items()]
        if not all(result.ok for result in results):
            lines.append(
                "Rounding cost more than the bounds above allow. The files compute what they say, but choose a larger recipe, "
                "or pass data of your own to judge."
            )
        return draw(f"{self.golden_texts} golden texts and {self.texts}", results_table(results), *lines)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            **report_of(self.classifier),
            "texts": {"real": self.texts, "golden": self.golden_texts},
            "accuracy_float32": self.accuracy,
            "artifacts": [exported.to_dict() for exported in self.artifacts],
            "skipped_runtimes": list(self.skipped),
            **({"failed": dict(self.failed)} if self.failed else {}),
        }


class IncompleteExportError(RetvecLiteError):
    """Some files of an export could not be made. The others are written, and `report` says what they are.

    Example:
        >>> import retvec_lite as rl
        >>> from retvec_lite.converters.export_report import IncompleteExportError
        >>> try:
        ...     report = rl.load("classifier").export("dist", formats=["engine"])
        ... except IncompleteExportError as error:
        ...     print(error)
        ...     report = error.report
        >>> report.files[0].name
        'classifier-int8.retvec'
    """

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report
