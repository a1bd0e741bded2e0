"""What an exported file says about itself, written and read: standard TFLite metadata, labels and contract in a zip behind the model.

The tables are those of the published schema, version 1.1.0 of
https://github.com/tensorflow/tflite-support/blob/master/tensorflow_lite_support/metadata/metadata_schema.fbs. They are written
with `flatbuffers.Builder` because the package that generates them (tflite-support) is no longer maintained and has no wheels for
current Pythons. The zip is appended as the official tool does it: `unzip`, Python's `zipfile` and the platforms' metadata readers
open the .tflite itself.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retvec_lite.converters import INPUT, PROBABILITIES
from retvec_lite.converters.tflite import add_buffer, pack, read_model, schema
from retvec_lite.converters.tflite.graph import operators, shape_of, sizes
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import NgramHead, filters_in
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import (
    CLASSIFY,
    LABELS_NAME,
    METADATA_FORMAT,
    METADATA_NAME,
    describe_oldest_runtime,
    read_artifact,
)
from retvec_lite.version import __version__

CREATED_BY: Final = f"retvec-lite {__version__}"

_BUFFER_NAME: Final = "TFLITE_METADATA"
_IDENTIFIER: Final = b"M001"
_MIN_PARSER_VERSION: Final = "1.0.0"
"""No field or type newer than the first schema is used."""

_UNKNOWN_FILE, _TENSOR_AXIS_LABELS = 0, 2
_FEATURE_PROPERTIES: Final = 1
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


_PARTS: Final = {
    "encoder": "encoder constants",
    "embedding": "word embedding",
    "head": "classifier head",
    "ngrams": "n-grams",
    "graph": "graph structure",
    "metadata": "metadata, labels, config",
}
"""Parts of a file's size, as `info` calls them."""


@dataclass(frozen=True, kw_only=True)
class About:
    """The words of the metadata: `name` and `description` of the model, its `version`, `author` and `license`."""

    name: str
    description: str
    version: str
    author: str
    license: str
    output: str = "The probability of each label; they add up to 1."


def about(classifier: TrainedModel, recipe: str) -> About:
    """Return the words about a classifier under a recipe."""
    return About(
        name="retvec-lite text classifier",
        description=f"Classifies text into {len(classifier.labels)} labels from its code points alone, typos and all scripts "
        f"included ({classifier.head.name} head, {recipe} weights).",
        version=__version__,
        author=CREATED_BY,
        license="Set by the owner of the training data; the software is under Apache-2.0.",
        **(
            {"output": "The probability of each label; a text may have several, or none."}
            if classifier.multi_label
            else {}
        ),
    )


def details(classifier: TrainedModel, recipe: str, oldest_runtime: Mapping[str, str]) -> dict[str, Any]:
    """Return what a runtime and `verify` need to know, JSON-ready; both formats store it."""
    return {
        "format": METADATA_FORMAT,
        "contract_version": classifier.encoder.contract_version,
        "encoder": classifier.encoder.to_dict(),
        "labels": list(classifier.labels),
        "head": classifier.head.name,
        "ngrams": None if classifier.ngrams is None else classifier.ngrams.to_dict(),
        "recipe": recipe,
        "embedding": str(classifier.embedding.get("name", "raw")),
        "fine_tuned": bool(classifier.training.get("fine_tuned_embedding", False)),
        "character_filters": filters_in(classifier.weights),
        "oldest_runtime": dict(oldest_runtime),
        "created_by": CREATED_BY,
        "tensors": {stage: stage for stage in stage_names(classifier)},
        **classifier.decision.entry(),
    }


def stage_names(classifier: TrainedModel) -> list[str]:
    """Return the inner tensors that exported graphs name: no embedding for RETVec-raw, none at all for the head `ngrams`."""
    if isinstance(classifier.head, NgramHead):
        return []
    return ["words", "bits", *(["embedding"] if "embedding/dense_0/kernel" in classifier.weights else [])]


def attach_metadata(model: bytes, about: About, labels: Sequence[str]) -> bytes:
    """Return a model with standard TFLite metadata, the same bytes for the same arguments.

    Args:
        model: a .tflite with one input and one output; metadata and a zip tail that it has already are replaced.
        about: the words.
        labels: class names, in the order of the outputs.

    Raises:
        RetvecLiteError: when a label would not survive as one line, or the number of labels is not that of the outputs.
    """
    edited = read_model(model)
    graph = edited.subgraphs[0]
    classes = shape_of(graph.tensors[graph.outputs[0]])[-1]
    if classes != len(labels):
        raise RetvecLiteError(f"The model has {classes} outputs, but there are {len(labels)} labels.")
    for label in labels:
        if label.splitlines() != [label]:
            raise RetvecLiteError(
                f"The label {label!r} is empty or has a line break: labels.txt has one label per line."
            )
    entry = schema().MetadataT()
    entry.name = _BUFFER_NAME
    entry.buffer = add_buffer(edited, _metadata_buffer(about, shape_of(graph.tensors[graph.inputs[0]])[-1]))
    edited.metadata = [entry]
    return pack(edited)


def attach_files(model: bytes, labels: Sequence[str], details: Mapping[str, Any]) -> bytes:
    """Return a model with `labels.txt` and `retvec_lite.json` in an uncompressed zip behind it, the same for the same arguments.

    Args:
        model: what `attach_metadata` returned.
        labels: the same labels.
        details: JSON-ready content of `retvec_lite.json`. `model_sha256`, the SHA-256 of all bytes before the zip, is added.
    """
    content = {**details, "model_sha256": hashlib.sha256(model).hexdigest()}
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
    target = io.BytesIO(model)
    target.seek(0, io.SEEK_END)
    # Offsets in the zip count from the start of the file.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, lines in {METADATA_NAME: text, LABELS_NAME: "\n".join(labels)}.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            # Otherwise zipfile writes the system that it runs on.
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, f"{lines}\n".encode())
    return target.getvalue()


def _metadata_buffer(about: About, max_chars: int) -> bytes:
    import flatbuffers  # here, so that `model` gives its hint when it is missing

    builder = flatbuffers.Builder(1024)
    labels = _file(
        builder, LABELS_NAME, "The classes, one a line, in the order of the probabilities.", _TENSOR_AXIS_LABELS
    )
    details = _file(
        builder, METADATA_NAME, "The text-to-words contract, labels and origin of the model.", _UNKNOWN_FILE
    )
    codepoints = _tensor(
        builder,
        INPUT,
        f"The text as Unicode code points: int32, the first {max_chars}, zeros behind the end. No tokenizer is needed.",
        [],
    )
    probabilities = _tensor(builder, PROBABILITIES, about.output, [labels])
    graph = _table(
        builder,
        7,
        {0: builder.CreateString(CLASSIFY), 2: _vector(builder, [codepoints]), 3: _vector(builder, [probabilities])},
    )
    model = _table(
        builder,
        8,
        {
            0: builder.CreateString(about.name),
            1: builder.CreateString(about.description),
            2: builder.CreateString(about.version),
            3: _vector(builder, [graph]),
            4: builder.CreateString(about.author),
            5: builder.CreateString(about.license),
            6: _vector(builder, [details]),
            7: builder.CreateString(_MIN_PARSER_VERSION),
        },
    )
    builder.Finish(model, _IDENTIFIER)
    return bytes(builder.Output())


def _tensor(builder: Any, name: str, description: str, files: list[int]) -> int:
    """A `TensorMetadata` whose content is plain numbers (`FeatureProperties`, an empty table)."""
    properties = _table(builder, 0, {})
    builder.StartObject(2)
    builder.PrependUint8Slot(0, _FEATURE_PROPERTIES, 0)
    builder.PrependUOffsetTRelativeSlot(1, properties, 0)
    content = int(builder.EndObject())
    fields = {0: builder.CreateString(name), 1: builder.CreateString(description), 3: content}
    if files:
        fields[6] = _vector(builder, files)
    return _table(builder, 7, fields)


def _file(builder: Any, name: str, description: str, kind: int) -> int:
    """An `AssociatedFile`."""
    named, described = builder.CreateString(name), builder.CreateString(description)
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(0, named, 0)
    builder.PrependUOffsetTRelativeSlot(1, described, 0)
    builder.PrependInt8Slot(2, kind, _UNKNOWN_FILE)
    return int(builder.EndObject())


def _table(builder: Any, slots: int, fields: Mapping[int, int]) -> int:
    """A table whose fields are all offsets, by field number."""
    builder.StartObject(slots)
    for field, offset in fields.items():
        builder.PrependUOffsetTRelativeSlot(field, offset, 0)
    return int(builder.EndObject())


def _vector(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


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
        path: the file, or "language" for the detector in the package.

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
