"""`retvec-lite info`: what is inside an exported file."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from retvec_lite.runtime.artifact import Artifact, describe_oldest_runtime, read_artifact

_PARTS = {
    "encoder": "constants of the encoder",
    "embedding": "word embedding",
    "head": "classifier head",
    "graph": "graph structure",
    "metadata": "metadata, labels, config",
}


_NUMBERS = ("bytes", "version", "count", "code points", "word slots")
"""Columns that are set flush right."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="an exported .tflite")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print what the file says about itself and what its graph holds; no runtime is needed for it."""
    artifact = read_artifact(args.model)
    description = describe(artifact)
    if args.json:
        print(json.dumps(description, ensure_ascii=False))
    else:
        _print_tables(artifact, description)
    return 0


def describe(artifact: Artifact) -> dict[str, Any]:
    """The file's metadata with its operators (name, version, count) and its bytes by part, JSON-ready.

    Raises:
        RetvecLiteError: for a graph that is not laid out as the exporter does it.
    """
    from retvec_lite.converters.tflite.ops import operators
    from retvec_lite.converters.tflite.reading import read_model, sizes

    data = artifact.path.read_bytes()
    return {
        "file": str(artifact.path),
        "bytes": len(data),
        **artifact.metadata,
        "signatures": [signature.to_dict() for signature in artifact.signatures],
        "sizes": sizes(data),
        "operators": [
            {"name": name, "version": version, "count": count}
            for name, version, count in operators(read_model(artifact.model))
        ],
    }


def _embedding(description: Mapping[str, Any]) -> str:
    """Its name, and what was trained of it and beside it; files from before that was told have the name alone."""
    filters = description.get("character_filters")
    return (
        f"{description.get('embedding')}{', fine-tuned' if description.get('fine_tuned') else ''}"
        f"{f', {filters} character features' if filters else ''}"
    )


def _print_tables(artifact: Artifact, description: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        drawn = Table(title=title, title_justify="left")
        for column in columns:
            drawn.add_column(column, justify="right" if column in _NUMBERS else "left")
        for row in rows:
            drawn.add_row(*map(Text, row))  # labels are data: rich must not read its markup into them
        console.print(drawn)

    console = Console()
    encoder = description["encoder"]
    facts = [
        ("recipe", str(description.get("recipe"))),
        ("head", str(description.get("head"))),
        ("embedding", _embedding(description)),
        ("oldest runtime", describe_oldest_runtime(artifact.metadata)),
        ("created by", str(description.get("created_by"))),
        ("labels", f"{len(artifact.labels)}: {', '.join(artifact.labels)}"),
    ]
    table(str(artifact.path), ("", "value"), facts)
    table("Text to words", ("setting", "value"), [(key, json.dumps(value)) for key, value in encoder.items()])
    table(
        "Signatures",
        ("name", "kind", "code points", "word slots"),
        [(s.name, s.kind, str(s.max_chars), str(s.max_words)) for s in artifact.signatures],
    )
    rows = [(_PARTS[part], f"{size:,}") for part, size in description["sizes"].items()]
    table("Size", ("part", "bytes"), [*rows, ("file", f"{description['bytes']:,}")])
    table(
        "Operators",
        ("name", "version", "count"),
        [(row["name"], str(row["version"]), str(row["count"])) for row in description["operators"]],
    )
