"""What an exported file says about itself and what it holds."""

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retvec_lite.arguments import checked
from retvec_lite.converters.format import Contents, find_format
from retvec_lite.decision import Decision
from retvec_lite.runtime.artifact import Artifact, describe_oldest_runtime, read_artifact
from retvec_lite.runtime.retvec_file import part_sizes

_PARTS: Final = {
    "encoder": "encoder constants",
    "embedding": "word embedding",
    "head": "classifier head",
    "ngrams": "n-grams",
    "meaning": "meaning of words",
    "graph": "graph structure",
    "metadata": "metadata, labels, config",
}
"""Parts of a file's size, as `info` calls them."""


@dataclass(frozen=True)
class Info:
    """What `info` found: a file's metadata, bytes, signatures, operators and bytes by part. `print(info)` shows tables."""

    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return dict(self.facts)

    def __str__(self) -> str:
        from retvec_lite.terminal import Table, draw

        facts = self.facts
        about = [
            *((what, str(facts[what])) for what in ("name", "version") if what in facts),
            ("recipe", str(facts.get("recipe"))),
            ("head", str(facts.get("head"))),
            ("embedding", str(facts.get("embedding"))),
            ("oldest runtime", describe_oldest_runtime(facts)),
            ("created by", str(facts.get("created_by"))),
            *((f"trained: {name}", str(value)) for name, value in facts.get("trained", {}).items()),
            ("labels", f"{len(facts['labels'])}: {', '.join(facts['labels'])}"),
        ]
        encoder = [(key, json.dumps(value)) for key, value in facts["encoder"].items()]
        signatures = [(s["name"], str(s["max_chars"]), str(s["max_words"])) for s in facts["signatures"]]
        parts = [(_PARTS[part], f"{size:,}") for part, size in facts["sizes"].items()]
        kinds = [(row["name"], str(row["version"]), str(row["count"])) for row in facts["operators"]]
        lengths = ("code points", "word slots")
        tables: list[str | Table] = [
            Table(str(facts["file"]), ("", "value"), about),
            f"\n{Decision.from_dict(facts.get('decision'))}",
            Table("Text to words", ("setting", "value"), encoder),
            Table("Signatures", ("name", *lengths), signatures, frozenset(lengths)),
            Table("Size", ("part", "bytes"), [*parts, ("file", f"{facts['bytes']:,}")], frozenset({"bytes"})),
        ]
        if kinds:  # a .retvec has none
            tables.append(Table("Operators", ("name", "version", "count"), kinds, frozenset({"version", "count"})))
        return draw(*tables)


@checked
def info(path: str | os.PathLike[str]) -> Info:
    """Read what an exported `.tflite`, `.retvec` or `.onnx` says about itself and what it holds; of a `.retvec`, with NumPy alone.

    Args:
        path: the file, or "language" for the detector in the package.

    Raises:
        RetvecLiteError: for a file that is damaged or was not exported by retvec-lite.

    Example:
        >>> import retvec_lite as rl
        >>> rl.info("classifier-int8.tflite").to_dict()["recipe"]
        'int8'
    """
    artifact = read_artifact(path)
    found, size = _contents(artifact), artifact.path.stat().st_size
    return Info({"file": str(artifact.path), "bytes": size, **artifact.metadata, **found.to_dict()})


def _contents(artifact: Artifact) -> Contents:
    if artifact.is_native:
        return Contents(part_sizes(artifact.model), [], artifact.signatures)
    if artifact.is_onnx:
        return dataclasses.replace(find_format("onnx").open(artifact.path).contents(), signatures=artifact.signatures)
    from retvec_lite.converters.tflite import read_model
    from retvec_lite.converters.tflite.graph import operators, sizes

    model = read_model(artifact.model)
    return Contents(sizes(artifact.path.read_bytes(), model), operators(model), artifact.signatures)
