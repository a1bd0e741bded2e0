"""What is inside an exported `.tflite`: its labels, settings, operators and sizes. No runtime runs for it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retvec_lite.converters.tflite.graph import operators, sizes
from retvec_lite.converters.tflite.model import read_model
from retvec_lite.runtime.artifact import describe_oldest_runtime, read_artifact

_PARTS: Final = {
    "encoder": "encoder constants",
    "embedding": "word embedding",
    "head": "classifier head",
    "graph": "graph structure",
    "metadata": "metadata, labels, config",
}


@dataclass(frozen=True)
class Info:
    """What `info` found. `print(info)` shows tables.

    Attributes:
        facts: the file's metadata, with its bytes, signatures, operators (name, version, count) and bytes by part.
    """

    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return dict(self.facts)

    def __str__(self) -> str:
        from retvec_lite.terminal import Table, draw

        facts = self.facts
        about = [
            ("recipe", str(facts.get("recipe"))),
            ("head", str(facts.get("head"))),
            ("embedding", self._embedding()),
            ("oldest runtime", describe_oldest_runtime(facts)),
            ("created by", str(facts.get("created_by"))),
            ("labels", f"{len(facts['labels'])}: {', '.join(facts['labels'])}"),
        ]
        encoder = [(key, json.dumps(value)) for key, value in facts["encoder"].items()]
        signatures = [(s["name"], s["kind"], str(s["max_chars"]), str(s["max_words"])) for s in facts["signatures"]]
        parts = [(_PARTS[part], f"{size:,}") for part, size in facts["sizes"].items()]
        kinds = [(row["name"], str(row["version"]), str(row["count"])) for row in facts["operators"]]
        return draw(
            Table(str(facts["file"]), ("", "value"), about),
            Table("Text to words", ("setting", "value"), encoder),
            Table(
                "Signatures",
                ("name", "kind", "code points", "word slots"),
                signatures,
                frozenset({"code points", "word slots"}),
            ),
            Table("Size", ("part", "bytes"), [*parts, ("file", f"{facts['bytes']:,}")], frozenset({"bytes"})),
            Table("Operators", ("name", "version", "count"), kinds, frozenset({"version", "count"})),
        )

    def _embedding(self) -> str:
        """Return its name, and what was trained of it and beside it; early files tell the name alone."""
        filters = self.facts.get("character_filters")
        tuned = ", fine-tuned" if self.facts.get("fine_tuned") else ""
        return f"{self.facts.get('embedding')}{tuned}{f', {filters} character features' if filters else ''}"


def info(path: str | os.PathLike[str]) -> Info:
    """Read what an exported `.tflite` says about itself and what its graph holds.

    Args:
        path: the file.

    Raises:
        RetvecLiteError: for a file that is damaged or was not exported by retvec-lite.

    Example:
        >>> import retvec_lite as rl
        >>> rl.info("classifier-int8.tflite").to_dict()["recipe"]
        'int8'
    """
    artifact = read_artifact(path)
    data = artifact.path.read_bytes()
    model = read_model(artifact.model)
    return Info(
        {
            "file": str(artifact.path),
            "bytes": len(data),
            **artifact.metadata,
            "signatures": [signature.to_dict() for signature in artifact.signatures],
            "sizes": sizes(data, model),
            "operators": [
                {"name": name, "version": version, "count": count} for name, version, count in operators(model)
            ],
        }
    )
