"""An exported file as it lies on the disk: its signatures, read and checked, not yet given to a runtime."""

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from retvec_lite.contract import CONTRACT_VERSION, EncoderConfig
from retvec_lite.errors import RetvecLiteError

CLASSIFY: Final = "classify"
EMBED: Final = "embed"

SIGNATURES_KEY: Final = "signatures"

SHORT: Final = ((16, 128), (32, 256))
"""Word slots and code points of the signatures for short texts, eight of these for each of those, as in the full default
(64, 512). Under that config, with the head `pool`, an answer takes 0.33 to 0.35 and 0.53 to 0.58 of the full one's time (LiteRT
2.3.0, one thread, float32 and int8-dynamic), and they add 16 and 19 kB to the file. Eight slots would take 0.22: less to gain."""


@dataclass(frozen=True)
class Signature:
    """One entry point of an exported file.

    Attributes:
        name: the name of the signature in the file.
        kind: `classify` (code points -> probabilities) or `embed` (code points -> words, embeddings, text).
        max_chars: code points of its input, int32 `[1, max_chars]`.
        max_words: its word slots. A short signature also answers `slots`: more than `max_words` means that the text does
            not fit and the answer does not count.
        dimension: numbers of an embedding; None for `classify`.
    """

    name: str
    kind: str
    max_chars: int
    max_words: int
    dimension: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, as in `retvec_lite.json`."""
        fields = {"name": self.name, "kind": self.kind, "max_chars": self.max_chars, "max_words": self.max_words}
        return fields if self.dimension is None else {**fields, "dimension": self.dimension}


def short_signatures(config: EncoderConfig) -> tuple[Signature, ...]:
    """The signatures for short texts that a file of this config gets besides `classify`, in rising order; maybe none."""
    # What the encoder costs grows with the code points: a short signature has fewer of them, too.
    most = config.max_chars * 3 // 4
    return tuple(
        Signature(f"{CLASSIFY}_{words}", CLASSIFY, min(chars, most), words)
        for words, chars in SHORT
        if words < config.max_words and most > 0
    )


def full_signature(config: EncoderConfig) -> Signature:
    """The signature `classify`, which every file has."""
    return Signature(CLASSIFY, CLASSIFY, config.max_chars, config.max_words)


def read_signatures(metadata: Mapping[str, Any], config: EncoderConfig) -> tuple[Signature, ...]:
    """What a file's metadata lists; `classify` alone where it lists nothing, as files of earlier releases do.

    Args:
        metadata: `retvec_lite.json`.
        config: the contract it holds.

    Raises:
        RetvecLiteError: for a list that is no list of signatures, or lacks the `classify` of the config.
    """
    listed = metadata.get(SIGNATURES_KEY)
    full = full_signature(config)
    if listed is None:
        return (full,)
    try:
        found = tuple(_signature(fields) for fields in listed)
    except (TypeError, ValueError, KeyError) as error:
        raise RetvecLiteError(f"Expected {SIGNATURES_KEY} as export writes them, received {listed!r}.") from error
    if full not in found or len({signature.name for signature in found}) != len(found):
        raise RetvecLiteError(
            f"Expected {SIGNATURES_KEY} with distinct names and {full.to_dict()} among them, received {listed!r}."
        )
    return found


def classify_signatures(signatures: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """Those that classify, in the order in which they are tried: fewest slots first."""
    return tuple(sorted((s for s in signatures if s.kind == CLASSIFY), key=lambda signature: signature.max_words))


def _signature(fields: Mapping[str, Any]) -> Signature:
    sizes = [fields["max_chars"], fields["max_words"]] + ([fields["dimension"]] if "dimension" in fields else [])
    if not all(type(size) is int and size > 0 for size in sizes) or not isinstance(fields["name"], str):
        raise ValueError("no sizes")
    if fields["kind"] not in (CLASSIFY, EMBED):
        raise ValueError("another kind")
    return Signature(fields["name"], fields["kind"], *sizes)


METADATA_NAME: Final = "retvec_lite.json"
LABELS_NAME: Final = "labels.txt"
METADATA_FORMAT: Final = "retvec-lite"

_MEMBER_LIMIT: Final = 4 << 20
"""Bytes a member of the zip tail may unpack to: room for 10,000 long labels, none for a zip bomb."""


@dataclass(frozen=True)
class Artifact:
    """An exported file, read and checked but not yet given to a runtime.

    Attributes:
        path: where it was read.
        model: the flatbuffer, without the zip tail.
        labels: the classes, in the order of the outputs.
        config: the contract it was exported under.
        metadata: all of `retvec_lite.json`.
    """

    path: Path
    model: bytes
    labels: tuple[str, ...]
    config: EncoderConfig
    metadata: Mapping[str, Any]

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The entry points that the metadata lists; raises RetvecLiteError when it lists something else."""
        return read_signatures(self.metadata, self.config)


def read_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Read an exported `.tflite` and make sure that it is one, whole, and of this contract version.

    A runtime that is handed a damaged flatbuffer may crash the process, so everything is checked before: the file
    identifier, the zip tail with its CRCs, and the SHA-256 of the flatbuffer.

    Raises:
        RetvecLiteError: for a file that is missing, foreign, truncated, damaged, or of another contract version.
    """
    file = Path(path)
    try:
        # One handle for both reads: a file that is replaced meanwhile is read as it was.
        with open(file, "rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(4)
            if handle.read(4) != b"TFL3":
                raise RetvecLiteError(f"Expected a .tflite model at {file}, received a file of another kind.")
            try:
                with zipfile.ZipFile(handle) as archive:
                    members = {info.filename: info for info in archive.infolist()}
                    metadata_json = _member(archive, members, METADATA_NAME)
                    labels_text = _member(archive, members, LABELS_NAME)
                    length = min(info.header_offset for info in members.values())
            except (
                zipfile.BadZipFile,
                zlib.error,
                struct.error,
                EOFError,
                KeyError,
                ValueError,
                RuntimeError,
            ) as error:
                raise RetvecLiteError(
                    f"Expected a model exported by retvec-lite at {file}, received a .tflite of {size:,} bytes without a "
                    f"readable {METADATA_NAME}: it is cut short or comes from another tool."
                ) from error
            handle.seek(0)
            model = handle.read(length)
    except OSError as error:
        raise RetvecLiteError(f"Expected a readable model at {file}, received: {error.strerror or error}.") from error
    try:
        metadata = json.loads(metadata_json)
        if not isinstance(metadata, dict) or metadata.get("format") != METADATA_FORMAT:
            raise ValueError("another format")
        labels = tuple(labels_text.decode().removesuffix("\n").split("\n"))
    except (ValueError, RecursionError) as error:
        raise RetvecLiteError(f"Expected {METADATA_NAME} of retvec-lite inside {file}, received {error}.") from error
    # The version first: a newer contract may have changed all the rest.
    version, fields = metadata.get("contract_version"), metadata.get("encoder")
    if version != CONTRACT_VERSION or not isinstance(fields, dict):
        fields = {"contract_version": version}
    try:
        config = EncoderConfig.from_dict(fields)
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{error} (in {file})") from error
    if metadata.get("labels") != list(labels) or len(labels) < 2:
        raise RetvecLiteError(f"Expected the same 2 or more labels in {LABELS_NAME} and {METADATA_NAME} inside {file}.")
    if metadata.get("model_sha256") != hashlib.sha256(model).hexdigest():
        raise RetvecLiteError(f"Expected the SHA-256 noted at export, but {file} was changed since: export it again.")
    artifact = Artifact(file, model, labels, config, MappingProxyType(metadata))
    try:
        _ = artifact.signatures
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{error} (in {file})") from error
    return artifact


def _member(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    if members[name].file_size > _MEMBER_LIMIT:
        raise zipfile.BadZipFile(f"{name} is too large")
    return archive.read(members[name])


def describe_oldest_runtime(metadata: Mapping[str, Any]) -> str:
    """The `oldest_runtime` of an artifact's metadata in words: "tflite-runtime 2.14.0 or newer"."""
    oldest = metadata.get("oldest_runtime")
    if not isinstance(oldest, dict) or not oldest:
        return "a runtime it does not name"
    return ", ".join(f"{name} {version}" for name, version in sorted(oldest.items())) + " or newer"
