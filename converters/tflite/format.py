"""The format .tflite: one file of builtin operators, with standard TFLite metadata, and labels and contract in a zip behind it.

The metadata's tables are those of the published schema, version 1.1.0 of
https://github.com/tensorflow/tflite-support/blob/master/tensorflow_lite_support/metadata/metadata_schema.fbs. They are written
with `flatbuffers.Builder` because the package that generates them (tflite-support) is no longer maintained and has no wheels for
current Pythons. The zip is appended as the official tool does it: `unzip`, Python's `zipfile` and the platforms' metadata readers
open the .tflite itself.
"""

import dataclasses
import functools
import hashlib
import io
import json
import weakref
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from retvec_lite.converters import INPUT, PROBABILITIES
from retvec_lite.converters.format import About, Draft, Format, about, details
from retvec_lite.converters.parity import ArtifactResult
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite import add_buffer, pack, read_model, schema
from retvec_lite.converters.tflite.examine import TFLiteFile, age, promises, require_runtimes
from retvec_lite.converters.tflite.graph import shape_of, signatures_of
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import import_tensorflow
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import (
    CLASSIFY,
    LABELS_NAME,
    METADATA_NAME,
    SIGNATURES_KEY,
)
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes, silent_standard_error

_BUFFER_NAME: Final = "TFLITE_METADATA"
_IDENTIFIER: Final = b"M001"
_OLDEST_PARSER: Final = "1.0.0"
"""No field or type newer than the first schema is used."""

_UNKNOWN_FILE, _TENSOR_AXIS_LABELS = 0, 2
_FEATURE_PROPERTIES: Final = 1
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)

_converted: list[tuple["weakref.ref[TrainedModel]", bool, bytes]] = []
"""The classifier that was converted last, whether with embeddings, and its graph: an export to .onnx takes that of the .tflite."""


class TFLite(Format):
    """The .tflite; what its methods do stands in `Format`."""

    name = "tflite"
    suffix = ".tflite"
    runtimes: ClassVar[Mapping[str, str]] = {name: f"{name} is not installed" for name in RUNTIMES}

    def require_runtime(self) -> None:
        require_runtimes()

    def skipped(self) -> tuple[str, ...]:
        installed = installed_runtimes()
        return tuple(name for name in RUNTIMES if name not in installed)

    def golden_key(self, recipe: Recipe) -> str:
        """Return the recipe's name alone, as the first format may."""
        return recipe.name

    def open(self, path: Path) -> TFLiteFile:
        return TFLiteFile(path)

    def make(self, model: TrainedModel, recipes: Sequence[Recipe], embed: bool = False) -> Iterator[Draft]:
        """Make the artifacts; the graph is converted once."""
        graph = convert(model, embed)
        for recipe in recipes:
            write = functools.partial(_write, quantize(graph, recipe.name), model, recipe)
            yield Draft(recipe, dict([recipe.oldest_runtime]), write)

    def settle(self, draft: Draft, path: Path, result: ArtifactResult) -> tuple[Mapping[str, str], ArtifactResult]:
        """Settle on the oldest installed runtime from which on the file is right on every one."""
        oldest = oldest_runtime(draft.recipe, result)
        if oldest != draft.oldest_runtime:
            # The statement is only in the zip tail: what was run and what is kept are the same flatbuffer.
            draft.write(path, oldest)
        size = path.stat().st_size
        checks = [
            dataclasses.replace(check, value=float(size)) if check.name == "size" else check for check in result.checks
        ]
        runs = [
            dataclasses.replace(run, promised=promises(oldest, run.runtime, run.version)) for run in result.runtimes
        ]
        return oldest, dataclasses.replace(result, bytes=size, checks=tuple(checks), runtimes=tuple(runs), problem=None)


def convert(model: TrainedModel, embed: bool = False) -> bytes:
    """Return the classifier's whole graph as a float32 .tflite with all its signatures, without metadata.

    Imports TensorFlow. Its notes about the machine and the conversion are kept from standard error; whatever goes wrong is an
    exception. The same object must have the same weights at the next call.
    """
    for known, embeds, graph in _converted:
        if known() is model and embeds == embed:
            return graph
    import_tensorflow()
    with silent_standard_error():
        from retvec_lite.converters.tflite.convert import entries, to_tflite

        graph = to_tflite(entries(model, embed))
    _converted[:] = [(weakref.ref(model), embed, graph)]
    return graph


def package(graph: bytes, model: TrainedModel, recipe: Recipe, oldest_runtime: Mapping[str, str]) -> bytes:
    """Return a quantized graph as a file with metadata and zip tail that was not run; `export_model` runs its files."""
    signatures = [signature.to_dict() for signature in signatures_of(read_model(graph))]
    facts: dict[str, Any] = {**details(model, recipe.name, oldest_runtime), SIGNATURES_KEY: signatures}
    return attach_files(attach_metadata(graph, about(model, recipe.name), model.labels), model.labels, facts)


def oldest_runtime(recipe: Recipe, result: ArtifactResult) -> dict[str, str]:
    """Return the oldest installed runtime from which on an artifact is right on every one.

    Raises:
        RetvecLiteError: when it is wrong on the newest, or on one that the recipe is meant for.
    """
    by_age = sorted(result.runtimes, key=lambda run: age(run.runtime, run.version))
    oldest = by_age[-1]
    for run in reversed(by_age):
        if not run.correct:
            break
        oldest = run
    for run in by_age:
        meant = promises(dict([recipe.oldest_runtime]), run.runtime, run.version)
        if not run.correct and (meant or run is by_age[-1]):
            raise result.error_on(run)
    return {oldest.runtime: oldest.version}


def _write(quantized: bytes, model: TrainedModel, recipe: Recipe, path: Path, oldest: Mapping[str, str]) -> None:
    path.write_bytes(package(quantized, model, recipe, oldest))


def attach_metadata(model: bytes, about: About, labels: Sequence[str]) -> bytes:
    """Return a .tflite with standard metadata about its first graph; metadata and a zip tail that it has are replaced.

    Raises:
        RetvecLiteError: when a label would not survive as one line.
    """
    edited = read_model(model)
    graph = edited.subgraphs[0]
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
    """Return what `attach_metadata` returned with `labels.txt` and `retvec_lite.json` in an uncompressed zip behind it.

    `model_sha256`, the SHA-256 of all bytes before the zip, is added to the details.
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
    """Return a `ModelMetadata` with one `SubGraphMetadata`."""
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    classes = "The classes, one a line, in the order of the probabilities."
    labels = _file(builder, LABELS_NAME, classes, _TENSOR_AXIS_LABELS)
    contract = "The text-to-words contract, labels and origin of the model."
    details = _file(builder, METADATA_NAME, contract, _UNKNOWN_FILE)
    length = f"int32, the first {max_chars}, zeros behind the end. No tokenizer is needed."
    codepoints = _tensor(builder, INPUT, f"The text as Unicode code points: {length}", [])
    probabilities = _tensor(builder, PROBABILITIES, about.output, [labels])
    text = builder.CreateString
    # The order of creation decides the bytes.
    graph = _table(
        builder, 7, {0: text(CLASSIFY), 2: _vector(builder, [codepoints]), 3: _vector(builder, [probabilities])}
    )
    fields = {0: text(about.name), 1: text(about.description), 2: text(about.version), 3: _vector(builder, [graph])}
    fields |= {4: text(about.author), 5: text(about.license), 6: _vector(builder, [details]), 7: text(_OLDEST_PARSER)}
    builder.Finish(_table(builder, 8, fields), _IDENTIFIER)
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
