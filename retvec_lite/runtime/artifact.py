"""Read an exported `.tflite`, `.retvec` or `.onnx`: the model, its labels, its contract and its signatures, checked before a runtime sees them."""

import hashlib
import importlib.util
import os
import shlex
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from retvec_lite import json_text as kind
from retvec_lite.contract import CONTRACT_VERSION, EncoderConfig
from retvec_lite.data.labels import check_labels
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, did_you_mean, install, reason, shown
from retvec_lite.foreign import require_size
from retvec_lite.meaning import MeaningConfig
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime import onnx_file
from retvec_lite.runtime.hub import fetch, is_on_hub
from retvec_lite.runtime.retvec_file import MAGIC, SUFFIX, disagreement, read_retvec

METADATA_NAME: Final = "retvec_lite.json"
LABELS_NAME: Final = "labels.txt"
METADATA_FORMAT: Final = "retvec-lite"
CLASSIFIER_FILE: Final = "classifier.safetensors"
"""The name of the weights inside a trained folder."""

SIGNATURES_KEY: Final = "signatures"

CLASSIFY: Final = "classify"
EMBED: Final = "embed"

EXPORTED: Final = (".tflite", SUFFIX, onnx_file.SUFFIX)
"""Suffixes of the exported files that run here."""

PREBUILT: Final = ("language",)
"""Names of the classifiers in the package. Each has `NAME.tflite`, `NAME.retvec`, `NAME.safetensors` (its weights) and `NAME.md` (its model card) in the folder `prebuilt`."""

_TOXICITY: Final = ("toxicity", "toxicity-de", "toxicity-es", "toxicity-pt")
READY: Final = ("assistant", "emotion", "guard", "sentiment", "spam", "support", "topics", *_TOXICITY)
"""Names of the classifiers in the package `retvec-lite-models`, which has the same files of each."""
_MODELS: Final = "retvec_lite_models"

_KINDS: Final[Mapping[str, kind.Kind]] = {
    "created_by": kind.TEXT,
    "embedding": kind.TEXT,
    "head": kind.TEXT,
    "languages": kind.listed(kind.TEXT),
    "name": kind.TEXT,
    "oldest_runtime": kind.mapped(kind.TEXT),
    "recipe": kind.TEXT,
    "tensors": kind.either(kind.mapped(kind.TEXT), kind.NOTHING),
    "trained": kind.structured(
        {"data": kind.TEXT, "day": kind.TEXT, "texts": kind.COUNT, "seed": kind.COUNT, "accuracy": kind.SHARE}
    ),
    "version": kind.COUNT,
}
"""What the metadata of a file are, beside labels and settings."""

_MEMBER_LIMIT: Final = 4 << 20
"""Largest unpacked size of a member of the zip tail in bytes: enough for 10,000 long labels, and no zip bomb."""

_BAD_ZIP: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, ValueError, RuntimeError)
"""What `zipfile` raises for a damaged file."""


@dataclass(frozen=True)
class Signature:
    """One entry point of an exported file.

    Attributes:
        name: `classify` (code points -> probabilities) or `embed` (code points -> words, embeddings, text).
        max_chars: code points of its input, int32 `[1, max_chars]`.
        max_words: its word slots.
        dimension: numbers of a text's embedding; None for `classify`.
        word_dimension: numbers of a word's embedding, where there are others in a text's.
    """

    name: str
    max_chars: int
    max_words: int
    dimension: int | None = None
    word_dimension: int | None = None

    @property
    def of_words(self) -> int:
        """Numbers of a word's embedding; 0 for `classify`."""
        return self.word_dimension or self.dimension or 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-ready fields, as in `retvec_lite.json`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def classify_signature(config: EncoderConfig) -> Signature:
    """Return the signature `classify`, which every file has."""
    return Signature(CLASSIFY, config.max_chars, config.max_words)


def embed_signature(config: EncoderConfig, of_text: int, of_words: int) -> Signature:
    """Return the signature `embed`, which a file may have, for embeddings of so many numbers."""
    return Signature(EMBED, config.max_chars, config.max_words, of_text, None if of_words == of_text else of_words)


def read_signatures(metadata: Mapping[str, Any], config: EncoderConfig) -> tuple[Signature, ...]:
    """Return the signatures that a file's metadata lists.

    Raises:
        RetvecLiteError: for any list but `classify`, alone or followed by `embed`, both for the texts of the contract.
    """
    entries: Any = metadata.get(SIGNATURES_KEY)
    try:
        found = tuple(_signature(fields) for fields in entries)
        right = [classify_signature(config)]
        right += [embed_signature(config, item.dimension or 0, item.of_words) for item in found[1:2]]
        if list(found) != right:
            raise ValueError("other signatures")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise RetvecLiteError(
            f"The signatures in {METADATA_NAME} are not valid: {shown(entries)}. Export the model again."
        ) from error
    return found


def _signature(fields: Mapping[str, Any]) -> Signature:
    sizes = {name: fields[name] for name in ("max_chars", "max_words")}
    sizes |= {name: fields[name] for name in ("dimension", "word_dimension") if name in fields}
    if not all(type(size) is int and size > 0 for size in sizes.values()):
        raise ValueError("a size of another type")
    return Signature(fields["name"], **sizes)


@dataclass(frozen=True)
class Artifact:
    """An exported file, read and checked.

    Attributes:
        path: the file.
        model: the flatbuffer, without the zip tail; of others, the whole file.
        labels: the classes, in the order of the outputs.
        config: the contract of the export.
        metadata: the content of `retvec_lite.json`.
    """

    path: Path
    model: bytes
    labels: tuple[str, ...]
    config: EncoderConfig
    metadata: Mapping[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        # A path of one system cannot be unpickled on another.
        return _rebuilt, (os.fspath(self.path), self.model, self.labels, self.config, self.metadata)

    @property
    def is_native(self) -> bool:
        """Whether the C engine runs it, and not a LiteRT runtime."""
        return self.model.startswith(MAGIC)

    @property
    def is_onnx(self) -> bool:
        """Whether ONNX Runtime runs it."""
        return self.path.suffix == onnx_file.SUFFIX

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The entry points that the metadata lists; see `read_signatures`."""
        return read_signatures(self.metadata, self.config)

    @property
    def dimensions(self) -> tuple[int, int]:
        """Numbers of a text's embedding and of a word's; 0 without the signature `embed`."""
        last = self.signatures[-1]
        return last.dimension or 0, last.of_words

    @property
    def decision(self) -> Decision:
        """When a text belongs to none of the labels."""
        return Decision.from_dict(self.metadata.get("decision"))


def _rebuilt(path: str, *fields: Any) -> Artifact:
    return Artifact(Path(path), *fields)


def is_prebuilt(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the name of a ready-made classifier.

    What is called "language" here is `./language`. A folder of yours called "sentiment" comes before the classifier of that name.
    """
    return isinstance(path, str) and (path in PREBUILT or (path in READY and not os.path.exists(path)))


def prebuilt_names() -> tuple[str, ...]:
    """Return the names of the ready-made classifiers that are installed."""
    return (*PREBUILT, *(name for name in READY if _in_models(name, SUFFIX)))


def _in_models(name: str, suffix: str) -> Path | None:
    """Return the file of a classifier in the package of its own; None where that, or an earlier release of it, is not installed."""
    if importlib.util.find_spec(_MODELS) is None:
        return None
    file = Path(str(resources.files(_MODELS))) / f"{name}{suffix}"
    return file if file.is_file() else None


def locate(path: str | os.PathLike[str], suffix: str = ".tflite") -> Path:
    """Return the file that a path means: that of a ready-made classifier for its name, the copy of one on the hub, or the path itself.

    Raises:
        RetvecLiteError: for a ready-made classifier that is not installed, or whose name is misspelt, a model on the hub that cannot be
            fetched, another address, or a file of texts.
    """
    if is_on_hub(path):
        return fetch(os.fspath(path))
    if not is_prebuilt(path):
        place = Path(path)
        if not (place.suffix in (*EXPORTED, ".safetensors") and place.is_file()):
            _refuse_others(place, path)
        return place
    name = os.fspath(path)
    if name in READY:
        if found := _in_models(name, suffix):
            return found
        raise RetvecLiteError(
            f"The classifier {name} is in a package of its own, which is missing or too old. Run {install('./models')}."
        )
    return Path(str(resources.files("retvec_lite"))) / "prebuilt" / f"{name}{suffix}"


def _refuse_others(place: Path, given: str | os.PathLike[str]) -> None:
    """Raise RetvecLiteError for an address, a file of texts, or a name that is misspelt."""
    from retvec_lite.data.rows import LABELLED, TEXT_SUFFIX, format_of
    from retvec_lite.data.sources import refuse_address

    refuse_address(given)
    if format_of(place)[0] in (*LABELLED, TEXT_SUFFIX) and place.is_file():
        raise RetvecLiteError(
            f"{place} holds texts, where a classifier belongs: `retvec-lite train {shlex.quote(str(place))} --out trained` makes one from labelled ones."
        )
    meant = did_you_mean(str(place), PREBUILT + READY)
    if meant and not place.exists():
        raise RetvecLiteError(f"There is nothing at {place}.{meant}")


def not_exported(folder: Path) -> RetvecLiteError:
    """Return the error about a folder in the place of an exported file: what it is, and what to name instead."""
    if folder.suffix == ".mlpackage":
        return RetvecLiteError(
            f"{folder} is a Core ML package, which runs in apps for iOS and macOS only. Name a .tflite of the same classifier."
        )
    if (folder / CLASSIFIER_FILE).is_file():
        return RetvecLiteError(
            f"{folder} is a trained classifier, not an exported file. Export it first: retvec-lite export {shlex.quote(str(folder))} --out dist"
        )
    if found := sorted(folder.glob("*.tflite")):
        return RetvecLiteError(f"{folder} is a folder of exported files. Name one of them, such as {found[0]}.")
    return RetvecLiteError(f"No exported file in {folder}: name one.")


def read_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Read an exported `.tflite`, `.retvec` or `.onnx` and check that it is complete, unchanged and of this contract version.

    A damaged flatbuffer may crash the runtime and with it the process. Therefore the file identifier, the zip tail with
    its CRCs and the SHA-256 of the flatbuffer are checked first. A `.retvec` has a checksum, an `.onnx` has none.

    Raises:
        RetvecLiteError: for a file that is missing, truncated, damaged, from another tool, or of another contract version.
    """
    file = locate(path)
    model, metadata_json, labels_text = _read_parts(file)
    try:
        metadata = kind.parse_json(metadata_json, METADATA_NAME)
        if not isinstance(metadata, dict) or metadata.get("format") != METADATA_FORMAT:
            raise RetvecLiteError(f"{METADATA_NAME} is not valid: its format is not {METADATA_FORMAT!r}.")
        labels = tuple(labels_text.decode().removesuffix("\n").split("\n"))
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{file}: {error} Export the model again.") from error
    except UnicodeDecodeError as error:
        raise RetvecLiteError(
            f"{file}: {LABELS_NAME} is not UTF-8 ({reason(error)}). Export the model again."
        ) from error
    # Check the version first: a newer contract may have changed everything else.
    version, fields = metadata.get("contract_version"), metadata.get("encoder")
    if version != CONTRACT_VERSION or not isinstance(fields, dict):
        fields = {"contract_version": version}
    try:
        config = EncoderConfig.from_dict(fields)
        if metadata.get("labels") != list(labels):
            both = "its metadata and its engine" if file.suffix == SUFFIX else f"{LABELS_NAME} and {METADATA_NAME}"
            raise RetvecLiteError(f"{both} must list the same labels. Export the model again.")
        check_labels(labels)
        kind.check_fields(metadata, _KINDS)
        read_signatures(metadata, config)
        Decision.from_dict(metadata.get("decision")).check_labels(labels)
        ngrams = NgramConfig.from_dict(metadata["ngrams"]) if metadata.get("ngrams") is not None else None
        meaning = MeaningConfig.from_dict(metadata["meaning"]) if metadata.get("meaning") is not None else None
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{file}: {error}") from error
    found = Artifact(file, model, labels, config, metadata)
    if not found.is_native:
        if not found.is_onnx and metadata.get("model_sha256") != hashlib.sha256(model).hexdigest():
            raise RetvecLiteError(f"{file} was changed after its export (wrong SHA-256). Export the model again.")
        return found
    if name := disagreement(model, labels, config, found.decision, found.dimensions, ngrams, meaning):
        raise RetvecLiteError(f"{file}: its metadata and its engine do not agree on {name}. Export the model again.")
    return found


def _read_parts(file: Path) -> tuple[bytes, bytes, bytes]:
    """Return the model, `retvec_lite.json` and `labels.txt` of a file."""
    if file.is_dir():
        raise not_exported(file)
    if file.suffix == SUFFIX:
        return read_retvec(file)
    try:
        if file.suffix == onnx_file.SUFFIX:
            model, metadata, labels = onnx_file.read_parts(file, METADATA_NAME, LABELS_NAME)
            return model, metadata, labels
        # One handle for all reads: a file that is replaced while it is read stays consistent.
        with open(file, "rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            require_size(file, size)
            handle.seek(4)
            if handle.read(4) != b"TFL3":
                raise RetvecLiteError(f"{file} is not a .tflite model.")
            try:
                with zipfile.ZipFile(handle) as archive:
                    metadata = _member(archive, METADATA_NAME)
                    labels = _member(archive, LABELS_NAME)
                    length = min(info.header_offset for info in archive.infolist())
            except _BAD_ZIP as error:
                raise RetvecLiteError(
                    f"{file} ({size:,} bytes) has no readable {METADATA_NAME}: it is truncated, or retvec-lite did not "
                    "export it. Export the model again."
                ) from error
            handle.seek(0)
            return handle.read(length), metadata, labels
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {file}: {error.strerror or error}.") from error


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    # Other methods of packing are slower to refuse, and not every Python has them.
    if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{name} is packed in another way")
    # Limit what is unpacked; the size that the archive declares may be wrong.
    with archive.open(name) as member:
        content = member.read(_MEMBER_LIMIT + 1)
    if len(content) > _MEMBER_LIMIT:
        raise zipfile.BadZipFile(f"{name} is too large")
    return content


def describe_oldest_runtime(metadata: Mapping[str, Any]) -> str:
    """Return the `oldest_runtime` of a file's metadata in words, such as "tflite-runtime 2.14.0 or newer"."""
    oldest = metadata.get("oldest_runtime")
    if not isinstance(oldest, dict) or not oldest:
        return "an unknown runtime"
    return ", ".join(f"{name} {version}" for name, version in sorted(oldest.items())) + " or newer"
