"""An exported file as it lies on the disk: read and checked, not yet given to a runtime."""

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

from retvec_lite.config import CONTRACT_VERSION, EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.signatures import Signature, read_signatures

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
