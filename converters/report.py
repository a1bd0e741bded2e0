"""`report.json` and `report.md`: what was exported, how big it is, and where it was shown to be right.

The same classifier on the same runtimes gives the same bytes: no dates, no durations, no paths.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retvec_lite.converters.coreml.storage import DESCRIPTIONS
from retvec_lite.converters.describing import signatures_of
from retvec_lite.converters.parity.checks import Check, RuntimeResult
from retvec_lite.converters.parity.coreml import RUNTIME
from retvec_lite.converters.parity.fingerprint import fingerprint
from retvec_lite.converters.parity.verify import ArtifactResult
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.converters.tflite.ops import operators
from retvec_lite.converters.tflite.reading import read_model, sizes
from retvec_lite.model.heads import filters_in
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, Signature

FORMAT: Final = "retvec-lite-report"
VERSION: Final = 1


@dataclass(frozen=True)
class Exported:
    """A finished artifact.

    Attributes:
        data: the bytes of a .tflite, or those of each file of an .mlpackage by their paths in it.
        oldest_runtime: what it states.
        result: what was measured.
    """

    data: bytes | Mapping[str, bytes]
    oldest_runtime: Mapping[str, str]
    result: ArtifactResult

    @property
    def description(self) -> str:
        """What its recipe means in this format."""
        recipe = find_recipe(str(self.result.recipe))
        return recipe.description if isinstance(self.data, bytes) else DESCRIPTIONS[recipe.name]

    @property
    def sha256(self) -> str:
        """See `fingerprint`."""
        return fingerprint(self.data)

    def sizes(self) -> dict[str, int]:
        """Bytes by what they are for, all together those of the artifact."""
        if isinstance(self.data, bytes):
            return sizes(self.data)
        from retvec_lite.converters.coreml.package import package_sizes

        return package_sizes(self.data)

    def signatures(self) -> list[Signature]:
        """The signatures of a .tflite; none of an .mlpackage, which has one interface."""
        return signatures_of(read_model(self.data)) if isinstance(self.data, bytes) else []

    def operators(self) -> list[tuple[str, int, int]]:
        """Name, version and count of each kind of operator; the version of Core ML's is the iOS that the package is for."""
        if isinstance(self.data, bytes):
            return operators(read_model(self.data))
        from retvec_lite.converters.coreml.package import package_operators

        return package_operators(self.data)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that the two report files say.

    Attributes:
        classifier: what was exported.
        created_by: name and version of this project.
        artifacts: one for each recipe.
        texts: the real texts that were used, in words.
        golden_texts: how many golden texts were used.
        accuracy: of the float32 reference on the real texts; None when they have other labels.
        skipped: runtimes that are not installed or not for this machine.
    """

    classifier: TrainedModel
    created_by: str
    artifacts: Sequence[Exported]
    texts: str
    golden_texts: int
    accuracy: float | None
    skipped: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        classifier = self.classifier
        return {
            "format": FORMAT,
            "version": VERSION,
            "created_by": self.created_by,
            "encoder": classifier.encoder.to_dict(),
            "head": classifier.head.to_dict(),
            "labels": list(classifier.labels),
            "embedding": dict(classifier.embedding),
            "training": dict(classifier.training),
            "texts": {"real": self.texts, "golden": self.golden_texts},
            "accuracy_float32": self.accuracy,
            "artifacts": [_artifact(exported) for exported in self.artifacts],
            "skipped_runtimes": list(self.skipped),
        }

    def to_json(self) -> bytes:
        """`report.json`."""
        return (json.dumps(self.to_dict(), indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    def to_markdown(self) -> bytes:
        """`report.md`."""
        classifier = self.classifier
        encoder = classifier.encoder
        filters = filters_in(classifier.weights)
        characters = f" and {filters} character features" if filters else ""
        parts = [
            "# Exported classifier",
            f"Head `{classifier.head.name}` on the embedding `{classifier.embedding.get('name', 'raw')}`{characters}, "
            f"{len(classifier.labels)} labels. Takes the first {encoder.max_chars} code points of a text, reads up to "
            f"{encoder.max_words} words of {encoder.word_length} characters. Written by {self.created_by}.",
            "## Files",
            _table(
                ("file", "bytes", "encoder", "embedding", "head", "graph", "metadata", "right on"),
                (_file_row(exported) for exported in self.artifacts),
            ),
            *self._signature_parts(),
            "## Parity",
            f"Against the NumPy reference, on {self.golden_texts} golden texts and {self.texts}. *Computation*: does the "
            "file compute what it says (largest difference, with the file's own weights)? *Cost*: what did rounding the "
            "weights change, compared with float32?",
            _table(("file", "runtime", "check", "value", "bound", "", "note"), self._parity_rows()),
        ]
        if self.accuracy is not None:
            parts.append(f"Accuracy of the float32 reference on {self.texts}: {self.accuracy:.4f}.")
            rows = [
                (e.result.file, f"{r.runtime} {r.version}", f"{r.accuracy:.4f}")
                for e in self.artifacts
                for r in e.result.runtimes
                if r.accuracy is not None
            ]
            parts.append(_table(("file", "runtime", "accuracy"), rows))
        if self.skipped:
            parts.append(f"Skipped: {'; '.join(map(why_skipped, self.skipped))}.")
        parts += ["## Operators", _table(("file", "operators (version, count)"), map(_operator_row, self.artifacts))]
        facts = dict(classifier.training)
        curve = facts.pop("validation", {})
        if curve:
            parts += ["## Accuracy by share of mistyped words", _typo_table(curve)]
        parts += ["## Training", _facts(facts), "## Embedding", _facts(classifier.embedding)]
        return ("\n\n".join(parts) + "\n").encode()

    def _signature_parts(self) -> Iterable[str]:
        """The signatures of the .tflite files, which are the same in all of them."""
        signatures = next(
            (exported.signatures() for exported in self.artifacts if isinstance(exported.data, bytes)), []
        )
        if len(signatures) > 1:
            yield "## Signatures of the .tflite files"
            yield "One set of weights; a text is classified by the first that it fits into (`retvec_lite.json` lists them)."
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
                    yield (
                        (result.file, name, *cells)
                        if runtime.promised
                        else (result.file, name, *cells[:3], "", "not promised")
                    )


def why_skipped(runtime: str) -> str:
    """Why nothing ran on a runtime: Core ML is no package that could be installed."""
    return f"{runtime} {'runs on macOS only' if runtime == RUNTIME else 'is not installed'}"


def name_of(check: Check) -> str:
    """What was measured, and on which signature where it is not `classify`."""
    return check.name if check.signature == CLASSIFY else f"{check.name} ({check.signature})"


def format_value(check: Check) -> str:
    """A check's figure for people."""
    return _figure(check, check.value)


def format_bound(check: Check) -> str:
    """A check's bound for people."""
    if check.bound == 0 and not check.at_least:
        return "identical"
    return f"{'>=' if check.at_least else '<='} {_figure(check, check.bound)}"


def _figure(check: Check, value: float) -> str:
    if check.name == "same label":
        return f"{100 * value:.2f}%"
    if check.name == "embedding cosine":
        return f"{value:.6f}"
    if check.name in ("words", "bits", "slots", "size"):
        return f"{value:,.0f}"
    return f"{value:.1e}"


def _artifact(exported: Exported) -> dict[str, Any]:
    return {
        **exported.result.to_dict(),
        "description": exported.description,
        "sha256": exported.sha256,
        "sizes": exported.sizes(),
        "operators": [
            {"name": name, "version": version, "count": count} for name, version, count in exported.operators()
        ],
        "oldest_runtime": dict(exported.oldest_runtime),
        "signatures": [signature.to_dict() for signature in exported.signatures()],
    }


def _file_row(exported: Exported) -> tuple[str, ...]:
    parts = exported.sizes()
    oldest = ", ".join(f"{name} {version} or newer" for name, version in exported.oldest_runtime.items())
    if not isinstance(exported.data, bytes) and all(run.runtime != RUNTIME for run in exported.result.runtimes):
        oldest = f"made for {oldest}; evaluated in NumPy, not run on Core ML"
    shown = (f"{parts[part]:,}" for part in ("encoder", "embedding", "head", "graph", "metadata"))
    return (exported.result.file, f"{exported.result.bytes:,}", *shown, oldest)


def _operator_row(exported: Exported) -> tuple[str, str]:
    kinds = exported.operators()
    return exported.result.file, ", ".join(f"{name} ({version}, {count})" for name, version, count in kinds)


def _check_cells(check: Check) -> tuple[str, ...]:
    over = (
        f"{check.texts:,} {'words' if check.name == 'embedding cosine' else 'texts'}"
        if check.question != "file"
        else ""
    )
    note = "; ".join(filter(None, (check.question, over, check.note)))
    return name_of(check), format_value(check), format_bound(check), "ok" if check.ok else "**broken**", note


def _promise(runtime: RuntimeResult) -> str:
    return "**broken**" if runtime.promised else "not promised"


def _typo_table(curve: Mapping[str, Mapping[str, float]]) -> str:
    """What training measured on its validation texts; `retvec-lite evaluate` measures a file on others."""
    rows = (
        (f"{float(rate):.0%}", f"{scores['accuracy']:.3f}", f"{scores['macro_f1']:.3f}")
        for rate, scores in sorted(curve.items(), key=lambda item: float(item[0]))
    )
    return _table(("mistyped words (validation)", "accuracy", "macro F1"), rows)


def _facts(facts: Mapping[str, Any]) -> str:
    """A list of (nested) facts; long lists are left to `report.json`."""
    lines = []
    for key, value in sorted(facts.items()):
        if isinstance(value, Mapping):
            lines += [f"- {key}:", *(f"  - {name}: {_cell(_brief(part))}" for name, part in sorted(value.items()))]
        else:
            lines.append(f"- {key}: {_cell(_brief(value))}")
    return "\n".join(lines) or "Nothing is known."


def _brief(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return value
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 300 else f"{len(value)} entries, see report.json"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    """Text that cannot leave its table cell."""
    return " ".join(text.split()).replace("|", "\\|")
