"""`report.json` and `report.md`: what was exported, how big it is, and where it was shown to be right.

The same classifier on the same runtimes gives the same bytes: no dates, no durations, no paths.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from retvec_lite.converters.format import CREATED_BY, PARTS, Contents, Format, skipped_lines
from retvec_lite.converters.parity import ArtifactResult, Check, RuntimeResult, results_table
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import draw
from retvec_lite.windows import describe_reading

FORMAT: Final = "retvec-lite-report"
VERSION: Final = 1

_LONGEST: Final = 300
"""Characters of a fact that `report.md` still shows."""


@dataclass(frozen=True)
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


@dataclass(frozen=True, kw_only=True)
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
    """

    folder: Path
    classifier: TrainedModel
    artifacts: Sequence[Exported]
    texts: str
    golden_texts: int
    accuracy: float | None
    skipped: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    android_files: tuple[Path, ...] = ()

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
            lines.append(f"{path}: {exported.result.bytes:,} bytes, {exported.format.claim} {exported.oldest}")
        if self.android_files:
            lines.append(f"{' and '.join(map(str, self.android_files))}: for the app and its tests")
        lines += [f"{file} was not written: {why}" for file, why in self.failed.items()]
        if not all(result.ok for result in results):
            lines.append(
                "Rounding cost more than the bounds above allow. The files compute what they say, but choose a larger recipe, "
                "or pass data of your own to judge."
            )
        return draw(f"{self.golden_texts} golden texts and {self.texts}", results_table(results), *lines)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        classifier = self.classifier
        return {
            "format": FORMAT,
            "version": VERSION,
            "created_by": CREATED_BY,
            "encoder": classifier.encoder.to_dict(),
            "head": classifier.head.to_dict(),
            "labels": list(classifier.labels),
            "embedding": dict(classifier.embedding),
            "training": dict(classifier.training),
            "texts": {"real": self.texts, "golden": self.golden_texts},
            "accuracy_float32": self.accuracy,
            "artifacts": [exported.to_dict() for exported in self.artifacts],
            "skipped_runtimes": list(self.skipped),
            **({"failed": dict(self.failed)} if self.failed else {}),
        }

    def to_json(self) -> bytes:
        """Return `report.json`."""
        return (json.dumps(self.to_dict(), indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    def to_markdown(self) -> bytes:
        """Return `report.md`."""
        classifier = self.classifier
        encoder = classifier.encoder
        parts = [
            "# Exported classifier",
            f"Head `{classifier.head.name}` on the embedding `{classifier.embedding.get('name', 'raw')}`, "
            f"{len(classifier.labels)} labels. Reads {describe_reading(encoder)}, and up to {encoder.max_words} words of "
            f"{encoder.word_length} characters at a time. Written by {CREATED_BY}.",
            "## Files",
            _table(
                ("file", "bytes", *("n-grams" if part == "ngrams" else part for part in PARTS), "right on"),
                (_file_row(exported) for exported in self.artifacts),
            ),
            *(f"`{file}` was not written: {why}" for file, why in self.failed.items()),
            *self._signature_parts(),
            "## Parity",
            f"Compared with the NumPy reference on {self.golden_texts} golden texts and {self.texts}. *Computation*: does the "
            "file compute what it says (largest difference, with the file's own weights)? *Cost*: what did rounding the "
            "weights change, compared with float32?",
            _table(("file", "runtime", "check", "value", "bound", "", "note"), self._parity_rows()),
        ]
        if self.accuracy is not None:
            parts.append(f"Accuracy of the float32 reference on {self.texts}: {self.accuracy:.4f}.")
            ran = [(exported.result.file, run) for exported in self.artifacts for run in exported.result.runtimes]
            rows = [
                (file, f"{run.runtime} {run.version}", f"{run.accuracy:.4f}")
                for file, run in ran
                if run.accuracy is not None
            ]
            parts.append(_table(("file", "runtime", "accuracy"), rows))
        if self.skipped:
            parts.append(f"Skipped: {'; '.join(skipped_lines(self.skipped))}.")
        parts += ["## Operators", _table(("file", "operators (version, count)"), map(_operator_row, self.artifacts))]
        facts = dict(classifier.training)
        curve = facts.pop("validation", {})
        if curve:
            parts += ["## Accuracy by share of mistyped words", _typo_table(curve)]
        parts += ["## Training", _facts(facts), "## Embedding", _facts(classifier.embedding)]
        return ("\n\n".join(parts) + "\n").encode()

    def _signature_parts(self) -> Iterable[str]:
        """Yield a section about the signatures of each format, which are the same in all of its artifacts."""
        for suffix, signatures in {e.format.suffix: e.contents.signatures for e in self.artifacts}.items():
            if len(signatures) > 1:
                yield f"## Signatures of the {suffix} files"
                yield "They share their weights. A text is classified by the first one that it fits into (`retvec_lite.json` lists them)."
                rows = ((s.name, s.kind, str(s.max_chars), str(s.max_words)) for s in signatures)
                yield _table(("signature", "kind", "code points", "word slots"), rows)

    def _parity_rows(self) -> Iterable[tuple[str, ...]]:
        for exported in self.artifacts:
            result = exported.result
            for check in result.checks:
                yield (result.file, "any", *_check_cells(check))
            for runtime in result.runtimes:
                name = f"{runtime.runtime} {runtime.version}"
                if runtime.refusal is not None:
                    yield (result.file, name, "runs", "refused", "", _promise(runtime), runtime.refusal)
                for check in runtime.checks:
                    cells = _check_cells(check)
                    yield (result.file, name, *(cells if runtime.promised else (*cells[:3], "", "not promised")))


class IncompleteExportError(RetvecLiteError):
    """Some files of an export could not be made. The others are written, and `report` says what they are.

    Example:
        >>> import retvec_lite as rl
        >>> try:
        ...     report = rl.load("classifier").export("dist", formats="all")
        ... except rl.IncompleteExportError as error:
        ...     print(error)
        ...     report = error.report
        >>> report.files[0].name
        'classifier-int8.tflite'
    """

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


def _file_row(exported: Exported) -> tuple[str, ...]:
    oldest, caveat = exported.oldest, exported.format.caveat(exported.result)
    if caveat:
        oldest = f"{exported.format.claim} {oldest}; {caveat}"
    sizes = exported.contents.sizes
    shown = (f"{sizes[part]:,}" for part in PARTS)
    return (exported.result.file, f"{exported.result.bytes:,}", *shown, oldest)


def _operator_row(exported: Exported) -> tuple[str, str]:
    kinds = exported.contents.operators
    return exported.result.file, ", ".join(f"{name} ({version}, {count})" for name, version, count in kinds)


def _check_cells(check: Check) -> tuple[str, ...]:
    measured = "words" if check.name == "embedding cosine" else "texts"
    over = f"{check.texts:,} {measured}" if check.question != "file" else ""
    note = "; ".join(filter(None, (check.question, over, check.note)))
    return check.title, check.value_text, check.bound_text, "ok" if check.ok else "**broken**", note


def _promise(runtime: RuntimeResult) -> str:
    return "**broken**" if runtime.promised else "not promised"


def _typo_table(curve: Mapping[str, Mapping[str, float]]) -> str:
    """Return what training measured on its validation texts; `retvec-lite evaluate` measures a file on others."""
    rows = (
        (f"{float(rate):.0%}", f"{scores['accuracy']:.3f}", f"{scores['macro_f1']:.3f}")
        for rate, scores in sorted(curve.items(), key=lambda item: float(item[0]))
    )
    return _table(("mistyped words (validation)", "accuracy", "macro F1"), rows)


def _facts(facts: Mapping[str, Any]) -> str:
    """Return a list of (nested) facts; long lists are left to `report.json`."""
    lines = []
    for key, value in sorted(facts.items()):
        if isinstance(value, Mapping):
            lines += [f"- {key}:", *(f"  - {name}: {_cell(_brief(part))}" for name, part in sorted(value.items()))]
        else:
            lines.append(f"- {key}: {_cell(_brief(value))}")
    return "\n".join(lines) or "None."


def _brief(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return value
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{len(value)} entries, see report.json"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    """Return text that cannot leave its table cell."""
    return " ".join(text.split()).replace("|", "\\|")
