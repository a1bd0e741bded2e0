"""Classifying texts with an exported file: NumPy and a LiteRT runtime, nothing else.

classifier = TextClassifier.load("classifier-int8.tflite")
classifier.predict("where is my parcle?", top=1)      # [Prediction(label='delivery', probability=0.98)]
classifier.predict(["hi", "cancel it"])               # one list for each text
"""

import hashlib
import importlib
import importlib.util
import json
import operator
import os
import struct
import sys
import threading
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from retvec_lite.config import CONTRACT_VERSION, EncoderConfig
from retvec_lite.errors import RetvecLiteError

RUNTIMES: Final = {"ai-edge-litert": "ai_edge_litert", "tflite-runtime": "tflite_runtime"}
"""Distribution -> package of the runtimes that can run an artifact, in the order in which they are chosen."""

METADATA_NAME: Final = "retvec_lite.json"
LABELS_NAME: Final = "labels.txt"
METADATA_FORMAT: Final = "retvec-lite"

_MEMBER_LIMIT: Final = 4 << 20
"""Bytes a member of the zip tail may unpack to: room for 10,000 long labels, none for a zip bomb."""


class Prediction(NamedTuple):
    """One label and its probability."""

    label: str
    probability: float


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
    return Artifact(file, model, labels, config, MappingProxyType(metadata))


def _member(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    if members[name].file_size > _MEMBER_LIMIT:
        raise zipfile.BadZipFile(f"{name} is too large")
    return archive.read(members[name])


def installed_runtimes() -> dict[str, str]:
    """Distribution -> version of the runtimes that are installed, without importing any of them."""
    import importlib.metadata  # costs more than the rest of the imports of this module, NumPy aside

    return {
        name: importlib.metadata.version(name)
        for name, package in RUNTIMES.items()
        if importlib.util.find_spec(package) is not None
    }


def describe_oldest_runtime(metadata: Mapping[str, Any]) -> str:
    """The `oldest_runtime` of an artifact's metadata in words: "tflite-runtime 2.14.0 or newer"."""
    oldest = metadata.get("oldest_runtime")
    if not isinstance(oldest, dict) or not oldest:
        return "a runtime it does not name"
    return ", ".join(f"{name} {version}" for name, version in sorted(oldest.items())) + " or newer"


def import_runtime(name: str | None = None) -> tuple[str, Any]:
    """Import the one runtime of this process.

    Args:
        name: the distribution, a key of `RUNTIMES`; by default the one that is already loaded, else the first that is
            installed.

    Returns:
        The distribution and its `Interpreter` class.

    Raises:
        RetvecLiteError: when it is not installed or broken, or when another runtime is loaded: the two would break
            each other.
    """
    if name is not None and name not in RUNTIMES:
        raise RetvecLiteError(f"Expected a runtime out of {', '.join(RUNTIMES)}, received {name!r}.")
    loaded = [other for other, package in RUNTIMES.items() if package in sys.modules]
    found = [other for other, package in RUNTIMES.items() if importlib.util.find_spec(package) is not None]
    choice = name or next(iter(loaded or found), None)
    if choice is None or choice not in found:
        raise RetvecLiteError(
            f"Expected {name or 'a LiteRT runtime'} to be installed, but it is not: "
            f"run `pip install {name or 'ai-edge-litert'}`."
        )
    # Two runtimes in one process break each other (DESIGN.md, section 2), TensorFlow counts as one for the old runtime.
    rivals = [other for other in loaded if other != choice]
    if choice == "tflite-runtime" and "tensorflow" in sys.modules:
        rivals.append("tensorflow")
    if rivals:
        raise RetvecLiteError(
            f"Expected {choice} to be alone in this process, but {rivals[0]} is loaded and the two break each other: "
            "use another process."
        )
    try:
        return choice, importlib.import_module(f"{RUNTIMES[choice]}.interpreter").Interpreter
    except ImportError as error:
        raise RetvecLiteError(f"Expected {choice} to work here, but it cannot be imported: {error}.") from error


def load_interpreter(runtime: str | None, model: str | os.PathLike[str], num_threads: int = 1) -> Any:
    """An allocated interpreter of any .tflite, for measuring; `TextClassifier` is what runs an exported one.

    Raises:
        RetvecLiteError: like `import_runtime`, and for a model that the runtime cannot run.
    """
    name, interpreter_class = import_runtime(runtime)
    try:
        interpreter = interpreter_class(model_path=os.fspath(model), num_threads=num_threads)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise RetvecLiteError(f"Expected {name} to run {model}, received: {' '.join(str(error).split())}") from error
    return interpreter


class TextClassifier:
    """A classifier that is ready to run. Make one with `TextClassifier.load`.

    Safe to share between threads: calls wait for each other, so that one instance never runs two texts at once. For
    parallel speed load one instance in each thread, or pass `num_threads`.

    Attributes:
        labels: the classes, in the order of `probabilities`' columns.
        config: the contract the file was exported under.
        metadata: what the file says about itself (`retvec_lite.json`).
        runtime: the distribution that runs it, `ai-edge-litert` or `tflite-runtime`.
    """

    def __init__(self, artifact: Artifact, num_threads: int = 1, runtime: str | None = None) -> None:
        """Prefer `load`; this takes an artifact that is already read. Raises RetvecLiteError like `load`."""
        if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
            raise RetvecLiteError(f"Expected num_threads to be a positive integer, received {num_threads!r}.")
        self.labels = artifact.labels
        self.config = artifact.config
        self.metadata = artifact.metadata
        self.runtime, interpreter_class = import_runtime(runtime)
        self._lock = threading.Lock()
        try:
            self._interpreter = interpreter_class(model_content=artifact.model, num_threads=num_threads)
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise RetvecLiteError(
                f"Expected {self.runtime} to run {artifact.path}, which is made for "
                f"{describe_oldest_runtime(artifact.metadata)}, received: {' '.join(str(error).split())}"
            ) from error
        self._input, self._output = self._interface(artifact)

    @classmethod
    def load(cls, path: str | os.PathLike[str], num_threads: int = 1, runtime: str | None = None) -> "TextClassifier":
        """Load an exported `.tflite`.

        Args:
            path: the file.
            num_threads: threads of one call; one is fastest for short texts.
            runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that this process has already loaded,
                else the first of the two that is installed. Never both in one process: they break each other.

        Raises:
            RetvecLiteError: for a file that `read_artifact` refuses, a missing runtime, one that cannot run the file,
                or a second runtime in one process.
        """
        return cls(read_artifact(path), num_threads, runtime)

    def codepoints(self, text: str) -> npt.NDArray[np.int32]:
        """The model's input for a text: `ord` of each character, cut or zero-padded to int32 [1, max_chars].

        Nothing is cleaned here, unpaired surrogates included: all of the preprocessing is inside the graph.
        """
        points = np.zeros((1, self.config.max_chars), np.int32)
        codes = np.frombuffer(text[: self.config.max_chars].encode("utf-32-le", "surrogatepass"), "<i4")
        points[0, : codes.size] = codes
        return points

    def probabilities(self, texts: str | Sequence[str]) -> npt.NDArray[np.float32]:
        """Probabilities float32 [texts, classes], columns in the order of `labels`; a single string counts as one text.

        Raises:
            RetvecLiteError: for something else than strings.
        """
        texts = [texts] if isinstance(texts, str) else texts
        table = np.empty((len(texts), len(self.labels)), np.float32)
        interpreter = self._interpreter
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise RetvecLiteError(f"Expected texts as strings, received {type(text).__name__} at index {row}.")
            points = self.codepoints(text)
            with self._lock:
                interpreter.set_tensor(self._input, points)
                interpreter.invoke()
                table[row] = interpreter.get_tensor(self._output)[0]
        return table

    # A string is a sequence of strings too: the first overload is the one that a type checker takes for it.
    @overload
    def predict(self, texts: str, top: int | None = None) -> list[Prediction]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, texts: Sequence[str], top: int | None = None) -> list[list[Prediction]]: ...
    def predict(self, texts: str | Sequence[str], top: int | None = None) -> list[Prediction] | list[list[Prediction]]:
        """The labels of one text or of many, the most probable first.

        Args:
            texts: one string, which gives one list, or a sequence of strings, which gives one list for each.
            top: how many labels to keep of each text; all of them by default.

        Raises:
            RetvecLiteError: for something else than strings, or a `top` below 1.
        """
        if top is not None and top < 1:
            raise RetvecLiteError(f"Expected top to be at least 1, received {top!r}.")
        rows = [
            sorted(map(Prediction, self.labels, row), key=operator.itemgetter(1), reverse=True)[:top]
            for row in self.probabilities(texts).tolist()
        ]
        return rows[0] if isinstance(texts, str) else rows

    def _interface(self, artifact: Artifact) -> tuple[int, int]:
        """Tensor indices of input and output, for the plain interface.

        The signature runner is not used: tflite-runtime 2.14 runs it at half the speed, apparently without XNNPACK.
        The names of the signature are checked all the same, and with one input and one output they are unmistakable.
        """
        inputs, outputs = self._interpreter.get_input_details(), self._interpreter.get_output_details()
        received = (
            self._interpreter.get_signature_list().get("classify"),
            [(tuple(tensor["shape"].tolist()), np.dtype(tensor["dtype"]).name) for tensor in (*inputs, *outputs)],
        )
        expected = (
            {"inputs": ["codepoints"], "outputs": ["probabilities"]},
            [((1, self.config.max_chars), "int32"), ((1, len(self.labels)), "float32")],
        )
        if received != expected:
            raise RetvecLiteError(f"Expected {artifact.path} to have the interface {expected}, received {received}.")
        return int(inputs[0]["index"]), int(outputs[0]["index"])
